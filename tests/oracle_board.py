"""The oracle's boards: holes as linked objects, and the two ways of sowing over them.

Written from the rule sheets like `oracle.py`, which plays on them; imports nothing of the project.
A one-row board is one ring through both sides and both stores; with two rows each side is a ring of
its own, and the stores lie apart.
"""

from __future__ import annotations


class Hole:
    """A pit or a store: who owns it, what lies in it, which holes are beside and across."""

    def __init__(self, owner: str, store: bool = False):
        """Make an empty hole that is not yet part of a board."""
        self.owner, self.store, self.seeds = owner, store, 0
        self.front = not store  # two rows: it is in the row that faces the opponent
        self.left = self.right = self  # neighbours, clockwise and counter-clockwise
        self.facing: Hole | None = None  # the opponent's pit across
        self.behind: Hole | None = None  # two rows: the back pit of a front pit

    def take_all(self) -> int:
        """Empty the hole and return what lay in it."""
        seeds, self.seeds = self.seeds, 0
        return seeds

    def beside(self, way: str) -> Hole:
        """Return the neighbour counter-clockwise (`+`) or clockwise (`-`)."""
        return self.right if way == "+" else self.left


def _link(ring: list[Hole]) -> None:
    for hole, following in zip(ring, ring[1:] + ring[:1], strict=True):
        hole.right, following.left = following, hole


class Board:
    """Both sides' pits and stores, and who may drop a seed where."""

    def __init__(self, rows: int, pits: int):
        """Make an empty board of `rows` a side and `pits` a row."""
        self.pits = {side: [Hole(side) for _ in range(rows * pits)] for side in "SN"}
        self.stores = {side: Hole(side, store=True) for side in "SN"}
        if rows == 1:
            _link([*self.pits["S"], self.stores["S"], *self.pits["N"], self.stores["N"]])
        for side in "SN" if rows == 2 else ():
            _link(self.pits[side])
            for k in range(1, pits + 1):  # pit P+k lies behind pit P+1-k
                front, back = self.pits[side][pits - k], self.pits[side][pits + k - 1]
                front.behind, back.front = back, False
        for i in range(1, pits + 1):  # front pit i faces the opponent's front pit P+1-i
            southern, northern = self.pits["S"][i - 1], self.pits["N"][pits - i]
            southern.facing, northern.facing = northern, southern
        self.holes = [*self.pits["S"], *self.pits["N"], *self.stores.values()]

    def counts(self) -> list[int]:
        """Return what lies in every hole, to put it back with `restore`."""
        return [hole.seeds for hole in self.holes]

    def restore(self, counts: list[int]) -> None:
        """Put back what `counts` returned."""
        for hole, seeds in zip(self.holes, counts, strict=True):
            hole.seeds = seeds

    def lie_in(self, side: str) -> int:
        """Return the seeds in all pits of a side."""
        return sum(hole.seeds for hole in self.pits[side])

    def lie_in_front(self, side: str) -> int:
        """Return the seeds in a side's front row (its only row on a one-row board)."""
        return sum(hole.seeds for hole in self.pits[side] if hole.front)
