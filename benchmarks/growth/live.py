"""A log of live traffic of any size, and the labels of people: what the verbs of the second half read."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import workload

FEATURE = "rerank"
QUEUE = "first"
_ARMS = ("control", "treatment")
_HOURS = 60.0 * 3600
"""From the first session to the last, whose end is long enough ago for a trial to count it."""


def make_log(path: Path, size: workload.Size) -> None:
    """Write the store of a log: in each session two queries, what came of them, and what a shadow returned."""
    from karat import online
    from karat.online._shadow_records import ShadowDraft
    from karat.online.trials import TrialPlan, start_trial

    begin = time.time() - _HOURS - 10 * 3600
    online.open(path, keep_ids=True).close()
    plan = TrialPlan(feature=FEATURE, source="sessions", measure="Success", must_show="")
    start_trial(path, plan, now=begin - 3600)
    with online.open(path, keep_ids=True) as log:
        for number in range(size.sessions):
            session, moment = f"s{number:06}", begin + _HOURS * number / size.sessions
            for place, text in enumerate((f"{number} price of room w{number}", f"w{number} opening hours {number}")):
                shown = [f"d{(number * 7 + i) % size.documents:06}" for i in range(5)]
                fields: dict[str, Any] = {"session": session, "flags": {FEATURE: _ARMS[number % 2]}}
                query = log.record(text, shown, time=moment + 30 * place, latency=5.0, **fields)
                if number % 3:
                    log.feedback("read_after_search", session, shown[number % 5], query=query, time=moment + 31 * place)
            log.feedback("task_outcome", session, value=float(number % 4 > 0), time=moment + 90)
            draft = ShadowDraft(f"{session}-shadow", moment, FEATURE, workload.question(number % size.queries, size))
            draft.control, draft.treatment = tuple(shown), tuple(reversed(shown[1:]))
            log.write(draft)
    online.ingest(path)


def label_queue(project: Path) -> None:
    """Write what two people say of each pair of the queue; they differ on some."""
    folder = project / "labels"
    rows = [json.loads(line) for line in (folder / "queues" / f"{QUEUE}.jsonl").read_text().splitlines()[1:]]
    (folder / "people").mkdir(exist_ok=True)
    for who in ("ana", "bo"):
        head = {"karat": "labels", "version": 1, "who": who}
        _write(folder / "people" / f"{who}.jsonl", [head, *_label(rows, who)])


def _label(rows: Iterable[dict[str, Any]], who: str) -> Iterator[dict[str, Any]]:
    number = 0
    for row in rows:
        for document in row["documents"]:
            number += 1
            grade = (number + (who == "bo" and number % 7 == 0)) % 4
            pair = {"query": row["query"], "document": document, "grade": grade, "queue": QUEUE}
            yield {"key": f"{who}{number}", "at": "2026-11-18T00:00:00Z", "verdict": "grade"} | pair


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
