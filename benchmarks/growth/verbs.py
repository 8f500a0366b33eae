"""The verbs that are measured: what each is called with in a project, and what has to be there before."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import live
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

    @property
    def log(self) -> str:
        """The store of live traffic, which is written when it is asked for first."""
        store = self.folder / "live.db"
        if not store.exists():
            live.make_log(store, self.size)
        return str(store)

    def file(self, name: str) -> str:
        return str(self.folder / name)


def prepare(folder: Path, size: workload.Size) -> Place:
    """Write the project and the files that no verb makes."""
    workload.make_project(folder / "project", size)
    workload.make_golden(folder / "changed", size, changed=size.queries // 10)
    workload.make_trec(folder / "trec", size)
    return Place(folder, size)


Work = list[str] | Callable[[], object]
"""The arguments of a verb; or, for what a server does in a process of its own, a function."""
Arguments = Callable[[Place], Work]

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
    "baseline show": lambda at: ["baseline", "show", at.project],
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
    "golden judge": lambda at: [
        "golden",
        "judge",
        at.file("pool.jsonl"),
        "--by",
        "overlap",
        "--golden",
        at.project,
        "-o",
        at.file("judged.jsonl"),
    ],
    "runs convert": lambda at: ["runs", "convert", at.runs[-1], at.file("spans.jsonl"), "--to", "openinference"],
    "runs prune": lambda at: ["runs", "prune", at.project, "--keep", "1", "--dry-run"],
    "gate, set changed": lambda at: ["gate", at.runs[-1], "--golden", _changed(at)],
    "baseline rebase": lambda at: ["baseline", "rebase", _changed(at), "--dry-run"],
    "migrate blocks": lambda at: [
        "migrate",
        "blocks",
        at.project,
        at.file("changed"),
        "-o",
        at.file("moves.jsonl"),
    ],
    "migrate judgments": lambda at: [
        "migrate",
        "judgments",
        at.project,
        at.file("moves.jsonl"),
        "--documents",
        at.file("changed"),
    ],
    "index": lambda at: lambda: _index(at.project),
    "mcp gate": lambda at: lambda: _call(at.project, "gate"),
    "mcp compare_runs": lambda at: lambda: _call(at.project, "compare_runs"),
    "label queue": lambda at: ["label", "queue", live.QUEUE, *at.runs[:2], "--overlap", "1", *_in(at)],
    "label queue, decide": lambda at: ["label", "queue", "decide", *at.runs[:2], "--kind", "decide", *_in(at)],
    "label next": lambda at: ["label", "next", live.QUEUE, "--who", "ana", *_in(at)],
    "mcp next_pair": lambda at: lambda: _call(at.project, "next_pair"),
    "label status": lambda at: ["label", "status", *_in(_labelled(at))],
    "label agreement": lambda at: ["label", "agreement", *_in(at)],
    "label save": lambda at: ["label", "save", live.QUEUE, *_first_pair(at), "2", "--who", "ana", *_in(at)],
    "label undo": lambda at: ["label", "undo", "--who", "ana", *_in(at)],
    "label propose": lambda at: ["label", "propose", live.QUEUE, "--who", "ana", *_in(at)],
    "label proposals": lambda at: ["label", "proposals", *_in(at)],
    "label show": lambda at: ["label", "show", "1", *_in(at)],
    "label accept": lambda at: ["label", "accept", "1", "--who", "bo", "--reason", "right", *_in(at)],
}
"""The last one changes the golden set."""

LIVE: Mapping[str, Arguments] = {
    "online health": lambda at: ["online", "health", at.log],
    "online report": lambda at: ["online", "report", at.log, "--golden", at.project, "--json"],
    "online export": lambda at: ["online", "export", at.log, at.file("days"), "--format", "parquet"],
    "online import": lambda at: ["online", "import", at.file("imported.db"), at.file("days")],
    "online estimate": lambda at: ["online", "estimate", at.file("days"), "--minimum", "1", "--json"],
    "online report, folder": lambda at: ["online", "report", at.file("days"), "--json"],
    "harvest": lambda at: ["harvest", at.log, "--golden", at.project, "-o", at.file("harvest")],
    "harvest, folder": lambda at: ["harvest", at.file("days"), "--golden", at.project, "-o", at.file("harvested")],
    "shadow report": lambda at: ["shadow", "report", at.log, "--golden", at.project, "--json"],
    "shadow gate": lambda at: ["shadow", "gate", at.log, at.project, "--feature", live.FEATURE],
    "online watch": lambda at: ["online", "watch", at.log, "--project", at.project, "--dry-run"],
    "trial collect": lambda at: ["trial", "collect", live.FEATURE, "--store", at.log],
    "trial status": lambda at: ["trial", "status", live.FEATURE, "--store", at.log],
    "trial list": lambda at: ["trial", "list", "--store", at.log],
    "trial report": lambda at: ["trial", "report", live.FEATURE, "--store", at.log],
    "trial decide": lambda at: ["trial", "decide", live.FEATURE, "--reason", "right", "--store", at.log],
    "store copy": lambda at: ["store", "copy", at.log, at.file("copy.db")],
    "store check": lambda at: ["store", "check", at.log],
    "online forget": lambda at: ["online", "forget", at.log, "--session", "s000000"],
    "online expire": lambda at: ["online", "expire", at.log, "--queries", "0"],
}
"""The verbs that read a log; the last two change it."""

QUERIES = tuple(LOOKING)
MIGRATING = ("migrate blocks", "migrate judgments")
AXES: Mapping[str, tuple[str, ...]] = {
    "queries": tuple(verb for verb in QUERIES if verb not in ("golden synth", "golden outline")),
    "documents": ("gate", "golden check", "golden diff", "golden convert", "golden synth", *MIGRATING, "index"),
    "judgments": ("gate", "explain", "report html", "score", "golden check", "golden diff", "golden pool"),
    "hits": ("gate", "compare", "explain", "report html", "show", "score", "fuse", "golden pool"),
    "question": ("gate", "golden check", "golden diff"),
    "text": ("golden check", "golden synth", "golden outline", "report html", *MIGRATING),
    "paraphrases": ("gate", "golden check", "show"),
    "segments": ("gate", "compare", "report html", "golden check"),
    "measures": ("gate", "compare", "report html", "score", "trend"),
    "files": ("runs list", "trend", "golden pool", "index"),
    "sessions": tuple(LIVE),
}
"""The verbs whose work depends on each axis; all but ``files`` also evaluate and record a baseline."""


ELSEWHERE: Mapping[str, tuple[str, ...]] = {
    "it is made of the steps of others": ("check",),
    "nothing that it reads grows": (
        *("completion", "doctor", "engine doctor", "measures", "systems list", "init", "store migrate"),
        *("flag history", "flag list", "flag set", "online acknowledge", "label refuse", "golden tag"),
        *("serve token add", "serve token list", "serve token revoke"),
        *("trial plan", "trial record", "trial reopen", "trial start", "trial stop"),
    ),
    "a system, a model or MLflow does the work: see benchmarks/explain, judges and shadow": (
        *("ablate", "gain", "sweep", "shadow replay", "export", "stability"),
        *("experiments diff", "experiments list", "experiments show"),
        *(f"judge {verb}" for verb in ("bridge", "calibrate", "flakes", "prefer", "run", "sample", "show")),
    ),
    "benchmarks/serve, receive and online measure them": ("serve pages", "online receive", "online ingest"),
    "it reads what the verb beside it reads": (*("migrate shadow", "online canary", "online record", "trial holdout"),),
}
"""The verbs that are not measured here, by the reason."""
WITH_THREADS = ("online export", "online import", "online estimate", "online report, folder", "harvest, folder")
"""The verbs that use Polars, whose threads a fork of this process would not have, and would wait for."""
EVERY = ASKING | LOOKING | LIVE
"""All of them, in an order in which each finds what it reads."""


def _in(at: Place) -> list[str]:
    return ["--golden", at.project]


def _first_pair(at: Place) -> list[str]:
    """Return the first query and document of the queue."""
    with (Path(at.project) / "labels" / "queues" / f"{live.QUEUE}.jsonl").open() as file:
        row = json.loads([file.readline(), file.readline()][1])
    return [row["query"], row["documents"][0]]


def _labelled(at: Place) -> Place:
    """Return the place after two people have labelled all of the queue."""
    live.label_queue(Path(at.project))
    return at


def _index(project: str) -> None:
    """Do what the process that indexes for ``karat serve`` does."""
    from karat.index import Indexer

    Indexer(project).update()


def _call(project: str, action: str) -> None:
    """Do what the process of an agent's call does."""
    from karat.mcp import perform
    from karat.mcp._messages import Request

    perform(Request(action=action, folder=project, agent="agent"))


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
