"""The verbs that are measured: what each is called with in a project, and what has to be there before."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import workload


@dataclass(frozen=True)
class Place:
    """A project of some size, with two runs, a baseline and the files that other verbs read."""

    folder: Path
    size: workload.Size

    @property
    def project(self) -> str:
        return str(self.folder / "project")

    @property
    def runs(self) -> list[str]:
        """The run files: first that of the baseline, then those of the shifted system."""
        paths = (self.folder / "project" / "runs").glob("*.jsonl")
        return sorted(map(str, paths), key=lambda path: (_is_shifted(path), path))

    @property
    def measures(self) -> list[str]:
        return [word for name in workload.measure_names(self.size) for word in ("-m", name)]

    def file(self, name: str) -> str:
        return str(self.folder / name)


def prepare(folder: Path, size: workload.Size) -> Place:
    """Write the project and the files that no verb makes."""
    workload.make_project(folder / "project", size)
    workload.make_golden(folder / "changed", size, changed=size.queries // 10)
    workload.make_trec(folder / "trec", size)
    return Place(folder, size)


Arguments = Callable[[Place], list[str]]

ASKING: Mapping[str, Arguments] = {
    "eval": lambda at: ["eval", at.project, "--json"],
    "eval, shifted": lambda at: ["eval", at.project, "--parameter", "shift=4"],
    "baseline update": lambda at: ["baseline", "update", at.runs[0], "--force", "first"],
}
"""They make the files that the others read, and run first."""

LOOKING: Mapping[str, Arguments] = {
    "gate": lambda at: ["gate", at.runs[-1]],
    "gate --json": lambda at: ["gate", at.runs[-1], "--json"],
    "compare": lambda at: ["compare", at.runs[0], at.runs[-1], "--by", "category"],
    "compare --json": lambda at: ["compare", at.runs[0], at.runs[-1], "--per-query", "--json"],
    "report md": lambda at: ["report", at.runs[-1], "--format", "md", "--output", at.file("report.md")],
    "report html": lambda at: ["report", at.runs[-1], "--format", "html", "--output", at.file("report.html")],
    "report junit": lambda at: ["report", at.runs[-1], "--format", "junit", "--output", at.file("report.xml")],
    "report csv": lambda at: ["report", at.runs[-1], "--format", "csv", "--output", at.file("report.csv")],
    "baseline diff": lambda at: ["baseline", "diff", at.runs[-1]],
    "runs list": lambda at: ["runs", "list", at.project],
    "runs show": lambda at: ["runs", "show", at.runs[-1]],
    "show": lambda at: ["show", at.runs[-1], "q000000"],
    "trend": lambda at: ["trend", at.project],
    "explain": lambda at: ["explain", at.runs[-1], "--no-ask", "--against", at.runs[0]],
    "power": lambda at: ["power", "--run", at.runs[-1]],
    "score": lambda at: ["score", *_trec(at)[:2], *at.measures, "--per-query", "--json"],
    "trec-eval": lambda at: ["trec-eval", "-q", *_trec(at)[:2]],
    "fuse": lambda at: ["fuse", *_trec(at)[1:], "-o", at.file("fused.txt")],
    "golden check": lambda at: ["golden", "check", at.project, "--json"],
    "golden diff": lambda at: ["golden", "diff", at.project, at.file("changed"), "--json"],
    "golden sample": lambda at: ["golden", "sample", at.project, at.file("sample"), "--n", str(at.size.queries // 2)],
    "golden convert": lambda at: ["golden", "convert", at.project, at.file("beir"), "--to", "beir"],
    "golden pool": lambda at: ["golden", "pool", *at.runs, "-o", at.file("pool.jsonl")],
    "golden merge": lambda at: [
        "golden",
        "merge",
        at.project,
        _graded(at),
        "--annotator",
        "ana",
        "-o",
        at.file("merged"),
    ],
    "golden synth": lambda at: ["golden", "synth", at.file("project/golden/documents.jsonl"), at.file("synth")],
    "golden outline": lambda at: ["golden", "outline", at.project, "--id", "d000000"],
    "gate, set changed": lambda at: ["gate", at.runs[-1], "--golden", _changed(at)],
    "baseline rebase": lambda at: ["baseline", "rebase", _changed(at), "--dry-run"],
}

QUERIES = tuple(LOOKING)
AXES: Mapping[str, tuple[str, ...]] = {
    "queries": tuple(verb for verb in QUERIES if verb not in ("golden synth", "golden outline")),
    "documents": ("gate", "golden check", "golden diff", "golden convert", "golden synth"),
    "judgments": ("gate", "explain", "report html", "score", "golden check", "golden diff", "golden pool"),
    "hits": ("gate", "compare", "explain", "report html", "show", "score", "fuse", "golden pool"),
    "question": ("gate", "golden check", "golden diff"),
    "text": ("golden check", "golden synth", "golden outline", "report html"),
    "paraphrases": ("gate", "golden check", "show"),
    "segments": ("gate", "compare", "report html", "golden check"),
    "measures": ("gate", "compare", "report html", "score", "trend"),
    "files": ("runs list", "trend", "golden pool"),
}
"""The verbs whose work depends on each axis; all but ``files`` also evaluate and record a baseline."""


def _is_shifted(path: str) -> bool:
    with Path(path).open() as file:
        return '"shift"' in file.readline()


def _trec(at: Place) -> list[str]:
    return [at.file(f"trec/{name}.txt") for name in ("qrels", "one", "other")]


def _graded(at: Place) -> str:
    """Return the pool with grades, which people would fill in."""
    path = Path(at.file("graded.jsonl"))
    shutil.copy(at.file("pool.jsonl"), path)
    workload.grade_pool(path)
    return str(path)


def _changed(at: Place) -> str:
    """Return a copy of the project in which every tenth query has another text."""
    project = at.folder / "later"
    if not project.exists():
        project.mkdir()
        for name in ("karat.toml", "system.py", "baseline.json"):
            shutil.copy(Path(at.project) / name, project / name)
        shutil.copytree(at.file("changed"), project / "golden")
    return str(project)
