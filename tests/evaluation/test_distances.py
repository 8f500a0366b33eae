"""Delta-S in an evaluation: by the built-in model, whatever the system embeds with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from karat.core import Citation, Document, GoldenSet, Hit, Judgment, Provenance, Query, Run, Target, Trace
from karat.evaluation import evaluation_report, score_run
from karat.gate import Policy, Rule, decide
from karat.systems.embed import Granite

TEXTS = {"pool": "The pool opens at noon.", "wifi": "Wi-Fi is free in all rooms."}
QUESTION = "When does the pool open?"
GOLDEN = GoldenSet(
    documents=tuple(Document(id=name, text=text) for name, text in TEXTS.items()),
    queries=(Query(id="q", text=QUESTION), Query(id="r", text=QUESTION)),
    judgments=tuple(Judgment(query=query, target=Target(document="pool"), grade=3) for query in "qr"),
)


def run_of(*cited: str, telemetry: Mapping[str, object] | None = None) -> Run:
    """Return a run whose system claims to embed with a model of its own."""
    traces = [
        Trace(
            query=query, text=QUESTION, hits=(Hit("pool", 2.0), Hit("wifi", 1.0)), answer="At noon.",
            citations=(Citation(name),), telemetry=telemetry or {},
        )
        for query, name in zip("qr", cited, strict=False)
    ]  # fmt: skip
    return Run(provenance=Provenance(name="mine", system={"embedder": "another"}), traces=tuple(traces))


@pytest.mark.slow
def test_the_distances_are_those_of_the_built_in_model() -> None:
    """One minus the cosine of its vectors, which are computed here once more."""
    question, pool, wifi = Granite()([QUESTION, *TEXTS.values()])
    near, far = 1 - float(np.dot(question, pool)), 1 - float(np.dot(question, wifi))
    evaluation = score_run(GOLDEN, run_of("pool", "wifi"), ["CiteDeltaS", "DeltaS@5", "DeltaS(logged=True)@5"])
    assert evaluation.values("CiteDeltaS") == pytest.approx({"q": near, "r": far}, abs=1e-4)
    assert evaluation.values("DeltaS@5")["q"] == pytest.approx((near + far) / 2, abs=1e-4)
    assert near < 0.40 < far  # the bands of blocks tell the two apart
    assert evaluation.scores.definitions["CiteDeltaS"] == f"CiteDeltaS by {Granite.name}"
    assert evaluation.scores.definitions["DeltaS(logged=True)@5"] == "DeltaS(logged=True)@5 by log"


@pytest.mark.slow
def test_nothing_is_kept_without_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As ``karat eval --no-cache`` promises; the values are the same."""
    monkeypatch.setenv("KARAT_CACHE", str(tmp_path / "cache"))
    without = score_run(GOLDEN, run_of("pool", "wifi"), ["CiteDeltaS"], cache=False).means
    assert not (tmp_path / "cache").exists()
    assert score_run(GOLDEN, run_of("pool", "wifi"), ["CiteDeltaS"]).means == without
    assert list((tmp_path / "cache").rglob("*.sqlite"))


def test_an_unreadable_citation_is_the_worst_in_the_gate() -> None:
    """Left out, it would make the quantiles better."""
    evaluation = score_run(GOLDEN, run_of("gone", "lost"), ["CiteDeltaS"])
    assert evaluation.scores.reason("q", "CiteDeltaS") == "the text is not known"
    (check,) = decide(evaluation, None, Policy(rules=(Rule(metric="delta_s.median", max=0.4),))).failures
    assert check.current == 2.0


def test_logged_distances_need_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are what the system says of itself, under a name that says so."""
    monkeypatch.setattr("karat.systems.embed.Granite.__init__", lambda *_: pytest.fail("the model was loaded"))
    logged = run_of("wifi", "pool", telemetry={"ΔS": [0.31, 0.59]})
    evaluation = score_run(GOLDEN, logged, ["CiteDeltaS(logged=True)"])
    assert evaluation.values("CiteDeltaS(logged=True)") == {"q": 0.59, "r": 0.31}
    (run,) = evaluation_report(evaluation).runs
    assert run.bands == {"CiteDeltaS(logged=True)": {"stable": 1, "transitional": 1, "risk": 0}}
