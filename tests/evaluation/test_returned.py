"""How ids name documents and parts, and the score from which on a hit counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from each import each
from karat import evaluate
from karat.core import (
    Document,
    GoldenSet,
    HitTable,
    InputError,
    Judgment,
    Provenance,
    Query,
    Run,
    Span,
    Target,
    Trace,
    TraceTable,
    UsageError,
)
from karat.core import Hit as Returned
from karat.evaluation import describe_returned, require_comparable, score_run

WIFI = GoldenSet(
    queries=(Query(id="q", text="How do I get online?"),),
    judgments=(Judgment(query="q", target=Target(document="wifi", section="S.2"), grade=3),),
)


def score(*hits: Returned, **scoring: Any) -> float:
    run = Run(provenance=Provenance(name="mine"), traces=(Trace(query="q", text="?", hits=hits),))
    return score_run(WIFI, run, ["RR@10"], **scoring).means["RR@10"]


@pytest.mark.parametrize(
    ("ids", "name"),
    [
        ("chunk", "wifi:chunk:3"),
        ("path", "wifi#S.2"),
        ("prefix", "chunk-wifi:3"),
        ("canonical", "wifi|r=1a2b|s=2|p=000|b=011"),
        ("opaque", "wifi"),
        ("auto", "wifi#S.2"),
        ("auto", "wifi:chunk:3"),
        ("auto", "chunk-wifi:3"),
    ],
)
def test_a_live_system_may_say_how_its_ids_name_documents(ids: str, name: str) -> None:
    """The schemes of run files are those of a system that is asked."""
    assert evaluate(WIFI, lambda query, k: [name], ["RR@10"], ids=ids).mean() == {"RR@10": 1.0}  # type: ignore[arg-type]


def test_a_path_names_the_section() -> None:
    """With the unit target, the section after the hash sign has to be the judged one."""
    right, wrong = Returned("wifi#S.2", 2.0), Returned("wifi#S.1", 3.0)
    assert score(wrong, right, ids="path", unit="target") == 0.5
    assert score(right, ids="auto", unit="target") == 1.0


def test_other_ids_are_refused_as_before() -> None:
    """Nothing is guessed unless it is asked for: another document may be called wifi#old."""
    with pytest.raises(InputError, match="no document that the system returned is judged"):
        score(Returned("wifi#S.2", 1.0))


def test_a_document_that_the_system_names_wins() -> None:
    """Only ids without a document are read."""
    assert score(Returned("spa#S.2", 1.0, document="wifi"), ids="path") == 1.0


def test_an_opaque_id_is_its_own_document() -> None:
    """An id that looks like a chunk of a document is not one if the system says so."""
    with pytest.raises(InputError, match="no document that the system returned is judged"):
        score(Returned("wifi:chunk:0", 1.0), ids="opaque")


def test_a_low_score_is_not_returned() -> None:
    """Hits below min_score count neither as found nor as ranks."""
    assert score(Returned("spa", 0.4), Returned("wifi", 0.5), min_score=0.5) == 1.0


@each("wrong", [{"ids": "hash"}, {"undefined": "nil"}, {"unit": "page"}, {"min_score": "high"}])
def test_an_unknown_choice_is_an_error(wrong: dict[str, Any]) -> None:
    """The message lists the choices."""
    with pytest.raises(UsageError, match=rf"{next(iter(wrong))}=.*; choose"):
        score(Returned("wifi", 1.0), **wrong)


@each("other", [{"ids": "auto"}, {"undefined": "one"}, {"unit": "target"}, {"min_score": 0.5}])
def test_scores_of_different_rules_are_not_compared(other: dict[str, Any]) -> None:
    """How a run was scored is part of its settings."""
    run = Run(provenance=Provenance(name="mine"), traces=(Trace(query="q", text="?", hits=(Returned("wifi", 1.0),)),))
    usual, changed = score_run(WIFI, run, ["RR@10"]), score_run(WIFI, run, ["RR@10"], **other)
    require_comparable(usual, score_run(WIFI, run, ["RR@10"], undefined="exclude", ids="chunk"))
    with pytest.raises(InputError, match=f"they differ in {next(iter(other))}"):
        require_comparable(changed, usual)


@pytest.mark.parametrize(("undefined", "mean"), [("exclude", 1.0), ("zero", 0.5), ("one", 1.0)])
def test_undefined_values_count_as_chosen(undefined: str, mean: float) -> None:
    """A query without a relevant document is left out, or counts as 0 or as 1."""
    golden = GoldenSet(queries=(*WIFI.queries, Query(id="r", text="?")), judgments=WIFI.judgments)
    scores = evaluate(golden, lambda query, k: ["wifi"], ["R@5"], undefined=undefined)  # type: ignore[arg-type]
    assert (scores.mean(), scores.count("R@5")) == ({"R@5": mean}, 1 if undefined == "exclude" else 2)


KNOWN = replace(WIFI, documents=tuple(Document(id=name, text=f"About {name}.") for name in ("wifi", "vpn", "spa")))


def describe(golden: GoldenSet, *lists: Sequence[str | Returned]) -> list[str]:
    """Return the notes on these lists of the only query, each of which is a repeat."""
    traces = tuple(
        Trace(
            query="q",
            text="?",
            repeat=i,
            hits=tuple(Returned(hit, 1.0) if isinstance(hit, str) else hit for hit in hits),
        )
        for i, hits in enumerate(lists)
    )
    return describe_returned(
        golden, score_run(golden, Run(provenance=Provenance(name="mine"), traces=traces), ["RR@10"])
    )


@each(
    "ids, named",
    [
        (["VPN", "wifi"], "'VPN' (did you mean 'vpn'?)"),
        (["wifi", "it/vpn.md"], "'it/vpn.md' (did you mean 'vpn'?)"),
        (["wifi", "vpn#S.2"], "'vpn#S.2' (with ids = \"path\" in [eval] it is 'vpn')"),
        (["wifi", "gone"], "'gone'"),
        (["wifi", "a", "b", "c", "d"], "'a', 'b', 'c', ..."),
    ],
)
def test_ids_that_the_set_does_not_have_are_named(ids: list[str], named: str) -> None:
    """A system that returns some ids otherwise loses these documents, and whoever knows all documents can tell."""
    (note,) = [note for note in describe(KNOWN, ids) if "does not have" in note]
    assert note == f"1 query got ids that the golden set does not have: {named}"


def test_what_is_known_of_ids() -> None:
    """Chunks of known documents and judged documents are known; a set without documents knows nothing."""
    assert describe(KNOWN, ["wifi:chunk:0", "wifi:chunk:1", "spa"]) == []
    assert describe(WIFI, ["wifi", "gone"]) == []
    assert describe(replace(KNOWN, documents=KNOWN.documents[1:]), ["wifi", "vpn"]) == []


def test_an_id_more_than_once_is_noted() -> None:
    """A query counts once, however often it was asked; passages of a document with its id are no repeats."""
    note = "1 query got the same id more than once, such as 'spa' of 'q': it takes the place of other documents"
    assert describe(KNOWN, ["wifi", "spa", "spa"], ["spa", "spa"]) == [note]
    passages = [Returned("wifi", 1.0, span=Span(0, 3)), Returned("wifi", 0.9, span=Span(3, 6))]
    assert describe(KNOWN, passages) == []


def test_ids_of_a_table_are_told_like_those_of_objects() -> None:
    """A run of many queries is held in columns, of which no object is made."""
    table = HitTable(
        names=["wifi", "VPN"],
        id=np.array([0, 0, 1]),
        document=np.array([0, 0, 1]),
        score=np.array([1.0, 0.9, 0.8]),
        lengths=np.array([2, 1]),
    )
    golden = replace(KNOWN, queries=(*WIFI.queries, Query(id="r", text="?")))
    traces = TraceTable(queries=("q", "r"), texts=["?", "?"], judged=["", ""], timings={}, hits=table)
    notes = describe_returned(
        golden, score_run(golden, Run(provenance=Provenance(name="mine"), traces=traces), ["RR@10"])
    )
    assert [note.partition(":")[0] for note in notes] == [
        "1 query got ids that the golden set does not have",
        "1 query got the same id more than once, such as 'wifi' of 'q'",
    ]
    assert (
        describe_returned(
            golden, score_run(golden, Run(provenance=Provenance(name="mine"), traces=traces.objects), ["RR@10"])
        )
        == notes
    )
