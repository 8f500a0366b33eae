"""A folder of run files that answers questions: what another program has retrieved, by query."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from karat.core import GoldenSet, InputError, SystemFailed, UsageError, shorten
from karat.files import read_bytes
from karat.measures import read_run
from karat.systems.adapters._settings import Surroundings


class RunFolder:
    r"""Answers the questions of a golden set from run files, in any format that ``karat score`` reads.

    Each file answers other queries, such as one file per topic or per shard: a query in two files is an error. One in
    none of them fails, and so does a paraphrase, which run files do not have. Nothing has a latency. The order is that
    of ``karat score``: by score, then by id, both descending.

    >>> from tempfile import TemporaryDirectory
    >>> from karat.core import Query
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "q1.txt").write_text("q1 Q0 wifi 1 2.5 mine\nq1 Q0 pool 2 1.5 mine\n")
    ...     runs = RunFolder(folder, GoldenSet(queries=(Query(id="q1", text="Is there WiFi?"),)))
    >>> runs.retrieve("Is there WiFi?", 1)
    [('wifi', 2.5)]
    """

    name = "runs"
    timed = False

    def __init__(self, folder: str | Path, golden: GoldenSet, *, pattern: str = "*", where: str = "") -> None:
        """``pattern`` chooses the files, such as ``*.trec``. The queries of the golden set are looked up by text."""
        paths = _find_files(Path(folder), pattern)
        if not paths:
            raise InputError(f"no run file matches {pattern!r}", source=str(folder), hint="correct [system] path")
        self._where, self._pattern, self._digest = where, pattern, hashlib.sha256()
        self._rankings: dict[str, list[tuple[str, float]]] = {}
        self._answers: dict[str, list[tuple[str, float]] | str] = {}
        for path in paths:
            self._add(path)
        self._queries: dict[str, set[str]] = {}
        for query in golden.queries:
            self._queries.setdefault(query.text, set()).add(query.id)
        if not self._rankings.keys() & golden.query_by_id.keys():
            hint = f"they have {', '.join(map(shorten, list(self._rankings)[:3])) or 'none'}"
            raise InputError("the run files answer no query of the golden set", source=str(folder), hint=hint)

    def _add(self, path: Path) -> None:
        data = read_bytes(path)
        if not data.strip():
            hint = "remove it: a query that is in no file counts as failed"
            raise InputError(
                "the file is empty, and does not say which query found nothing", source=str(path), hint=hint
            )
        self._digest.update(data)
        table: Mapping[str, Mapping[str, float]] = read_run(path).table()
        for query, scores in table.items():
            if query in self._rankings:
                hint = "leave one answer to each query, or choose files by pattern"
                raise InputError(f"query {shorten(query)} is in another file, too", source=str(path), hint=hint)
            ranked = sorted(scores.items(), key=lambda pair: (pair[1], pair[0]), reverse=True)
            self._rankings[query] = [(name, float(score)) for name, score in ranked]

    def describe(self) -> dict[str, Any]:
        """Return everything that decides the answers: the hash of the files stands for the system that wrote them."""
        answers = f"sha256:{self._digest.hexdigest()}"
        longest = max(map(len, self._rankings.values()))
        return {
            "kind": self.name, "where": self._where, "pattern": self._pattern, "answers": answers, "longest": longest,
        }  # fmt: skip

    def retrieve(self, query: str, k: int) -> list[tuple[str, float]]:
        """Return the ids and scores that the files hold for the query with this text."""
        if query not in self._answers:
            self._answers[query] = self._find_answer(query)
        answer = self._answers[query]
        if isinstance(answer, str):
            raise SystemFailed(answer)
        return answer[:k]

    def _find_answer(self, query: str) -> list[tuple[str, float]] | str:
        """Return the ranking for a text, or why there is none; it is kept, as many queries may have one text."""
        answered = [name for name in sorted(self._queries.get(query, ())) if name in self._rankings]
        if not answered:
            return "not in the run files"
        first = self._rankings[answered[0]]
        other = next((name for name in answered if self._rankings[name] != first), None)
        if other is None:
            return first
        queries = f"{shorten(answered[0])} and {shorten(other)}"
        return f"the queries {queries} have the same text, and other answers in the run files"


def _find_files(folder: Path, pattern: str) -> list[Path]:
    """Return the files that match, sorted; a pattern cannot lead out of the folder."""
    try:
        if ".." in Path(pattern).parts:
            raise ValueError("it leads out of the folder")
        return sorted(path for path in folder.glob(pattern) if path.is_file() and path.name[0] != ".")
    except (ValueError, NotImplementedError, IndexError) as error:
        raise UsageError(f"[system] pattern = {shorten(pattern)}: {error}; write one such as *.trec") from None


def find_longest_list(table: Mapping[str, Any], folder: Path) -> int:
    """Return how many hits the longest list has in the run files of a table ``[system]``; 0 if there is none."""
    files = _find_files(folder / str(table.get("path", "")), str(table.get("pattern", "*")))
    states = [(path, path.stat()) for path in files]
    return _find_longest(tuple((str(path), state.st_size, state.st_mtime_ns) for path, state in states))


@lru_cache(maxsize=4)
def _find_longest(files: tuple[tuple[str, int, int], ...]) -> int:
    """Return the length of the longest list; a file that did not change is not read again."""
    return max((len(scores) for path, _, _ in files for scores in read_run(path).table().values()), default=0)


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """The table ``[system]`` with ``kind = "runs"``."""

    path: str
    """The folder of the run files."""
    pattern: str = "*"

    def connect(self, around: Surroundings) -> RunFolder:
        """Read the files."""
        return RunFolder(around.folder / self.path, around.golden, pattern=self.pattern, where=self.path)
