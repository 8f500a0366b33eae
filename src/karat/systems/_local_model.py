"""Models of sentence-transformers that are on this machine: karat installs no torch, and downloads nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from karat.core import UsageError
from karat.net import require_package

INSTALL = "'karat[sentence-transformers]'"


def local_model(kind: Literal["SentenceTransformer", "CrossEncoder"], model: str, what: str, **options: Any) -> Any:
    """Load a model from a folder, or from the cache of Hugging Face; ``what`` names in messages what needs it."""
    library = require_package("sentence_transformers", install=INSTALL, purpose=what)
    try:
        with _offline():
            return getattr(library, kind)(model, local_files_only=True, **options)
    except (OSError, ValueError) as error:  # what the library raises where there is no such model, or a broken one
        said = str(error).partition("\n")[0]
        hint = "karat downloads nothing: give a folder, or fetch it with 'hf download' first"
        raise UsageError(f"{what} cannot be loaded ({said}); {hint}") from None


@contextmanager
def _offline() -> Iterator[None]:
    """Keep Hugging Face's client from the network, which it asks about itself even when all files are local."""
    constants = require_package("huggingface_hub.constants", install=INSTALL, purpose="sentence-transformers")
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True  # the variable of that name is only read when the package is imported
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before
