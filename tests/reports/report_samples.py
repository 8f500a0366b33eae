"""A made-up report document, of any size, for the tests of what is rendered from it."""

from __future__ import annotations

import random
from typing import Any

from reports.documents import conclude

MEASURES = ("nDCG@5", "RR@10")
ATTACK = "<script>window.attacked = 1</script><img src=x onerror='window.attacked = 1'>"


def sample(queries: int = 12, *, seed: int = 1, hits: int = 10, snippet: int = 300) -> dict[str, Any]:
    """Return a failing run against a baseline, with an error, a query that finds nothing and content that attacks."""
    rng = random.Random(seed)
    rows = [_query(number, rng, hits) for number in range(queries)]
    rows[0]["text"] = f"{ATTACK} a page of prices"
    rows[1] |= {"error": "TimeoutError: no answer", "hits": [], "scores": {}}
    rows[2]["unfound"] = True
    for document in rows[2]["expected"]:
        document["rank"] = None
    words = " ".join(rng.choice(("price", "page", "of", "hotel", "breakfast", "lift")) for _ in range(snippet))
    return conclude({
        "karat": "report",
        "kind": "eval.retrieval_report",
        "format": 1,
        "created": "2026-11-16",
        "verdict": {
            "outcome": "fail", "exit_code": 1, "passed": False, "policy": "default", "on_inconclusive": "pass",
            "failures": [],
        },
        "run": {
            "name": "bm25", "fingerprint": "sha256:00", "system": {"kind": "bm25", "chunk": {"size": 256}},
            "settings": {"k": 10}, "versions": {"karat": "0.1.0"}, "queries": queries, "failed": 1,
            "unfound": ["q0002"], "coverage": 1.0,
        },
        "golden": {"name": "hotel", "version": "1.0.0", "documents": 9, "queries": queries, "judgments": 9},
        "baseline": {
            "name": "bm25", "fingerprint": "sha256:01", "recorded": "2026-11-15", "forced": "",
            "changes": [{"key": "chunk.size", "now": 256, "was": 128}],
        },
        "measures": [_measure(name, rows) for name in MEASURES],
        "checks": [
            {"metric": "nDCG@5", "kind": "min", "outcome": "fail", "reason": "0.1 is below 0.5", "limit": 0.5},
            {"metric": "RR@10", "kind": "non_inferior", "outcome": "pass", "reason": "ruled out", "limit": 0.03},
            {"metric": "RR@10", "kind": "must_pass", "outcome": "fail", "query": "q0003", "reason": ATTACK},
        ],
        "caveats": [f"few queries {ATTACK}"],
        "movers": [],
        "segments": [
            {"field": "category", "value": value, "queries": 3, "ids": ["q0000"], "means": dict.fromkeys(MEASURES, 0.4),
             "baseline": dict.fromkeys(MEASURES, 0.5)}
            for value in ("easy", "hard")
        ],
        "latency": {
            "stages": {"total": {"n": queries, "mean": 20.0, "p50": 18.0, "p95": 40.0, "p99": 55.0}},
            "baseline": {},
            "histogram": {"edges": [0.0, 20.0, 40.0, 60.0], "counts": [5, 4, 3]},
        },
        "queries": rows,
        "passages": {
            hit["id"]: {"title": f"Title {hit['document']}", "snippet": f"{ATTACK} {hit['id']} {words}"[:snippet]}
            for row in rows
            for hit in row["hits"]
        },
    })  # fmt: skip


def without_baseline(document: dict[str, Any]) -> dict[str, Any]:
    """Return the report of a first run, which has nothing to be held against."""
    kept = ("name", "definition", "mean", "interval", "n", "floor", "status", "values")
    return conclude(document | {
        "baseline": None,
        "measures": [{key: measure[key] for key in kept} | {"baseline": None} for measure in document["measures"]],
        "segments": [segment | {"baseline": None} for segment in document["segments"]],
        "queries": [
            query | {"baseline": {}, "hits": [hit | {"was": None} for hit in query["hits"]]}
            for query in document["queries"]
        ],
    })  # fmt: skip


def _query(number: int, rng: random.Random, hits: int) -> dict[str, Any]:
    was = {name: round(rng.random(), 3) for name in MEASURES}
    return {
        "id": f"q{number:04d}",
        "text": f"what is the price of breakfast number {number}",
        "category": "easy" if number % 3 else "hard",
        "scores": {name: round(min(1.0, max(0.0, value + rng.gauss(-0.05, 0.1))), 3) for name, value in was.items()},
        "baseline": was,
        "error": "",
        "unfound": False,
        "ms": round(rng.uniform(1, 60), 2),
        "hits": [
            {"rank": rank, "id": f"d{number}-{rank}:chunk:0", "document": f"d{number}-{rank}", "score": 1 / rank,
             "grade": (None, 0, 1, 3)[rank % 4], "was": None if rank == 2 else hits + 1 - rank,
             "channels": {"lexical": rank, "dense": rank + 1}}
            for rank in range(1, hits + 1)
        ],
        "expected": [{"document": f"d{number}-3", "title": f"Title d{number}-3", "grade": 3, "rank": 3}],
    }  # fmt: skip


def _measure(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    values = sorted(row["scores"][name] for row in rows if row["scores"])
    return {
        "name": name, "definition": name, "mean": sum(values) / len(values), "interval": [0.3, 0.6], "n": len(values),
        "baseline": 0.5, "floor": 0.4, "status": "FAIL", "values": values, "difference": -0.05, "low": -0.1,
        "high": 0.01, "p": 0.04, "p_corrected": 0.08, "p_t": 0.05, "effect": -0.2, "wins": 3, "ties": 1, "losses": 8,
        "significant": False,
    }  # fmt: skip
