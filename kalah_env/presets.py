"""The presets: named rule sets, each a row of what deviates from `kalah`, with its source.

A published mancala whose clauses exist is one more entry here (and, where its first layout is not
the same number in every pit, that layout). The sheets are quoted clause by clause in RULES.md.
"""

from typing import NamedTuple

from kalah_env.options import (
    BY_NAME,
    Capture,
    CaptureRows,
    CaptureSides,
    EarlyStop,
    End,
    GrandSlam,
    Leftover,
    SowStore,
    Takes,
    Win,
)

_AWARI = {
    "sow_store": SowStore.NONE,
    "capture": Capture.COUNT,
    "must_feed": 1,
    "end": End.MOVER,
    "early_stop": EarlyStop.KEEP,
}
_KALAHA_PHILOS = {**_AWARI, "grand_slam": GrandSlam.ILLEGAL, "leftover": Leftover.NOBODY}
_FOUR_ROWS = {
    "rows": 2,
    "pits": 8,
    "seeds": 2,
    "sow_store": SowStore.NONE,
    "min_seeds": 2,
    "relay": 1,
    "capture": Capture.SOW,
    "win": Win.MOVE,
}


class Preset(NamedTuple):
    """A named rule set. `start`: the seeds of one side's pits at the preset's own size, both alike."""

    name: str
    options: dict[str, int]
    source: str
    about: str
    start: tuple[int, ...] = ()


PRESETS = (
    Preset("kalah", {}, "sheet 002", "standard Kalah: capture only if the facing pit holds seeds"),
    Preset(
        "kalah-72",
        {"seeds": 6, "capture_takes": Takes.FACED},
        "sheet 000",
        "72 seeds; a capture moves the faced seeds only",
    ),
    Preset(
        "danish",
        {"seeds": 6, "relay": 1, "capture_empty": 1, "end": End.MOVER, "leftover": Leftover.EMPTIER},
        "sheet 003",
        "relay sowing; who cannot move takes what is left; seeds=3 for small children",
    ),
    Preset(
        "kalaha-philos",
        _KALAHA_PHILOS,
        "sheet 004, Kalaha",
        "awari-like: no store is sown, capture by 2 or 3, feed, never take all",
    ),
    Preset("serata", _KALAHA_PHILOS, "sheet 004, Serata", "an alias: the same game as kalaha-philos"),
    Preset(
        "bao-philos",
        {**_FOUR_ROWS, "directions": 2},
        "sheet 004, Bao",
        "four rows, captured seeds are sown on, direction chosen for each move",
    ),
    Preset(
        "kgp",
        {"pits": 8, "seeds": 8, "early_stop": EarlyStop.SWEEP},
        "Kalah Game Protocol server",
        "stops and sweeps once a store holds more than half; any size",
    ),
    Preset(
        "mankalah",
        {"pits": 7, "seeds": 7, "first_again": 0, "pie": 1},
        "Manchester engine",
        "pie rule; the first move of a game earns no further move",
    ),
    Preset(
        "fairkalah",
        {"capture_empty": 1},
        "FairKalah, EAAI 2022; Irving et al. 2000",
        "empty capture; also played from published balanced positions",
    ),
    Preset(
        "openspiel-mancala",
        {},
        "OpenSpiel `mancala`",
        "equal to kalah; for comparing with OpenSpiel",
    ),
    Preset(
        "openspiel-oware",
        {**_AWARI, "skip_origin": 1, "grand_slam": GrandSlam.VOID, "early_stop": EarlyStop.SWEEP},
        "OpenSpiel `oware`",
        "awari: origin skipped, taking all captures nothing, repetition ends by the ply limit",
    ),
    Preset(
        "ludii-kalah",
        {"end": End.MOVER},
        "Ludii Kalah.lud",
        "over only when the player to move has no seeds",
    ),
    Preset(
        "hus",
        {**_FOUR_ROWS, "capture_rows": CaptureRows.BOTH, "end": End.MOVER},
        "Wikipedia, //Hus; boardgamesoftheworld.com/hus.html",
        "four rows, counter-clockwise, both pits of a column are taken",
        (2, 2, 2, 2, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2),
    ),
    Preset(
        "bohnenspiel",
        {
            "seeds": 6,
            "sow_store": SowStore.NONE,
            "capture": Capture.COUNT,
            "capture_counts": BY_NAME["capture_counts"].parse("2+4+6"),
            "capture_sides": CaptureSides.ANY,
            "end": End.MOVER,
        },
        "Deutsche Spielhandbuch 1937, by Wikipedia, Das Bohnenspiel",
        "capture by 2, 4 or 6 on either side; the rest goes to its owner",
    ),
)
PRESET_NAMES = tuple(preset.name for preset in PRESETS)
