"""The newest attempt to ask a project's system, if it failed: without it, an older run would look like the newest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from karat.core import InputError, KaratError, UsageError
from karat.files import read_bytes, write_file
from karat.gate import Check
from karat.projects._gating import GateResult
from karat.schema import to_json
from karat.schema.attempts import FailedAttempt
from karat.stats import Outcome

FILE = "failed.json"


@contextmanager
def record_attempt(runs: Path) -> Iterator[None]:
    """Write to a folder of runs that the block failed, and why; remove what an earlier attempt left if it succeeds.

    A mistake in how karat was called is no attempt. Without the folder there is no older run to take for a newer one.
    """
    try:
        yield
    except UsageError:
        raise
    except Exception as error:
        if runs.is_dir():
            with suppress(InputError):  # the caller learns of the failure itself, which matters more
                write_file(runs / FILE, f"{to_json(_describe(error))}\n")
        raise
    (runs / FILE).unlink(missing_ok=True)


def read_attempt(runs: Path, since: datetime | None) -> FailedAttempt | None:
    """Return the failed attempt that a folder of runs records, or None if there is none after a time."""
    path = runs / FILE
    if not path.is_file():
        return None
    try:
        attempt = msgspec.json.decode(read_bytes(path), type=FailedAttempt)
        time = datetime.fromisoformat(attempt.time)
    except (msgspec.DecodeError, ValueError) as error:
        raise InputError(f"is not what karat wrote: {error}", source=str(path), hint="remove it") from None
    return None if since is not None and since > time else attempt


def describe_attempt(attempt: FailedAttempt) -> str:
    """Return in words when an attempt failed, and why."""
    return f"a newer attempt failed on {attempt.time[:10]} at {attempt.time[11:16]} UTC: {attempt.error}"


def refuse_older(result: GateResult, attempt: FailedAttempt) -> GateResult:
    """Return the result on a run without a decision, because an attempt after it failed."""
    check = Check(
        metric="newest attempt", kind="attempt", outcome=Outcome.ERROR,
        reason=describe_attempt(attempt),
    )  # fmt: skip
    warning = f"WARNING: {check.reason}; the numbers are those of the run before it"
    decision = replace(result.decision, checks=(check, *result.decision.checks))
    return replace(result, decision=decision, caveats=(warning, *result.caveats))


def _describe(error: Exception) -> FailedAttempt:
    return FailedAttempt(
        karat="failed-attempt",
        format=1,
        time=f"{datetime.now(tz=UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
        error=str(error) if isinstance(error, KaratError) else f"{type(error).__name__}: {error}",
        exit_code=error.exit_code if isinstance(error, KaratError) else 1,
    )
