"""Documents made by hand, small enough to compute every number of a report from."""

from __future__ import annotations

import json
from typing import Any

from karat.reports import add_conclusions, render_json
from karat.schema import DecisionDocument, from_plain

ATTACKS = (
    "a|b",
    "`code` *bold* _line_ [link](https://evil.example) ![img](x)",
    "two\nlines\r\n# heading",
    "<script>alert(1)</script>",
    "]]> & --> <!-- x",
    "%0A::error::fake",
    "::warning title=x::fake",
    "##[error]fake",
    "=cmd|' /C calc'!A0",
    "+1",
    "-1",
    "@SUM(A1)",
    r"\input{/etc/passwd} $x$ 5% #1 a_b ~ ^ {c}",
    "nul\x00 esc\x1b[31m bidi\u202e lone\ud800",
    "@someone see #12 and $x$",
    "</details> ~~gone~~",
    "quote \" and ' apostrophe, comma; semicolon\ttab",
)


def typed(document: dict[str, Any]) -> DecisionDocument:
    """Return a plain document as the type that the renderers take."""
    return from_plain(document, DecisionDocument)


def conclude(facts: dict[str, Any]) -> dict[str, Any]:
    """Return plain facts with what karat concludes from them, as plain data again."""
    document = add_conclusions(typed({**facts, "failures": [], "recommendations": []}))
    plain: dict[str, Any] = json.loads(render_json(document))
    return plain


def make_query(id_: str, now: float, was: float | None = None, **fields: Any) -> dict[str, Any]:
    """Return a query with one relevant document; its RR@10 is ``now``, its rank follows from that."""
    rank = round(1 / now) if now else None
    hits = [
        {"rank": place, "id": f"x{place}", "document": f"x{place}", "score": 1.0 / place, "grade": 0, "was": place}
        for place in range(1, 6)
    ]
    if rank is not None and rank <= 5:
        hits[rank - 1] |= {"id": f"d-{id_}", "document": f"d-{id_}", "grade": 1}
    return {
        "id": id_,
        "text": f"What of {id_}?",
        "category": "prices",
        "scores": {"RR@10": now},
        "baseline": {} if was is None else {"RR@10": was},
        "error": "",
        "unfound": rank is None,
        "ms": 12.0,
        "hits": hits,
        "expected": [{"document": f"d-{id_}", "title": "A title", "grade": 1, "rank": rank}],
        **fields,
    }


def make_measure(name: str = "RR@10", now: float = 0.75, was: float | None = 0.8, **fields: Any) -> dict[str, Any]:
    """Return a measure, compared with the baseline if there is one."""
    table = {
        "name": name, "definition": name, "mean": now, "interval": [0.5, 1.0], "n": 4, "baseline": was, "floor": 0.5,
        "status": "PASS" if was is None or now >= was else "DEGRADED", "values": [0.5, 0.5, 1.0, 1.0],
    }  # fmt: skip
    if was is not None:
        table |= {
            "difference": now - was, "low": -0.1, "high": 0.01, "p": 0.02, "p_corrected": 0.04, "p_t": 0.03,
            "effect": -0.4, "wins": 1, "ties": 1, "losses": 2, "significant": True,
        }  # fmt: skip
    return table | fields


def make_check(kind: str = "min", outcome: str = "pass", **fields: Any) -> dict[str, Any]:
    """Return a check of RR@10."""
    table = {"metric": "RR@10", "kind": kind, "outcome": outcome, "reason": "because", "current": 0.75, "limit": 0.5}
    return {key: value for key, value in {**table, **fields}.items() if value is not None}


def make_document(**fields: Any) -> dict[str, Any]:
    """Return a document of four queries that passes, with a baseline from which RR@10 fell by 0.05."""
    outcome = fields.pop("outcome", "pass")
    queries = [
        make_query("q1", 1.0, 1.0),
        make_query("q2", 1.0, 0.7),
        make_query("q3", 0.5, 0.75),
        make_query("q4", 0.5, 0.75),
    ]
    stage = {"n": 4, "mean": 12.0, "p50": 12.0, "p95": 12.0, "p99": 12.0}
    return conclude({
        "karat": "report",
        "kind": "eval.retrieval_report",
        "format": 1,
        "created": "2026-11-16",
        "verdict": {
            "outcome": outcome, "exit_code": 1 if outcome == "fail" else 0, "passed": outcome != "fail",
            "policy": "default", "on_inconclusive": "pass", "failures": [],
        },
        "run": {
            "name": "new", "fingerprint": "sha256:0123456789abcdef", "system": {"kind": "test", "chunk": {"size": 256}},
            "settings": {"k": 10}, "versions": {"karat": "0.1.0"},
            "queries": 4, "failed": 0, "unfound": [], "coverage": 1.0,
        },
        "golden": {
            "name": "turns", "version": "1.0.0", "fingerprint": "sha256:fedcba",
            "documents": 9, "queries": 4, "judgments": 4
        },
        "baseline": {
            "name": "old", "fingerprint": "sha256:00ff", "recorded": "2026-11-01", "forced": "",
            "changes": [{"key": "chunk.size", "now": 256, "was": 128}],
        },
        "measures": [make_measure()],
        "checks": [make_check(), make_check("non_inferior", baseline=0.8, difference=-0.05, limit=0.1)],
        "caveats": [],
        "movers": [],
        "segments": [
            {
                "field": "category", "value": "prices", "queries": 4, "ids": ["q1", "q2", "q3", "q4"],
                "means": {"RR@10": 0.75}, "baseline": {"RR@10": 0.8}
            }
        ],
        "latency": {
            "stages": {"embed": stage, "total": stage}, "baseline": {"total": stage},
            "histogram": {"edges": [12.0, 13.0], "counts": [4]},
        },
        "queries": queries,
        "passages": {"x1": {"title": "", "snippet": "text"}},
        **fields,
    })  # fmt: skip


def attacked(text: str) -> dict[str, Any]:
    """Put a text into every place of a document that others may write."""
    document = make_document(outcome="fail")
    document["verdict"]["policy"] = text
    document["run"] |= {"name": text, "system": {text: text, "deep": {text: [text]}}, "settings": {text: text}}
    document["golden"] |= {"name": text, "version": text}
    document["baseline"] |= {"name": text, "forced": text, "changes": [{"key": text, "now": text, "was": text}]}
    document["caveats"] = [text]
    document["segments"][0] |= {"value": text}
    document["latency"]["stages"][text] = document["latency"]["stages"]["embed"]
    query = make_query(text, 0.0, 1.0, text=text, category=text, error=text)
    for hit in query["hits"]:
        hit |= {"id": text, "document": text, "channels": {text: 1, "other": 2}}
    query["expected"] = [{"document": text, "title": text, "grade": 1, "rank": None}]
    document["queries"] = [query, make_query("q2", 0.2, 1.0, text=text)]
    document["checks"] = [
        make_check("min", "fail", reason=text),
        make_check("min", "fail", reason=text, where={"category": text}),
        make_check("must_pass", "fail", reason=text, query=text, metric=None, current=None, limit=None),
    ]
    return conclude(document)


def without_baseline() -> dict[str, Any]:
    """Return the document of a first run."""
    document = make_document(
        baseline=None, measures=[make_measure(was=None, status="INCONCLUSIVE")], outcome="inconclusive"
    )
    document["checks"] = [
        make_check(),
        make_check("non_inferior", "inconclusive", limit=None, reason="there is no baseline"),
    ]
    document["segments"][0]["baseline"] = None
    document["latency"]["baseline"] = {}
    document["queries"] = [make_query(query["id"], query["scores"]["RR@10"]) for query in document["queries"]]
    return conclude(document)
