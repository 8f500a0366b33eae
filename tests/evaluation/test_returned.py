"""How ids name documents and parts, and the score from which on a hit counts."""

from __future__ import annotations

from typing import Any

import pytest

from each import each
from karat import evaluate
from karat.core import GoldenSet, InputError, Judgment, Provenance, Query, Run, Target, Trace, UsageError
from karat.core import Hit as Returned
from karat.evaluation import require_comparable, score_run

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
