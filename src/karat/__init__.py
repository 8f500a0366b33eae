"""karat tells a team whether its retrieval is good, whether a change made it better or worse, and whether it may ship.

>>> import karat
>>> karat.score({"q1": {"d1": 1}}, {"q1": {"d1": 0.9, "d2": 0.1}}, ["nDCG@10"]).mean()
{'nDCG@10': 1.0}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from karat import causes as causes
    from karat import config as config
    from karat import core as core
    from karat import diagnosis as diagnosis
    from karat import engine as engine
    from karat import evaluation as evaluation
    from karat import experiments as experiments
    from karat import exports as exports
    from karat import feedback as feedback
    from karat import files as files
    from karat import gate as gate
    from karat import golden as golden
    from karat import judges as judges
    from karat import labelling as labelling
    from karat import measures as measures
    from karat import migration as migration
    from karat import monitoring as monitoring
    from karat import online as online
    from karat import projects as projects
    from karat import reports as reports
    from karat import runs as runs
    from karat import schema as schema
    from karat import server as server
    from karat import start as start
    from karat import stats as stats
    from karat import systems as systems
    from karat import telemetry as telemetry
    from karat import text as text
    from karat import traces as traces
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
        from importlib import import_module

        if name in __all__:
            return getattr(import_module(_HOME.get(name, "karat.core")), name)
        if name.startswith("_"):  # which tools look for in every module, and must not make it import anything
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return import_module("karat.core").open_lazily(__name__, {})(name)


def __dir__() -> list[str]:
    from pkgutil import iter_modules

    return sorted({*__all__, *(module.name for module in iter_modules(__path__) if module.ispkg)})
