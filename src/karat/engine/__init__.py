"""Where the work runs: this process, or a Spark cluster. The same kernels run in both, and the results are equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core import open_lazily
from karat.engine._address import check_address, open_engine
from karat.engine._operation import Engine, Kernel, Operation, Source, collect_results

if TYPE_CHECKING:
    from karat.engine._doctor import examine_engine
    from karat.engine._local import LocalEngine
    from karat.engine._runs import score_runs
    from karat.engine._spark import SparkEngine

__all__ = [
    "Engine",
    "Kernel",
    "LocalEngine",
    "Operation",
    "Source",
    "SparkEngine",
    "check_address",
    "collect_results",
    "examine_engine",
    "open_engine",
    "score_runs",
]

# Imported at first use: they need Polars, or all measures.
_HOME = {
    "LocalEngine": "_local",
    "SparkEngine": "_spark",
    "examine_engine": "_doctor",
    "score_runs": "_runs",
}

if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, _HOME)
