"""Addresses of engines, as ``--engine`` takes them."""

from __future__ import annotations

import re

from karat.core import UsageError, shorten
from karat.engine._operation import Engine

LOCAL = "local"
_MASTERS = re.compile(r"spark://([^\s/:,@]+|\[[0-9a-fA-F:]+\]):(\d{1,5})(,([^\s/:,@]+|\[[0-9a-fA-F:]+\]):(\d{1,5}))*")
_CLUSTER = re.compile(r"local-cluster\[[1-9]\d{0,2},[1-9]\d{0,2},[1-9]\d{2,6}\]")


def open_engine(address: str = LOCAL) -> Engine:
    """Return the engine at an address: ``local`` is this process, others are Spark clusters, started when first used.

    >>> open_engine("local").address, open_engine("spark://host:7077").address
    ('local', 'spark://host:7077')
    """
    if address == LOCAL:
        from karat.engine._local import LocalEngine

        return LocalEngine()
    check_address(address)
    from karat.engine._spark import SparkEngine

    return SparkEngine(address)


def check_address(address: str) -> None:
    """Raise UsageError if an address is not that of an engine."""
    ports = [int(port) for port in re.findall(r":(\d+)(?:,|$)", address)] if _MASTERS.fullmatch(address) else []
    if address == LOCAL or (ports and all(0 < port < 65536 for port in ports)) or _CLUSTER.fullmatch(address):
        return
    known = "local, spark://HOST:PORT and local-cluster[WORKERS,CORES,MEGABYTES]"
    raise UsageError(f"engine {shorten(address)} is unknown; karat knows {known}")
