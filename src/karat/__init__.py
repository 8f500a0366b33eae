"""karat tells a team whether its retrieval is good, whether a change made it better or worse, and whether it may ship.

>>> import karat
>>> karat.score({"q1": {"d1": 1}}, {"q1": {"d1": 0.9, "d2": 0.1}}, ["nDCG@10"]).mean()
{'nDCG@10': 1.0}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from karat.core import (
        Answer,
        Citation,
        Context,
        Document,
        GateFailed,
        GoldenSet,
        Hit,
        InputError,
        Judgment,
        KaratError,
        Measure,
        MeasureError,
        Query,
        Scores,
        Span,
        SystemFailed,
        Target,
        UsageError,
        __version__,
    )
    from karat.measures import (
        Judgments,
        Overlap,
        Rankings,
        pass_at_k,
        read_judgments,
        read_run,
        score,
        score_hits,
        score_runs,
    )
    from karat.projects import GateResult, check, evaluate

__all__ = [
    "Answer",
    "Citation",
    "Context",
    "Document",
    "GateFailed",
    "GateResult",
    "GoldenSet",
    "Hit",
    "InputError",
    "Judgment",
    "Judgments",
    "KaratError",
    "Measure",
    "MeasureError",
    "Overlap",
    "Query",
    "Rankings",
    "Scores",
    "Span",
    "SystemFailed",
    "Target",
    "UsageError",
    "__version__",
    "check",
    "evaluate",
    "pass_at_k",
    "read_judgments",
    "read_run",
    "score",
    "score_hits",
    "score_runs",
]

_HOME = {
    **dict.fromkeys(
        (
            "Judgments",
            "Overlap",
            "Rankings",
            "pass_at_k",
            "read_judgments",
            "read_run",
            "score",
            "score_hits",
            "score_runs",
        ),
        "karat.measures",
    ),
    **dict.fromkeys(("GateResult", "check", "evaluate"), "karat.projects"),
}

if not TYPE_CHECKING:  # with it mypy would take any name for one of this package

    def __getattr__(name: str) -> Any:
        # Imported at first use: `karat --help` needs none of it, and NumPy takes longer to import than Python to start.
        if name in __all__:
            from importlib import import_module

            return getattr(import_module(_HOME.get(name, "karat.core")), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
