"""The index of a project: its runs, scored and decided on once, so that a page about any of them takes milliseconds.

It is a file of SQLite in the project's folder ``.karat``, made from the run files and the golden set, and never the
truth: it can be removed at any time, and is made anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core import open_lazily

if TYPE_CHECKING:
    from karat.index._columns import RANKED, Columns
    from karat.index._indexer import Indexer
    from karat.index._reading import (
        Index,
        IndexedDocument,
        IndexedJudgment,
        IndexedQuery,
        IndexedRun,
        Mark,
        open_index,
    )
    from karat.index._signature import Signature, sign_project

__all__ = [
    "RANKED",
    "Columns",
    "Index",
    "IndexedDocument",
    "IndexedJudgment",
    "IndexedQuery",
    "IndexedRun",
    "Indexer",
    "Mark",
    "Signature",
    "open_index",
    "sign_project",
]

# Imported at first use: who looks at pages needs no gate.
_HOME = {
    **dict.fromkeys(("RANKED", "Columns"), "_columns"),
    "Indexer": "_indexer",
    **dict.fromkeys(
        ("Index", "IndexedDocument", "IndexedJudgment", "IndexedQuery", "IndexedRun", "Mark", "open_index"), "_reading"
    ),
    **dict.fromkeys(("Signature", "sign_project"), "_signature"),
}

if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, _HOME)
