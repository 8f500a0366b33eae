"""Measures of traces and sessions, each by hand, and missing with a reason where something lacks."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from each import each
from karat.core import (
    MEASURES,
    Context,
    Document,
    GoldenSet,
    Hit,
    InputError,
    Judgment,
    Measure,
    Place,
    Provenance,
    Query,
    Run,
    Session,
    Stage,
    Target,
    Trace,
)
from karat.evaluation import score_run
from karat.measures import score, score_hits

BOTH, DENSE, WORDS = {"bm25": Place(2, 7.0), "dense": Place(1, 0.9)}, {"dense": Place(3, 0.5)}, {"bm25": Place(3, 5.0)}
HITS = (
    Hit("net/wifi", 0.9, channels=BOTH),
    Hit("net/lan", 0.7, channels=DENSE),
    Hit("spa/sauna", 0.6, channels=WORDS),
    Hit("rules/all", 0.4),
)


def judge(query: str, **grades: int) -> tuple[Judgment, ...]:
    return tuple(
        Judgment(query=query, target=Target(document=name.replace("__", "/")), grade=grade)
        for name, grade in grades.items()
    )


def value(trace: Trace, measure: str, golden: GoldenSet | None = None) -> float | str | None:
    """Return the value of a trace's query, or the reason for its absence."""
    golden = golden or GoldenSet(queries=(Query(id="q", text="?"),))
    scores = score_hits(golden, {"q": trace.hits}, [measure], traces={"q": trace})
    return scores.reason("q", measure) or scores.value("q", measure)


@each(
    ("measure", "expected"),
    [
        ("ChannelShare@10", 3 / 4),  # rules/all came by no channel
        ("ChannelShare(channel='dense')@10", 2 / 4),
        ("ChannelShare(channel='dense')@1", 1.0),
        ("ChannelShare(channel='graph')@10", 0.0),
        ("ChannelOnly@10", 2 / 4),
        ("ChannelOnly(channel='bm25')@10", 1 / 4),
        ("ChannelOnly@1", 0.0),
        ("ReorderRate@10", 2 / 4),  # wifi 1 = 1, lan 2 != 3, sauna 3 = 3, rules in no channel
        ("Redundancy@10", 1 / 4),  # net twice
        ("Diversity@10", 3 / 4),
        ("Diversity(by='document')@10", 1.0),
        ("Redundancy(by='domain')@10", "a result without a group"),
        ("PipelineHealth@5", 0.40 * 2.6 / 4 + 0.25 * 0.9 + 0.20 * 4 / 5 + 0.15 * (1 - 100 / 500)),
        ("PipelineHealth(limit=50)@2", 0.40 * 0.8 + 0.25 * 0.9 + 0.20),
        ("ExpansionShare@10", "no expansion recorded"),
    ],
)
def test_measures_of_a_pipeline(measure: str, expected: float | str) -> None:
    """Shares of the top k by channel, folder and order; a quality proxy of the system's own numbers."""
    trace = Trace(query="q", text="?", hits=HITS, timings={"total": 100.0})
    assert value(trace, measure) == (expected if isinstance(expected, str) else pytest.approx(expected, abs=1e-12))


def test_channels_may_be_recorded_as_stages() -> None:
    """The candidates of each channel say where a result comes from, and the list after the fusion what it moved."""
    a, b, c = Hit("a", 3.0), Hit("b", 2.0), Hit("c", 1.0)
    stages = (
        Stage(name="candidate", channel="bm25", hits=(a, b)),
        Stage(name="candidate", channel="dense", hits=(b,)),
        Stage(name="expansion", hits=(a, c)),
        Stage(name="fusion", hits=(a, b, c)),
        Stage(name="rerank", hits=(c, a)),
    )
    trace = Trace(query="q", text="?", hits=(c, a), stages=stages)
    assert value(trace, "ChannelShare(channel='bm25')@5") == 0.5  # a, not c
    assert value(trace, "ReorderRate@5") == 2 / 3  # of the fused list: a 1 = 1, b 2 != 1, c in no channel
    assert value(trace, "ExpansionShare@5") == 0.5  # c, which no channel had


@each("measure", ["ChannelShare@5", "ChannelOnly@5", "ReorderRate@5", "ExpansionShare@5", "Diversity@5"])
def test_a_share_of_nothing_is_missing_and_blames_the_answer(measure: str) -> None:
    """The gate counts a lost answer with this reason as the worst value."""
    assert value(Trace(query="q", text="?", error="timed out"), measure) == "nothing retrieved"


TIERS = ("constitutional", "critical", "important", "normal", "temporary", "")
MEMORY = GoldenSet(
    documents=tuple(Document(id=name, tier=tier) for name, tier in zip("abcdef", TIERS, strict=True)),
    queries=(
        Query(id="q", text="?", must_show=("a", "b"), chain=("c", "d", "z"), session=Session(id="s"), intent="fix_bug"),
        Query(id="r", text="?", session=Session(id="s", turn=2)),
        Query(id="t", text="?", session=Session(id="s", turn=3)),
    ),
    judgments=(*judge("q", a=2, c=3, e=2, f=2, d=1), *judge("r", b=2), *judge("t", b=2)),
)


def ask(measure: str, hits: Mapping[str, str]) -> tuple[dict[str, float], dict[str, str | None]]:
    """Return the values and the reasons of a run of one-letter documents."""
    lists = {query: tuple(Hit(name, float(9 - i)) for i, name in enumerate(names)) for query, names in hits.items()}
    traces = {query: Trace(query=query, text="?", hits=own) for query, own in lists.items()}
    scores = score_hits(MEMORY, lists, [measure], traces=traces)
    return scores.column(measure), {query: scores.reason(query, measure) for query in scores.queries}


@each(
    ("measure", "expected"),
    [
        ("MustShow@5", 1 / 2),
        ("MustShow@3", 1 / 2),
        ("MustShowAll@5", 0.0),
        ("Chain@5", 2 / 3),
        ("Chain@2", 0.0),
        ("ImportanceR@5", (4 + 2) / (4 + 2 + 0.5 + 1)),  # a and c of a, c, e, and f, which has no tier
        ("ImportanceR(important=0,normal=0,temporary=0)@5", 1.0),
        ("TierP(tier='constitutional')@5", 1.0),
        ("TierP(tier='normal')@5", 0.0),  # d has grade 1
        ("TierGap(tier='constitutional',below='normal')@5", 1.0),
        ("TierGap(tier='normal',below='constitutional')@5", -1.0),
        ("ColdRR@5", 1 / 2),
        ("nDCG_intent@1", 0.0),
        ("nDCG_intent@5", (15 / math.log2(4) + 3 / math.log2(3) + (2**0.5 - 1) / math.log2(5)) / (
            15 + 3 / math.log2(3) + 3 / math.log2(4) + 3 / math.log2(5) + (2**0.5 - 1) / math.log2(6))),
    ],
)  # fmt: skip
def test_measures_of_a_memory(measure: str, expected: float) -> None:
    """By hand, on the list x, a, c, d; relevant are a, c, e and f, and d has grade 1."""
    values, reasons = ask(measure, {"q": "xacd"})
    assert values["q"] == pytest.approx(expected, abs=1e-12)
    if "ImportanceR" not in measure:
        assert reasons["r"] is not None


def test_first_queries_are_held_against_later_ones() -> None:
    """RR of the first query is 1/2, of the later ones 1 and 1/4: the ratio of the means is 0.5 / 0.625."""
    hits = {"q": "xa", "r": "b", "t": "xyzb"}
    assert ask("WarmRR@5", hits)[0] == {"r": 1.0, "t": 0.25}
    assert ask("WarmRR@3", hits)[0] == {"r": 1.0, "t": 0.0}
    assert ask("ColdRR@5", hits)[0] == {"q": 0.5}
    assert ask("ColdStart@5", hits)[0] == {"q": pytest.approx(0.5 / 0.625)}
    assert ask("ColdStart@5", hits)[1]["r"] == "not the first query of a session"
    empty = ask("ColdStart@5", {**hits, "t": ""})[0]["q"]
    assert empty <= ask("ColdStart@5", hits)[0]["q"], "a lost answer of a later query makes nothing better"
    assert ask("ColdStart@5", {"q": "a", "r": "x", "t": "x"})[1]["q"] == "no later query of a session finds anything"


def test_more_must_show_documents_than_ranks_are_an_error() -> None:
    """No list could show them, so that the rate would say nothing about the system."""
    with pytest.raises(InputError, match="query 'q' has 2 must-show documents, which no top 1 can hold"):
        ask("MustShowAll@1", {"q": "ab"})


def test_saved_tokens_are_counted_by_session() -> None:
    """The sum stands at the first query of the session; where nothing is recorded, the value is missing."""
    saved: dict[str, Any] = {"q": {"tokens_saved": 10}, "r": {"tokensSaved": 5}, "t": {}}
    traces = {query: Trace(query=query, text="?", telemetry={"dedup": facts}) for query, facts in saved.items()}
    scores = score_hits(MEMORY, dict.fromkeys("qrt", ()), ["DedupTokens"], traces=traces)
    assert scores.column("DedupTokens") == {"q": 15.0}
    assert scores.reason("r", "DedupTokens") == "no saved tokens recorded"


def test_versions_that_are_out_of_date_or_contradict_each_other() -> None:
    """Superseded, or older than another of the same key; both rates are over what was returned, at most k."""
    dated = [("k1", "2025"), ("k2", "2026")]
    golden = GoldenSet(
        documents=(
            Document(id="v1", superseded_by="v2"), Document(id="v2", superseded_by="v3"), Document(id="v3"),
            *(Document(id=n, metadata={"version_key": "k", "effective_timestamp": time}) for n, time in dated),
        ),
        queries=(Query(id="q", text="?"),),
    )  # fmt: skip

    def of(measure: str, names: list[str]) -> float | str | None:
        return value(Trace(query="q", text="?", hits=tuple(Hit(name, 1.0) for name in names)), measure, golden)

    assert of("StaleFree@10", ["v1", "v3", "k1", "other"]) == 2 / 4  # v1 and k1 are replaced
    assert of("ConflictFree@10", ["v1", "v3", "k1", "other"]) == 2 / 4  # v1 and v3 are one document
    assert of("ConflictFree@1", ["v1", "v3"]) == 1.0
    assert of("StaleFree@10", ["k2"]) == 1.0
    assert str(Measure.parse("freshness.stale_free_rate@10")) == "StaleFree@10"
    assert of("StaleFree@10", []) == "nothing retrieved"
    assert value(Trace(query="q", text="?", hits=HITS), "StaleFree@5") == "no versions in the golden set"


@each(
    ("time", "expected"),
    [
        ("2026-11-17T09:00:00Z", 1.0),  # 24 hours
        ("2026-11-19T09:00:00+00:00", "no relevant document was new, or times are unknown"),  # 72 hours
        ("2026-11-15T09:00:00Z", "no relevant document was new, or times are unknown"),  # before it was written
        ("", "no relevant document was new, or times are unknown"),
        ("soon", "no relevant document was new, or times are unknown"),
    ],
)
def test_a_relevant_document_that_was_new(time: str, expected: float | str) -> None:
    """Age counts from when the question was asked."""
    document = Document(id="news", metadata={"created_at": "2026-11-16T09:00:00"})
    golden = GoldenSet(documents=(document,), queries=(Query(id="q", text="?"),), judgments=judge("q", news=2))
    trace = Trace(query="q", text="?", hits=(Hit("x", 1.0), Hit("news", 0.5)), context=Context(time=time))
    assert value(trace, "NewFound@2", golden) == expected
    if expected == 1.0:
        assert value(trace, "NewFound@1", golden) == 0.0


def test_every_measure_of_traces_is_computed_by_hand_twice() -> None:
    """A measure cannot be added without two cases in these files; those of judges and labels are read, not computed."""
    files = ("traced", "citations", "distances", "stability")
    text = "".join(Path(__file__).with_name(f"test_{name}.py").read_text() for name in files)
    read = ("._judged", "._trusted")
    computed = [row.name for row in MEASURES if row.traced and not row.kernel.__module__.endswith(read)]
    assert [name for name in computed if len(re.findall(f'"{name}[@("]', text)) < 2] == []


def test_without_traces_every_measure_of_traces_is_missing_with_a_reason() -> None:
    """Whatever the conventions put where a measure is undefined: a plain ranking says nothing about a trace."""
    names = [f"{row.name}@5" if row.cutoff == "required" else row.name for row in MEASURES if row.traced]
    assert len(names) >= 18
    for undefined in ("exclude", "zero", "one"):
        scores = score({"q": {"a": 1}}, {"q": {"a": 1.0}}, names, undefined=undefined)
        assert all(math.isnan(mean) for mean in scores.mean().values())
        assert [scores.reason("q", name) for name in names] == [
            Measure.parse(name).definition.undefined for name in names
        ]


def test_an_evaluation_scores_each_wording_with_its_own_traces() -> None:
    """Channels of the paraphrase count for the paraphrase; a failed question is the worst for the gate."""
    golden = GoldenSet(queries=(Query(id="q", text="?", paraphrases=("??",)),), judgments=judge("q", net__wifi=3))
    traces = (
        Trace(query="q", text="?", hits=HITS[:1]),
        Trace(query="q", text="??", hits=HITS[1:2], paraphrase=1),
    )
    run = Run(provenance=Provenance(name="mine"), traces=traces)
    measure = "ChannelShare(channel='bm25')@5"
    evaluation = score_run(golden, run, [measure, "Diversity@5"])
    assert evaluation.means[measure] == 0.5
    failed = Run(provenance=run.provenance, traces=(traces[0], Trace(query="q", text="??", paraphrase=1, error="no")))
    assert score_run(golden, failed, ["Diversity@5"]).variants[1, 0].value("q", "Diversity@5") == 0.0
