"""A golden set and a run, from which right files of most kinds are written."""

from __future__ import annotations

from dataclasses import replace

from karat import golden
from karat.core import (
    Citation,
    Context,
    Document,
    GoldenSet,
    Hit,
    Judgment,
    Place,
    Provenance,
    Query,
    Run,
    Session,
    Span,
    Stage,
    Target,
    Trace,
)

GOLDEN = GoldenSet(
    name="hotel",
    version="1.2.0",
    documents=(
        Document(id="wifi", text="# Wifi\n\nThe code is 42.\n\n## Guests\n\nAsk at the desk.", title="Wifi"),
        Document(id="pool", text="The pool opens at six.", format="text", tags=("a",), metadata={"a": [1, None]}),
    ),
    queries=(
        Query(id="q1", text="What is the code?", paraphrases=("Wifi code?",), category="facts", answer="42",
              negatives=(Target(document="pool"),), must_show=("wifi",), session=Session(id="s", documents=("pool",))),
        Query(id="q2", text="When does the pool open?", category="times", type="factual", intent="pool"),
        Query(id="q3", text="Is there a gym?", answerable=False),
    ),
    judgments=(
        Judgment(query="q1", target=Target(document="wifi", span=Span(8, 24)), grade=3, annotator="ana"),
        Judgment(query="q2", target=Target(document="pool"), grade=2, confidence=0.5, date="2026-11-17"),
        Judgment(query="q2", target=Target(document="wifi"), grade=0),
    ),
)  # fmt: skip
PLAIN = replace(
    GOLDEN,
    queries=tuple(Query(id=query.id, text=query.text) for query in GOLDEN.queries[:2]),
    judgments=tuple(
        Judgment(query=judgment.query, target=Target(document=judgment.target.document), grade=1)
        for judgment in GOLDEN.judgments[:2]
    ),
    grades=("not relevant", "relevant"),
    relevant=1,
)
RUN = Run(
    provenance=Provenance(name="mine", golden=golden.identify(GOLDEN), system={"kind": "test"},
                          fingerprint="sha256:0", settings={"k": 10, "paraphrases": False, "repeat": 1}),
    traces=(
        Trace(query="q1", text="What is the code?", timings={"embed": 1.0, "total": 2.5}, hits=(
            Hit("wifi:chunk:0", 2.0, span=Span(0, 24), content="The code", channels={"lexical": Place(1, 3.5)}),
            Hit("pool", 1.0, section="S.1", stages={"fusion": 0.5}, locator="page 3"),
        )),
        Trace(query="q2", text="When does the pool open?", hits=(Hit("pool", 1.5),), timings={"total": 3.0},
              stages=(Stage(name="search", channel="dense", inputs=2, outputs=1, hits=(Hit("pool", 9.0),)),),
              context=Context(session="s", turn=2, time="2026-11-17T00:00Z", documents=("wifi",), metadata={"a": [1]}),
              answer="At six.", citations=(Citation("pool", span=Span(0, 8), section="S.0"),),
              telemetry={"mode": "hybrid", "fallback": False}, envelope={"trace_id": "t1", "schema_version": 1}),
        Trace(query="q3", text="Is there a gym?", error="timed out"),
    ),
)  # fmt: skip
