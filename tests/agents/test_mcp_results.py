"""Results fit into an agent's context, say what they leave out, and have no secrets; a process says how it ended."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec
import pytest

from karat.mcp import _actions, _work
from karat.mcp._arguments import NoArguments
from karat.mcp._messages import Message, Request
from karat.mcp._results import LARGEST, bound_document, bound_text


def bound(value: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, int]]:
    return bound_document(json.dumps(value).encode())


def test_long_lists_texts_and_tables_are_cut_and_counted() -> None:
    """By their path, over all items of a list; what is short stays as it is."""
    rows = [{"hits": [*range(60)]}, {"hits": [*range(51)]}]
    bounded, left_out = bound({"rows": rows, "text": "x" * 5_000, "means": dict.fromkeys(map(str, range(130)), 1)})
    assert left_out == {"rows.hits": 11, "text": 1_000, "means": 30}
    assert (len(bounded["rows"][0]["hits"]), len(bounded["text"]), len(bounded["means"])) == (50, 4_000, 100)
    assert bound({"a": [1], "b": None}) == ({"a": [1], "b": None}, {})


@pytest.mark.slow
def test_a_large_document_is_cut_until_it_fits() -> None:
    """Fewer items and shorter texts, the same everywhere."""
    document = {"rows": [{"texts": ["word " * 200] * 40} for _ in range(60)]}
    bounded, left_out = bound(document)
    assert len(json.dumps(bounded)) <= LARGEST
    assert left_out["rows"] + len(bounded["rows"]) == 60


def test_secrets_are_hidden_in_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of variables that are called secret, and logins in addresses."""
    monkeypatch.setenv("SEARCH_API_KEY", "s3cr3t-value")
    bounded, _ = bound({"system": {"url": "https://me:pw@host/x", "note": ["it is s3cr3t-value"]}})
    assert "s3cr3t-value" not in json.dumps(bounded)
    assert "me:pw" not in json.dumps(bounded)
    assert "s3cr3t-value" not in bound_text("it is s3cr3t-value")


def test_a_long_text_says_how_much_is_missing() -> None:
    """And a short one is the same."""
    assert bound_text("x" * 20_001) == "x" * 20_000 + "\n... and 1 more character"
    assert bound_text("x") == "x"


def answer(monkeypatch: pytest.MonkeyPatch, function: Any) -> tuple[list[Message], Message]:
    """Let a process do something, and return the messages that it sends, and its last one."""
    monkeypatch.setattr(_actions, "ACTIONS", MappingProxyType({"do": (NoArguments, function)}))
    wire = io.BytesIO()
    last = _work._answer(Request(action="do", folder="."), wire)
    return [msgspec.json.decode(line, type=Message) for line in wire.getvalue().splitlines()], last


def test_progress_is_sent_a_hundred_times_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many questions there are, with the last one; notes are all sent."""

    def ask(place: Any, _: Any) -> str:
        for number in range(10_001):
            place.progress("asking", number, 10_000)
        place.say("a note")
        return "done"

    messages, last = answer(monkeypatch, ask)
    assert len(messages) == 102
    assert [(message.stage, message.done, message.note) for message in messages[-2:]] == [
        ("asking", 10_000, ""),
        ("", 0, "a note"),
    ]
    assert bytes(last.document) == b'"done"'


def test_what_nobody_expected_is_told_with_its_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error, and by its type in the message; an interruption ends the process."""

    def fail(place: Any, _: Any) -> None:
        raise GeneratorExit("a system may raise anything")

    _, last = answer(monkeypatch, fail)
    assert last.error[0].startswith("it ended with GeneratorExit, which nobody expected; the traceback is on")
    assert "a system may raise anything" in capsys.readouterr().err

    def interrupt(place: Any, _: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(SystemExit) as ended:
        answer(monkeypatch, interrupt)
    assert ended.value.code == 130


def test_a_server_that_has_gone_ends_the_process() -> None:
    """There is nobody to tell."""

    class Closed(io.BytesIO):
        def write(self, data: Any) -> int:
            raise BrokenPipeError

    with pytest.raises(SystemExit):
        _work._send(Closed(), Message(note="x"))
