"""How a game is played, in sentences for players, made from its rules: any rule set has its manual.

What each option means exactly, with examples and sources, is in `kalah_env/RULES.md`; here is what somebody
needs who sits down to play.
"""

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
from kalah_env.presets import Preset
from kalah_env.rules import Rules


def manual(rules: Rules) -> list[str]:
    """Return the rules as sentences: sowing, moving again, capturing, the end."""
    return [*_sowing(rules), *_again(rules), *_capturing(rules), *_ending(rules)]


def about(preset: Preset) -> str:
    """Return what a preset is as a sentence."""
    return f"{preset.about[0].upper()}{preset.about[1:]}."


def source(preset: Preset) -> str:
    """Return where a preset's rules come from, for who wants to look them up."""
    kind, _, rest = preset.source.partition(" ")
    return (
        f"rules of a game box, quoted in kalah_env/RULES.md (sheet {rest})"
        if kind == "sheet"
        else preset.source
    )


def _sowing(rules: Rules) -> list[str]:
    chosen = " that holds two or more" if rules.min_seeds == 2 else ""
    way = "in the direction that you choose" if rules.directions == 2 else "counter-clockwise"
    place = "round your own two rows" if rules.rows == 2 else "into the pits that follow"
    store = ", your store included and the opponent's left out"
    if rules.sow_store == SowStore.NONE:
        store = "; no store is sown" if rules.rows == 1 else ""
    said = [f"Take all seeds of a pit of yours{chosen} and sow them one by one {place}, {way}{store}."]
    if rules.skip_origin:
        said.append("A full round leaves out the pit that it began in.")
    if rules.relay:
        other = ", if it captures nothing," if rules.capture == Capture.SOW else ""
        said.append(
            f"A last seed in a pit that holds seeds{other} is taken up with them, and all are sown on."
        )
    return said


def _again(rules: Rules) -> list[str]:
    reasons = []
    if rules.again and rules.sow_store == SowStore.OWN:
        reasons.append("the last seed falls into your store")
    if rules.capture_again:
        reasons.append("you have captured")
    if not reasons:
        return []
    but = "" if rules.first_again else ", except after the first move of the game"
    return [f"You move again if {' or if '.join(reasons)}{but}."]


def _capturing(rules: Rules) -> list[str]:
    if rules.capture == Capture.OPPOSITE:
        what = "they and the last seed go into your store"
        if rules.capture_takes == Takes.FACED:
            what = "they go into your store, and the last seed stays"
        if rules.capture_empty:
            return [
                "A last seed in an empty pit of yours goes into your store with what the facing pit holds, "
                "even if that is nothing."
            ]
        return [f"If the last seed falls into an empty pit of yours and the facing pit holds seeds, {what}."]
    if rules.capture == Capture.COUNT:
        *most, last = BY_NAME["capture_counts"].format(rules.capture_counts).split("+")
        counts = f"{', '.join(most)} or {last}" if most else last
        whose = "of either side" if rules.capture_sides == CaptureSides.ANY else "of the opponent"
        said = [
            f"If the last seed makes {counts} in a pit {whose}, you capture them, and those in the pits "
            "before it as long as they hold such a number, too."
        ]
        if rules.grand_slam != GrandSlam.LEGAL:
            none = "is not allowed" if rules.grand_slam == GrandSlam.ILLEGAL else "captures nothing"
            said.append(f"A move that would capture all seeds of the opponent {none}.")
        return said
    if rules.capture == Capture.SOW:
        what = "those" if rules.capture_rows == CaptureRows.FRONT else "the seeds of both pits of its column"
        return [
            "If the last seed falls into a pit of your front row that holds seeds, and the facing pit holds "
            f"some, you capture {what} and sow them on from there."
        ]
    return ["Nothing is captured."]


def _ending(rules: Rules) -> list[str]:
    said = []
    if rules.must_feed:
        said.append("An opponent without seeds must be given one, if you can.")
    side = "front row" if rules.rows == 2 else "side"
    said.append(
        f"The game is over when a {side} is empty."
        if rules.end == End.EITHER
        else "The game is over when the player to move has no move."
    )
    if rules.early_stop:
        swept = ", and each player gets the seeds of his side" if rules.early_stop == EarlyStop.SWEEP else ""
        said.append(f"It is over, too, once a store holds more than half of all seeds{swept}.")
    if rules.win == Win.MOVE:
        said.append("Who can still move wins; captured seeds do not count.")
    else:
        whose = {
            Leftover.OWNER: "to the player on whose side they lie",
            Leftover.EMPTIER: "to the player who ran out of moves",
            Leftover.NOBODY: "to nobody",
        }[Leftover(rules.leftover)]
        said += [f"Seeds left over go {whose}.", "Most seeds win."]
    if rules.pie:
        said.append("The second player may begin by swapping seats instead of moving.")
    if rules.ply_limit:
        said.append(f"After {rules.ply_limit} moves the game ends without a result.")
    return said
