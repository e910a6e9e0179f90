"""`kalah train`: the learning loop (`train/loop.py`) with a config file and overrides."""

import argparse

HELP = "Train a network by self-play, with a progress display, TensorBoard logs and checkpoints."
EXAMPLE = "kalah train configs/quick.yaml rules=kalah:pits=4 --resume"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("config", metavar="CONFIG", help="a YAML file or the name of a shipped config")
    parser.add_argument(
        "overrides", nargs="*", default=[], metavar="key=value", help="in place of the file's value"
    )
    parser.add_argument("--resume", action="store_true", help="go on from the run's last checkpoint")


def run(args: argparse.Namespace) -> int:
    """Hand over to the loop."""
    from train.loop import train_command

    return train_command(args.config, args.overrides, args.resume)
