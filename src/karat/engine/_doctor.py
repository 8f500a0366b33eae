"""Looking whether an engine can work, and what is missing if it cannot."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from typing import Any

from karat.core import KaratError, __version__
from karat.engine._address import LOCAL, check_address
from karat.engine._session import find_java, list_masters, reach, require_pyspark
from karat.net import find_version
from karat.schema.engine import EngineCheck, EngineReport, EngineWorker

_PATIENCE = 60.0
"""Seconds in which a cluster has to give an executor."""


def examine_engine(address: str = LOCAL, *, patience: float = _PATIENCE) -> EngineReport:
    """Return whether work can run at an address. A cluster is asked to run a small task in every place it gives.

    >>> examine_engine().ready
    True
    """
    check_address(address)
    is_cluster = address != LOCAL
    checks = [
        _check("python", platform.python_version),
        _check("polars", lambda: find_version("polars")),
        _check("pyspark", _find_pyspark, needed=is_cluster),
        _check("java", lambda: " ".join(map(str, reversed(find_java()))), needed=is_cluster),
    ]
    for host, port in list_masters(address):
        checks.append(_check("master", lambda place=(host, port): _find_master(place)))  # type: ignore[misc]
    workers: tuple[EngineWorker, ...] = ()
    executors = 0
    if is_cluster and _is_ready(checks):
        try:
            executors, workers = _ask_workers(address, patience)
            checks += _check_workers(executors, workers)
        except KaratError as error:
            checks.append(EngineCheck(name="executors", ready=False, needed=True, value="", hint=str(error)))
    return EngineReport(
        engine=address, ready=_is_ready(checks), checks=tuple(checks), executors=executors, workers=workers
    )


def _is_ready(checks: list[EngineCheck]) -> bool:
    return all(check.ready or not check.needed for check in checks)


def _check(name: str, find: Callable[[], str], *, needed: bool = True) -> EngineCheck:
    try:
        return EngineCheck(name=name, ready=True, needed=needed, value=find(), hint="")
    except KaratError as error:
        return EngineCheck(name=name, ready=False, needed=needed, value="", hint=str(error))


def _find_pyspark() -> str:
    return str(require_pyspark().__version__)


def _find_master(place: tuple[str, int]) -> str:
    reach(place)
    return f"{place[0]}:{place[1]}"


def _ask_workers(address: str, patience: float) -> tuple[int, tuple[EngineWorker, ...]]:
    """Return how many executors there are, and what their Python has."""
    from karat.engine._spark import SparkEngine

    with SparkEngine(address, patience=patience) as engine:
        answers, executors = engine.ask(_make_probe())
    return executors, tuple(EngineWorker(**dict(answer)) for answer in sorted(answers))


def _make_probe() -> Callable[[int], tuple[tuple[str, str], ...]]:
    """Return a function that needs nothing of karat where it runs, since karat may not be there."""

    def probe(_: int) -> Any:
        import platform
        import socket
        from importlib import import_module

        versions = {"host": socket.gethostname(), "python": platform.python_version()}
        for name, module in (("karat", "karat.core"), ("polars", "polars")):
            try:
                versions[name] = import_module(module).__version__
            except ImportError:
                versions[name] = ""
        return tuple(versions.items())

    return probe


def _check_workers(executors: int, workers: tuple[EngineWorker, ...]) -> Iterator[EngineCheck]:
    yield EngineCheck(name="executors", ready=True, needed=True, value=str(executors), hint="")
    for name, here in (("karat", __version__), ("polars", find_version("polars"))):
        versions = sorted({getattr(worker, name) for worker in workers})
        ready = "" not in versions and (name != "karat" or versions == [here])
        there = ", ".join(version or "none" for version in versions)
        hint = "" if ready else f"the workers' Python has {name} {there}; install {name} {here} there, as it is here"
        yield EngineCheck(name=f"workers: {name}", ready=ready, needed=True, value=there if ready else "", hint=hint)
