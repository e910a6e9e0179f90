"""`kalah export`: a checkpoint as an ONNX file (`train/export.py`) or a one-file bot (`train/bundle.py`)."""

import argparse

from train.commands import add_json, print_json

HELP = (
    "Write a checkpoint as an ONNX file and compare both on the same positions, exit 1 if they differ; or, "
    "with --bundle, as a bot in one file that needs only Python, NumPy and ONNX Runtime."
)
EXAMPLE = "kalah export kalah-6x4 bot.pyz --bundle"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "checkpoint", metavar="CHECKPOINT", help="a checkpoint's folder, or a shipped net's name"
    )
    parser.add_argument("out", metavar="OUT", help="the file to write: .onnx, or .pyz for a bundle")
    parser.add_argument(
        "--bundle", action="store_true", help="write a bot that speaks the protocols of `kalah engine`"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Hand over to the export."""
    if not args.bundle:
        from train.export import export_command

        return export_command(args.checkpoint, args.out, args.json)
    from train.bundle import bundle_checkpoint

    report = bundle_checkpoint(args.checkpoint, args.out)
    if args.json:
        print_json(report)
    else:
        start = f"python {report['bundle']} --protocol uci"
        print(f"{report['bundle']}: {report['bytes']:,} bytes; start it: {start}")
    return 0
