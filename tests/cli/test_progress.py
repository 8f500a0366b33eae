"""The bar of a long stage, on a terminal: how much is done, what it has cost, and how long it will take."""

from __future__ import annotations

import io
import sys

import pytest

from karat.cli._progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_has_the_cost_and_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: three of ten in 2 seconds each leave seven, which take 14."""
    now = [100.0]
    monkeypatch.setattr("click._termui_impl.time.time", lambda: now[0])
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress() as progress:
        progress("judging", 0, 10)
        for done in range(1, 4):
            now[0] += 2.0
            progress("judging", done, 10, note=f"{done / 100:.2f} in money")
    last = terminal.getvalue().split("\r")[-1]
    assert "judging   0.03 in money" in last
    assert "30%" in last
    assert "00:00:14" in last


def test_no_bar_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress() as progress:
        progress("judging", 1, 10)
    assert stream.getvalue() == ""
