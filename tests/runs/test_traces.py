"""Answers that were given elsewhere: trace files, TREC runs, and karat's own runs."""

from __future__ import annotations

import gzip
import json
import os
import random
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

import karat
from each import each
from karat import golden
from karat.core import Document, GoldenSet, Hit, InputError, Judgment, KaratError, Query, Span, Target
from karat.evaluation import evaluation_report, score_run
from karat.runs import Settings, make_run, read_run_file
from karat.runs._parts import Part, Parts
from karat.runs._traces import read_any_run
from karat.schema import to_plain
from public_data import DATA, skip_without
from strategies import GRADES, quick, tables

NIST = DATA / "trec_eval"
needs_data = skip_without("trec_eval")

HOTEL = GoldenSet(
    name="hotel",
    version="1.2.0",
    documents=tuple(Document(id=d, text=f"about the {d}") for d in ("pool", "wifi", "spa")),
    queries=(
        Query(id="q1", text="When does the pool open?", paraphrases=("Pool hours?", "Is the pool open at six?")),
        Query(id="q2", text="Is there wifi?", paraphrases=("Can I go online?", "Is the internet free?")),
        Query(id="q3", text="Where is the spa?"),
    ),
    judgments=tuple(
        Judgment(query=q, target=Target(document=d), grade=3)
        for q, d in (("q1", "pool"), ("q2", "wifi"), ("q3", "spa"))
    ),
)
SECTIONS = (
    '{"qid": "Q-0137", "paraphrases": ["How does SCU unlock safety refusals?", "Explain symbolic constraint unlock.", '
    '"SCU: what is it and when to use?"], "relevant": ["S.4.2.p.Bk011a", "S.4.2.p.Bk011b"], "anchor_section": "S.4.2", '
    '"negatives": ["S.4.1.p.Bk010", "S.4.3.p.Bk014"]}\n'
)
"""Gold as the trace format's own source has it."""
LOGGED = {
    "qid": "Q-0137",
    "query": "Explain symbolic constraint unlock.",
    "topk": [
        {"id": "S.4.2.p.Bk011a", "score": 0.83, "offsets": [204611, 205279], "type": "prose"},
        {"id": "S.4.1.p.Bk010", "score": 0.79, "offsets": [198002, 199112], "type": "prose"},
    ],
    "ΔS": [0.31, 0.59],
    "λ_state": "→",
    "anchor": "S.4.2",
    "index_hash": "faiss:v3:hnsw:cos",
    "ts": "2025-08-27T12:30:22Z",
}


def written(folder: Path, *rows: object, name: str = "traces.jsonl") -> Path:
    """Write rows as JSONL."""
    path = folder / name
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")
    return path


def answer(qid: str, /, *hits: object, **others: object) -> dict[str, object]:
    """Return a row of a trace file."""
    return {"qid": qid, "topk": list(hits), **others}


def noticed(path: Path, golden_set: GoldenSet = HOTEL) -> list[str]:
    """Return the notes of reading a file."""
    notes: list[str] = []
    read_any_run(path, golden_set, say=notes.append)
    return notes


# By hand: trace files


def test_a_trace_as_its_source_has_it(tmp_path: Path) -> None:
    """One of two relevant blocks is first; spans, sections, types, wording and index are kept, and nothing is noted."""
    (tmp_path / "manual.jsonl").write_text(SECTIONS)
    gold = golden.read(tmp_path / "manual.jsonl", "blocks")
    run = read_any_run(written(tmp_path, LOGGED | {"normaliser": gold.normaliser}), gold)
    trace, first_wording = run.traces
    assert (trace.query, trace.text, trace.paraphrase, trace.repeat) == ("Q-0137", LOGGED["query"], 1, 0)
    assert (first_wording.paraphrase, first_wording.error) == (0, "not in the run")
    assert trace.hits == (
        Hit(
            "S.4.2.p.Bk011a",
            0.83,
            "manual",
            Span(204611, 205279),
            section="S.4.2",
            block="S.4.2.p.Bk011a",
            type="prose",
        ),
        Hit(
            "S.4.1.p.Bk010", 0.79, "manual", Span(198002, 199112), section="S.4.1", block="S.4.1.p.Bk010", type="prose"
        ),
    )
    assert run.provenance.system == {"index_hash": "faiss:v3:hnsw:cos", "normaliser": "karat-1"}
    assert run.provenance.settings == {"k": 2, "paraphrases": True, "repeat": 1}
    scores = score_run(gold, run, ["P@1", "P@5", "R@5", "RR@10"], unit="target").scores
    # Half of what the answered wording scores: the other wording that was expected, the first, is not in the run.
    assert scores.mean() == {"P@1": 0.5, "P@5": 0.1, "R@5": 0.25, "RR@10": 0.5}


def test_what_a_run_is_called_and_made_on(tmp_path: Path) -> None:
    """The golden set is the given one, the fingerprint is that of what is known of the system, versions are unknown."""
    first = read_any_run(written(tmp_path, answer("q1", "pool", index_hash="a", reranker="x")), HOTEL)
    again = read_any_run(written(tmp_path, answer("q1", "wifi", index_hash="a", reranker="x")), HOTEL)
    other = read_any_run(written(tmp_path, answer("q1", "pool", index_hash="a", reranker="y")), HOTEL)
    assert first.provenance.name == "traces.jsonl"
    assert first.provenance.golden == golden.identify(HOTEL)
    assert first.provenance.versions == {}
    assert first.provenance.fingerprint == again.provenance.fingerprint != other.provenance.fingerprint
    assert first.provenance.fingerprint.startswith("sha256:")


def test_answers_that_name_no_system_are_told_apart_by_what_they_are(tmp_path: Path) -> None:
    """Two files of unknown systems are not one system; that both count bytes alike says nothing."""
    runs = [
        read_any_run(written(tmp_path, answer("q1", hit, normaliser="karat-1")), HOTEL)
        for hit in ("pool", "wifi", "pool")
    ]
    assert runs[0].provenance.fingerprint == runs[2].provenance.fingerprint != runs[1].provenance.fingerprint
    assert runs[0].provenance.system["answers"].startswith("sha256:")


def test_wordings_and_seeds_become_paraphrases_and_repeats(tmp_path: Path) -> None:
    """Each wording and seed is scored by itself, and a query has the mean: here 3/4, 1 and 0."""
    path = written(
        tmp_path,
        answer("q1", "pool", query="When does the pool open?", seed=7),
        answer("q1", "pool", query="pool hours", seed=7),
        answer("q1", "wifi", query="When does the pool open?", seed=42),
        answer("q1", "pool", query="Pool hours?", seed=42),
        answer("q2", "wifi", query="Is there wifi?", seed=7),
        answer("q2", "wifi", query="Is there wifi?", seed=42),
        answer("q3", seed=7),
        answer("q3", seed=42),
    )
    run = read_any_run(path, HOTEL)
    assert [(t.query, t.paraphrase, t.repeat) for t in run.traces[:4]] == [
        ("q1", 0, 0), ("q1", 1, 0), ("q1", 0, 1), ("q1", 1, 1),
    ]  # fmt: skip
    assert run.provenance.settings == {"k": 1, "paraphrases": True, "repeat": 2, "seeds": [7, 42]}
    scores = score_run(HOTEL, run, ["P@1"]).scores
    assert [scores.value(q, "P@1") for q in ("q1", "q2", "q3")] == [0.75, 1.0, 0.0]
    assert noticed(path) == [
        f"{path}: queries have 2 (such as 'q2') to 4 answers, by wording and seed; "
        "the score of a query is the mean over its own"
    ]


def test_the_number_of_a_wording_may_be_given(tmp_path: Path) -> None:
    """What the row says goes before what its text looks like."""
    run = read_any_run(written(tmp_path, answer("q1", "pool", query="Pool hours?", paraphrase=2)), HOTEL)
    assert run.traces[0].paraphrase == 2


def test_other_wordings_take_free_numbers(tmp_path: Path) -> None:
    """A run that asks all in its own words is one wording; beside a known one, others come after it."""
    own = written(tmp_path, answer("q1", "pool", query="Swim when?"), answer("q2", "wifi", query="Net?"))
    assert {trace.paraphrase for trace in read_any_run(own, HOTEL).traces} == {0}
    assert noticed(own) == [f"{own}: 2 wordings are not in the golden set, such as one of query 'q1'"]
    mixed = [
        answer("q1", query=text) for text in ("Swim when?", "Pool hours?", "Swimming?", "When does the pool open?")
    ]
    assert [t.paraphrase for t in read_any_run(written(tmp_path, *mixed), HOTEL).traces[:4]] == [2, 1, 3, 0]
    beside = [answer("q1", query=text) for text in ("Pool hours?", "Swim when?")]
    assert [t.paraphrase for t in read_any_run(written(tmp_path, *beside), HOTEL).traces[:2]] == [1, 0]


def test_a_set_without_texts_has_no_wordings_to_compare(tmp_path: Path) -> None:
    """Where ids stand in the place of texts, what was asked is the text, and nothing is noted."""
    bare = replace(HOTEL, queries=tuple(Query(id=f"q{i}", text=f"q{i}") for i in (1, 2, 3)))
    path = written(tmp_path, answer("q1", "pool", query="Pool hours?"))
    assert read_any_run(path, bare).traces[0].paraphrase == 0
    assert noticed(path, bare) == []


@each(
    ("scores", "kept"),
    [
        ([None, None, None], [3.0, 2.0, 1.0]),
        ([0.1, None, 0.9], [3.0, 2.0, 1.0]),
        ([0.1, 0.5, 0.9], [0.1, 0.5, 0.9]),
        ([0, 0, 0], [0.0, 0.0, 0.0]),
    ],
)
def test_hits_keep_their_order(tmp_path: Path, scores: list[float | None], kept: list[float]) -> None:
    """Without scores, with some, with equal ones, and with scores that are distances, the list is the ranking."""
    hits = [{"id": name, "score": score} for name, score in zip(("spa", "pool", "wifi"), scores, strict=True)]
    run = read_any_run(written(tmp_path, answer("q1", *hits)), HOTEL)
    assert [(hit.id, hit.score) for hit in run.traces[0].hits] == list(zip(("spa", "pool", "wifi"), kept, strict=True))
    assert score_run(HOTEL, run, ["RR@10"]).scores.value("q1", "RR@10") == 0.5


def test_hits_may_be_ids_alone(tmp_path: Path) -> None:
    """A key that is missing is like one that is null."""
    for hits in (["spa", "pool"], [{"id": "spa"}, {"chunk_id": "pool:chunk:0"}]):
        read_hits = read_any_run(written(tmp_path, answer("q1", *hits)), HOTEL).traces[0].hits
        assert [(hit.document, hit.score) for hit in read_hits] == [("spa", 2.0), ("pool", 1.0)]


def test_a_reranked_hit_keeps_its_scores_and_its_locator(tmp_path: Path) -> None:
    """Each score is one of a stage, the combined one counts, and what is not kept is named in a note."""
    record = {"chunk_id": "pool:chunk:2", "similarity_score": 0.5, "rerank_score": 0.9, "combined_score": 0.7}
    path = written(
        tmp_path,
        answer("q1", record | {"locator": "page 3", "metadata": {"lang": "en"}}),
        answer("q2", {"chunk_id": "wifi", "similarity_score": 0.5, "locator": {"page": 3}}),
    )
    first, second = (trace.hits[0] for trace in read_any_run(path, HOTEL).traces[:2])
    assert (first.score, first.stages) == (0.7, {"combined": 0.7, "rerank": 0.9, "similarity": 0.5})
    assert (second.score, second.stages) == (0.5, {})
    assert (first.locator, second.locator) == ("page 3", '{"page": 3}')
    assert f"{path}: the 'metadata' of 1 hits is not kept" in noticed(path)
    assert not any("unknown key" in note for note in noticed(path))


def test_latencies_become_timings(tmp_path: Path) -> None:
    """A number is the total, an object has the stages; what is null was not measured."""
    path = written(
        tmp_path,
        answer("q1", "pool", latency_ms=12),
        answer("q2", "wifi", ms={"total": 20.5, "rerank": 8, "fusion": None}),
        answer("q3", "spa"),
    )
    evaluation = score_run(HOTEL, read_any_run(path, HOTEL), ["P@1"])
    assert [dict(trace.timings) for trace in evaluation.traces] == [{"total": 12}, {"total": 20.5, "rerank": 8}, {}]
    assert (evaluation.latency["total"]["n"], evaluation.latency["total"]["mean"]) == (2, 16.25)


def test_a_logged_failure_counts_as_zero(tmp_path: Path) -> None:
    """The system's own words are kept; such a row needs no hits, and may have none."""
    evaluation = score_run(
        HOTEL,
        read_any_run(written(tmp_path, answer("q1", "pool"), {"qid": "q2", "error": "down", "ts": "x"}), HOTEL),
        ["P@1"],
    )
    assert evaluation.failures == {"q2": "down", "q3": "not in the run"}
    assert evaluation.scores.mean() == {"P@1": pytest.approx(1 / 3)}


def test_offsets_by_other_rules_are_left_out(tmp_path: Path) -> None:
    """Bytes of another text cannot be compared: blocks still can, spans are refused by what needs them."""
    (tmp_path / "manual.jsonl").write_text(SECTIONS)
    gold = golden.read(tmp_path / "manual.jsonl", "blocks")
    first_wording = LOGGED | {"query": "How does SCU unlock safety refusals?"}
    path = written(tmp_path, first_wording | {"normaliser": "ocr-7"})
    run = read_any_run(path, gold)
    assert [hit.span for hit in run.traces[0].hits] == [None, None]
    assert score_run(gold, run, ["R@5"], unit="target").scores.mean() == {"R@5": 0.5}
    assert noticed(path, gold) == [
        f"{path}: offsets are left out: they count bytes of text made by 'ocr-7', "
        "and the golden set's was made by 'karat-1'"
    ]
    placed = replace(
        gold, judgments=tuple(replace(j, target=replace(j.target, span=Span(0, 9))) for j in gold.judgments)
    )
    with pytest.raises(InputError, match="cannot tell whether hit"):
        score_run(placed, read_any_run(path, placed), ["R@5"], unit="target")


def test_offsets_without_rules_are_taken_as_the_golds(tmp_path: Path) -> None:
    """They are used, and it is said; a chunk that holds half of the gold counts."""
    spans = replace(
        HOTEL, judgments=(Judgment(query="q1", target=Target(document="pool", span=Span(100, 200)), grade=3),)
    )
    path = written(tmp_path, answer("q1", {"id": "c_1", "document": "pool", "offsets": [150, 900], "score": 1}))
    scores = score_run(spans, read_any_run(path, spans), ["R@5", "SpanR@5"], unit="target").scores
    assert scores.value("q1", "R@5") == 1.0
    assert scores.value("q1", "SpanR@5") == 0.5
    assert noticed(path, spans) == [f"{path}: no row has 'normaliser'; offsets are taken as those of karat-1"]


def test_rows_of_other_events_are_left_out_and_told(tmp_path: Path) -> None:
    """A log may hold more than answers."""
    rows = [
        answer("q1", "pool", event="retrieve.run", trace_id="t"),
        {"event": "ingest.write"},
        {"event": "rerank.run"},
    ]
    path = written(tmp_path, *rows, {"event": "ingest.write"})
    assert read_any_run(path, HOTEL).traces[0].hits[0].id == "pool"
    assert noticed(path) == [f"{path}: rows of other events are left out: 2 'ingest.write', 1 'rerank.run'"]


def test_unknown_keys_are_told(tmp_path: Path) -> None:
    """A misspelt key is silent otherwise."""
    path = written(tmp_path, answer("q1", {"id": "pool", "scroe": 1}, sead=1))
    assert sorted(noticed(path)) == [
        f"{path}, line 1: unknown key 'scroe', ignored, did you mean 'score'?",
        f"{path}, line 1: unknown key 'sead', ignored, did you mean 'seed'?",
    ]


# By hand: which queries


def test_queries_that_the_run_does_not_have_count_as_zero(tmp_path: Path) -> None:
    """Two of three are answered, one of them well; none is left out of the mean."""
    for name, text in (
        ("run.txt", "q1 Q0 pool 1 2 x\nq2 Q0 spa 1 2 x\n"),
        ("t.jsonl", '{"qid": "q1", "topk": ["pool"]}\n{"qid": "q2", "topk": ["spa"]}\n'),
    ):
        (tmp_path / name).write_text(text)
        evaluation = score_run(HOTEL, read_any_run(tmp_path / name, HOTEL), ["P@1", "RR@10"])
        assert evaluation.scores.mean() == {"P@1": pytest.approx(1 / 3), "RR@10": pytest.approx(1 / 3)}
        assert evaluation.scores.count("P@1") == 3
        assert to_plain(evaluation_report(evaluation))["runs"][0]["failed"] == [
            {"query": "q3", "error": "not in the run"}
        ]


def test_answers_to_paraphrases_alone_leave_every_query_missing(tmp_path: Path) -> None:
    """Where only paraphrases were asked, each query as it stands is missing, and its score is half of theirs."""
    path = written(tmp_path, answer("q1", "pool", query="Pool hours?"), answer("q2", "wifi", query="Can I go online?"))
    evaluation = score_run(HOTEL, read_any_run(path, HOTEL), ["P@1"])
    answered, missing = [("q1", 1), ("q2", 1)], [("q1", 0), ("q2", 0), ("q3", 0)]
    assert [(t.query, t.paraphrase) for t in evaluation.traces] == answered + missing
    assert {t.error for t in evaluation.traces[2:]} == {"not in the run"}
    assert evaluation.noise == {}
    assert evaluation.scores.mean() == {"P@1": pytest.approx((0.5 + 0.5 + 0) / 3)}


def test_a_query_of_which_only_a_paraphrase_was_asked_is_missing(tmp_path: Path) -> None:
    """Beside queries that were asked as they stand, one that was not counts as missing in every seed."""
    rows = [answer("q1", "pool", seed=seed) for seed in (1, 2)]
    rows += [answer("q2", "wifi", query="Can I go online?", seed=seed) for seed in (1, 2)]
    run = read_any_run(written(tmp_path, *rows, answer("q3", "spa", seed=1)), HOTEL)
    missing = [(t.query, t.paraphrase, t.repeat) for t in run.traces if t.error == "not in the run"]
    assert missing == [("q2", 0, 0), ("q2", 0, 1)]


@pytest.mark.parametrize("name", ["run.txt", "traces.jsonl"])
def test_queries_that_the_set_does_not_have_are_left_out_and_told(tmp_path: Path, name: str) -> None:
    """One note says how many, with examples; they make no difference to any score."""
    rows = [answer(q, "pool", seed=9) for q in ("q1", "z1", "z2", "z3", "z4")]
    path = written(tmp_path, *rows, name=name)
    if name == "run.txt":
        path.write_text("".join(f"{row['qid']} Q0 pool 1 2.5 x\n" for row in rows))
    run = read_any_run(path, HOTEL)
    assert [trace.query for trace in run.traces] == ["q1", "q2", "q3"]
    assert run.provenance.settings["not_in_golden"] == 4
    assert score_run(HOTEL, run, ["P@1"]).scores.mean() == {"P@1": pytest.approx(1 / 3)}
    assert noticed(path) == [
        f"{path}: 4 of 5 queries are not in golden set 'hotel' and are left out, such as 'z1', 'z2', 'z3'"
    ]


@pytest.mark.parametrize("text", ["7 Q0 pool 1 2.5 x\n", '{"qid": 7, "topk": ["pool"]}\n', '{"7": {"pool": 1}}'])
def test_a_run_on_other_queries_is_refused(tmp_path: Path, text: str) -> None:
    """Both kinds of ids are shown."""
    (tmp_path / "run").write_text(text)
    with pytest.raises(
        InputError, match=r"no query in common with .* the file has '7'; the golden set has 'q1', 'q2', 'q3'"
    ):
        read_any_run(tmp_path / "run", HOTEL)


def test_strangers_are_checked_and_not_placed(tmp_path: Path) -> None:
    """A block of a query that does not matter may be in any document; a score that is none is wrong there too."""
    two = replace(
        HOTEL, judgments=(*HOTEL.judgments, Judgment(query="q1", target=Target(document="x", block="b"), grade=1))
    )
    rows = [answer("q1", "pool"), answer("z", "S.1.p.Bk001")]
    assert read_any_run(written(tmp_path, *rows), two).provenance.settings["not_in_golden"] == 1
    with pytest.raises(InputError, match=r"line 2: topk\[0\]: 'score' is 'x', not a number"):
        read_any_run(written(tmp_path, answer("q1"), answer("z", {"id": "b", "score": "x"})), two)


# By hand: which part of which document


@each(
    ("name", "part"),
    [
        ("pool", Part("pool")),
        ("pool:chunk:3", Part("pool")),
        ("chunk-pool:3", Part("pool")),
        ("pool#s03#p002", Part("pool")),
        ("pool#S.2.1", Part("pool", "S.2.1")),
        ("pool#S.2.1.t.Bk004", Part("pool", "S.2.1", "S.2.1.t.Bk004")),
        ("pool|r=1a2b3c4d|s=4.2|p=000|b=011", Part("pool", "S.4.2")),
        ("pool|r=1a2b3c4d|s=p003|p=003|b=011", Part("pool")),
        ("nowhere#S.2", Part("nowhere#S.2")),
        ("nowhere:chunk:1", Part("nowhere")),
        ("17", Part("17")),
    ],
)
def test_ids_that_name_a_document(name: str, part: Part) -> None:
    """A scheme counts where it names a document of the set; an id that says nothing is a document of its own."""
    assert Parts(HOTEL).of(name, "q1") == part


def test_a_document_may_look_like_a_chunk() -> None:
    """What the set calls a document is one."""
    odd = replace(HOTEL, documents=(*HOTEL.documents, Document(id="pool:chunk:3", text="x")))
    assert Parts(odd).of("pool:chunk:3", "q1") == Part("pool:chunk:3")


def blocks(*judged: tuple[str, str, str]) -> GoldenSet:
    """Return a golden set of (query, document, block)."""
    return GoldenSet(
        judgments=tuple(Judgment(query=q, target=Target(document=d, block=b), grade=3) for q, d, b in judged)
    )


def test_ids_that_name_a_block() -> None:
    """The block of the query comes first, then the only one of that name; in a set on one document all ids are its."""
    both = Parts(blocks(("q1", "a", "S.1.p.Bk001"), ("q2", "b", "S.1.p.Bk001"), ("q2", "b", "c_2")))
    assert both.of("S.1.p.Bk001", "q1") == Part("a", "S.1", "S.1.p.Bk001")
    assert both.of("S.1.p.Bk001", "q2").document == "b"
    assert both.of("c_2", "q1") == Part("b", "", "c_2")
    assert both.of("c_3", "q1") == Part("c_3")
    assert both.of("S.7.p.Bk001", "q1", "z") == Part("z", "S.7", "S.7.p.Bk001")
    assert both.of("c_3", "q1", "z") == Part("z")
    parts = Parts(blocks(("q1", "a", "c_1")))
    assert parts.of("c_9", "q1") == Part("a", "", "c_9")


def test_a_block_that_could_be_in_two_documents_is_refused(tmp_path: Path) -> None:
    """The place, both documents, and two ways out are told, whatever the format."""
    gold = blocks(("q1", "a", "S.1.p.Bk001"), ("q1", "b", "S.1.p.Bk002"))
    what = (
        "block 'S.9.p.Bk009' could be in document 'a' or 'b'; write its id as 'a#S.9.p.Bk009', or give it a 'document'"
    )
    with pytest.raises(InputError) as raised:
        read_any_run(written(tmp_path, answer("q1", "a", "S.9.p.Bk009")), gold)
    assert str(raised.value) == f"{tmp_path / 'traces.jsonl'}, line 1: topk[1]: {what}"
    (tmp_path / "run").write_text("q1 Q0 S.9.p.Bk009 1 2.5 x\n")
    with pytest.raises(InputError) as raised:
        read_any_run(tmp_path / "run", gold)
    assert str(raised.value) == f"{tmp_path / 'run'}: query 'q1': {what}"
    row = answer("q1", {"id": "S.9.p.Bk009", "doc_id": "b"}, "b#S.1.p.Bk002")
    assert score_run(gold, read_any_run(written(tmp_path, row), gold), ["RR@10"], unit="target").scores.mean() == {
        "RR@10": 0.5
    }
    around = answer("q1", "S.1.p.Bk002", doc="b")
    assert read_any_run(written(tmp_path, around), gold).traces[0].hits[0].document == "b"


# By hand: runs


def test_a_run_of_karat_is_read_as_it_is(tmp_path: Path) -> None:
    """Also one that was zipped; a sample of the queries stays one."""
    run = make_run(HOTEL, lambda query, k: ["pool"], Settings(sample=2), output=tmp_path / "run.jsonl")
    assert read_any_run(tmp_path / "run.jsonl", HOTEL) == read_run_file(tmp_path / "run.jsonl")
    (tmp_path / "run.jsonl.gz").write_bytes(gzip.compress((tmp_path / "run.jsonl").read_bytes()))
    assert read_any_run(tmp_path / "run.jsonl.gz", HOTEL).provenance.fingerprint == run.provenance.fingerprint
    assert len(run.traces) == 2


@each(
    ("name", "text"),
    [
        ("run.txt", "q1 Q0 spa 9 2.5 x\nq1 Q0 pool 1 2.5 x\nq1 Q0 wifi 2 3.5 x\n"),
        ("run.json", '{"q1": {"spa": 2.5, "pool": 2.5, "wifi": 3.5}}'),
        ("run.csv", "query_id,doc_id,score\nq1,spa,2.5\nq1,pool,2.5\nq1,wifi,3.5\n"),
        ("rows", '{"qid": "q1", "doc": "spa", "score": 2.5}\n{"qid": "q1", "doc": "pool", "score": 2.5}\n'
                 '{"qid": "q1", "doc": "wifi", "score": 3.5}\n'),
    ],
)  # fmt: skip
@each("zipped", [False, True])
def test_whatever_karat_score_reads_is_a_run(tmp_path: Path, name: str, text: str, zipped: bool) -> None:
    """The rank column is not trusted, and equal scores go by id, descending, as in trec_eval."""
    path = tmp_path / (name + ".gz" * zipped)
    path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
    run = read_any_run(path, HOTEL)
    assert [(hit.id, hit.score) for hit in run.traces[0].hits] == [("wifi", 3.5), ("spa", 2.5), ("pool", 2.5)]
    assert run.traces[0].text == "When does the pool open?"
    assert run.provenance.settings == {"k": 3, "paraphrases": False, "repeat": 1}
    assert run.provenance.name == path.name
    assert score_run(HOTEL, run, ["RR@10"]).scores.value("q1", "RR@10") == pytest.approx(1 / 3)


# What is wrong


@each(
    ("text", "line", "what", "hint"),
    [
        (b"", None, "the file is empty", ""),
        (b"\xef\xbb\xbf \n\n", None, "the file holds only blanks", ""),
        (
            b'{"qid": "q1", "topk": [{"id": "po',
            1,
            "the last line is incomplete",
            "get the file again, or remove the line",
        ),
        (
            b'{"qid": "q1", "topk": []}\n\n{"qid": "q2", "to',
            3,
            "the last line is incomplete",
            "get the file again, or remove the line",
        ),
        (
            b'{"qid": "q1", "topk": [}\n{"qid": "q2", "topk": []}\n',
            1,
            "is not valid JSON: Expecting value (column 24)",
            "",
        ),
        (
            b'{\n"qid": "q1",\n"topk": []\n}\n',
            None,
            "is not JSONL",
            "write each trace on a line of its own, as jq -c does",
        ),
        (b'[{"qid": "q1", "topk": []}]', None, "is not JSONL", "write each trace on a line of its own, as jq -c does"),
        (
            b'{"qid": "q1", "topk": []}\n{"qid": "\xff", "topk": []}\n',
            2,
            "byte 0xff is not UTF-8",
            "convert it to UTF-8, for example with iconv",
        ),
        (b'{"qid": "q1", "topk": []}\n[]\n', 2, "[] is not an object", ""),
        (
            b'{"qid": "q1", "topk": [{"id": "a", "score": NaN}]}\n',
            1,
            "is not valid JSON: NaN is not a JSON number",
            "use null",
        ),
        (
            b'{"qid": "q1", "topk": [{"id": "a", "score": 1e999}]}\n',
            1,
            "holds '1e999', which is larger than any number",
            "",
        ),
        (b'{"qid": "q1", "topk": [{"id": "a", "score": "1"}]}\n', 1, "topk[0]: 'score' is '1', not a number", ""),
        (b'{"qid": "q1", "topk": [{"id": "a", "score": true}]}\n', 1, "topk[0]: 'score' is True, not a number", ""),
        (b'{"qid": "q1", "topk": [{"score": 1}]}\n', 1, "topk[0]: 'id' (or 'chunk_id') is missing", ""),
        (b'{"qid": "q1", "topk": [1.5]}\n', 1, "topk[0]: 'id': id 1.5 is not text", "ids are strings"),
        (
            b'{"qid": "q1", "topk": [{"id": "a", "offsets": [1]}]}\n',
            1,
            "topk[0]: 'offsets' is [1], not [start, end] in bytes",
            "",
        ),
        (
            b'{"qid": "q1", "topk": [{"id": "a", "offsets": [9, 1]}]}\n',
            1,
            "topk[0]: 'offsets' is [9, 1]",
            "it should begin at 0 or later, and not end before it begins",
        ),
        (b'{"qid": "q1", "topk": [{"id": "a", "type": 3}]}\n', 1, "topk[0]: 'type' is 3, not text", ""),
        (b'{"qid": "q1", "topk": {"id": "a"}}\n', 1, "'topk' is {'id': 'a'}, not a list", ""),
        (
            b'{"qid": "q1", "topk": []}\n{"qid": "q2", "topK": []}\n',
            2,
            "'topk' is missing; did you mean it by 'topK'?",
            "",
        ),
        (b'{"query": "?", "topk": []}\n', 1, "'qid' is missing", ""),
        (b'{"qid": null, "topk": []}\n', 1, "'qid' is missing", ""),
        (b'{"qid": "q1", "topk": [], "query": 3}\n', 1, "'query' is 3, not text", ""),
        (b'{"qid": "q1", "topk": [], "seed": 0.5}\n', 1, "'seed' is 0.5, not a whole number", ""),
        (b'{"qid": "q1", "topk": [], "paraphrase": -1}\n', 1, "'paraphrase' is -1", "it should be 0 or above"),
        (b'{"qid": "q1", "topk": [], "latency_ms": -3}\n', 1, "'total' took -3 ms", "a latency should be 0 or above"),
        (b'{"qid": "q1", "topk": [], "ms": {"rerank": "x"}}\n', 1, "ms: 'rerank' is 'x', not a number", ""),
        (b'{"qid": "q1", "topk": ["a"], "error": "x"}\n', 1, "has an 'error' and hits in 'topk'", "keep one of them"),
        (
            b'{"qid": "q1", "topk": []}\n{"qid": "q2", "topk": []}\n{"qid": "q1", "topk": []}\n',
            3,
            "query 'q1' is answered twice in the same words",
            "keep one of them, or give each its own 'seed', a whole number",
        ),
        (
            b'{"qid": "q1", "topk": [], "seed": 7}\n{"qid": "q1", "topk": [], "seed": 7}\n',
            2,
            "query 'q1' is answered twice in the same words and with seed 7",
            "keep one of them, or give each its own 'seed', a whole number",
        ),
        (
            b'{"qid": "q1", "topk": [], "index_hash": "a"}\n{"qid": "q2", "topk": []}\n'
            b'{"qid": "q3", "topk": [], "index_hash": "b"}\n',
            3,
            "'index_hash' is 'b', and was 'a' before",
            "a run has one system: split the file",
        ),
        (b'{"qid": "q1", "qid": "q2", "topk": []}\n', 1, "key 'qid' appears twice in one object", "keep one of them"),
        (
            b"q1 Q0 pool 1 2.5 x\nq1 Q0 spa 2",
            2,
            "4 columns instead of 6",
            "a line is: query Q0 document rank score tag; judgments come first, then runs",
        ),
        (b"q1 Q0 pool 1 nan x\n", 1, "score 'nan' is not a finite number", "scores are decimal numbers such as 12.5"),
        (
            b"q1 Q0 pool 1 2 x\nq1 Q0 pool 2 1 x\n",
            2,
            "document 'pool' appears twice for query 'q1'",
            "keep only its best score, and collapse chunks to their document yourself",
        ),
        (b"q1 Q0 p\xff 1 2 x\n", 1, "byte 0xff is not UTF-8", "convert it to UTF-8, for example with iconv"),
        (b'{"karat":"run","format":1}\n', 1, "the run was not finished", "run 'karat eval' again to continue it"),
    ],
)
def test_what_is_wrong_is_said_with_its_line_and_a_way_out(
    tmp_path: Path, text: bytes, line: int | None, what: str, hint: str
) -> None:
    """One message for each mistake."""
    path = tmp_path / "answers"
    path.write_bytes(text)
    with pytest.raises(InputError) as raised:
        read_any_run(path, HOTEL)
    error = raised.value
    assert (error.source, error.line, error.what, error.hint) == (str(path), line, what, hint)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    """A file is mended in one go."""
    path = written(tmp_path, answer("q1"), {"qid": "q2"}, answer("q3", {"score": 1}))
    with pytest.raises(InputError, match=r"2 mistakes\n.*line 2: 'topk' is missing\n.*line 3: topk\[0\]: 'id'"):
        read_any_run(path, HOTEL)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """A missing file, a folder, and streams, which can be read only once."""
    os.mkfifo(tmp_path / "pipe")
    for path, message in ((tmp_path / "none", "no such file"), (tmp_path, "is a folder"), ("-", "is a stream")):
        with pytest.raises(InputError, match=message):
            read_any_run(path, HOTEL)
    with pytest.raises(InputError, match="is a stream, which cannot be read twice; save the run as a file first"):
        read_any_run(tmp_path / "pipe", HOTEL)


# Oracles


@pytest.mark.public_data
@needs_data
@pytest.mark.parametrize("without", [set(), {"302"}])
def test_nists_run_scores_as_in_trec_eval(tmp_path: Path, without: set[str]) -> None:
    """Every value is trec_eval's; a query that is cut out of the run is 0 in the mean over all."""
    lines = (NIST / "results.test").read_text().splitlines(keepends=True)
    path = tmp_path / "results.test.gz"
    path.write_bytes(gzip.compress("".join(line for line in lines if line.split()[0] not in without).encode()))
    gold = golden.read(NIST / "qrels.test")
    evaluation = score_run(gold, read_any_run(path, gold), ["nDCG@10", "AP", "P@5", "RR", "R@100"])
    oracle = pytrec_eval.RelevanceEvaluator(gold.qrels(), {"ndcg_cut.10", "map", "P.5", "recip_rank", "recall.100"})
    run = {query: dict(scored) for query, scored in karat.read_run(path).table().items()}
    theirs = oracle.evaluate(run)
    names = {"nDCG@10": "ndcg_cut_10", "AP": "map", "P@5": "P_5", "RR": "recip_rank", "R@100": "recall_100"}
    assert set(theirs) == {"301", "302", "303"} - without
    for measure, name in names.items():
        expected = {query: theirs.get(query, {name: 0.0})[name] for query in ("301", "302", "303")}
        assert {query: evaluation.scores.value(query, measure) for query in expected} == pytest.approx(expected)
        assert evaluation.scores.mean()[measure] == pytest.approx(sum(expected.values()) / 3)
    assert evaluation.failures == dict.fromkeys(without, "not in the run")
    assert evaluation.provenance.settings["k"] == 500


@pytest.mark.slow
@quick
@given(tables(grades=GRADES))
def test_a_run_scores_as_karat_score_has_it(
    both: tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]],
) -> None:
    """Ties, strangers and missing queries included, for a run and for the same as traces."""
    qrels, run = both
    gold = GoldenSet(
        grades=tuple("01234"),
        relevant=1,
        judgments=tuple(
            Judgment(query=q, target=Target(document=d), grade=g)
            for q, graded in qrels.items()
            for d, g in graded.items()
        ),
    )
    measures = ["nDCG@10", "RR", "P@5", "R@5", "Bpref"]
    expected = karat.score(qrels, run, measures)
    ordered = {q: sorted(ranked, key=lambda d: (ranked[d], d), reverse=True) for q, ranked in run.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.json")
        path.write_text(json.dumps(run))
        traces = written(Path(folder), *(answer(query, *ids) for query, ids in ordered.items()))
        for file in (path, traces):
            read = read_any_run(file, gold)
            if not any(gold.qrels()[q].get(d) is not None for q in qrels for d in run.get(q, ())):
                with pytest.raises(InputError, match="no document that the system returned is judged"):
                    score_run(gold, read, measures)
                continue
            scores = score_run(gold, read, measures).scores
            assert scores.queries == expected.queries
            np.testing.assert_array_equal(scores.values, expected.values)


# Properties


ROWS = [
    answer(q, *hits, query=text, seed=seed)
    for q, text, hits in (
        ("q1", "When does the pool open?", ["pool", "spa"]),
        ("q1", "Pool hours?", ["spa", "pool"]),
        ("q2", "Is there wifi?", ["spa"]),
        ("q2", "Can I go online?", ["spa", "wifi"]),
    )
    for seed in (3, 11)
]


@pytest.mark.slow
@quick
@given(st.permutations(ROWS))
def test_the_order_of_the_rows_makes_no_difference(rows: list[dict[str, object]]) -> None:
    """Wordings and seeds are numbered by what they are, not by where they stand."""
    with tempfile.TemporaryDirectory() as folder:
        run = read_any_run(written(Path(folder), *rows), HOTEL)
    lists = {(t.query, t.paraphrase, t.repeat): [hit.id for hit in t.hits] for t in run.traces}
    assert lists == {
        ("q1", 0, 0): ["pool", "spa"], ("q1", 0, 1): ["pool", "spa"],
        ("q1", 1, 0): ["spa", "pool"], ("q1", 1, 1): ["spa", "pool"],
        ("q2", 0, 0): ["spa"], ("q2", 0, 1): ["spa"],
        ("q2", 1, 0): ["spa", "wifi"], ("q2", 1, 1): ["spa", "wifi"],
        ("q3", 0, 0): [], ("q3", 0, 1): [],
    }  # fmt: skip
    scores = score_run(HOTEL, run, ["RR@10"]).scores
    assert [scores.value(q, "RR@10") for q in ("q1", "q2", "q3")] == [0.75, 0.25, 0.0]


VALUES = [None, True, -1, 0, 1.5, 1e308, "", "x", "q1", [], [1, 2], [9, 1], {}, {"id": "a"}, [{"id": "a"}], "\ud800"]


@quick
@given(st.randoms(use_true_random=False))
def test_whatever_a_file_holds_it_is_read_or_explained(rng: random.Random) -> None:
    """Values of other types, keys that are gone, bytes that are cut off or changed: a run, or one of karat's errors."""
    row = {**LOGGED, "qid": "q1", "seed": 1, "error": None, "latency_ms": {"total": 3}, "paraphrase": 0, "doc": "pool"}
    hit = {"id": "pool", "score": 1.0, "offsets": [1, 2], "type": "code", "section": "S.1", "document": "pool"}
    changed = rng.choice([row, hit])
    changed[rng.choice(list(changed))] = rng.choice(VALUES)  # type: ignore[index]
    if rng.random() < 0.8 and "topk" in row and isinstance(row["topk"], list):
        row["topk"] = [hit, "spa"]
    data = bytearray(f"{json.dumps(answer('q2', 'wifi'))}\n{json.dumps(row)}\n".encode())
    if rng.random() < 0.5:
        del data[rng.randrange(len(data)) :]
    if data and rng.random() < 0.3:
        data[rng.randrange(len(data))] = rng.randrange(256)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "answers")
        path.write_bytes(bytes(data))
        run, message = None, ""
        try:
            run = read_any_run(path, HOTEL)
        except KaratError as error:
            message = str(error)
    assert str(path) in message if run is None else {trace.query for trace in run.traces} == {"q1", "q2", "q3"}
