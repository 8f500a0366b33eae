"""What answers tell of a window, by a golden set: coverage, citations, recall, delta-S and lambda, by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from karat.config import Config, EvalConfig, OnlineConfig
from karat.core import Document, GoldenSet, Judgment, Query, Target
from karat.monitoring import watch
from karat.projects import Project
from karat.schema.watch import WatchReport
from monitoring.logs import DAY, find, make_query, write

CONFIG = OnlineConfig(samples=10, least=2)
TEXTS = {
    "wifi": "The wireless network is free in every room, and its password is on the key card.",
    "pool": "The swimming pool on the roof opens at seven in the morning.",
}
QUESTIONS = {
    "wifi": ("How do I get into the wifi?", "wifi password"),
    "pool": ("When does the pool open?", "pool hours"),
}


def make_project(**fields: Any) -> Project:
    golden = GoldenSet(
        name="hotel",
        documents=tuple(Document(id=name, text=text) for name, text in TEXTS.items()),
        queries=tuple(Query(id=name, text=first, paraphrases=(other,)) for name, (first, other) in QUESTIONS.items()),
        judgments=tuple(Judgment(query=name, target=Target(document=name), grade=3) for name in TEXTS),
    )
    return Project(config=Config(folder=Path(), golden=Path(), eval=EvalConfig(), **fields), golden=golden)


def ask(path: Path, *asked: tuple[str, dict[str, Any]]) -> WatchReport:
    """Write queries, fill up the window with others, and look."""
    queries = [make_query(str(i), DAY + i, text, **fields) for i, (text, fields) in enumerate(asked)]
    others = [make_query(f"x{i}", DAY + 100 + i, f"other {i}") for i in range(10)]
    write(path, [*queries, *others])
    return watch(path, make_project(), config=CONFIG, now=DAY + 400)


def cite(*documents: str) -> dict[str, Any]:
    return {"answer": "So it is.", "citations": documents}


def test_coverage_counts_what_was_not_answered(path: Path) -> None:
    """Of five that ask what the set asks two cite what is relevant: one errs, one is not answered, one cites else."""
    wifi, pool = QUESTIONS["wifi"], QUESTIONS["pool"]
    report = ask(
        path,
        (wifi[0], cite("wifi")),
        (wifi[1].upper(), cite("pool", "wifi")),
        (pool[0], cite("wifi")),
        (pool[1], {"error": "down", "documents": (), "count": None}),
        (pool[0], {}),
    )
    coverage = find(report, "coverage")
    assert (coverage.value, coverage.n, coverage.state) == (pytest.approx(2 / 5), 5, "firing")
    assert coverage.evidence == ("2 of 5 queries of the golden set have answers that cite what is relevant",)
    window = report.windows[0]
    assert window.signals["recall"].value == pytest.approx(4 / 5)  # wifi and pool are returned, but for the error
    assert find(report, "citation").value == pytest.approx(2 / 4)  # the failure counts as a wrong one


def test_states_of_questions_that_were_asked_twice(path: Path) -> None:
    """Both answers to one cite the wrong document: it diverges; those to the other converge."""
    wifi, pool = QUESTIONS["wifi"], QUESTIONS["pool"]
    report = ask(
        path, (wifi[0], cite("pool")), (wifi[1], cite("pool")), (pool[0], cite("pool")), (pool[0], cite("pool"))
    )
    divergent = find(report, "divergent")
    assert (divergent.value, divergent.n, divergent.state) == (0.5, 2, "firing")


@pytest.mark.slow
def test_delta_s_of_what_answers_cite(path: Path) -> None:
    """As CiteDeltaS has it, of any query, whether the set has it or not."""
    import numpy as np

    from karat.systems.embed import Granite

    texts = {"room network?": "wifi", "swimming?": "pool", "breakfast?": "pool"}
    report = ask(path, *((text, cite(document)) for text, document in texts.items()))
    embed = Granite()
    distances = []
    for text, document in texts.items():
        one, other = np.asarray(embed([text, TEXTS[document]]), dtype=float)
        distances.append(1 - one @ other / np.linalg.norm(one) / np.linalg.norm(other))
    assert find(report, "delta_s_median").value == pytest.approx(float(np.median(distances)), abs=1e-4)
    assert find(report, "delta_s_p90").value == pytest.approx(float(np.percentile(distances, 90)), abs=1e-4)


def test_documents_that_nobody_has_are_no_distance(path: Path) -> None:
    """More than a tenth of them, and the rest is not taken for all."""
    report = ask(path, *((f"question {i}", cite("elsewhere")) for i in range(4)))
    assert find(report, "delta_s_p90").state == "not measurable"
    assert "4 of 4 answers" in find(report, "delta_s_p90").reason


def test_too_few_that_the_set_has(path: Path) -> None:
    """One question is not enough, and neither is one answer that cites."""
    report = ask(path, (QUESTIONS["wifi"][0], cite("wifi")))
    assert find(report, "coverage").reason.startswith("1 queries ask what the golden set asks")
    assert "questions that were asked twice" in find(report, "divergent").reason
    other = path.with_name("other.db")
    report = ask(
        other, (QUESTIONS["wifi"][0], cite("wifi")), (QUESTIONS["pool"][0], {"answer": "No.", "citations": ()})
    )
    assert find(report, "coverage").value == 0.5


def test_offsets_under_several_normalisers_are_not_compared(path: Path) -> None:
    """Coverage and citations are of the bytes of one canonical text."""
    wifi = QUESTIONS["wifi"][0]
    report = ask(path, *((wifi, {**cite("wifi"), "normaliser": f"n{i}", "build": "b"}) for i in range(2)))
    assert "offsets under them do not compare" in find(report, "citation").reason
