"""Does a freshly trained net beat random play? Run by `make smoke` on the run folder it trained."""

import sys
from pathlib import Path

from kalah_env.rules import parse_rules
from train.arena import run_arena
from train.checkpoint import checkpoints, load_meta


def main(run: str) -> int:
    """Play 200 games without search against random; return 0 if the score is surely above a half."""
    last = checkpoints(Path(run))[-1]
    rules = parse_rules(load_meta(last)["rules"])
    result = run_arena([f"net:{last}", "random"], rules, games=200, seed=0)["results"][0]
    low, high = result["interval"]
    print(f"raw net against random: {result['score']:.1%} ({low:.1%} to {high:.1%}), {result['games']} games")
    return 0 if low > 0.5 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
