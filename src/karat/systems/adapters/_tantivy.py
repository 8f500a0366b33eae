"""tantivy: an index of words in a folder, ranked by BM25."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

from karat.core import InputError, UsageError
from karat.net import require_package
from karat.systems.adapters._settings import StoreOptions, StoreSettings, Surroundings
from karat.systems.adapters._store import Match, Store

_WORD = re.compile(r"\w+")
_OPERATORS = ("AND", "OR", "NOT", "IN", "TO")
_HEAP = 50_000_000  # bytes for the writer; below 15 MB it refuses


class Tantivy(Store):
    """An index of tantivy; None if the documents of the golden set are ingested.

    Questions are taken apart into words, of which any may match.
    """

    name = "tantivy"
    package = "tantivy"
    has_ids = False

    def __init__(
        self,
        index: Any = None,
        *,
        search_in: Sequence[str] = (),
        tokenizer: str = "en_stem",
        **options: Unpack[StoreOptions],
    ) -> None:
        """``search_in`` names the fields with words, by default all; ``tokenizer`` is that of a new index."""
        if index is not None:
            options = {"collection": "index", **options}
        super().__init__(embeds=False, **options)
        self._index, self._search_in, self._tokenizer = index, list(search_in), tokenizer
        self._tantivy = require_package("tantivy", purpose="the system tantivy", extra="tantivy")

    def describe(self) -> dict[str, Any]:
        """Return everything known here that decides what is found."""
        new = {"tokenizer": self._tokenizer} if self.ingest else {}
        return {**super().describe(), "search_in": self._search_in, **new}

    def list_collections(self) -> Iterable[str]:
        return [self.collection]

    def create(self, size: int) -> None:  # noqa: ARG002 (texts have no vectors)
        schema = self._tantivy.SchemaBuilder()
        schema.add_integer_field("number", stored=True)
        schema.add_text_field("body", tokenizer_name=self._tokenizer)
        self._index, self._search_in = self._tantivy.Index(schema.build()), ["body"]

    def add(self, numbers: range, texts: Sequence[str], vectors: Any) -> None:  # noqa: ARG002 (texts have no vectors)
        writer = self._index.writer(_HEAP, 1)  # with one thread documents of equal score keep their order
        for number, text in zip(numbers, texts, strict=True):
            writer.add_document(self._tantivy.Document(number=number, body=text))
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()

    def search(self, question: str, k: int) -> Iterable[Match]:
        words = [word.lower() if word in _OPERATORS else word for word in _WORD.findall(question)]
        if not words:
            return
        searcher = self._index.searcher()
        query = self._parse(" ".join(words))
        for score, address in searcher.search(query, k).hits:
            fields = {name: values[0] for name, values in searcher.doc(address).to_dict().items() if values}
            yield Match(str(fields.get("number", "")), score, fields)

    def _parse(self, words: str) -> Any:
        try:
            return self._index.parse_query(words, self._search_in or None)
        except ValueError as error:  # a question of plain words has no mistakes of its own
            raise UsageError(f"[system] tantivy cannot search in {self._search_in}: {error}") from None

    def drop(self) -> None:
        self._index = None


@dataclass(frozen=True, kw_only=True)
class TantivySettings(StoreSettings):
    """The table ``[system]`` with ``kind = "tantivy"``."""

    path: str = ""
    """The folder of the index; needed unless ``ingest`` is set, which uses the memory."""
    search_in: list[str] = field(default_factory=list)
    tokenizer: str = "en_stem"

    def connect(self, around: Surroundings) -> Tantivy:
        """Open the index."""
        tantivy = require_package("tantivy", purpose="the system tantivy", extra="tantivy")
        if self.collection or bool(self.path) == self.ingest:
            raise UsageError("[system] kind tantivy needs either the path of an index, or ingest = true")
        index, path = None, around.folder / self.path
        if self.path:
            if not path.is_dir() or not tantivy.Index.exists(str(path)):
                raise InputError("no index of tantivy", source=str(path), hint="correct path in [system]")
            index = tantivy.Index.open(str(path))
        options = self.options(around, self.path, embeds=False)
        if index is not None:
            options["collection"] = "index"
        return Tantivy(index, search_in=self.search_in, tokenizer=self.tokenizer, **options)
