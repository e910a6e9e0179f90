"""Runs the compiled search: its memory, threads, and what a question may use.

Not for positions as users know them: `solve.py` turns those into words and margins.
"""

import copy
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

import numpy as np

from agents import packed
from agents.base import check_range
from agents.endgame import Endgame, table_rules
from agents.halt import halting
from agents.solver import search
from agents.solver.search import HITS, LIMIT, NODES, STOP, TAG_BITS
from kalah_env.checks import whole_number
from kalah_env.errors import KalahError
from kalah_env.jit import threads_of_numba
from kalah_env.rules import Rules, format_rules

MAX_NODES = 10**15
MAX_SECONDS = 10**7
MAX_MEMORY = 2**20  # MiB
_ALONE = 30_000  # nodes that one thread searches before the others join
_BUSY = 4096
INTERRUPTED = "stopped by Ctrl-C"


class Budget:
    """What a question may still use; once it must stop, `why` says for what reason."""

    def __init__(self, nodes: int | None = None, seconds: float | None = None) -> None:
        whole_number("solver: nodes", MAX_NODES if nodes is None else nodes, 1, MAX_NODES)
        check_range("solver: seconds", MAX_SECONDS if seconds is None else seconds, 0, MAX_SECONDS)
        self.left = nodes or MAX_NODES
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self.nodes = self.hits = 0
        self.why = ""

    @property
    def milliseconds(self) -> float | None:
        """The time left, or None without a limit."""
        return None if self.deadline is None else max(1.0, 1000 * (self.deadline - time.monotonic()))

    def use(self, nodes: int, hits: int) -> None:
        """Count what was used; where that was all, say so in `why`."""
        self.nodes, self.hits, self.left = self.nodes + nodes, self.hits + hits, self.left - nodes
        if self.left <= 0:
            self.why = self.why or "out of nodes"
        elif self.deadline is not None and time.monotonic() >= self.deadline:
            self.why = self.why or "out of time"


class Prover:
    """Answers questions about packed positions of one rule set; what it learns stays.

    memory: MiB of the transposition table; where that is too small to tell positions apart, it is
    more. With over 2^64 positions (8 pits a side, over 100 seeds) two could be taken for one another, with
    a chance below 2^-40 a look-up.
    """

    def __init__(
        self, rules: Rules, *, memory: int = 512, threads: int | None = None, table: Endgame | None = None
    ) -> None:
        whole_number("solver: memory", memory, 1, MAX_MEMORY)
        if table is not None and table.rules != table_rules(rules):
            raise KalahError(
                f"solver: the endgame table is of {format_rules(table.rules)}, which says nothing of "
                f"{format_rules(rules)}; take one that `endgame.find` returns for these."
            )
        self.rules = rules
        cores = threads_of_numba()
        self.threads = whole_number("solver: threads", cores if threads is None else threads, 1, 256)
        bits = min(64, packed.count_positions(rules, packed.MAX_SEEDS).bit_length())
        size = max((memory * 2**17).bit_length() - 1, bits - TAG_BITS + 1)
        bits = max(bits, size)  # a table may have room for more positions than there are
        self.mask, self.shift = (-1 if bits == 64 else 2**bits - 1), bits - size
        try:
            self.entries = np.zeros(2**size, np.int64)
        except MemoryError:
            raise KalahError(
                f"solver: this machine has no room for a table of {2**size >> 17} MiB; give less memory."
            ) from None
        self.table = table
        self.memory = self._memory(1)
        self._make_scratch()

    def _make_scratch(self) -> None:
        busy = np.zeros((self.threads, _BUSY), np.int64)
        self.scratch = [self._scratch(busy) for _ in range(self.threads)]
        self.alone = self._scratch(busy[:1])
        self.stopped = False

    def twin(self) -> "Prover":
        """Return one for another thread, with the same tables."""
        other = copy.copy(self)
        other._make_scratch()
        return other

    def stop(self) -> None:
        """Make every question end now, unanswered, and for good."""
        self.stopped = True
        _end([self.alone, *self.scratch])

    def _memory(self, seeds: int) -> search.Memory:
        values, covered = np.zeros(1, np.int8), 0
        if self.table is not None:
            values, covered = self.table.values, self.table.seeds
        seeds = max(seeds, covered)
        sowing, ranks = packed.sowing_table(self.rules, seeds), packed.rank_table(self.rules, seeds)
        return search.Memory(sowing, ranks, values, covered, self.entries, self.mask, self.shift)

    def _scratch(self, busy: np.ndarray) -> search.Scratch:
        plies = search.MAX_PLIES
        return search.Scratch(
            np.zeros((plies, 9), np.int64),
            np.zeros((plies, self.rules.pits, 7), np.int64),
            np.zeros(4, np.int64),
            busy,
        )

    def bound(self, own: int, other: int, beta: int, budget: Budget) -> int:
        """Return a lower bound >= beta of what is still to win, else an upper bound.

        Where the budget runs out it says so, and the bound is the trivial one.
        """
        seeds = _count(own) + _count(other)
        if seeds > packed.MAX_SEEDS:
            budget.why = f"over {packed.MAX_SEEDS} seeds on the board"
            return -seeds
        if not -seeds < beta <= seeds:
            return -seeds if beta <= -seeds else seeds
        if seeds >= self.memory.sowing.shape[0] // (2 * self.rules.pits):
            self.memory = self._memory(seeds)
        question = (np.int64(own), np.int64(other), np.int64(beta))
        value = self._run([self.alone], question, budget, min(_ALONE, budget.left))
        if value is None and not (budget.why or self.stopped):
            scratch = self.scratch if self.threads > 1 else [self.alone]
            value = self._run(scratch, question, budget, budget.left)
            spent = any(each.control[NODES] >= each.control[LIMIT] for each in scratch)
            if value is None:  # one thread's share of the nodes ends the search of all
                budget.why = budget.why or ("out of nodes" if spent else "a line too long")
        if value is None:
            budget.why = "stopped" if self.stopped else budget.why
            return -seeds
        return value

    def _run(self, scratch: list[search.Scratch], question: tuple, budget: Budget, nodes: int) -> int | None:
        """Ask all threads the same question; return the first answer, or None where there is none."""
        for each in scratch:
            each.control[:] = 0
            each.control[LIMIT] = max(1, nodes // len(scratch))
            each.busy[:] = 0
            each.control[STOP] = self.stopped
        answers: list[int] = []

        def work(thread: int) -> None:
            mine = scratch[thread]
            value = search.worth_at_least(self.rules, self.memory, mine, thread, *question)
            if mine.control[STOP] == 0:
                answers.append(int(value))

        with halting(lambda: _end(scratch)):
            if len(scratch) == 1 and nodes <= _ALONE:
                work(0)
            else:
                self._run_threads(scratch, work, budget)
        budget.use(
            sum(int(each.control[NODES]) for each in scratch),
            sum(int(each.control[HITS]) for each in scratch),
        )
        return answers[0] if answers else None

    @staticmethod
    def _run_threads(scratch: list[search.Scratch], work: object, budget: Budget) -> None:
        with ThreadPoolExecutor(len(scratch)) as pool:
            tasks = [pool.submit(work, thread) for thread in range(len(scratch))]  # type: ignore[arg-type]
            try:
                timeout = None if budget.milliseconds is None else budget.milliseconds / 1000
                wait(tasks, timeout, return_when=FIRST_COMPLETED)
            except KeyboardInterrupt:
                budget.why = INTERRUPTED
            finally:
                _end(scratch)
            for task in tasks:
                task.result()


def _end(scratch: list[search.Scratch]) -> None:
    for each in scratch:
        each.control[STOP] = 1


def _count(word: int) -> int:
    return sum((word >> 8 * i) & 255 for i in range(8))
