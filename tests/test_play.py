"""The terminal game, driven by text: whose board is drawn, what is said, how it is left.

Lines stand for what a human types; scripted agents for what an agent answers. Not here: the command's
arguments (`test_cli.py`), legality and captures themselves (`test_engine.py`).
"""

import io

import numpy as np
import pytest

from agents.base import make_agent
from agents.play import play_game
from kalah_env import batch, parse_rules, text
from kalah_env.game import Game
from kalah_env.rules import PRESET_NAMES
from train.cli import main

KALAH = parse_rules("kalah")


OVER = "undo, save FILE, load FILE or quit: "


class Scripted:
    """Plays the actions given, in turn."""

    def __init__(self, *actions, spec="scripted"):
        self.actions, self.spec = list(actions), spec

    def act(self, rules, states):
        if len(states) == 0:  # whether it plays these rules
            return np.zeros(0, np.int64)
        assert states.shape == (1, batch.state_size(rules))
        return np.array([self.actions.pop(0)])


def play(lines, south=None, north=None, rules=KALAH, start="<6,0,0,4,4,4,4,4,4,4,4,4,4,4,4> S first"):
    """Return what is told, and the text of the last position."""
    sink = io.StringIO()
    source = io.StringIO("".join(line + "\n" for line in lines))
    game = play_game(Game(rules, start), [south, north], source, sink, seconds=0.2)
    return sink.getvalue(), text.format_position(rules, game.state)


def test_human_moves_and_extra_turns_are_told():
    told, position = play(["3", "6"])
    assert "South (human) plays 3, moves again.\n" in told
    assert "South (human) plays 6.\n" in told
    assert position == "<6,2,0,4,4,0,5,5,0,5,5,5,5,4,4> N"
    assert f"End of input. The game stands at {position}." in told


def test_captures_are_told_with_their_seeds():
    told, _ = play(["1"], start="<6,0,0,1,0,9,0,0,0,1,1,1,1,7,1> S")
    assert "South (human) plays 1, captures 8 seeds.\n" in told
    told, _ = play(["1"], rules=parse_rules("fairkalah"), start="<6,0,0,1,0,9,0,0,0,1,1,1,1,0,1> S")
    assert "captures 1 seed.\n" in told


def test_board_is_drawn_for_the_human_who_moves():
    told, _ = play(["1"])
    boards = told.split("your move")
    assert boards[0].rstrip().splitlines()[-3].split()[-1] == "South"  # its own row below
    assert boards[1].rstrip().splitlines()[-3].split()[-1] == "North"
    assert "North, your move (1, 2, 3, 4, 5, 6): " in told


@pytest.mark.parametrize("line", ["7", "0", "swap", "x", "3 4", "-1", "²", "hint 3", "quit now"])
def test_bad_input_is_refused_with_a_hint_and_asked_again(line):
    told, position = play([line, "3"])
    assert told.count("South, your move") == 3  # the bad one, the 3, its extra turn
    if line in ("7", "0", "swap"):
        assert f"move '{line}' is illegal in" in told
        assert "legal: 1, 2, 3, 4, 5, 6. Type help for help." in told
    elif line in ("hint 3", "quit now"):
        assert "stands alone" in told
    else:
        assert f"{line!r} is no move and no command. Type help for help." in told
    assert position == "<6,1,0,4,4,0,5,5,5,4,4,4,4,4,4> S"


@pytest.mark.parametrize("leave", ["QUIT", "quit", "exit", "q"])
def test_empty_lines_and_capitals_are_no_matter(leave):
    told, position = play(["", "  ", " HELP ", "Board", leave, "3"])
    assert "illegal" not in told
    assert "1 farthest from your store" in told
    assert "<6,0,0,4,4,4,4,4,4,4,4,4,4,4,4> S first\n" in told
    assert "You left." in told
    assert position.startswith("<6,0,0,4")


def test_a_finished_game_is_told_with_its_winner():
    told, position = play(["6"], Scripted(0), None, start="<6,20,20,1,1,0,0,0,0,0,0,0,0,0,6> S")
    assert "North (human) plays 6" in told
    assert told.endswith("The game is over, 27 to 21: South (scripted) wins.\n" + OVER)
    assert position == "<6,27,21,0,0,0,0,0,0,0,0,0,0,0,0> N"


def test_a_draw_and_a_truncated_game_are_told():
    told, _ = play(["6"], start="<6,22,23,0,0,0,0,0,1,0,0,0,0,0,2> S")
    assert told.endswith("The game is over, 23 to 25: North (human) wins.\n" + OVER)
    told, _ = play(["6"], start="<6,23,23,0,0,0,0,0,1,0,0,0,0,0,1> S")
    assert told.endswith("The game is over, 24 to 24: a draw.\n" + OVER)
    told, _ = play(["1", "1"], rules=parse_rules("kalah:ply_limit=2"))
    assert told.endswith("truncated at the limit of 2 plies: no result.\n" + OVER)


def test_swap_exchanges_the_seats():
    """North swaps with its first action: then the human has South and the agent moves as North."""
    rules = parse_rules("mankalah")
    agent = Scripted(0, 1, 2, spec="agent")
    start = text.format_position(rules, batch.new_games(rules, 1)[0])
    told, position = play(["swap", "2"], agent, None, rules, start)
    assert "North, your move (1, 2, 3, 4, 5, 6, 7, swap): " in told
    assert "North (human) swaps: the players change seats.\nNow South (human), North (agent).\n" in told
    assert "North (agent) plays 2.\n" in told
    assert "South (human) plays 2.\n" in told
    assert agent.actions == []
    assert position.endswith("S")  # the human's turn


def test_a_game_without_stores_is_told_without_a_score():
    """North's only seeds that may move are gone after south's capture of his front row."""
    rules = parse_rules("bao-philos:pits=2")
    told, _ = play(["3+"], rules=rules, start="<2x2,0,0,1,2,2,0,0,3,1,1> S")
    assert "South, your move (2+, 3+, 2-, 3-): " in told
    assert "South (human) plays 3+, captures 3 seeds.\n" in told
    assert told.endswith("The game is over: South (human) wins.\n" + OVER)


@pytest.mark.parametrize(
    ("rules", "told", "untold"),
    [
        ("kalah", "1, 2, ...  sow the seeds of that pit; your pits are the lower row", "swap"),
        ("mankalah", "swap ", "clockwise"),
        ("hus", "sow the seeds of that pit; your pits are the two lower rows", "clockwise"),
        ("bao-philos", "1-, 2- ... sow that pit clockwise", "store"),
    ],
)
def test_help_fits_the_rules(rules, told, untold):
    rules = parse_rules(rules)
    start = text.format_position(rules, batch.new_games(rules, 1)[0])
    help_, _ = play(["help"], rules=rules, start=start)
    help_ = help_.partition("your move")[2].partition("quit")[0]
    assert told in help_
    assert untold not in help_


@pytest.mark.parametrize("rules", [*PRESET_NAMES, "hus:directions=2,pie=true"])
def test_agent_against_agent_needs_no_input(rules):
    rules = parse_rules(rules)
    start = text.format_position(rules, batch.new_games(rules, 1)[0])
    told, _ = play([], make_agent("greedy", 1), make_agent("random", 2), rules, start)
    assert "The game is over" in told or "The game is truncated" in told
    assert "your move" not in told
    assert told == play([], make_agent("greedy", 1), make_agent("random", 2), rules, start)[0]


def test_undo_goes_back_to_the_last_decision_of_a_human():
    """Both the agent's answer and the extra turn before it are made again differently."""
    told, position = play(["undo", "3", "1", "undo", "undo", "redo", "2", "moves"], north=Scripted(0, 1))
    assert "undo: no move of a human has been made yet. Type help for help." in told
    assert told.count("Taken back: 1 move is left.") == 1  # the second turn of the human
    assert told.count("Taken back: 0 moves are left.") == 1
    assert "Made again: 1 move now." in told
    assert ": 3 2 2\n" in told  # South 3 and 2, North's second answer
    game = Game(KALAH, moves=["3", "2", "2"])
    assert position == text.format_position(KALAH, game.state)


def test_a_hint_ranks_the_moves_and_says_what_is_proved():
    told, _ = play(["hint"], start="<6,10,30,2,0,1,0,0,1,1,0,2,0,0,1> S")
    lines = [line.split(":")[-1].split(None, 1) for line in told.splitlines() if ", proved" in line]
    assert [said for _, said in lines] == ["loses by 14, proved"] * 2 + ["loses by 24, proved"]
    assert sorted(move for move, _ in lines[:2]) == ["3", "6"]


def test_a_saved_game_goes_on_where_it_was_left(tmp_path):
    for name in ("game.txt", "game.jsonl"):
        file = tmp_path / name
        told, saved = play(["3", "1", f"save {file}"])
        assert f"Saved in {file}." in told
        told, position = play(["2", f"load {file}"])
        assert f"Loaded {file}: 2 moves." in told
        assert position == saved
        told, _ = play([f"load {file}", "undo", "save"], rules=parse_rules("kalah:seeds=5"), start=None)
        assert f"load: {file} is a game of kalah; begin with --rules kalah to play it." in told
        assert "save: give the name of a file" in told


def test_a_finished_position_is_told_at_once():
    told, _ = play([], start="<6,20,20,0,0,0,0,0,0,1,1,1,1,1,3> S")
    assert told.endswith("The game is over, 20 to 28: North (human) wins.\n" + OVER)
    assert "your move" not in told


TOLD = """\
[Event "evening"]
[South "Ann"]
[North "easy"]
[Note "a \\"b\\""]
[Rules "kalah"]
[Result "*"]

{before} 1. 3, {free} 6 {good} 5 {so so} 2. 1 {last} *
"""


def test_what_is_told_of_a_game_is_kept_when_it_is_played_on(tmp_path):
    """Tags and comments, but for those of moves that others have taken the place of."""
    old, new, changed, short = (tmp_path / name for name in ("old.txt", "new.txt", "changed.txt", "b.jsonl"))
    old.write_text(TOLD)
    told, _ = play(
        [f"load {old}", "4", f"save {new}", "undo", "undo", "2", f"save {changed}", f"save {short}"]
    )
    assert f"Loaded {old}: 4 moves. South (Ann), North (human).\n" in told
    assert "North (human) plays 4" in told
    assert new.read_text() == TOLD.replace('"easy"', '"human"').replace("{last} *", "{last} 4 *")
    assert "{so so} 2. 2 *" in changed.read_text()
    assert f"Saved in {changed}.\n" in told
    assert f"Saved in {short}, without tags and comments that only a game as text can hold.\n" in told


def test_names_in_a_saved_game_seat_agents_and_people(tmp_path, monkeypatch, capsys):
    file, saved = tmp_path / "game.txt", tmp_path / "saved.txt"
    file.write_text(TOLD)

    def seats(*words, lines=()):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        assert main(["play", *words]) == 0
        return capsys.readouterr().out

    load = ("--load", str(file))
    assert seats(*load).startswith("kalah: South (Ann) against North (easy).")
    assert seats(*load, "--south", "random").startswith("kalah: South (random) against North (easy).")
    assert seats(*load, "--north", "human").startswith("kalah: South (Ann) against North (human).")
    assert seats(*load, "--north", "random").startswith("kalah: South (Ann) against North (random).")
    told = seats("--north", "random", lines=[f"load {file}", f"save {saved}"])
    assert "4 moves. South (Ann), North (random)." in told
    assert '[North "random"]' not in file.read_text()
    assert '[South "Ann"]\n[North "random"]' in saved.read_text()
    file.write_text(TOLD.replace("easy", "alphabeta:depth=2").replace("Ann", "human"))
    assert "4 moves. South (human), North (alphabeta:depth=2)." in seats(lines=[f"load {file}"])
    file.write_text(TOLD.replace("easy", "alphabeta:deep=2"))
    assert main(["play", *load]) == 2
    assert "North of the saved game is alphabeta:deep=2: agent alphabeta: 'deep=2'" in capsys.readouterr().err
    assert seats(*load, "--north", "easy").startswith("kalah: South (Ann) against North (greedy).")


def test_a_finished_game_can_be_taken_back_and_saved(tmp_path):
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    start = "<6,20,20,1,1,0,0,0,0,0,0,0,0,0,6> N"
    told, position = play(
        ["6", "nonsense", f"save {first}", "undo", "6", f"save {second}", "quit"], start=start
    )
    assert told.count("The game is over, 27 to 21: South (human) wins.\n") == 2
    assert "'nonsense' is no move and no command." in told
    assert "Taken back: 0 moves are left." in told
    assert "The game stands at" not in told
    assert first.read_text() == second.read_text()
    assert first.read_text().endswith("1. 6 27-21\n")
    assert position == "<6,27,21,0,0,0,0,0,0,0,0,0,0,0,0> N"


def test_the_game_is_saved_however_it_ends(tmp_path, monkeypatch, capsys):
    class Interrupted:
        spec = "slow"

        def act(self, rules, states):
            if len(states):
                raise KeyboardInterrupt
            return np.zeros(0, np.int64)

    def main_play(name, lines, *words):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        code = main(["play", "--save", str(tmp_path / name), *words])
        return code, capsys.readouterr()

    assert main_play("left.txt", ["3", "1"], "--north", "human")[0] == 0
    assert "1. 3,1 *" in (tmp_path / "left.txt").read_text()
    assert main_play("whole.txt", [], "--south", "greedy", "--north", "random")[0] == 0
    assert "*" not in (tmp_path / "whole.txt").read_text().splitlines()[-1]
    code, told = main_play("left.txt", ["3"])
    assert (code, told.out) == (2, "")
    assert "left.txt exists; nothing is written over" in told.err
    assert "there is no folder" in main_play("no/such.txt", [])[1].err
    with pytest.raises(KeyboardInterrupt):
        play_game(Game(KALAH), [Interrupted(), None], io.StringIO(), io.StringIO(), save=str(tmp_path / "c"))
    assert (tmp_path / "c").read_text().endswith("\n*\n")


def test_ctrl_c_while_an_agent_thinks_gives_a_human_his_move_back():
    class Slow(Scripted):
        def act(self, rules, states):
            if len(states) and self.actions[0] is None:
                self.actions.pop(0)
                raise KeyboardInterrupt
            return super().act(rules, states)

    told, position = play(["1", "2"], north=Slow(None, 3, spec="slow"))
    assert "slow has stopped thinking.\nTaken back: 0 moves are left.\n" in told
    assert position == text.format_position(KALAH, Game(KALAH, moves=["2", "4"]).state)


def test_an_agent_that_cannot_play_the_rules_is_refused_at_once(capsys):
    assert main(["play", "--rules", "hus", "--north", "net:kalah-6x4"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "net:kalah-6x4 was trained on kalah and cannot play hus" in told.err


def test_two_humans_who_may_swap_are_told_apart():
    rules = parse_rules("mankalah")
    told, _ = play(["1", "swap"], rules=rules, start=None)
    assert "Now South (human 2), North (human 1).\n" in told
