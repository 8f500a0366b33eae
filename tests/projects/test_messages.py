"""What a message says to type, where something was named that is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.gate_project import main, make_gated_project
from karat.core import InputError
from karat.projects import open_project, project_policy
from karat.runs import read_any_run, read_whole_run


def test_a_wrong_measure_is_in_eval(tmp_path: Path) -> None:
    """It stands there, and not in [gate]."""
    make_gated_project(tmp_path, [1] * 4)
    text = (tmp_path / "karat.toml").read_text().replace('"RR@10"', '"Recal@10"')
    (tmp_path / "karat.toml").write_text(text)
    with pytest.raises(InputError, match=r"\[eval\] measures: unknown measure 'Recal'") as raised:
        project_policy(open_project(tmp_path))
    assert "[gate]" not in str(raised.value)


def test_a_baseline_is_no_run(tmp_path: Path) -> None:
    """It has no answers; the message says what reads it."""
    golden_set = make_gated_project(tmp_path, [1] * 4)
    for read in (lambda path: read_any_run(path, golden_set), read_whole_run):
        with pytest.raises(InputError, match=r"is a baseline, which has scores .*, but no answers; name the run"):
            read(tmp_path / "baseline.json")


@pytest.mark.parametrize(
    "arguments",
    [("explain", "runs/old.jsonl", "--against", "baseline.json"), ("report", "baseline.json", "--golden", ".")],
)
def test_explain_and_report_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    """As people type it."""
    make_gated_project(tmp_path, [1] * 4)
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert "is a baseline, which has scores and the first documents" in capsys.readouterr().err
