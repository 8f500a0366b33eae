"""Why a page cannot be shown."""

from __future__ import annotations

from karat.core import InputError, KaratError, UsageError


class NotThere(InputError):
    """There is no such run, query or page."""


class NotNow(UsageError):
    """Something changed meanwhile, so that it cannot be done any more: somebody else has taken the decision, say."""


class NotReady(KaratError):
    """Something has to be computed first; ``job`` says what, for the indexer."""

    def __init__(self, what: str, job: tuple[str, ...]) -> None:
        super().__init__(what)
        self.job = job
