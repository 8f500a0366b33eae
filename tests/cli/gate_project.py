"""A project with runs as a test wants them: each query has one relevant document, at a place that the test says."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from karat import cli, golden
from karat.core import Document, GoldenSet, Hit, Judgment, Provenance, Query, Target, Trace
from karat.gate import Baseline, write_baseline
from karat.projects import gate_run, open_project
from karat.runs import RunWriter, read_any_run

TOML = '[golden]\npath = "set"\n[eval]\nmeasures = ["RR@10"]\n'


def main(arguments: Sequence[str]) -> object:
    """Run the command line in this process, and return its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["karat", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
    return ended.value.code


def make_set(size: int = 12, **fields: Any) -> GoldenSet:
    """A golden set whose query q01 is answered by d01, and so on; its categories take turns."""
    return _make_set(size, **fields) if fields else _plain_set(size)


@cache
def _plain_set(size: int) -> GoldenSet:
    return _make_set(size)  # the same value each time, which remembers its fingerprint


def _make_set(size: int, **fields: Any) -> GoldenSet:
    ids = [f"{i:02}" for i in range(1, size + 1)]
    defaults: dict[str, Any] = {
        "name": "turns",
        "grades": ("no", "yes"),
        "relevant": 1,
        "documents": tuple(Document(id=f"{kind}{i}", text=f"{kind}{i}") for i in ids for kind in "dx"),
        "queries": tuple(
            Query(id=f"q{i}", text=f"What of {i}?", category=["prices", "times"][int(i) % 2]) for i in ids
        ),
        "judgments": tuple(Judgment(query=f"q{i}", target=Target(document=f"d{i}"), grade=1) for i in ids),
    }
    return GoldenSet(**defaults | fields)


def make_project(folder: Path, toml: str = "", *, golden_set: GoldenSet | None = None) -> GoldenSet:
    """Write the set and a configuration; ``toml`` is what stands after [eval]."""
    golden_set = golden_set or make_set()
    shutil.rmtree(folder / "set", ignore_errors=True)
    golden.write(golden_set, folder / "set")
    (folder / "karat.toml").write_text(TOML + toml)
    return golden_set


def make_run(
    folder: Path,
    golden_set: GoldenSet,
    places: Sequence[int],
    name: str = "new",
    *,
    errors: Mapping[str, str] | None = None,
    ms: float | None = 10.0,
    system: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Path:
    """Write a run in which the relevant document of each query has a place, none for 0; -1 is an empty list."""
    asking = {"k": 10, "paraphrases": False, "repeat": 1, "sample": None, "seed": 0, **settings}
    provenance = Provenance(
        name=name,
        golden=golden.identify(golden_set),
        system=system or {"kind": "test"},
        fingerprint="sha256:0",
        settings=asking,
    )
    path = folder / "runs" / f"{name}.jsonl"
    with RunWriter(path, provenance) as writer:
        for query, place in zip(golden_set.queries, places, strict=False):
            error = (errors or {}).get(query.id, "")
            hits = () if error or place < 0 else _hits(golden_set, query.id, place)
            timings = {} if ms is None else {"embed": ms / 2, "total": ms}
            writer.write(Trace(query=query.id, text=query.text, hits=hits, timings=timings, error=error))
    return path


def _hits(golden_set: GoldenSet, query: str, place: int) -> tuple[Hit, ...]:
    relevant = next(judgment.target.document for judgment in golden_set.judgments if judgment.query == query)
    others = [document.id for document in golden_set.documents if document.id != relevant][:3]
    names = [*others[: place - 1], relevant, *others[place - 1 :]] if place else others
    return tuple(Hit(name, float(len(names) - i), name) for i, name in enumerate(names))


def edited(path: Path, change: Any) -> Path:
    """Rewrite a run file line by line; None drops a line."""
    lines = [change(json.loads(line)) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines if line is not None))
    return path


def signed(record: Mapping[str, Any]) -> str:
    """The text of a baseline that was changed by hand, with the digest of its content."""
    content = {key: value for key, value in record.items() if key not in ("karat", "format", "digest")}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return json.dumps({**record, "digest": f"sha256:{digest}"})


def accept(folder: Path, run: Path, *, policy: str | None = None) -> Path:
    """Make a run the baseline of its project, as the command does, but on a day of its own."""
    project = open_project(folder)
    taken = gate_run(project, read_any_run(run, project.golden), policy=policy, alone=True).evaluation
    write_baseline(Baseline(evaluation=taken, recorded="2026-11-16"), folder / "baseline.json")
    return folder / "baseline.json"


_GATED: dict[tuple[object, ...], dict[str, bytes]] = {}


def make_gated_project(
    folder: Path, places: Sequence[int], toml: str = "", *, system: Mapping[str, Any] | None = None
) -> GoldenSet:
    """Make a project with a query for each place, a run "old" with the relevant documents there, and its baseline.

    What karat makes of the same arguments is made once in a session: it takes longer than most tests that need it.
    """
    golden_set = make_set(len(places))
    key = (*places, toml, repr(system))
    if key not in _GATED:
        with TemporaryDirectory() as name:
            made = Path(name)
            make_project(made, toml, golden_set=golden_set)
            accept(made, make_run(made, golden_set, places, "old", system=system))
            files = (path for path in made.rglob("*") if path.is_file())
            _GATED[key] = {str(path.relative_to(made)): path.read_bytes() for path in files}
    for name, content in _GATED[key].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return golden_set
