"""A project with large runs, written as files: what a run returns follows from random numbers of its own."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from karat import online
from karat.core import Document, GoldenSet, Judgment, Provenance, Query, Target
from karat.golden import identify, write
from karat.runs import RunWriter

MEASURES = ("nDCG@10", "R@10", "P@10", "RR@10", "AP@10")
HITS, RELEVANT = 10, 3
LISTED, STEP = 2 * HITS, 7
"""A query has so many documents, and so many after those of the query before it."""
_PARTS = ("ba", "del", "fo", "gan", "hi", "jor", "ka", "lun", "mi", "nor", "pe", "ras", "si", "tul", "ve", "zan")
_CATEGORIES = 12
START, SAME = 1_700_000_000.0, 1_000
"""When live traffic begins, and how many sessions do."""
_PIECE = 10_000  # lines that are written together


def make_project(folder: Path, queries: int) -> GoldenSet:
    """Write a golden set and a configuration into a new folder."""
    folder.mkdir(parents=True)
    documents = queries // 10 + HITS * 10
    golden = GoldenSet(
        name="large",
        grades=("no", "partly", "fully"),
        relevant=1,
        documents=tuple(
            Document(id=f"d{number:06}", title=f"Page {number}", text=f"All about {_name_topic(number)}. " * 6)
            for number in range(documents)
        ),
        queries=tuple(
            Query(
                id=f"q{number:06}",
                text=f"What about {_name_topic(number)}, as in case no. {number}?",
                category=f"category {number % _CATEGORIES}",
            )
            for number in range(queries)
        ),
        judgments=tuple(
            Judgment(query=f"q{number:06}", target=Target(document=document), grade=2 - place // 2)
            for number in range(queries)
            for place, document in enumerate(_name_relevant(number, documents))
        ),
    )
    write(golden, folder / "golden")
    (folder / "karat.toml").write_text(f'[golden]\npath = "golden"\n[eval]\nmeasures = {json.dumps(MEASURES)}\n')
    return golden


def write_traffic(folder: Path, sessions: int) -> None:
    """Write a log of live traffic: in each session a query is asked in two wordings, and perhaps read."""
    rng = random.Random(5)
    with online.open(folder / "karat.db", keep_ids=True) as log:
        for number in range(sessions):
            text, session = f"What about {_name_topic(number % 3_000)}", f"v{number}"
            time = START + 0.5 + max(0, number - SAME) * 80.0
            for wording, later in ((text, 0.0), (f"{text} please", 30.0)):
                hits = [f"d{(number * STEP + rank) % 1000:06}" for rank in range(HITS if rng.random() > 0.1 else 0)]
                query = log.record(wording, hits, session=session, time=time + later, latency=20 + 80 * rng.random())
                if hits and rng.random() < 0.6:
                    log.feedback("read_after_search", session, hits[0], query=query, rank=1, time=time + later + 5)
    online.ingest(folder / "karat.db")


def write_runs(folder: Path, golden: GoldenSet, count: int) -> Iterator[Path]:
    """Write so many runs, of which each is somewhat better than the one before, and yield their files."""
    identity = identify(golden)
    for number in range(count):
        head = Provenance(
            name=f"system {number}",
            golden=identity,
            system={"kind": "synthetic", "version": number},
            fingerprint=f"sha256:{number}",
            settings={"k": HITS, "paraphrases": False, "repeat": 1, "sample": None, "seed": 0},
        )
        path = folder / "runs" / f"run-{number:03}.jsonl"
        with RunWriter(path, head):
            pass  # the first and the last line
        _fill_run(path, golden, 0.2 + 0.2 * number / count, random.Random(number))
        yield path


def _fill_run(path: Path, golden: GoldenSet, quality: float, rng: random.Random) -> None:
    """Write a trace for each query; its relevant documents come among the first with some probability."""
    first, last = path.read_bytes().splitlines(keepends=True)
    queries, documents = golden.queries, len(golden.documents)
    made = _make_hits(documents)
    with path.open("wb") as file:
        file.write(first)
        for start in range(0, len(queries), _PIECE):
            lines = []
            for number, query in enumerate(queries[start : start + _PIECE], start):
                shift = int(rng.random() * RELEVANT * 4) if rng.random() > quality else 0
                hits = ",".join(
                    made[(number * STEP + (rank + shift) % LISTED) % documents][rank] for rank in range(HITS)
                )
                time = int(rng.random() * 400) / 4 + 5
                lines.append(
                    f'{{"query":"{query.id}","text":"{query.text}","ms":{{"search":{time},"total":{time + 2}}},'
                    f'"hits":[{hits}]}}\n'
                )
            file.write("".join(lines).encode())
        file.write(last)


def _name_topic(number: int) -> str:
    """Return five words that follow from a number, of some thousands."""
    rng = random.Random(number)
    return " ".join("".join(rng.choices(_PARTS, k=3)) for _ in range(5))


def _name_relevant(number: int, documents: int) -> list[str]:
    """Return the relevant documents of a query."""
    return [f"d{(number * STEP + place) % documents:06}" for place in range(RELEVANT)]


@cache
def _make_hits(documents: int) -> list[list[str]]:
    """Return each document as a hit of each rank, as run files have it."""
    return [[f'{{"id":"d{number:06}","score":{HITS - rank}.5}}' for rank in range(HITS)] for number in range(documents)]
