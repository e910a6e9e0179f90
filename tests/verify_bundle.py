"""Grades a one-file bot as it ships, without a compiler: `make verify-bundle`. No test of pytest: minutes.

The bot runs in a Python that has NumPy and ONNX Runtime only and is asked over UCI, a random sample of
the positions of a suite. The figures stand in docs/PROTOCOLS.md.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import bare
import numpy as np

from kalah_env.rules import Rules
from kalah_env.text import format_position, parse_move
from train.bundle import bundle_checkpoint
from train.grade import grade, report
from train.publish import card_row
from train.suites import load_suite


class UciBot:
    """An agent that lives in another process and speaks UCI; ms: a move."""

    def __init__(self, command: list[str], environment: dict[str, str], ms: int) -> None:
        self.spec, self.ms = f"bot.pyz, movetime {ms}", ms
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def act(self, rules: Rules, states: np.ndarray) -> np.ndarray:
        """Return one action for each state: (B, S) int16 -> (B,) int64."""
        assert self.process.stdin is not None
        actions = []
        for state in states:
            position = format_position(rules, state)
            self.process.stdin.write(f"position kalah {position}\ngo movetime {self.ms}\n")
            self.process.stdin.flush()
            actions.append(parse_move(rules, state, self._answer()))
        return np.array(actions, np.int64)

    def _answer(self) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("bestmove "):
                return line.split()[1]
        raise SystemExit(f"{self.spec}: it has ended without an answer.")


def main() -> None:
    """Make a bundle of the published net and grade it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ms", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--positions", type=int, default=500)
    parser.add_argument("--suite", default="kalah-6x4/tune")
    arguments = parser.parse_args()
    suite = load_suite(arguments.suite)
    counted = suite.take(suite.counted())
    rows = np.random.default_rng(0).permutation(len(counted.states))[: arguments.positions]
    with tempfile.TemporaryDirectory() as folder:
        bundle = Path(folder) / "bot.pyz"
        bundle_checkpoint("kalah-6x4", str(bundle))
        (site := Path(folder) / "site").mkdir()
        variables = bare.environment(site)
        command = [*bare.PYTHON, str(bundle), "--protocol", "uci"]
        for ms in arguments.ms:
            bot = UciBot(command, variables, ms)
            found = report(bot, grade(bot, counted.take(rows)))
            bot.process.kill()
            print(card_row(f"{bot.spec}, {len(rows)} positions", found), flush=True)


if __name__ == "__main__":
    main()
