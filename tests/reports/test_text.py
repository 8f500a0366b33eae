"""The decision as a terminal shows it, from the document alone."""

from __future__ import annotations

import re
from typing import Any

import pytest

from each import each
from karat.reports import COLOUR, render_html, render_text
from reports.documents import ATTACKS, attacked, make_check, make_document, make_query, typed, without_baseline

MOVERS = [
    {"query": "q3", "measure": "RR@10", "baseline": 0.75, "candidate": 0.5, "moved": ["d-q3 1 to 2", "x1 out, was 2"]},
    {"query": "q2", "measure": "RR@10", "baseline": 0.7, "candidate": 1.0, "moved": []},
]
LINT = {
    "name": "turns", "version": "1.0.0", "profile": None, "ok": True, "errors": 0, "warnings": 2, "findings": [],
    "ignored": {}, "gate": {"declared": False, "floors": {}}, "ceilings": {}, "resolution": None,
}  # fmt: skip


def failed(**fields: Any) -> dict[str, Any]:
    fall = make_check("non_inferior", "fail", reason="dropped", baseline=0.8, difference=-0.05, low=-0.1, limit=0.01)
    return make_document(outcome="fail", checks=[make_check(), fall], movers=MOVERS, **fields)


def test_a_failure_shows_checks_reasons_movers_changes_and_what_to_do() -> None:
    """Everything that karat gate prints comes from the document."""
    text = render_text(typed(failed(caveats=["too few\nqueries"])), run="shop/runs/new.jsonl")
    assert text.split("\n\n") == [
        "metric  rule                         current  baseline               delta  status\n"
        "RR@10   at least 0.5                  0.7500         -                   -    pass\n"
        "RR@10   not worse by more than 0.01   0.7500    0.8000  -0.0500 (> -0.100)    fail",
        "fail  RR@10: dropped",
        "lost most (1 in all)\n"
        "  q3  RR@10 0.750 to 0.500  What of q3?\n"
        "      d-q3 1 to 2; x1 out, was 2\n"
        "won most (1 in all)\n"
        "  q2  RR@10 0.700 to 1.000  What of q2?",
        "the system changed in\n  chunk.size: 256, was 128",
        "too few\\nqueries",
        "FAIL by policy default: 1 of 2 checks failed\n"
        "if that is intended: karat baseline update shop/runs/new.jsonl --force 'why', and commit the baseline",
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            [{"key": "kind", "now": "http", "was": "pipeline"}, {"key": "chunk.size", "now": None, "was": 128}],
            "http, was pipeline",
        ),
        (
            [{"key": "kind", "now": None, "was": "pipeline"}, {"key": "callable", "now": "mine:find", "was": None}],
            "mine:find, was pipeline",
        ),
        (
            [{"key": "callable", "now": None, "was": "mine:find"}, {"key": "model", "now": "large", "was": None}],
            "one that does not say its kind, was mine:find",
        ),
    ],
)
def test_another_system_is_named_instead_of_its_parts(changes: list[dict[str, Any]], words: str) -> None:
    """A list of parts of which each system has none of the other's says nothing."""
    document = failed()
    document["baseline"]["changes"] = changes
    text = render_text(typed(document))
    assert f"\n\nanother system than the baseline's: {words}\n\n" in text
    assert "the system changed in" not in text
    now, was = words.split(", was ")
    assert f"<p>Another system: <b>{now}</b>, was {was}.</p>" in render_html(typed(document))


def test_a_part_that_one_system_does_not_have_is_not_set() -> None:
    """The same kind of system with a part more or less is still the same system."""
    document = failed()
    document["baseline"]["changes"] = [
        {"key": "rerank.model", "now": "small", "was": None},
        {"key": "mmr.depth", "now": None, "was": 50},
        {"key": "callable", "now": "mine:find", "was": "mine:search"},
    ]
    assert (
        "the system changed in\n  rerank.model: small, was not set\n  mmr.depth: not set, was 50\n"
        "  callable: mine:find, was mine:search\n"
    ) in render_text(typed(document))


def test_where_lower_is_better_a_rise_is_a_loss() -> None:
    """The direction is that of the measure in the document."""
    document = failed()
    document["measures"][0]["lower_is_better"] = True
    text = render_text(typed(document))
    assert "lost most (1 in all)\n  q2  RR@10 0.700 to 1.000" in text
    assert "won most (1 in all)\n  q3  RR@10 0.750 to 0.500" in text


def test_a_failed_query_shows_its_error() -> None:
    """In place of the documents that moved."""
    queries = [make_query("q3", 0.0, 0.75, error="Timeout")]
    text = render_text(typed(failed(queries=queries)))
    assert "  q3  RR@10 0.750 to 0.500  What of q3?\n      failed: Timeout\n" in text


def test_a_first_run_says_how_to_record_a_baseline() -> None:
    """Without a baseline there are neither movers nor changes."""
    text = render_text(typed(without_baseline()))
    assert text.endswith(
        "INCONCLUSIVE by policy default, which passes here (on_inconclusive = pass): there is no baseline yet, so "
        "it is not known whether RR@10 got worse\n"
        "what would decide: a baseline\n"
        "karat baseline update . records this run as the first"
    )
    assert "changed in" not in text


def test_the_document_of_karat_check_begins_with_the_golden_set() -> None:
    """How large it is, and how many warnings the linter has."""
    text = render_text(typed(make_document() | {"lint": LINT}))
    counts = "9 documents, 4 queries, 4 judgments"
    assert text.startswith(f"golden set turns 1.0.0: {counts}; 2 warnings, which karat golden check lists\n\nmetric  ")
    text = render_text(typed(make_document() | {"lint": LINT | {"warnings": 0}}))
    assert "; nothing wrong\n" in text


def test_queries_below_a_limit_are_listed() -> None:
    """The lowest first."""
    document = make_document(queries=[make_query("a", 0.5), make_query("b", 0.0), make_query("c", 0.2)])
    document["verdict"]["list_below"] = {"RR@10": 0.3}
    assert "\n\n2 below 0.3 of RR@10: b 0.00, c 0.20\n\n" in render_text(typed(document))


def test_colours_change_nothing_but_colours() -> None:
    """The text is the same; the status of each check is in its colour, and the verdict is bold."""
    document = typed(failed())
    text = render_text(document, style=COLOUR)
    assert re.sub(r"\x1b\[\d+m", "", text) == render_text(document)
    assert "\x1b[32mpass\x1b[0m\n" in text
    assert "\x1b[1m\x1b[31mFAIL\x1b[0m\x1b[0m by policy default" in text


@each("attack", ATTACKS)
def test_nothing_acts_on_a_terminal(attack: str) -> None:
    """Every line is printable, and there are as many as with harmless words."""
    text, calm = render_text(typed(attacked(attack))), render_text(typed(attacked("calm")))
    assert all(line.isprintable() for line in text.split("\n"))
    assert len(text.split("\n")) == len(calm.split("\n"))
