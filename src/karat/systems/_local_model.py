"""Models of sentence-transformers on this machine: karat neither installs torch nor downloads a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from karat.core import UsageError
from karat.net import require_package

EXTRA = "sentence-transformers"


def load_local_model(
    kind: Literal["SentenceTransformer", "CrossEncoder"], model: str, purpose: str, **options: Any
) -> Any:
    """Load a model from a folder or from the cache of Hugging Face; ``purpose`` names in messages what needs it."""
    library = require_package("sentence_transformers", extra=EXTRA, purpose=purpose)
    try:
        with _offline():
            return getattr(library, kind)(model, local_files_only=True, **options)
    except (OSError, ValueError) as error:  # what the library raises for a missing or broken model
        reason = str(error).partition("\n")[0]
        hint = "karat downloads nothing: name a folder, or fetch the model with 'hf download' first"
        raise UsageError(f"{purpose} cannot be loaded ({reason}); {hint}") from None


@contextmanager
def _offline() -> Iterator[None]:
    """Keep Hugging Face's client from using the network, which it does even if all files are local."""
    constants = require_package("huggingface_hub.constants", extra=EXTRA, purpose="sentence-transformers")
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True  # the environment variable is read only when the package is imported
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before
