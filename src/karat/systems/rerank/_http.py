"""A reranker behind HTTP: the ``/rerank`` that Cohere, Jina, Voyage, vLLM and TEI speak."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, get_args

from karat.core import UsageError, shorten
from karat.net import Client, Endpoint
from karat.systems._chunk import Chunk

Field = Literal["documents", "texts"]


class HttpReranker:
    """Asks a service: ``{model, query, documents, top_n}`` for ``{results: [{index, relevance_score}]}``.

    ``field`` is what the service calls the texts: Hugging Face's TEI says ``texts``, all others ``documents``. More
    than ``batch`` chunks are asked for in several requests.
    """

    def __init__(self, endpoint: Endpoint, *, model: str = "", field: Field = "documents", batch: int = 100) -> None:
        if field not in get_args(Field):
            raise UsageError(f"field {field!r} of the reranker; choose from {', '.join(get_args(Field))}")
        if batch < 1:
            raise UsageError(f"batch={batch} of the reranker; choose 1 or more")
        self._endpoint, self._model, self._field, self._batch = endpoint, model, field, batch
        self._client = Client(endpoint, "reranker")

    def describe(self) -> dict[str, Any]:
        """Give all that decides the scores, as far as it can be known from here."""
        return {"kind": "http", "url": self._endpoint.name, "model": self._model, "field": self._field}

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __call__(self, query: str, chunks: Sequence[Chunk], /) -> list[float]:
        """Give the service's score for each chunk, or raise SystemFailed with the service's own words."""
        scores: list[float] = []
        for start in range(0, len(chunks), self._batch):
            texts = [chunk.text for chunk in chunks[start : start + self._batch]]
            scores += self._scores(self._client.post(self._body(query, texts)), len(texts))
        return scores

    def _body(self, query: str, texts: list[str]) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._model} if self._model else {}
        body |= {"query": query, self._field: texts}
        return body | {"top_n": len(texts)} if self._field == "documents" else body

    def _scores(self, answer: Any, n: int) -> list[float]:
        """Read ``{results: [{index, relevance_score}]}``; TEI gives a bare list, and Voyage calls it ``data``."""
        rows = answer.get("results", answer.get("data")) if isinstance(answer, dict) else answer
        if not isinstance(rows, list):
            raise self._client.failed(f"an answer without results: {shorten(answer)}")
        found: dict[int, float] = {}
        for row in rows:
            fields = row if isinstance(row, dict) else {}
            index: Any = fields.get("index")
            score: Any = fields.get("relevance_score", fields.get("score"))
            if type(index) is not int or not 0 <= index < n or index in found:
                wrong = f"a result whose index is none of 0 to {n - 1}, or stands twice"
                raise self._client.failed(f"{wrong}: {shorten(row)}")
            if type(score) not in (int, float) or not math.isfinite(score):
                raise self._client.failed(f"a result whose score is no finite number: {shorten(row)}")
            found[index] = float(score)
        if len(found) < n:
            raise self._client.failed(f"scores for {len(found)} of {n} texts")
        return [found[i] for i in range(n)]
