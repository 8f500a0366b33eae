"""The table [online] of karat.toml: limits of alerts, steps of canaries, and mistakes in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from each import each
from karat.config import ALERTS, OnlineConfig, read_config
from karat.core import InputError


def read(folder: Path, text: str) -> OnlineConfig:
    (folder / "karat.toml").write_text(text)
    return read_config(folder).online


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    """An alert is a table, a limit, or a switch."""
    config = read(tmp_path, "[online]\nsamples = 50\n[online.alerts]\ncoverage = 0.6\nindex = false\n"
                  "errors = { minutes = 15 }\n[online.canary]\nsteps = [1, 10]\nrecall_drop = false\n")  # fmt: skip
    assert (config.samples, config.minutes, config.canary.steps) == (50, 5, (1.0, 10.0))
    assert (config.alerts["coverage"].limit, config.alerts["coverage"].minutes) == (0.6, 5)
    assert (config.alerts["index"].on, config.alerts["errors"].minutes, config.alerts["errors"].limit) == (
        False,
        15,
        0.05,
    )
    assert (config.alerts["p95"], config.canary.recall_drop) == (ALERTS["p95"], None)
    assert read(tmp_path, "") == OnlineConfig()


@each(
    "text, message",
    [
        ("[online]\nsample = 5", "[online] has no key 'sample', did you mean 'samples'?"),
        ("[online]\nsamples = 0", "[online] samples = 0; write a whole number, 1 or more"),
        ("[online]\nsamples = true", "[online] samples = True; write a whole number"),
        ("[online]\nminutes = 7", "[online] minutes = 7; a day is no whole number of them"),
        ("[online]\nlate_seconds = -1", "write a number, 0 or more"),
        ("[online]\nalerts = 5", "[online] alerts is 5, not a table"),
        ("[online.alerts]\ncoverag = 0.5", "did you mean 'coverage'?"),
        ("[online.alerts]\ncoverage = 'x'", "[online.alerts] coverage limit = 'x'; write a number"),
        ("[online.alerts]\ncoverage = { max = 1 }", "[online.alerts.coverage] has no key 'max'"),
        ("[online.alerts]\nindex = 5", "[online.alerts] index has no limit: a change is one"),
        ("[online.canary]\nsteps = [25, 5]", "write percents that rise, up to 100"),
        ("[online.canary]\nsteps = 5", "write a list of percents"),
        ("[online.canary]\nsteps = ['5']", "[online.canary] steps = '5'; write a number"),
        ("[online.canary]\nwindows = 0", "[online.canary] windows = 0; write a whole number, 1 or more"),
        ("[online.canary]\nwindow = 1", "[online.canary] has no key 'window'"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, text: str, message: str) -> None:
    """What is wrong, where, and what to write."""
    with pytest.raises(InputError) as error:
        read(tmp_path, text)
    assert message in str(error.value)
