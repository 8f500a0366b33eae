"""What the tests of the command line share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from karat.cli import main


@pytest.fixture
def run(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[str, str]]:
    """Call the verb that the module of the test names (``VERB``); return its output and its errors."""

    def call(*arguments: str | Path, code: int = 0) -> tuple[str, str]:
        monkeypatch.setattr(sys, "argv", ["karat", request.module.VERB, *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert ended.value.code == code, err
        return out, err

    return call
