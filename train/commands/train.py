"""`kalah train`: the learning loop (`train/loop.py`) with a config file and overrides."""

import argparse

from train.config_words import shipped

HELP = """Train a network by self-play, with a progress display, TensorBoard logs and checkpoints.

All goes to runs/NAME, where NAME is the config's. Every key, file and figure: docs/TRAINING.md."""
EXAMPLE = "kalah train configs/quick.yaml rules=kalah:pits=4 --resume"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "config",
        metavar="CONFIG",
        help=f"a YAML file, a shipped config ({', '.join(shipped())}), or with --resume the folder of a run",
    )
    parser.add_argument(
        "overrides",
        nargs="*",
        default=[],
        metavar="key=value",
        help="in place of the config's value, such as selfplay.games=256",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on from the run's last checkpoint; iterations, max_minutes, device, threads and keep_every "
        "may change",
    )


def run(args: argparse.Namespace) -> int:
    """Hand over to the loop."""
    from train.loop import train_command

    return train_command(args.config, args.overrides, args.resume)
