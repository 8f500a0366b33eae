"""A project with runs and an index, and a client of its pages, without a server process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from time import time
from typing import Any

from starlette.testclient import TestClient

from cli.gate_project import accept, make_project, make_run, make_set
from karat import online
from karat.index import Indexer
from karat.labelling import open_desk, propose_wording
from karat.online.flags import change_flag
from karat.online.trials import Observations, TrialPlan, record_batch, start_trial
from karat.pages import keep_traffic, link_session
from karat.server import Gate, Tokens, make_app
from karat.stats.sequential import Tally

WORK = "20261118-090000-abcdef"
HOST = "127.0.0.1:8321"
OLD, NEW = [1, 1, 2, 1, 1, 3, 1, 1, 1, 2, 1, 1], [1, 2, 2, 1, 0, 3, 1, 1, 0, 2, 1, -1]
PLAN = TrialPlan(feature="rerank", source="sessions", measure="Success", guardrails=("Found",), must_show="")
_SAME = Tally.from_counts({0: 150})
BETTER = Observations(
    differences={"Success": Tally.from_counts({1.0: 60, 0: 90}), "Found": _SAME, "unjudged": _SAME},
    latencies={"control": {10.0: 150}, "treatment": {11.0: 150}},
    units={"control": 150, "treatment": 150},
)


def make_served_project(folder: Path) -> Path:
    """Write a project with a baseline, the run of it, a worse one with an error, and one that is damaged."""
    golden = make_project(folder, golden_set=make_set())
    accept(folder, make_run(folder, golden, OLD, "old", system={"kind": "test", "size": 1}))
    make_run(folder, golden, NEW, "new", system={"kind": "test", "size": 2}, errors={"q09": "out of memory"})
    (folder / "runs" / "broken.jsonl").write_text("{}\n")
    write_experiments(folder)
    propose_wording(open_desk(folder), "q01", paraphrase="Tell me of 01.", by="ana")
    make_traffic(folder)
    return folder


def write_experiments(folder: Path, odd: str = "") -> None:
    """Write a log: three variants of a sweep, of which one failed, and an entry of another tool."""
    shared: dict[str, Any] = {"date": "2026-11-16", "sweep": f"sizes{odd}.toml", "policy": "default"}
    change = {"measure": "RR@10", "required": True, "difference": 0.1, "low": 0.02, "high": 0.18, "p_gain": 0.01}
    reference = {"name": "base", "recorded": "2026-11-15", "fingerprint": "sha256:0"}
    tried = {"golden": {}, "baseline": reference, "fingerprint": "sha256:1"}
    entries = [
        ("ACCEPTED (better)", {"pipeline.chunk.size": 64}, {"RR@10": 0.9, "latency.p95": 20.0}, "runs/old.jsonl", 0.1),
        (
            "REJECTED (no gain)",
            {"pipeline.chunk.size": 256},
            {"RR@10": 0.7, "latency.p95": 30.0},
            "runs/gone.jsonl",
            -0.1,
        ),
    ]
    log: list[dict[str, Any]] = [
        {
            **shared, **tried, "description": f"size {place}{odd}", "variant": f"size {place}{odd}", "verdict": verdict,
            "config_changes": settings, "results": results, "run": run,
            "objective": {**change, "difference": gain, "n": 12},
            "tests": {"p": 0.01, "p_corrected": 0.02, "correction": "westfall-young", "variants": 2},
        }
        for place, (verdict, settings, results, run, gain) in enumerate(entries)
    ]  # fmt: skip
    failed = {"description": "whole", "variant": "whole", "verdict": "REJECTED (failed: no)", "error": f"no{odd}"}
    log.append({**shared, **failed, "config_changes": {"pipeline.chunk.size": f"whole{odd}"}, "results": {}})
    log.insert(0, {"description": f"by hand{odd}", "results": {"recall_at_5": 0.5, "note": "odd", "mrr": True}})
    entries_with_ids = [{"id": f"exp-{place:03}", **entry} for place, entry in enumerate(log, 1)]
    (folder / "experiments.json").write_text(json.dumps({"experiments": entries_with_ids}))


def make_indexed_project(folder: Path) -> Path:
    """Write the same project with its index, work that has ended, and live traffic as it was last looked at."""
    index_all(make_served_project(folder))
    return folder


def index_all(folder: Path) -> Indexer:
    """Write work that has ended, and the index of a project with its live traffic."""
    write_work(folder)
    indexer = Indexer(folder)
    indexer.update()
    keep_traffic(indexer, "", "")
    return indexer


def write_work(folder: Path, odd: str = "") -> None:
    """Write a piece of work as one that has ended left it."""
    place = folder / ".karat" / "work" / WORK
    place.mkdir(parents=True)
    head = {
        "id": WORK,
        "kind": "evaluate",
        "title": f"karat eval{odd}",
        "by": f"ada{odd}",
        "at": "2026-11-18T09:00:00Z",
    }
    (place / "work.json").write_text(json.dumps({**head, "arguments": ["eval", f".{odd}"]}))
    (place / "progress.json").write_text(json.dumps({"stage": f"asking{odd}", "done": 12, "total": 12}))
    (place / "end.json").write_text(json.dumps({"code": 0, "at": "2026-11-18T09:00:05Z"}))
    (place / "output.txt").write_text(f"printed{odd}\n")


def find_sessions(client: TestClient) -> list[str]:
    """Return the addresses of the sessions of a project, the newest first."""
    lines = client.get("/live.json").json()["traffic"]["sessions"]
    return [link_session(line["key"], line["at"]) for line in lines]


def make_client(folder: Path, *, needs_token: bool = False, **options: Any) -> TestClient:
    """Return a client of the pages of a project, as a browser on this machine."""
    gate = Gate(str(folder), hosts=[HOST], tokens=Tokens(folder), needs_token=needs_token)
    return TestClient(
        make_app(folder, gate, **options),
        base_url=f"http://{HOST}",
        follow_redirects=False,
        raise_server_exceptions=False,
        client=("127.0.0.1", 4000),
    )


def make_traffic(folder: Path, *, texts: Sequence[str] = ("wifi password", "late check out"), name: str = "s") -> str:
    """Log some sessions, put a flag and a trial beside them, and return the place of the store."""
    store = str(folder / "karat.db")
    change_flag(store, "rerank", {"percent": 50.0}, author="ada", reason=f"a trial of {texts[0][:500]}")
    start_trial(store, PLAN)
    record_batch(store, "rerank", "monday", BETTER)
    with online.open(store, keep_ids=True, redact=False) as log:
        for number, text in enumerate(texts):
            session = f"{name}{number}"
            start = time() - 600 + number
            query = log.record(text, ["wifi", "pool"], session=session, time=start, latency=40.0 + number, intent="ask")
            log.feedback("read_after_search", session, "pool", query=query, rank=2, time=start + 5)
            log.record(text, [], session=f"{name}{number} again", time=start + 60, latency=30.0)
    online.ingest(store)
    return store
