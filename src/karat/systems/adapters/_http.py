"""A retriever behind HTTP: one POST with JSON for each question, and JSON with hits in return.

It may also take in the documents, say when it is ready, and store the memories of sessions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from karat.core import Answer, Context, UsageError
from karat.net import strip_secrets
from karat.systems.adapters._answer_paths import ANSWER, CITATION, AnswerReader
from karat.systems.adapters._http_intake import HttpIntake
from karat.systems.adapters._paths import HitReader

_PATHS = ("id", "score", "document", "content", "tenant")


@dataclass(frozen=True, kw_only=True)
class HttpSystem(HttpIntake):
    """Sends each question to a service as JSON such as ``{"query": ..., "k": ...}``, and reads the hits it returns.

    Paths are names and numbers with dots between them: ``hits`` leads into the answer, ``id``, ``score`` and the others
    into a hit. The key is read from an environment variable, so that no file holds it.

    >>> system = HttpSystem(url="http://localhost:9200/search", hits="data.results", id="chunk.id")
    >>> system.read({"data": {"results": [{"chunk": {"id": "wifi:chunk:0"}, "score": 0.5}]}})
    [{'id': 'wifi:chunk:0', 'score': 0.5}]
    """

    query_field: str = "query"
    k_field: str = "k"
    body: Mapping[str, Any] = field(default_factory=dict)
    """Other fields of every question, such as the name of an index."""
    hits: str = "hits"
    id: str = "id"
    score: str = "score"
    document: str = ""
    content: str = ""
    tenant: str = ""
    answer: str = ""
    """The path to the text of the answer, for a service that answers, too; empty if it only retrieves."""
    citations: str = ""
    refused: str = ""
    tokens: str = ""
    cost: str = ""
    citation_id: str = "id"
    citation_document: str = "document"
    citation_span: str = "span"
    citation_section: str = "section"
    citation_block: str = "block"
    reader: HitReader = field(init=False, repr=False, compare=False)
    answers: AnswerReader | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = {self.query_field, self.k_field, self.tenant_field, *self.context_names().values()}
        if clash := names & self.body.keys():
            raise UsageError(f"body sets {min(clash)!r}, which is part of the question; rename one of them")
        if not self.answer and (others := [name for name in ANSWER if getattr(self, name)]):
            raise UsageError(f"[system] {others[0]} is a part of an answer; set answer, too, the path to its text")
        super().__post_init__()
        paths = {name: getattr(self, name) for name in _PATHS}
        object.__setattr__(self, "reader", HitReader(paths, hits=self.hits, redact=self.client.secrets.redact))
        object.__setattr__(self, "answers", self._read_answers())

    def _read_answers(self) -> AnswerReader | None:
        if not self.answer:
            return None
        paths = {name: getattr(self, name) for name in ANSWER}
        citation = {name: getattr(self, f"citation_{name}") for name in CITATION}
        return AnswerReader(paths, citation, redact=self.client.secrets.redact)

    def describe(self) -> dict[str, Any]:
        """Return everything known here that decides the answers."""
        paths = {name: getattr(self, name) for name in (*_PATHS, "hits", "query_field", "k_field", "tenant_field")}
        # The query of a URL may choose an index, and may be private: its hash tells two URLs apart. Of a password or
        # a key there is no hash either, by which a weak one could be guessed.
        public = strip_secrets(self.url)
        url = {} if public == self.name else {"url_hash": hashlib.sha256(public.encode()).hexdigest()[:16]}
        fields = {f"{part}_field": name for part, name in self.context_names().items()}
        others = {name: client.name for name, client in self.clients.items()}
        if self.answer:  # absent otherwise, so that the fingerprints of older runs stay valid
            others |= {name: getattr(self, name) for name in (*ANSWER, *(f"citation_{part}" for part in CITATION))}
        return {"kind": "http", "url": self.name, **url, "body": dict(self.body), **paths, **fields, **others}

    def retrieve(
        self, query: str, k: int, company_id: str = "", context: Context | None = None
    ) -> list[dict[str, Any]] | Answer:
        """Send a question, and return the hits as records; with a path to an answer, that answer with its hits."""
        question = {**self.body, self.query_field: query, self.k_field: k}
        response = self.client.post(question | self.name_tenant(company_id) | self.name_context(context))
        hits = self.read(response)
        return hits if self.answers is None else self.answers.read(response, hits)

    def read(self, response: Any) -> list[dict[str, Any]]:
        """Return the hits of an answer as records; see :class:`HitReader`."""
        return self.reader.read(response)

    def connect(self, _: object) -> HttpSystem:
        """Return the system itself: connections are made when the first question is sent."""
        return self
