"""What every tool is given: the hotel's golden set, a run by words, a run that lost queries, and pairs of runs.

All of it is made from ``examples/hotel`` by karat's lexical index and a fixed seed, and written as files that need no
karat to be read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import karat
from karat import golden
from karat.systems.index import Lexical

ROOT = Path(__file__).resolve().parents[2]
DEPTH = 10
"""How many documents a run has for a query: then RR is RR@10."""
NOISES = (0.02, 0.05, 0.10)
"""By how much a score differs each time that the same system is asked: a share of it, as a standard deviation."""
QUERIES = 50
MEASURES = ("R@5", "P@5", "RR@10", "nDCG@10")
Run = Mapping[str, Mapping[str, float]]


def make_workload(folder: Path, worlds: int) -> None:
    """Write qrels.txt, run.txt, lost.txt, small.txt and worlds.json."""
    hotel = golden.open_set(ROOT / "examples" / "hotel")
    qrels = _judge(hotel.qrels())
    found = _search(hotel, qrels)
    qrels = {query: qrels[query] for query in found}
    run = {query: _rank({name: round(score, 1) for name, score in hits.items()}) for query, hits in found.items()}
    _write_lines(folder / "qrels.txt", ((q, "0", d, str(g)) for q, graded in qrels.items() for d, g in graded.items()))
    _write_run(folder / "run.txt", run)
    lost = {query: hits for number, (query, hits) in enumerate(run.items()) if number % 5}
    _write_run(folder / "lost.txt", lost)
    rng = np.random.default_rng(22)
    drawn = {
        f"{world} {noise}": [_draw(found, qrels, world, noise, rng) for _ in range(worlds)]
        for noise in NOISES
        for world in ("same", "worse")
    }
    (folder / "worlds.json").write_text(json.dumps(drawn), encoding="utf-8")


def _judge(graded: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """Return grades that mean the same to every tool: what is not relevant in this set, below 2, is 0."""
    kept = {q: {d: g if g >= 2 else 0 for d, g in judged.items()} for q, judged in graded.items()}
    return {q: judged for q, judged in kept.items() if any(judged.values())}


def _search(hotel: golden.GoldenSet, qrels: Mapping[str, object]) -> dict[str, dict[str, float]]:
    """Return twice as many documents of each query as a run has, so that noise can bring others in.

    A query for which words find nothing is left out: what becomes of those is looked at by itself.
    """
    ids = [document.id for document in hotel.documents]
    index = Lexical().build([f"{document.title} {document.text}" for document in hotel.documents])
    queries = [query for query in hotel.queries if query.id in qrels]
    found = {query.id: {ids[i]: float(score) for i, score in index.search(query.text, 2 * DEPTH)} for query in queries}
    return {query: hits for query, hits in found.items() if hits}


def _rank(hits: Mapping[str, float]) -> dict[str, float]:
    """Return the first documents by trec_eval's order: score, then id, both descending."""
    return dict(sorted(hits.items(), key=lambda hit: (hit[1], hit[0]), reverse=True)[:DEPTH])


def _draw(found: Run, qrels: Mapping[str, Mapping[str, int]], world: str, noise: float, rng: np.random.Generator):
    """Return two runs of one system on some of the queries: scores of each query by measure, and the documents.

    In the world ``worse`` the second run has lost the first relevant document of every fifth query.
    """
    names = sorted(rng.choice(sorted(found), QUERIES, replace=False).tolist())
    before, after = ({query: _shake(found[query], noise, rng) for query in names} for _ in range(2))
    if world == "worse":
        for query in names[::5]:
            first = next((name for name in after[query] if qrels[query].get(name)), None)
            after[query] = {name: score for name, score in after[query].items() if name != first}
    judged = {query: qrels[query] for query in names}
    scores = [karat.score(judged, run, MEASURES) for run in (before, after)]
    values = {m: [table.values[:, j].tolist() for table in scores] for j, m in enumerate(MEASURES)}
    return {"queries": list(scores[0].queries), "qrels": judged, "values": values, "runs": [before, after]}


def _shake(hits: Mapping[str, float], noise: float, rng: np.random.Generator) -> dict[str, float]:
    return _rank({name: score * (1 + noise * float(rng.standard_normal())) for name, score in hits.items()})


def _write_run(path: Path, run: Run) -> None:
    _write_lines(
        path,
        ((q, "Q0", d, str(i), str(s), "words") for q, hits in run.items() for i, (d, s) in enumerate(hits.items(), 1)),
    )


def _write_lines(path: Path, rows) -> None:
    path.write_text("".join(f"{' '.join(row)}\n" for row in rows), encoding="utf-8")
