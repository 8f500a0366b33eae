"""Keeping an index: every run that is new or has changed is scored, decided on and written down once."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from karat.config import read_config
from karat.core import InputError, KaratError, SystemFailed
from karat.evaluation import default_measures
from karat.files import name_paths, read_bytes
from karat.golden import fingerprint
from karat.golden.lint import check_configured, unread
from karat.index._columns import pack_columns, pack_series
from karat.index._database import find_index, open_to_write, read_meta, write_meta
from karat.index._golden import write_golden, write_lint
from karat.index._reading import MARKS, comparison_key, pack
from karat.index._run import Held, ReadRun, read_run
from karat.index._signature import Signature, sign_project
from karat.projects import Project, baseline_path, compare_runs, find_baseline, open_project, project_policy
from karat.projects.saved_runs import RunFile, list_run_files
from karat.schema import ComparisonDocument

_NAMED = 100  # queries that moved, of each kind
Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class _Opened:
    """A project with all that its runs are held against."""

    held: Held
    signature: str
    fingerprint: str
    basis: str
    """A digest of everything that a decision depends on, apart from the run."""
    problem: str
    """What is wrong with the baseline or the policy; empty if nothing is."""


class Indexer:
    """Writes the index of a project. Only one at a time may do so."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).resolve()
        self._path = find_index(self.folder)
        self._opened: _Opened | None = None

    def update(self, tell: Tell = lambda _: None, is_called: Callable[[], bool] = lambda: False) -> bool:
        """Bring the index up to date, the newest run first; ``tell`` gets what changed: golden, runs or problem.

        What is wrong with the project is a problem that the index names, and not an error. Return False if some runs
        are left, because ``is_called``, which is asked after each run, says that something else is waited for.
        """
        with self._open() as connection:
            signature = sign_project(self.folder, self._find_golden(connection))
            try:
                opened = self._open_project(connection, signature)
            except KaratError as error:
                self._note_problem(connection, signature, name_paths(str(error), self.folder), tell)
                return True
            stale = self._list_stale(connection, opened, signature)
            for number, file in enumerate(stale, 1):
                self._write_run(connection, opened, file, signature.runs.get(file.path.name, ""))
                tell("runs")
                if number < len(stale) and is_called():
                    return False
        return True

    def compare(self, first: str, second: str, *, bounds: bool = False) -> None:
        """Compare two runs by their ids, and keep the document; the first is the baseline of the second.

        ``bounds`` adds how far unjudged documents could move the differences, which takes several times as long.
        """
        with self._open() as connection:
            rows = dict(connection.execute("select id, file from run where id in (?, ?)", (first, second)).fetchall())
            if gone := [id_ for id_ in (first, second) if id_ not in rows]:
                raise InputError(f"there is no run {gone[0]!r}")
            files = [self.folder / "runs" / rows[id_] for id_ in (first, second)]
            measures = msgspec.json.decode(read_meta(connection)["measures"], type=tuple[str, ...])
            project = self._take_project(connection)
            document = _trim(compare_runs(files, measures, project=project, bounds=bounds))
            key = comparison_key(connection, first, second)
            connection.execute("insert or replace into kept values ('comparison', ?, ?)", (key, pack(document)))

    def keep(self, kind: str, documents: Mapping[str, Struct]) -> None:
        """Keep documents of a kind by their keys, in place of those that it had, until the golden set changes."""
        with self._open() as connection:
            connection.execute("begin immediate")
            connection.execute("delete from kept where kind = ?", (kind,))
            rows = ((kind, key, pack(document)) for key, document in documents.items())
            connection.executemany("insert into kept values (?, ?, ?)", rows)
            connection.execute("commit")

    def open_project(self) -> Project | None:
        """Return the project as it is now; None if it cannot be read."""
        with self._open() as connection:
            try:
                return self._take_project(connection)
            except KaratError:  # update() writes down why
                return None

    def _take_project(self, connection: sqlite3.Connection) -> Project:
        """Return the project without its baseline, which would take as much memory as the rest of it."""
        signature = sign_project(self.folder, self._find_golden(connection))
        if self._opened is not None and self._opened.signature == signature.project:
            return self._opened.held.project
        return open_project(self.folder)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        connection = open_to_write(self._path)
        try:
            yield connection
        except sqlite3.DatabaseError as error:  # removed or damaged meanwhile, or the disk is full
            self._opened = None
            raise SystemFailed(f"{self._path}: the index cannot be written: {error}") from None
        finally:
            connection.close()

    def _find_golden(self, connection: sqlite3.Connection) -> Path | None:
        """Return where the golden set is, if that is not the folder: as the configuration says, or said last."""
        try:
            path = read_config(self.folder).golden.resolve()
        except KaratError:  # update() writes down why
            path = Path(read_meta(connection).get("golden_path", "") or self.folder)
        return None if path == self.folder else path

    def _note_problem(self, connection: sqlite3.Connection, signature: Signature, problem: str, tell: Tell) -> None:
        self._opened = None
        if read_meta(connection).get("problem") != problem:
            write_lint(connection, unread(InputError(problem)))
        write_meta(connection, problem=problem, signature=signature.project, name=self.folder.name)
        tell("problem")

    def _open_project(self, connection: sqlite3.Connection, signature: Signature) -> _Opened:
        """Return the project, read again if its files have changed, with its golden set in the index."""
        if self._opened is None or self._opened.signature != signature.project:
            self._opened = open_fully(self.folder, signature.project)
        opened = self._opened
        meta = read_meta(connection)
        if meta.get("basis") != opened.basis:
            golden = opened.held.project.golden
            report = check_configured(golden, opened.held.project.config)
            connection.execute("begin immediate")
            connection.execute("delete from kept")
            write_golden(connection, golden)
            write_lint(connection, report)
            write_meta(
                connection,
                basis=opened.basis,
                name=self.folder.name,
                golden=golden.name,
                version=meta["version"],
                golden_version=golden.version,
                fingerprint=opened.fingerprint,
                relevant=str(golden.relevant),
                grades=msgspec.json.encode(golden.grades).decode(),
                measures=msgspec.json.encode(opened.held.measures).decode(),
                gated=msgspec.json.encode(tuple(opened.held.policy.measures)).decode(),
                queries=str(len(golden.query_by_id)),
                documents=str(len(golden.documents)),
                judgments=str(golden.judgment_count),
                baseline="" if opened.held.baseline is None else opened.held.baseline.evaluation.provenance.title,
                policy=opened.held.policy.name,
                system=opened.held.project.config.eval.system,
                parameters=msgspec.json.encode(sorted(opened.held.project.config.eval.parameters)).decode(),
            )
            connection.execute("commit")
        golden_path = opened.held.project.config.golden.resolve()
        elsewhere = "" if golden_path == self.folder else str(golden_path)
        # The signature is that of before: what changed while the project was read is seen at the next look.
        write_meta(connection, problem=opened.problem, signature=signature.project, golden_path=elsewhere)
        return opened

    def _list_stale(self, connection: sqlite3.Connection, opened: _Opened, signature: Signature) -> list[RunFile]:
        """Return the run files that the index does not have as they are, the newest first, and forget those removed."""
        rows = connection.execute("select file, stamp, basis from run").fetchall()
        known = {file: (stamp, basis) for file, stamp, basis in rows}
        gone = [(file,) for file in known if file not in signature.runs]
        connection.executemany("delete from run where file = ?", gone)
        stale = {name for name, stamp in signature.runs.items() if known.get(name) != (stamp, opened.basis)}
        return [file for file in list_run_files(self.folder) if file.path.name in stale] if stale else []

    def _write_run(self, connection: sqlite3.Connection, opened: _Opened, file: RunFile, stamp: str) -> None:
        read = read_run(opened.held, file)
        if opened.problem and read.run.line.outcome is not None:
            read = read.without_decision(opened.problem)
        connection.execute("begin immediate")
        write_run(connection, read, stamp, opened.basis)
        connection.execute("commit")


def open_fully(folder: Path, signature: str) -> _Opened:
    """Return a project with its policy and baseline; one of those that cannot be read is a problem of the project."""
    project = open_project(folder)
    problem, baseline = "", None
    policy = project_policy(project)
    try:
        baseline = find_baseline(project)
    except KaratError as error:
        problem = name_paths(str(error), folder)
    chosen = project.config.eval.measures or default_measures(project.golden)
    names = dict.fromkeys((*policy.measures, *chosen))
    digest = fingerprint(project.golden)
    parts = (digest, repr(project.config), repr(policy), _digest_file(baseline_path(project)), problem)
    return _Opened(
        held=Held(project=project, policy=policy, baseline=baseline, measures=tuple(names)),
        signature=signature,
        fingerprint=digest,
        basis=hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest(),
        problem=problem,
    )


def write_run(connection: sqlite3.Connection, read: ReadRun, stamp: str, basis: str) -> None:
    """Write a run in place of what the index has of its file."""
    run, line = read.run, read.run.line
    connection.execute("delete from run where file = ? or id = ?", (line.file, line.id))
    cursor = connection.execute(
        "insert into run (id, file, stamp, basis, row, report) values (?, ?, ?, ?, ?, ?)",
        (
            line.id,
            line.file,
            stamp,
            basis,
            msgspec.json.encode(run).decode(),
            None if read.report is None else pack(read.report),
        ),
    )
    key = cursor.lastrowid
    if read.columns is not None:
        connection.executemany(
            "insert into block values (?, ?, ?)", ((key, number, body) for number, body in pack_columns(read.columns))
        )
        series = [*map(pack_series, read.columns.values), read.columns.marks.tobytes()]
        numbers = [*range(len(series) - 1), MARKS]
        connection.executemany(
            "insert into series values (?, ?, ?)",
            ((key, number, body) for number, body in zip(numbers, series, strict=True)),
        )
        connection.executemany(
            "insert into line values (?, ?, ?)", ((key, position, body) for position, body in read.lines)
        )


def _trim(document: ComparisonDocument) -> ComparisonDocument:
    """Return a comparison with some of the queries that moved: the columns have all."""
    pairs = tuple(
        msgspec.structs.replace(pair, movers=(*pair.movers[:_NAMED], *pair.movers[_NAMED:][-_NAMED:]))
        for pair in document.pairs
    )
    return msgspec.structs.replace(document, pairs=pairs)


def _digest_file(path: Path) -> str:
    try:
        return hashlib.sha256(read_bytes(path)).hexdigest()
    except InputError:
        return ""
