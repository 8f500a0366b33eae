"""``karat flag``: what it prints, what it writes down, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.gate_project import main
from karat.online.flags import Flag, read_flags


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    code = main(("flag", *arguments))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


WHO = ("--author", "ada", "--reason", "canary")


def test_a_flag_from_its_first_day(capsys: pytest.CaptureFixture[str]) -> None:
    """Made, changed, switched off: the list has what is, and the history what was."""
    assert "rerank version 1: percent 5; by ada: canary" in call(capsys, "set", "rerank", "--percent", "5", *WHO)[1]
    options = (
        "--variant",
        "small=1",
        "--variant",
        "large=3",
        "--override",
        "a=b=large",
        "--shadow",
        "10",
        "--salt",
        "s",
    )
    assert call(capsys, "set", "rerank", *options, *WHO)[0] == 0
    assert "rerank version 3: off; by ada" in call(capsys, "set", "rerank", "--off", *WHO)[1]
    assert "is like that already, version 3" in call(capsys, "set", "rerank", "--off", *WHO)[1]
    expected = Flag(
        key="rerank",
        percent=5,
        variants={"small": 1, "large": 3},
        overrides={"a=b": "large"},
        enabled=False,
        shadow_percent=10,
        salt="s",
    )
    assert read_flags("karat.db") == {"rerank": (expected, 3)}
    assert "off" in call(capsys, "list")[1].splitlines()[1]
    assert call(capsys, "set", "rerank", "--on", "--no-overrides", *WHO)[0] == 0
    lines = call(capsys, "history", "rerank")[1].splitlines()
    assert len(lines) == 4
    assert "overrides {a=b=large} -> {}, on" in lines[3]
    assert call(capsys, "history")[1].splitlines() == lines


def test_json_is_what_the_text_says(capsys: pytest.CaptureFixture[str]) -> None:
    """The change, the list and the history."""
    change = json.loads(call(capsys, "set", "rerank", "--percent", "5", "--json", *WHO)[1])
    assert (change["changed"], change["before"], change["after"]["percent"]) == (True, None, 5)
    again = json.loads(call(capsys, "set", "rerank", "--percent", "5", "--json", *WHO)[1])
    assert (again["changed"], again["time"]) == (False, None)
    assert json.loads(call(capsys, "list", "--json")[1])["flags"] == [change["after"]]
    assert json.loads(call(capsys, "history", "--json")[1])["changes"] == [change]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("set", "a b", *WHO), "key 'a b'"),
        (("set", "k", "--percent", "200", *WHO), "from 0 to 100"),
        (("set", "k", "--variant", "x", *WHO), "a name and a value"),
        (("set", "k", "--variant", "x=y", *WHO), "not a whole number"),
        (("set", "k", "--override", "u=x", *WHO), "not one of control, treatment"),
        (("set", "k", "--expect", "4", *WHO), "at version 0 and not 4"),
        (("set", "k", "--author", "ada"), "Missing option '--reason'"),
        (("list",), "no such store"),
    ],
)
def test_what_is_refused(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str) -> None:
    """One message, exit code 2, and nothing is written down."""
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    if Path("karat.db").exists():
        assert read_flags("karat.db") == {}


def test_an_empty_store(capsys: pytest.CaptureFixture[str]) -> None:
    """It says what to do."""
    call(capsys, "set", "k", "--percent", "-1", *WHO)
    assert "has no flags; karat flag set makes one" in call(capsys, "list")[1]
    assert "has no flags" in call(capsys, "history")[1]
