"""Runs and experiments as runs of MLflow, each of them once, however often it is exported.

MLflow takes few characters in a key and cuts long values off. Keys are mapped so that the true name can be had back,
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
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from karat.core import InputError, KaratError, SystemFailed, UsageError, shorten
from karat.exports._records import Record

EXPERIMENT = "karat"
_FORMAT = 1
_KEY, _PARAM, _TAG = 250, 500, 5000  # characters that servers of any age take; MLflow 3 takes 6000 and 8000 as values
_FEW, _PAGE = 10, 500
_ESCAPED = re.compile(r"_(at|x[0-9a-f]{0,6})_")
_PLAIN = frozenset(string.ascii_letters + string.digits + "-.")
_SECRET = re.compile(r"(?<=://)[^/\s]*@")
_SQLITE = re.compile(r"sqlite(?:\+\w+)?:///([^?]+)")
_ALWAYS = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
_UNLESS_SAID = {
    "MLFLOW_ALLOW_FILE_STORE": "true",  # who names a folder wants a folder
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",  # of a server that is not there one should hear in seconds
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What an export did with a record."""

    record: Record
    run: str
    """The id that MLflow gave."""
    outcome: Literal["created", "updated", "unchanged"]


def mlflow_key(name: str) -> str:
    """Write a name with the characters that MLflow allows; :func:`mlflow_name` reads it.

    Letters, digits, dots, dashes and underscores stay; ``@`` is ``_at_``, as MLflow's own measures have it, and every
    other character its code point in hexadecimal. What is too long ends with a hash, and cannot be read back.

    >>> mlflow_key("nDCG@10"), mlflow_key("R(rel=2)@5"), mlflow_key("chunk.max_tokens")
    ('nDCG_at_10', 'R_x28_rel_x3d_2_x29__at_5', 'chunk.max_tokens')
    """
    key = _written(name, "_")
    if mlflow_name(key) != name:  # an underscore of its own looks like the start of an escape
        key = _written(name, "")
    if len(key) > _KEY:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return f"{key[: _KEY - len(digest) - 1]}-{digest}"
    return key


def _written(name: str, plain: str) -> str:
    key = "".join(c if c in _PLAIN or c in plain else _escape(c) for c in name)
    # Names may become those of files: none is empty, and none begins with a dot.
    return _escape(".") + key[1:] if key.startswith(".") else key or "_x_"


def _escape(character: str) -> str:
    return "_at_" if character == "@" else f"_x{ord(character):x}_"


def mlflow_name(key: str) -> str:
    """Read a name that :func:`mlflow_key` wrote.

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
    """Say whether a URI of MLflow names a folder, a kind of store that MLflow only maintains.

    >>> [is_folder(uri) for uri in ("./mlruns", "file:///tmp/mlruns", "sqlite:///mlflow.db", "databricks")]
    [True, True, False, False]
    """
    return uri.startswith("file:") or ("://" not in uri and not uri.startswith("databricks"))


def shown_uri(uri: str) -> str:
    """Give a URI without the secrets that it may hold.

    >>> shown_uri("https://me:secret@example.org/mlflow?token=secret")
    'https://example.org/mlflow'
    """
    return _without_secrets(uri).partition("?")[0]


def _without_secrets(text: str) -> str:
    return _SECRET.sub("", text)


def export_mlflow(
    records: Sequence[Record],
    uri: str,
    *,
    experiment: str = EXPERIMENT,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Exported, ...]:
    """Write records to the MLflow at a URI, each as one run of an experiment, and give what became of each.

    ``uri`` is what MLflow takes as one: ``sqlite:///mlflow.db``, a folder, or the address of a server. What is there
    already is brought up to date, or left alone. Nothing else is spoken to.
    """
    _check_uri(uri)
    written = [(record, _entry(record)) for record in records]
    tell = progress or (lambda *_: None)
    tell(0, len(written))  # a new database takes seconds to make
    found = []
    with _surroundings(), _reported(uri):
        client = import_module("mlflow.tracking").MlflowClient(tracking_uri=uri)
        place = _experiment_id(client, experiment, uri)
        times = Counter(record.id for record in records)
        known = _known(client, place, list(times))
        for record, entry in written:
            found.append(_export(client, place, record, entry, known.get(record.id)))
            if times[record.id] > 1:  # it comes again
                known[record.id] = client.get_run(found[-1].run)
            tell(len(found), len(written))
    return tuple(found)


def check_mlflow() -> None:
    """Refuse to begin where MLflow is not installed."""
    with _surroundings(), _reported(""):
        import_module("mlflow.tracking")


@contextmanager
def _surroundings() -> Iterator[None]:
    """Set what MLflow reads from the environment, when it is imported and later; then put back what was there."""
    ours = {name: value for name, value in _UNLESS_SAID.items() if name not in os.environ} | _ALWAYS
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
def _reported(uri: str) -> Iterator[None]:
    """Say in one message what MLflow, or what lies beneath it, has against a call."""
    try:
        yield
    except KaratError:
        raise
    except ImportError as error:
        extra = (error.name or "mlflow").partition(".")[0] in ("mlflow", "sqlalchemy", "alembic")
        wanted = "mlflow-skinny SQLAlchemy alembic" if extra else error.name
        raise UsageError(f"export to MLflow is not possible here ({error}); pip install {wanted}") from None
    except Exception as error:
        what, where = _without_secrets(f"{getattr(error, 'message', None) or error}"), f"MLflow at {shown_uri(uri)}"
        if getattr(error, "error_code", None) == "INVALID_PARAMETER_VALUE":
            raise InputError(what, source=where) from None
        raise SystemFailed(f"{where}: {type(error).__name__}: {what}") from error


def _check_uri(uri: str) -> None:
    """Refuse what MLflow would take for its default, or try to open for minutes."""
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
    """Find the experiment of MLflow with a name, or make it."""
    found = client.get_experiment_by_name(name)
    if found is None:
        path = _database(uri)
        # Beside the database: MLflow's own choice is the current folder, which is another one tomorrow.
        place = None if path is None else (path.parent / "mlruns").resolve().as_uri()
        try:
            return str(client.create_experiment(name, artifact_location=place))
        except Exception:
            found = client.get_experiment_by_name(name)  # another process may have made it in the meantime
            if found is None:
                raise
    if found.lifecycle_stage != "active":
        raise InputError(
            f"experiment {shorten(name)} was deleted",
            source="MLflow",
            hint="restore it, or choose another --experiment",
        )
    return str(found.experiment_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A record as MLflow takes it."""

    params: Mapping[str, str]
    metrics: Mapping[str, float]
    tags: Mapping[str, str]
    text: str


def _entry(record: Record) -> _Entry:
    names = {key: name for name in (*record.params, *record.metrics) if (key := mlflow_key(name)) != name}
    document = {"karat": "export", "format": _FORMAT, "kind": record.kind, "id": record.id, **record.document}
    text = json.dumps({**document, "names": names}, indent=2, allow_nan=False) + "\n"
    known = json.dumps(names, ensure_ascii=False, sort_keys=True) if names else ""
    tags = {
        **record.tags,
        "karat.kind": record.kind,
        "karat.id": record.id,
        "karat.digest": f"sha256:{hashlib.sha256(text.encode()).hexdigest()}",  # whatever changes, changes it
        "karat.names": known if len(known) <= _TAG else "",
        "mlflow.note.content": record.note,
    }
    return _Entry(
        params={mlflow_key(name): _value(value, _PARAM) for name, value in record.params.items()},
        metrics={mlflow_key(name): value for name, value in record.metrics.items()},
        tags={name: _value(value, _TAG) for name, value in tags.items()},
        text=text,
    )


def _value(value: Any, most: int) -> str:
    """Give a value as text that every store can hold."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _known(client: Any, experiment: str, ids: Sequence[str]) -> dict[str, Any]:
    """Find the runs that hold these records: one by one, or, if they are many, among all of karat's."""
    few = len(ids) <= _FEW
    found: dict[str, Any] = {}
    for wanted in (f"= '{id_}'" for id_ in ids) if few else ("LIKE 'sha256:%'",):
        token = None
        while token != "":
            page = client.search_runs([experiment], f"tags.`karat.id` {wanted}", max_results=_PAGE, page_token=token)
            for run in page:
                found.setdefault(run.data.tags["karat.id"], run)
            token = page.token or ""
    return found


def _export(client: Any, experiment: str, record: Record, entry: _Entry, known: Any) -> Exported:
    """Write one record, unless MLflow has it as it is."""
    run = known or _begun(client, experiment, record)
    id_, data = run.info.run_id, run.data
    left = replace(
        entry,
        params={key: value for key, value in entry.params.items() if key not in data.params},
        metrics={key: value for key, value in entry.metrics.items() if data.metrics.get(key) != value},
        tags={key: value for key, value in entry.tags.items() if data.tags.get(key, "") != value},
    )
    if run.info.status == "FINISHED" and not (left.params or left.metrics or left.tags):
        return Exported(record=record, run=id_, outcome="unchanged")
    _log(client, id_, left)
    client.log_text(id_, entry.text, "karat.json")
    if record.file is not None:
        client.log_artifact(id_, str(record.file))
    # Last: one that was killed before is not finished, and the next export goes on with it.
    client.set_terminated(id_, status="FINISHED", end_time=run.info.start_time)
    return Exported(record=record, run=id_, outcome="updated" if known else "created")


def _begun(client: Any, experiment: str, record: Record) -> Any:
    tags = {"karat.id": record.id}  # from the beginning, so that it is found again
    return client.create_run(experiment, start_time=record.made, tags=tags, run_name=record.name)


def _log(client: Any, run: str, left: _Entry) -> None:
    entities = import_module("mlflow.entities")
    now = int(time.time() * 1000)
    client.log_batch(
        run,
        metrics=[entities.Metric(key, value, now, 0) for key, value in left.metrics.items()],
        params=[entities.Param(key, value) for key, value in left.params.items()],
        tags=[entities.RunTag(key, value) for key, value in left.tags.items()],
        synchronous=True,
    )
