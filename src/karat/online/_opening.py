"""Opening the log of a host: its settings, and the key that ids are hashed with."""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from karat.core import KaratError, UsageError, is_number
from karat.online._journal import LEAST_SEGMENT, SEGMENT_BYTES, SYNC_SECONDS, Journal
from karat.online._log import Log, Origin
from karat.online._paths import find_paths
from karat.online._privacy import KEY_VARIABLE, Redaction, make_key, make_redaction, note_key, parse_key

if TYPE_CHECKING:
    from karat.config import TelemetryConfig

_logger = logging.getLogger("karat.online")


def open(  # noqa: A001 (karat.online.open reads as it should)
    path: str | os.PathLike[str] = "karat.db",
    *,
    sample: float = 1.0,
    redact: bool | Mapping[str, str] | Redaction = True,
    key: str | None = None,
    keep_ids: bool = False,
    system: str = "",
    build: str = "",
    index: str = "",
    normaliser: str = "",
    sync: float = SYNC_SECONDS,
    segment_bytes: int = SEGMENT_BYTES,
    ingest: bool = False,
    telemetry: str | TelemetryConfig | None = None,
) -> Log:
    """Return the log of a host. Only settings that make no sense raise; a disk that fails does not, here or later.

    ``sample`` is the share of sessions that is logged. ``redact`` may have own patterns by the name that replaces them,
    beside karat's own; False writes texts as they are. Ids of sessions and users are hashed with ``key``, the variable
    ``KARAT_ONLINE_KEY``, or a key that is made in a file beside the store; ``keep_ids`` writes them as they are.
    ``system`` is the version or fingerprint of what answers, ``build`` that of its code, ``index`` a hash of its index
    and ``normaliser`` a fingerprint of how it normalises texts. ``sync`` is
    how many seconds a loss of power may cost. ``ingest`` starts a thread that brings records into the store; ``karat
    online ingest --follow`` does it in a process of its own, which disturbs the host less. Whoever ingests
    sends queries to a collector of OpenTelemetry, if its variables name one, or ``telemetry``: a URL, or all settings.
    """
    if not is_number(sample) or not 0 < sample <= 1:
        raise UsageError(f"sample={sample!r} is not a share of sessions; use a number above 0, up to 1")
    if not is_number(sync) or not sync > 0:
        raise UsageError(f"sync={sync!r} is not a number of seconds above 0")
    if not is_number(segment_bytes) or not segment_bytes >= LEAST_SEGMENT:
        raise UsageError(f"segment_bytes={segment_bytes!r} is too small, or no number; use {LEAST_SEGMENT} or more")
    if telemetry is not None and not ingest:
        raise UsageError("telemetry needs ingest=True; without it, 'karat online ingest' sends what the log has")
    config = _read_endpoint(telemetry) if isinstance(telemetry, str) else telemetry
    paths = find_paths(path)
    redaction = make_redaction(redact)
    hash_key = None if keep_ids else parse_key(key) if key is not None else _find_key(paths.key)
    if hash_key is not None:
        with suppress(OSError, KaratError):
            note_key(paths.key_checks, hash_key)
    journal = Journal(paths.journal, segment_bytes=segment_bytes, sync=sync)
    hiding = None if redact is False else redaction
    origin = Origin(system=system, build=build, index=index, normaliser=normaliser)
    log = Log(paths, journal, hiding, key=hash_key, rate=float(sample), origin=origin)
    if ingest:
        log.start_ingester(config)
    return log


def _read_endpoint(url: str) -> TelemetryConfig:
    from karat.config import read_telemetry

    return read_telemetry({"endpoint": url}, "karat.online.open")


def _find_key(path: Path) -> bytes:
    if text := os.environ.get(KEY_VARIABLE):
        return parse_key(text)  # one that is too short is a setting without sense
    try:
        return make_key(path)
    except (OSError, KaratError, ValueError) as error:
        _logger.warning("ids are hashed with a key of this process only, and cannot be joined: %s", error)
        return secrets.token_bytes()
