"""`kalah export`: a checkpoint as an ONNX file (`train/export.py`)."""

import argparse

from train.commands import add_json

HELP = "Write a checkpoint as an ONNX file and compare both on the same positions; exit 1 if they differ."
EXAMPLE = "kalah export runs/quickstart net.onnx"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="a checkpoint's folder")
    parser.add_argument("out", metavar="OUT.onnx", help="the file to write")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Hand over to the export."""
    from train.export import export_command

    return export_command(args.checkpoint, args.out, args.json)
