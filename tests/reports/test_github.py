"""Annotations and the summary for GitHub Actions."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from each import each
from karat.reports import render_github, render_markdown, render_summary
from karat.reports._github import SUMMARY, annotation
from reports.documents import (
    ATTACKS,
    attacked,
    make_check,
    make_document,
    make_measure,
    make_query,
    typed,
    without_baseline,
)

COMMAND = re.compile(r"::(error|warning|notice) title=([^:,\r\n]*)::([^\r\n]*)")


def unescaped(text: str) -> str:
    """Undo the escapes as GitHub's runner does, the percent sign last."""
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, character)
    return text


def test_a_failed_check_is_an_error_with_its_numbers() -> None:
    """The verdict is a notice, a failure an error; what passed is not mentioned."""
    check = make_check("non_inferior", "fail", reason="dropped by 0.05", baseline=0.8, difference=-0.05)
    assert render_github(typed(make_document(outcome="fail", checks=[make_check(), check]))) == (
        "::error title=karat fail%3A RR@10::dropped by 0.05 (now 0.7500, baseline 0.8000, -0.0500)\n"
        "::notice title=karat fail::by policy default: 1 of 2 checks failed; RR@10 0.7500 (-0.0500)\n"
    )


def test_inconclusive_is_a_warning_or_an_error_as_the_policy_says() -> None:
    """With on_inconclusive = fail the job fails, so the annotation is an error."""
    document = without_baseline()
    assert render_github(typed(document)).startswith(
        "::warning title=karat inconclusive%3A RR@10::there is no baseline\n"
    )
    document["verdict"] |= {"on_inconclusive": "fail", "exit_code": 4}
    assert render_github(typed(document)).startswith("::error title=karat inconclusive%3A RR@10::")


def test_no_more_than_ten_of_a_kind() -> None:
    """GitHub drops the eleventh silently; the tenth here says what is left out."""
    checks = [make_check("must_pass", "fail", query=f"q{i}", metric=None) for i in range(12)]
    lines = render_github(typed(make_document(outcome="fail", checks=checks))).splitlines()
    assert sum(line.startswith("::error") for line in lines) == 10
    assert lines[9] == "::error title=karat%3A 3 more::q9, q10, q11"


def test_a_command_holds_what_was_put_in() -> None:
    """Title and message come back as they were, whatever they hold."""
    title, message = "a: b, 100 %0A", "line\r\n::error::no %25"
    match = COMMAND.fullmatch(annotation("error", title, message))
    assert match
    assert (unescaped(match[2]), unescaped(match[3])) == (title, message)


@given(st.text(st.characters(), max_size=40), st.text(st.characters(), max_size=40))
def test_any_text_is_one_command_that_holds_it(title: str, message: str) -> None:
    """As the runner reads it: up to the next two colons it is properties, each up to a comma, the rest the message."""
    line = annotation("error", title, message)
    assert line.startswith("::error ")
    properties, _, rest = line.removeprefix("::error ").partition("::")
    (pair,) = properties.split(",")
    name, _, value = pair.partition("=")
    assert (name, unescaped(value), unescaped(rest)) == ("title", title, message)
    assert not {"\r", "\n"} & set(line)


def test_nothing_is_longer_than_github_takes() -> None:
    """Of a title 255 characters, of a message 4096, counted after the escapes are undone; what is cut says so."""
    long = ("%" * 60 + ":,") * 200
    document = make_document(
        outcome="fail",
        measures=[make_measure(long)],
        checks=[make_check("must_pass", "fail", query=f"{long}{i}", metric=None, reason=long) for i in range(12)],
    )
    document["verdict"]["policy"] = long
    for line in render_github(typed(document)).splitlines():
        match = COMMAND.fullmatch(line)
        assert match
        assert len(unescaped(match[2])) <= 255
        assert len(unescaped(match[3])) <= 4096
    title, message = annotation("error", long, long).removeprefix("::error title=").split("::")
    assert (title[-3:], message[-3:]) == ("...", "...")


@each("attack", ATTACKS)
def test_no_content_begins_a_command_of_its_own(attack: str) -> None:
    """Every line is one of ours, and there are as many as with harmless words."""
    lines = render_github(typed(attacked(attack))).splitlines()
    assert all(COMMAND.fullmatch(line) for line in lines)
    assert len(lines) == len(render_github(typed(attacked("calm"))).splitlines())


@pytest.mark.slow
def test_the_summary_is_the_report_as_long_as_it_fits() -> None:
    """A small one is the Markdown itself; of a large one so much is left out that GitHub shows it."""
    assert render_summary(typed(make_document())) == render_markdown(typed(make_document()))
    large = make_document(queries=[make_query(f"q{i}", 0.5, 1.0, text="why " * 200) for i in range(6000)])
    assert SUMMARY - 2000 < len(render_summary(typed(large)).encode()) <= SUMMARY
