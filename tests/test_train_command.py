"""`kalah train` when something comes between: another process, a full disk, SIGTERM, time that is spent."""

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import yaml
from training import SMALL

from kalah_env.errors import KalahError
from train import checkpoint, loop
from train.config import make_config, run_config
from train.files import alone
from train.loop import train

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small one.yaml").write_text(yaml.safe_dump(SMALL))
    return "small one.yaml"


def test_two_processes_never_train_in_one_folder(tmp_path: Path) -> None:
    config = make_config(SMALL | {"iterations": 1}, "test")
    run = tmp_path / "run"
    with (
        alone("test", run),
        pytest.raises(KalahError, match=r"another process is at work in .*run; wait for it"),
    ):
        train(config, run, resume=False, quiet=True)
    assert [path.name for path in run.iterdir()] == ["lock"]
    train(config, run, resume=False, quiet=True)  # who holds no lock any more is in nobody's way


@pytest.mark.parametrize("part", ["replay.add", "save", "progress.show"])
def test_a_full_disk_is_one_line_and_the_run_goes_on_later(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, run = make_config(SMALL | {"iterations": 3}, "test"), tmp_path / "run"
    whole = train(config, tmp_path / "whole", resume=False, quiet=True)
    train(make_config(SMALL | {"iterations": 1}, "test"), run, resume=False, quiet=True)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    owner = {"replay.add": loop.Replay, "save": loop.Run, "progress.show": loop.Progress}[part]
    with monkeypatch.context() as patch:
        patch.setattr(owner, part.rpartition(".")[2], full)
        with pytest.raises(KalahError, match=r"No space left on device\); the running iteration is lost"):
            train(config, run, resume=True, quiet=True)
    last = train(config, run, resume=True, quiet=True)
    assert (last / "weights.safetensors").read_bytes() == (whole / "weights.safetensors").read_bytes()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_says_how_to_go_on(config: str, number: int, code: int) -> None:
    words = ["train", config, "iterations=100000", "selfplay.simulations=[4, 8]", "keep_every=0"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-m", "train.cli", *words],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        # A shell that starts the tests in the background has its children ignore SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        assert process.stdout
        assert "small 1/100000" in process.stdout.readline()
        process.send_signal(number)
        said = process.stdout.read().splitlines()
    assert process.returncode == code
    told = said[-1].removeprefix("stopped; go on with: ")
    assert told == "kalah train runs/small --resume"
    begun, _ = run_config("runs/small", [], resume=True)
    assert (begun.iterations, begun.selfplay.simulations) == (100000, [4, 8])
    (newest,) = checkpoint.checkpoints(Path("runs/small"))[-1:]
    assert int(newest.name) >= 1


def test_sigterm_is_as_it_was_after_training(config: str) -> None:
    before = signal.getsignal(signal.SIGTERM)
    assert loop.train_command(config, ["iterations=1"], resume=False) == 0
    assert signal.getsignal(signal.SIGTERM) is before
    thread = threading.Thread(target=loop.train_command, args=(config, ["iterations=2"], True))
    thread.start()  # where no signal can be heard it trains all the same
    thread.join()
    assert [path.name for path in checkpoint.checkpoints(Path("runs/small"))] == ["000001", "000002"]


def test_why_a_run_ended_is_said(
    config: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(loop.Run, "iterate", stop)
        assert loop.train_command(config, [], resume=False) == 130
    assert "before the first iteration was done; the same command begins again." in capsys.readouterr().out

    def said(*overrides: str, resume: bool = True) -> str:
        assert loop.train_command("runs/small" if resume else config, list(overrides), resume) == 0
        return capsys.readouterr().out

    whole = said("iterations=2", resume=False)
    assert "trained: runs/small/checkpoints/000002" in whole
    assert "spent" not in whole
    assert "nothing left" not in whole
    assert "nothing left to do: runs/small has 2 iterations" in said()
    spent = said("iterations=9", "max_minutes=0.000001")
    assert (
        "max_minutes=1e-06 are spent after 2 of 9 iterations; go on with: kalah train runs/small max" in spent
    )
    again = spent.partition("go on with: kalah train ")[2].splitlines()[0].split()
    assert run_config(again[0], again[1:-1], resume=True)[0].max_minutes == 2e-6
    assert "nothing left" not in said("iterations=3")
