"""Shipped nets and configs are found in a checkout and in an installed layout.

The real wheel is tried in `test_wheel.py`.
"""

from pathlib import Path

import pytest

from kalah_env.errors import KalahError
from kalah_env.resources import resource_dir

TOP = Path(__file__).resolve().parent.parent


def test_a_checkout_has_its_resources_at_the_top():
    assert resource_dir("configs") == TOP / "configs"
    assert resource_dir("checkpoints") == TOP / "checkpoints"


def test_the_installed_place_comes_first(tmp_path):
    # A stranger's folder `configs` may lie beside our packages in site-packages.
    for folder in ("configs", "train/configs"):
        (tmp_path / folder).mkdir(parents=True)
    assert resource_dir("configs", tmp_path) == tmp_path / "train" / "configs"


def test_missing_resources_are_an_error_that_says_so(tmp_path):
    with pytest.raises(KalahError, match="checkpoints"):
        resource_dir("checkpoints", tmp_path)
    with pytest.raises(KalahError, match="suites"):
        resource_dir("suites")  # pyright: ignore[reportArgumentType]
