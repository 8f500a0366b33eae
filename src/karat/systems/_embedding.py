"""An embedder at work: chunks with progress, questions with their time, and the user's cache for both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from karat.systems.embed import Embedder, Questions

Progress = Callable[[str, int, int], None]
"""Called with a stage, how much of it is done, and how much there is to do."""
_SLICE = 128  # texts that are embedded between two calls of progress: a few seconds
_GIGABYTE = 1e9


class Embedding:
    """Embeds the chunks and the questions of a system.

    ``cache`` is the size of the user's cache in gigabytes: True for the default, False for no cache.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        cache: bool | float = False,
        say: Callable[[str], None] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.embedder = embedder
        self._size, self._say = cache, _say_once(say or (lambda _: None))
        self._progress = progress or (lambda *_: None)
        self._questions = self._open_questions()

    def embed_texts(self, texts: Sequence[str]) -> Any:
        """Return one row for each text."""
        path = self._find_cache()
        model: Any = self.embedder if path is None else self._add_cache(path)
        self._report_too_long(texts)
        parts = []
        for start in range(0, len(texts), _SLICE):
            self._progress("embedding", start, len(texts))
            parts.append(model(texts[start : start + _SLICE]))
        self._progress("embedding", len(texts), len(texts))
        if model is not self.embedder:
            model.close()
        return np.concatenate(parts)

    def embed_question(self, query: str) -> tuple[Any, float | None]:
        """Return the vector of a question, and the milliseconds that it took if it may come from the cache."""
        if self._questions is None:
            return self.embedder([query])[0], None
        return self._questions(query)

    def close(self) -> None:
        """Keep the vectors of the questions."""
        if self._questions is not None:
            self._questions.close()

    def _open_questions(self) -> Questions | None:
        from karat.systems.embed import Questions

        path = self._find_cache()
        return None if path is None else Questions(self.embedder, path, self._say)

    def _find_cache(self) -> Path | None:
        """Return the file of the user's cache, or None if that is off, or there is no place for it."""
        from karat.systems.embed import find_cache

        try:
            return None if self._size is False else find_cache()
        except RuntimeError as error:  # without a home folder
            self._say(f"embeddings are not cached: {error}")
            return None

    def _add_cache(self, path: Path) -> Any:
        from karat.systems.embed import with_cache

        limit = {} if self._size is True else {"limit": self._size * _GIGABYTE}
        return with_cache(self.embedder, path, say=self._say, **limit)

    def _report_too_long(self, texts: Sequence[str]) -> None:
        count = getattr(self.embedder, "too_long", None)
        if count is not None and (cut := count(texts)):
            self._say(
                f"{cut:,} of {len(texts):,} chunks are longer than the embedder reads, so that it does not see their "
                "ends; choose a smaller size in [pipeline.chunk]"
            )


def _say_once(say: Callable[[str], None]) -> Callable[[str], None]:
    """Return a function that passes each message on once: chunks and questions share a cache, and its troubles."""
    messages: set[str] = set()

    def say_once(message: str) -> None:
        if message not in messages:
            messages.add(message)
            say(message)

    return say_once
