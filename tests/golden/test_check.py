"""The linter as a whole: what it reports, in which order, and how it is asked."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from each import each
from karat.core import Document, GoldenSet, InputError, Judgment, Query, Target, UsageError
from karat.files import Mistakes
from karat.golden.lint._ceiling import Ceiling
from karat.golden.lint._check import RULES, check, find_rule, read_gate, read_index, sections, unread

SENTENCES = [
    "Guests reset the wireless network with the round button behind the desk.",
    "The indoor pool opens at seven and closes when the lifeguard leaves.",
    "Late departures until two o'clock are free for members of the club.",
    "Small dogs may stay in rooms on the ground floor for twelve euros.",
]
ASKED = ["How can I restart the internet?", "When may I swim?", "Is leaving late possible?", "Are pets allowed?"]


def sound(n: int = 80) -> GoldenSet:
    """Build a set without an error: n queries, each with three relevant documents and one that is not."""
    documents = tuple(
        Document(id=f"doc-{i}", text=f"{SENTENCES[i % 4]} Folder {i} of house {i * i}, shelf {i**3}, box {i**4}.")
        for i in range(n + 4)
    )
    queries = tuple(
        Query(id=f"ask{i}", text=f"{ASKED[i % 4]} {i * 7919}", category=f"c{i % 2}", type=("fact", "how-to")[i % 2])
        for i in range(n)
    )
    judgments = tuple(
        Judgment(query=f"ask{i}", target=Target(document=f"doc-{i + j}"), grade=grade, annotator=who)
        for i in range(n)
        for j, grade in enumerate((3, 2, 2, 1))
        for who in ("ana", "bo")
    )
    return GoldenSet(name="house", version="1.2.0", documents=documents, queries=queries, judgments=judgments)


SOUND = sound()


def wrong() -> GoldenSet:
    """Build a set with an error and a warning."""
    lost = Judgment(query="nobody", target=Target(document="doc-1"), grade=3, annotator="ana")
    return replace(SOUND, judgments=(*SOUND.judgments, lost), notes=("q.jsonl: unknown key 'txet', ignored",))


def test_a_sound_set_has_no_error() -> None:
    """The report has the counts, the ceilings of the usual floors, the resolution, and no error."""
    report = check(SOUND)
    assert report.ok
    assert report.errors == ()
    assert dict(report.counts) == {"documents": 84, "queries": 80, "judgments": 640}
    assert list(report.ceilings) == list(report.floors) == ["R@5", "P@5", "RR@10", "nDCG@5"]
    assert not report.declared
    top = report.ceilings["P@5"]
    assert isinstance(top, Ceiling)
    assert top.best == pytest.approx(0.6)
    assert report.resolution is not None
    assert report.resolution.all.queries == 80
    assert {category.name: category.queries for category in report.resolution.categories} == {"c0": 40, "c1": 40}


def test_errors_come_first() -> None:
    """Whatever the order of the rules, errors come before warnings; one error makes the set unusable."""
    report = check(wrong())
    assert not report.ok
    assert [finding.severity for finding in report.findings] == sorted(finding.severity for finding in report.findings)
    assert [finding.rule for finding in report.errors] == ["unknown-query"]
    assert "unknown-key" in {finding.rule for finding in report.warnings}


def test_every_finding_says_what_to_do() -> None:
    """Where a rule has no better advice for the case, the finding has that of the rule."""
    report = check(wrong(), profile="small", gate={"P@5": 0.9, "x": 1})
    assert all(finding.fix for finding in report.findings)
    (finding,) = [error for error in report.errors if error.rule == "unknown-query"]
    assert finding.fix == "add the query, or remove its judgments"


def test_rules_can_be_ignored_and_that_is_counted() -> None:
    """What is ignored is no finding any more, and the report says so."""
    report = check(wrong(), ignore=["unknown-query", "empty-set"])
    assert report.ok
    assert dict(report.ignored) == {"unknown-query": 1}
    with pytest.raises(UsageError, match="no rule 'unknown-qery', did you mean 'unknown-query'"):
        check(SOUND, ignore=["unknown-qery"])
    with pytest.raises(UsageError, match="lists all"):
        find_rule("zzzzzz")


def test_gates_of_the_caller_are_added_to_those_of_the_set() -> None:
    """The same measure is replaced, another one is added, and both are declared."""
    declared = replace(SOUND, gate={"P@5": 0.9, "R@5": 0.8})
    assert [finding.rule for finding in check(declared).errors] == ["unreachable-gate"]
    report = check(declared, gate={"P@5": 0.5, "AP@5": 0.5})
    assert report.ok
    assert dict(report.floors) == {"P@5": 0.5, "R@5": 0.8, "AP@5": 0.5}
    assert report.declared
    assert declared.gate == {"P@5": 0.9, "R@5": 0.8}


def test_a_measure_without_a_ceiling_says_why() -> None:
    """The table has the reason where the ceiling is not known."""
    report = check(SOUND, gate={"Judged@5": 0.9, "R@5": 0.8})
    reason = report.ceilings["Judged@5"]
    assert isinstance(reason, str)
    assert "not known" in reason
    assert isinstance(report.ceilings["R@5"], Ceiling)


def test_a_structured_set_is_measured_in_its_parts() -> None:
    """Under the profile `structured` a system returns parts of documents, so that two of one document are two."""
    parts = [Target(document="doc-1", block=f"S.0.p.Bk00{i}") for i in (1, 2)]
    golden = replace(SOUND, judgments=tuple(Judgment(query="ask1", target=part, grade=3) for part in parts))
    best = {}
    for profile in (None, "structured"):
        top = check(golden, profile=profile, gate={"Success@1": 0.1, "P(rel=2)@2": 0.01}).ceilings["P(rel=2)@2"]  # type: ignore[arg-type]
        assert isinstance(top, Ceiling)
        best[profile] = top.best
    assert best == {None: 0.5 / 80, "structured": 1 / 80}


def test_the_index_and_the_chunks_are_looked_at() -> None:
    """Any collection of ids is an index."""
    report = check(SOUND, index=["doc-1:chunk:0"])
    assert [finding.rule for finding in report.errors] == ["not-in-index"]
    assert check(SOUND, index={document.id for document in SOUND.documents}).ok
    chunks = [Document(id="one", text="")]
    assert "empty-text" in {finding.rule for finding in check(SOUND, chunks=chunks).warnings}


@each(
    ("options", "words"),
    [
        ({"profile": "smal"}, "did you mean 'small'"),
        ({"profile": "x"}, "small, agent, structured"),
        ({"sd": 0.0}, "above 0"),
        ({"sd": float("nan")}, "above 0"),
        ({"sd": 2.0}, "at most 1"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object], words: str) -> None:
    """A profile that does not exist, and an impossible spread, are refused."""
    with pytest.raises(UsageError, match=words):
        check(SOUND, **options)  # type: ignore[arg-type]


def test_plain_data_holds_everything() -> None:
    """The report as JSON has counts, findings, ceilings, resolution and the gate, and no NaN."""
    report = check(wrong(), gate={"R@5": 0.8, "Judged@5": 0.5, "ERR@5": 0.1}, ignore=["note"])
    plain = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert (plain["name"], plain["version"], plain["queries"], plain["ok"]) == ("house", "1.2.0", 80, False)
    assert plain["errors"] == len(report.errors)
    assert plain["errors"] + plain["warnings"] == len(plain["findings"])
    assert set(plain["findings"][0]) == {"rule", "severity", "message", "where", "count", "fix"}
    assert plain["gate"] == {"declared": True, "floors": {"R@5": 0.8, "Judged@5": 0.5, "ERR@5": 0.1}}
    assert plain["ceilings"]["R@5"]["best"] == 1.0
    assert plain["ceilings"]["R@5"]["computed"] == "R(rel=2)@5"
    assert plain["ceilings"]["Judged@5"]["best"] is None
    assert plain["ceilings"]["ERR@5"]["below"] == {"by definition": 80}
    assert plain["resolution"]["all"]["queries"] == 80
    assert set(plain["resolution"]["all"]["two_sided"]) == {"0.15", "0.25", "0.35"}


def test_an_empty_set_is_one_error() -> None:
    """An empty set has one error, and does not make the linter fail."""
    report = check(GoldenSet())
    assert [finding.rule for finding in report.errors] == ["empty-set"]
    json.dumps(report.to_dict(), allow_nan=False)


def test_a_set_that_cannot_be_read_is_a_report_too() -> None:
    """Every mistake is a finding of its own."""
    mistakes = [InputError(f"wrong {i}", source="queries.jsonl", line=i) for i in range(30)]
    report = unread(Mistakes(mistakes, "30 mistakes"), "house")
    assert [finding.message for finding in report.errors] == [str(mistake) for mistake in mistakes]
    assert {finding.rule for finding in report.findings} == {"unparsable"}
    assert not report.ok
    assert report.to_dict()["resolution"] is None
    assert [finding.message for finding in unread(mistakes[0]).findings] == ["queries.jsonl, line 0: wrong 0"]


def test_the_set_is_not_changed() -> None:
    """The linter changes nothing of what it looks at."""
    before = sound(12)
    check(before, profile="small", gate={"P@5": 0.6})
    assert before == sound(12)


@each(
    ("text", "ids"),
    [
        ("d1\n d2 \n\nd1\n", {"d1", "d2"}),
        ('{"id": "d1", "text": "x"}\n{"_id": 7}\n', {"d1", "7"}),
        ("a b\r\nc\r\n", {"a b", "c"}),
        ('d1\n{"doc_id": "d2"}\n', {"d1", "d2"}),
    ],
)
def test_an_index_is_read(tmp_path: Path, text: str, ids: set[str]) -> None:
    """Ids stand one a line, or in the field ``id`` of JSONL."""
    file = tmp_path / "index"
    file.write_text(text, encoding="utf-8")
    assert read_index(file) == ids


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\n", "holds no id"),
        ('d1\n{"name": "x"}\n', "line 2: has no field 'id'"),
        ('{"id": \n', "line 1: is not valid JSON"),
    ],
)
def test_an_index_that_is_none(tmp_path: Path, text: str, words: str) -> None:
    """What holds no ids is refused with its line."""
    file = tmp_path / "index"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        read_index(file)


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        ("P@5>=0.60", {"P@5": 0.6}),
        (" nDCG(gain='exp')@10 >= 1e-1 ", {"nDCG(gain='exp')@10": 0.1}),
        ("R@5>=1", {"R@5": 1.0}),
    ],
)
def test_a_gate_is_read(text: str, gate: dict[str, float]) -> None:
    """A gate is a measure, a sign and a floor."""
    assert read_gate([text]) == gate


@each("text", ["P@5", "P@5>0.6", "P@5<=0.6", ">=0.6", "P@5>=", "P@5>=nan", "P@5>=inf", "P@5>=high"])
def test_a_gate_that_is_none(text: str) -> None:
    """Anything else is refused with an example."""
    with pytest.raises(UsageError, match=re.escape("such as 'P@5>=0.60'")):
        read_gate([text])


def test_the_sections_of_a_rule() -> None:
    """The docstring is taken apart, and lines are joined."""
    said = sections(RULES["unknown-document"])
    assert said["Summary"] == "A document is named that the set does not have."
    assert said["More"].startswith("Named by a judgment")
    assert said["Fix"] == "add the document, or correct the id."
