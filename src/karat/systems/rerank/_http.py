"""A reranker behind HTTP, with the ``/rerank`` of Cohere, Jina, Voyage, vLLM and TEI."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Literal, get_args

from karat.core import UsageError, shorten
from karat.net import Client, Endpoint
from karat.systems._chunk import Chunk

Field = Literal["documents", "texts"]


class HttpReranker:
    """Sends ``{model, query, documents, top_n}`` to a service, and reads ``{results: [{index, relevance_score}]}``.

    ``field`` is the service's name for the texts: ``texts`` for Hugging Face's TEI, ``documents`` for all others. More
    than ``batch`` chunks are sent in several requests.
    """

    def __init__(self, endpoint: Endpoint, *, model: str = "", field: Field = "documents", batch: int = 100) -> None:
        if field not in get_args(Field):
            raise UsageError(f"field {field!r} of the reranker; choose from {', '.join(get_args(Field))}")
        if batch < 1:
            raise UsageError(f"batch={batch} of the reranker; choose 1 or more")
        self._endpoint, self._model, self._field, self._batch = endpoint, model, field, batch
        self._client = Client(endpoint, "reranker")

    def describe(self) -> dict[str, Any]:
        """Return everything known here that decides the scores."""
        return {"kind": "http", "url": self._endpoint.name, "model": self._model, "field": self._field}

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __call__(self, query: str, chunks: Sequence[Chunk], /) -> list[float]:
        """Return the service's score for each chunk; raise SystemFailed with its message if it fails."""
        scores: list[float] = []
        for start in range(0, len(chunks), self._batch):
            texts = [chunk.text for chunk in chunks[start : start + self._batch]]
            scores += self._scores(self._client.post(self._body(query, texts)), len(texts))
        return scores

    def _body(self, query: str, texts: list[str]) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._model} if self._model else {}
        body |= {"query": query, self._field: texts}
        return body | {"top_n": len(texts)} if self._field == "documents" else body

    def _scores(self, response: Any, n: int) -> list[float]:
        """Read ``{results: [{index, relevance_score}]}``; TEI returns a bare list, and Voyage calls it ``data``."""
        rows = response.get("results", response.get("data")) if isinstance(response, dict) else response
        if not isinstance(rows, list):
            raise self._client.failed(f"an answer without results: {shorten(response)}")
        scores: dict[int, float] = {}
        for row in rows:
            fields = row if isinstance(row, dict) else {}
            index: Any = fields.get("index")
            score: Any = fields.get("relevance_score", fields.get("score"))
            if type(index) is not int or not 0 <= index < n or index in scores:
                problem = f"a result whose index is not one of 0 to {n - 1}, or is repeated"
                raise self._client.failed(f"{problem}: {shorten(row)}")
            if type(score) not in (int, float) or not abs(score) <= sys.float_info.max:
                raise self._client.failed(f"a result whose score is not a finite number: {shorten(row)}")
            scores[index] = float(score)
        if len(scores) < n:
            raise self._client.failed(f"scores for {len(scores)} of {n} texts")
        return [scores[i] for i in range(n)]
