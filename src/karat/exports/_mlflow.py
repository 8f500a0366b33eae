"""Runs and experiments as runs of MLflow, each of them once, however often it is exported.

MLflow allows few characters in a key and truncates long values. Keys are mapped so that the true name can be restored,
and ``karat.json`` among the artefacts has everything in full. MLflow's own telemetry is off whenever karat calls it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import string
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from msgspec import structs

from karat.core import InputError, KaratError, SystemFailed, UsageError, shorten
from karat.exports._records import Record
from karat.net import collect_secrets, hide_secrets, strip_logins
from karat.schema import ExportedRecord, ExportReport, to_json

EXPERIMENT = "karat"
_KEY, _PARAM, _TAG = 250, 500, 5000  # characters that old servers accept too; MLflow 3 accepts values of 6000 and 8000
_FEW, _PAGE = 10, 500
_ESCAPED = re.compile(r"_(at|x[0-9a-f]{0,6})_")
_PLAIN = frozenset(string.ascii_letters + string.digits + "-.")
_SQLITE = re.compile(r"sqlite(?:\+\w+)?:///([^?]+)")
_ALWAYS = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
_DEFAULTS = {
    "MLFLOW_ALLOW_FILE_STORE": "true",  # a user who names a folder wants a folder
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",  # a server that is down should be reported within seconds
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What an export did with a record."""

    record: Record
    run: str
    """The id of the run in MLflow."""
    outcome: Literal["created", "updated", "unchanged"]


def mlflow_key(name: str) -> str:
    """Return a name with the characters that MLflow allows; :func:`mlflow_name` restores it.

    Letters, digits, dots, dashes and underscores stay; ``@`` becomes ``_at_``, as in MLflow's own measures, and every
    other character its code point in hexadecimal. A long name is cut, ends with a hash, and cannot be restored.

    >>> mlflow_key("nDCG@10"), mlflow_key("R(rel=2)@5"), mlflow_key("chunk.max_tokens")
    ('nDCG_at_10', 'R_x28_rel_x3d_2_x29__at_5', 'chunk.max_tokens')
    """
    key = _escape_all(name, "_")
    if mlflow_name(key) != name:  # an underscore of the name looks like the start of an escape
        key = _escape_all(name, "")
    if len(key) > _KEY:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return f"{key[: _KEY - len(digest) - 1]}-{digest}"
    return key


def _escape_all(name: str, plain: str) -> str:
    key = "".join(c if c in _PLAIN or c in plain else _escape(c) for c in name)
    # Keys may become names of files: none is empty, and none begins with a dot.
    return _escape(".") + key[1:] if key.startswith(".") else key or "_x_"


def _escape(character: str) -> str:
    return "_at_" if character == "@" else f"_x{ord(character):x}_"


def mlflow_name(key: str) -> str:
    """Return the name that :func:`mlflow_key` was given.

    >>> mlflow_name("R_x28_rel_x3d_2_x29__at_5")
    'R(rel=2)@5'
    """

    def character(match: re.Match[str]) -> str:
        if match[1] == "at":
            return "@"
        code = int(match[1][1:] or "110000", 16)
        return chr(code) if code < 0x110000 else "" if match[1] == "x" else match[0]

    return _ESCAPED.sub(character, key)


def is_folder(uri: str) -> bool:
    """Return whether a URI of MLflow names a folder, a kind of store that MLflow no longer develops.

    >>> [is_folder(uri) for uri in ("./mlruns", "file:///tmp/mlruns", "sqlite:///mlflow.db", "databricks")]
    [True, True, False, False]
    """
    return uri.startswith("file:") or ("://" not in uri and not uri.startswith("databricks"))


def public_uri(uri: str) -> str:
    """Return a URI without the secrets that it may hold.

    >>> public_uri("https://me:secret@example.org/mlflow?token=secret")
    'https://example.org/mlflow'
    """
    return strip_logins(uri).partition("?")[0]


def export_mlflow(
    records: Sequence[Record],
    uri: str,
    *,
    experiment: str = EXPERIMENT,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Exported, ...]:
    """Write records to the MLflow at a URI, each as one run of an experiment, and return what was done with each.

    ``uri`` is what MLflow accepts: ``sqlite:///mlflow.db``, a folder, or the address of a server. Records that are
    there already are updated, or left alone. No other host is contacted.
    """
    _check_uri(uri)
    entries = [(record, _entry(record)) for record in records]
    report = progress or (lambda *_: None)
    report(0, len(entries))  # a new database takes seconds to make
    exported = []
    with _environment(), _translated_errors(uri):
        client = import_module("mlflow.tracking").MlflowClient(tracking_uri=uri)
        experiment_id = _experiment_id(client, experiment, uri)
        counts = Counter(record.id for record in records)
        runs = _find_runs(client, experiment_id, list(counts))
        for record, entry in entries:
            exported.append(_export(client, experiment_id, record, entry, runs.get(record.id)))
            if counts[record.id] > 1:  # it comes again
                runs[record.id] = client.get_run(exported[-1].run)
            report(len(exported), len(entries))
    return tuple(exported)


def export_document(exported: Sequence[Exported], uri: str, experiment: str) -> ExportReport:
    """Return an export as the document that ``karat export --json`` prints."""
    return ExportReport(
        mlflow=public_uri(uri),
        experiment=experiment,
        exported=tuple(
            ExportedRecord(
                file=export.record.source,
                kind=export.record.kind,
                name=export.record.name,
                id=export.record.id,
                run_id=export.run,
                outcome=export.outcome,
            )
            for export in exported
        ),
    )


def check_mlflow() -> None:
    """Refuse to begin if MLflow is not installed."""
    with _environment(), _translated_errors(""):
        import_module("mlflow.tracking")


@contextmanager
def _environment() -> Iterator[None]:
    """Set the variables that MLflow reads, when it is imported and later; restore them afterwards."""
    ours = {name: value for name, value in _DEFAULTS.items() if name not in os.environ} | _ALWAYS
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _translated_errors(uri: str) -> Iterator[None]:
    """Turn an error of MLflow, or of what it uses, into one message."""
    try:
        yield
    except KaratError:
        raise
    except ImportError as error:
        extra = (error.name or "mlflow").partition(".")[0] in ("mlflow", "sqlalchemy", "alembic")
        packages = "mlflow-skinny SQLAlchemy alembic" if extra else error.name
        raise UsageError(f"export to MLflow is not possible here ({error}); pip install {packages}") from None
    except Exception as error:
        message, place = describe_failure(error, uri), f"MLflow at {public_uri(uri)}"
        if getattr(error, "error_code", None) == "INVALID_PARAMETER_VALUE":
            raise InputError(message, source=place) from None
        raise SystemFailed(f"{place}: {type(error).__name__}: {message}") from error


def describe_failure(error: Exception, uri: str) -> str:
    """Return the message of an error without the secrets of the URI, and of the variables that MLflow reads."""
    message = f"{getattr(error, 'message', None) or error}"
    with suppress(ValueError):  # it is not a URI
        message = collect_secrets(uri, {}).redact(message)
    return hide_secrets(message)


def _check_uri(uri: str) -> None:
    """Refuse a URI that MLflow would replace by its default, or try to open for minutes."""
    if not uri.strip():
        raise UsageError("an empty URI; give one such as sqlite:///mlflow.db")
    path = _database(uri)
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA schema_version")
    except (OSError, sqlite3.Error) as error:
        raise InputError(f"cannot be opened as a database: {error}", source=str(path)) from None


def _database(uri: str) -> Path | None:
    match = _SQLITE.match(uri)
    return None if match is None or match[1] == ":memory:" else Path(match[1])


def _experiment_id(client: Any, name: str, uri: str) -> str:
    """Return the id of MLflow's experiment with a name; make it if it is missing."""
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        path = _database(uri)
        # Beside the database: MLflow's own default is the current folder, which may be another one tomorrow.
        folder = None if path is None else (path.parent / "mlruns").resolve().as_uri()
        try:
            return str(client.create_experiment(name, artifact_location=folder))
        except Exception:
            experiment = client.get_experiment_by_name(name)  # another process may have made it in the meantime
            if experiment is None:
                raise
    if experiment.lifecycle_stage != "active":
        raise InputError(
            f"experiment {shorten(name)} was deleted",
            source="MLflow",
            hint="restore it, or choose another --experiment",
        )
    return str(experiment.experiment_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A record as MLflow stores it."""

    params: Mapping[str, str]
    metrics: Mapping[str, float]
    tags: Mapping[str, str]
    text: str


def _entry(record: Record) -> _Entry:
    names = {key: name for name in (*record.params, *record.metrics) if (key := mlflow_key(name)) != name}
    text = to_json(structs.replace(record.document, names=names), indent=2) + "\n"
    names_text = json.dumps(names, ensure_ascii=False, sort_keys=True) if names else ""
    tags = {
        **record.tags,
        "karat.kind": record.kind,
        "karat.id": record.id,
        "karat.digest": f"sha256:{hashlib.sha256(text.encode()).hexdigest()}",  # changes with anything else
        "karat.names": names_text if len(names_text) <= _TAG else "",
        "mlflow.note.content": record.note,
    }
    return _Entry(
        params={mlflow_key(name): _value(value, _PARAM) for name, value in record.params.items()},
        metrics={mlflow_key(name): value for name, value in record.metrics.items()},
        tags={name: _value(value, _TAG) for name, value in tags.items()},
        text=text,
    )


def _value(value: Any, most: int) -> str:
    """Return a value as text of at most so many characters that every store can hold."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _find_runs(client: Any, experiment: str, ids: Sequence[str]) -> dict[str, Any]:
    """Return MLflow's runs of these records by id: looked up one by one if there are few, else all of karat's."""
    conditions = [f"= '{id_}'" for id_ in ids] if len(ids) <= _FEW else ["LIKE 'sha256:%'"]
    runs: dict[str, Any] = {}
    for condition in conditions:
        token = None
        while token != "":
            query = f"tags.`karat.id` {condition}"
            page = client.search_runs([experiment], query, max_results=_PAGE, page_token=token)
            for run in page:
                runs.setdefault(run.data.tags["karat.id"], run)
            token = page.token or ""
    return runs


def _export(client: Any, experiment: str, record: Record, entry: _Entry, earlier: Any) -> Exported:
    """Write one record, unless MLflow has all of it already; ``earlier`` is its run in MLflow, if there is one."""
    run = earlier or _create_run(client, experiment, record)
    id_, data = run.info.run_id, run.data
    missing = replace(
        entry,
        params={key: value for key, value in entry.params.items() if key not in data.params},
        metrics={key: value for key, value in entry.metrics.items() if data.metrics.get(key) != value},
        tags={key: value for key, value in entry.tags.items() if data.tags.get(key, "") != value},
    )
    if run.info.status == "FINISHED" and not (missing.params or missing.metrics or missing.tags):
        return Exported(record=record, run=id_, outcome="unchanged")
    _log(client, id_, missing)
    client.log_text(id_, entry.text, "karat.json")
    if record.file is not None:
        client.log_artifact(id_, str(record.file))
    # Last, so that an export that is killed before leaves an unfinished run, which the next export completes.
    client.set_terminated(id_, status="FINISHED", end_time=run.info.start_time)
    return Exported(record=record, run=id_, outcome="updated" if earlier else "created")


def _create_run(client: Any, experiment: str, record: Record) -> Any:
    tags = {"karat.id": record.id}  # from the beginning, so that the next export finds it
    return client.create_run(experiment, start_time=record.created, tags=tags, run_name=record.name)


def _log(client: Any, run: str, entry: _Entry) -> None:
    entities = import_module("mlflow.entities")
    now = int(time.time() * 1000)
    client.log_batch(
        run,
        metrics=[entities.Metric(key, value, now, 0) for key, value in entry.metrics.items()],
        params=[entities.Param(key, value) for key, value in entry.params.items()],
        tags=[entities.RunTag(key, value) for key, value in entry.tags.items()],
        synchronous=True,
    )
