"""What a project hands to an adapter, and the keys of ``[system]`` that all stores have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict
from urllib.parse import urlsplit

from karat.core import GoldenSet, InputError, UsageError
from karat.net import Secrets
from karat.systems._embedding import Embedding, Progress
from karat.systems._stages import Stages
from karat.systems.embed import Embedder, make_embedder


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What an adapter may need of the project that names it in karat.toml."""

    folder: Path
    """The folder of karat.toml, to which paths are relative."""
    golden: GoldenSet
    stages: Stages
    """The stages of the built-in pipeline, of which a store uses chunker and embedder."""
    cache: bool = False
    say: Callable[[str], None] | None = None
    progress: Progress | None = None

    def make_embedding(self) -> Embedding:
        """Return the embedder that karat.toml names, with the user's cache."""
        cache = self.stages.embedding_cache if self.cache else False
        return Embedding(make_embedder(self.stages.embedder), cache=cache, say=self.say, progress=self.progress)


class StoreOptions(TypedDict, total=False):
    """What every store takes by name."""

    collection: str
    """The collection to search; left out if ``ingest`` is set."""
    ingest: bool
    """Whether to fill a new collection with the documents of the golden set, which is dropped at the end."""
    id: str
    """The field with the id of a hit; by default it is the store's own id."""
    document: str
    """The field with the id of the document that a hit belongs to."""
    content: str
    """The field with the text of a hit."""
    embedder: str | Mapping[str, Any] | Embedder | Embedding
    """The embedder of questions and chunks; by default that of the stages."""
    stages: Stages
    """The stages of the built-in pipeline, whose chunker, embedder, depth and per_document are used."""
    where: str
    """Where the store is, for the description."""
    secrets: Secrets
    """What must not be shown, however the store repeats it."""


@dataclass(frozen=True, kw_only=True)
class StoreSettings:
    """The keys of ``[system]`` that all stores have."""

    collection: str = ""
    ingest: bool = False
    id: str = ""
    document: str = ""
    content: str = ""

    def find_folder(self, around: Surroundings, path: str) -> Path:
        """Return the folder of a local store; one that is searched has to be there, and packages would make it."""
        folder = around.folder / path
        if not self.ingest and not folder.is_dir():
            raise InputError("no such folder", source=str(folder), hint="correct path in [system]")
        return folder

    def options(
        self, around: Surroundings, where: str = "", *, embeds: bool = True, secrets: Secrets | None = None
    ) -> StoreOptions:
        """Return the options of the store; ``embeds`` is whether karat embeds for it."""
        options = StoreOptions(
            collection=self.collection,
            ingest=self.ingest,
            id=self.id,
            document=self.document,
            content=self.content,
            stages=around.stages,
            where=where,
            secrets=secrets or Secrets(),
        )
        if embeds:
            options["embedder"] = around.make_embedding()
        return options


def refuse_login(url: str, kind: str) -> None:
    """Raise UsageError if an address has a user or a password, where the client of a store would leave them out."""
    parts = urlsplit(url)
    if parts.username or parts.password:
        raise UsageError(f"[system] url has a login, which {kind} is not sent; remove it, and name a key_variable")
