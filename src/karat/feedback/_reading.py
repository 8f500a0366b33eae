"""Harvesting the log of a store."""

from __future__ import annotations

import os
from typing import Any

from karat.core import GoldenSet
from karat.feedback._harvest import Harvest, harvest
from karat.feedback._rebuild import read_sessions
from karat.feedback._sessions import Oddities
from karat.online import read_log


def harvest_log(
    store: str | os.PathLike[str] = "karat.db",
    golden: GoldenSet | None = None,
    *,
    since: float | None = None,
    until: float | None = None,
    **options: Any,
) -> Harvest:
    """Return a candidate for a golden set from the log of a store; the options are those of :func:`harvest`.

    ``since`` is included and ``until`` is not, in seconds since 1970. Answers are searched for the words of the golden
    set's documents. What is still in the journal is not there: see :func:`karat.online.ingest`.
    """
    oddities = Oddities()
    texts = {document.id: document.text for document in golden.documents} if golden else None
    with read_log(store) as log:
        sessions = read_sessions(log, since, until, oddities=oddities, texts=texts)
        return harvest(sessions, golden, oddities=oddities, **options)
