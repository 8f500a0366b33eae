"""The inspector: the same result as the pipeline, every list on the way, and nothing done twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from each import each
from karat.core import Document
from karat.systems import Inspector, Pipeline, Stages
from karat.systems._embedding import Embedding
from karat.systems.rerank import Mix, Reranking
from karat.text import letters

TEXTS = {
    "pool": "The pool opens at six. Towels are at the desk. The pool closes at ten.",
    "sauna": "The sauna is beside the pool and opens at noon.",
    "wifi": "The network is free for guests in every room.",
    "dogs": "Dogs are welcome in rooms on the ground floor, not in the pool.",
}
DOCUMENTS = [Document(id=id_, title=id_.title(), text=text) for id_, text in TEXTS.items()]


class Letters:
    """Vectors that count groups of letters."""

    name, size = "letters", 64

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, texts: Sequence[str], /) -> Any:
        self.texts += texts
        rows = np.zeros((len(texts), self.size), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for group in letters(text):
                row[sum(group.encode()) % self.size] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def describe(self) -> dict[str, Any]:
        return {"name": self.name}


class Longest:
    """A reranker that prefers long chunks."""

    def __call__(self, query: str, chunks: Sequence[Any], /) -> list[float]:
        return [len(chunk.text) / 100 for chunk in chunks]

    def describe(self) -> dict[str, Any]:
        return {"kind": "longest"}


class Own(Pipeline):
    def _make_embedding(self) -> Any:
        self.letters = Letters()
        return Embedding(self.letters)

    def _make_reranking(self) -> Reranking | None:
        mix = Mix(threshold=None, best_per_document=True)
        return Reranking(reranker=Longest(), mix=mix) if self.stages.rerank else None


def make(**stages: Any) -> Own:
    pipeline = Own(Stages(**{"chunk": {"name": "sentence", "size": 8, "overlap": 0}, "dense": True, **stages}))
    pipeline.ingest(DOCUMENTS)
    return pipeline


@each(
    "stages",
    [
        {},
        {"mmr": True},
        {"per_document": 0},
        {"expand": True},
        {"lexical": False},
        {"neighbours": True, "rerank": {"kind": "own"}},
    ],
)
def test_the_last_list_is_what_the_pipeline_returns(stages: dict[str, Any]) -> None:
    """Chunk by chunk, with the same scores."""
    pipeline = make(**stages)
    inspection = Inspector(pipeline).inspect("when does the pool open", 3)
    hits = pipeline.retrieve("when does the pool open", 3)
    assert [(pipeline.chunks[n].id, score) for n, score in inspection.lists["result"]] == [
        (h.id, h.score) for h in hits
    ]


@each(
    ("part", "stages"),
    [
        ("lexical", {"lexical": False, "expand": False}),
        ("dense", {"dense": False, "neighbours": False}),
        ("expand", {"expand": False}),
        ("neighbours", {"neighbours": False}),
        ("rerank", {"rerank": False}),
        ("per_document", {"per_document": 0}),
    ],
)
@each("others", [{}, {"expand": True, "neighbours": True, "rerank": {"kind": "own"}}])
def test_a_part_that_is_off_is_as_if_it_were_not_configured(
    part: str, stages: dict[str, Any], others: dict[str, Any]
) -> None:
    """The oracle is the pipeline without it; a reranker is mixed with cosines if no words are searched."""
    inspection = Inspector(make(**others)).inspect("pool in the room", 3, off=(part,))
    without = make(**{**others, **stages})
    hits = without.retrieve("pool in the room", 3)
    assert [(without.chunks[n].id, score) for n, score in inspection.lists["result"]] == [(h.id, h.score) for h in hits]


def test_nothing_is_done_twice() -> None:
    """Whatever is turned off, a question is embedded once and each channel is searched once for it."""
    pipeline = make(mmr=True)
    inspector = Inspector(pipeline)
    before = len(pipeline.letters.texts)
    for off in ((), *((part,) for part in inspector.parts)):
        inspector.inspect("pool", 3, off=off)
    assert inspector.parts == ("lexical", "dense", "mmr", "per_document")
    assert (pipeline.letters.texts[before:], inspector.searches) == (["pool"], 2)


def test_other_chunks_share_the_embedder() -> None:
    """A rebuilt pipeline cuts anew, and does not embed the question again."""
    pipeline = make()
    inspector = Inspector(pipeline)
    inspector.inspect("pool", 3)
    whole = inspector.rebuild(DOCUMENTS, "whole", chunk="whole")
    assert len(whole.chunks) == len(DOCUMENTS) < len(inspector.chunks)
    before = len(pipeline.letters.texts)
    whole.inspect("pool", 3)
    assert len(pipeline.letters.texts) == before
    assert pipeline.stages.chunk != "whole"


def test_an_answer_has_what_each_channel_would_give_alone() -> None:
    """The oracle is the pipeline with that channel alone; a pipeline with one channel records nothing twice."""
    question = "pool in the room"
    stages = {stage.channel: stage.hits for stage in make(neighbours=True).retrieve(question, 3).stages}
    for channel, other in (("lexical", "dense"), ("dense", "lexical")):
        alone = make(**{other: False}).retrieve(question, 3)
        assert [(hit.id, hit.score) for hit in stages[channel]] == [(hit.id, hit.score) for hit in alone]
        assert alone.stages == ()
