"""The gate as JUnit XML, which Jenkins, GitLab and others show as tests."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from karat.reports._failures import moves
from karat.reports._words import check_name, figure, listed, plain, reason, rule_words, signed

Document = Mapping[str, Any]


def render_junit(document: Document) -> str:
    """Give one test for each rule that was checked, and one for each query that must pass.

    A check that failed is a failure. An inconclusive one is skipped where the policy lets it pass, and else a failure.
    A query that must pass and got an error is an error. The names of tests differ, because GitLab takes only the first
    of those with the same name.
    """
    checks = document["checks"]
    root = ET.Element("testsuites", name="karat")
    golden = plain(document["golden"].get("name", "")).replace(".", "_") or "golden"
    suites = [
        ("gate", [check for check in checks if not check.get("query")]),
        ("must-pass", [check for check in checks if check.get("query")]),
    ]
    for name, ones in suites:
        if ones or name == "gate":
            root.append(_suite(document, f"karat.{golden}.{name}", ones))
    for key in ("tests", "failures", "errors"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in root)))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(document: Document, name: str, checks: Sequence[Mapping[str, Any]]) -> ET.Element:
    suite = ET.Element("testsuite", name=name)
    properties = ET.SubElement(suite, "properties")
    for key, value in _properties(document):
        ET.SubElement(properties, "property", name=key, value=plain(value))
    taken: Counter[str] = Counter()
    queries = {query["id"]: query for query in document["queries"]}
    for check in checks:
        suite.append(_case(document, check, queries.get(check.get("query", "")), name, taken))
    suite.set("tests", str(len(checks)))
    for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(key, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("timestamp", f"{plain(document['created'])}T00:00:00")
    return suite


def _properties(document: Document) -> Iterator[tuple[str, object]]:
    golden, run, verdict = document["golden"], document["run"], document["verdict"]
    yield "outcome", verdict["outcome"]
    yield "policy", verdict["policy"]
    yield "run", run["name"]
    yield "run.fingerprint", run["fingerprint"]
    yield "golden", f"{golden.get('name', '')} {golden.get('version', '')}".strip()
    yield "golden.fingerprint", golden.get("fingerprint", "")
    if document["baseline"]:
        yield "baseline", document["baseline"]["name"]
        yield "baseline.recorded", document["baseline"]["recorded"]


def _case(document: Document, check: Document, query: Document | None, suite: str, taken: Counter[str]) -> ET.Element:
    base = f"{check_name(check)}: {rule_words(check)}"
    taken[base] += 1
    name = base if taken[base] == 1 else f"{base} ({taken[base]})"
    case = ET.Element("testcase", classname=suite, name=name)
    if query is not None and query["ms"] is not None:
        case.set("time", f"{query['ms'] / 1000:.4f}")
    message = reason(check)
    if check["outcome"] == "inconclusive" and document["verdict"]["on_inconclusive"] == "pass":
        ET.SubElement(case, "skipped", message=f"inconclusive: {message}")
    elif check["outcome"] != "pass":
        tag = "error" if query is not None and query["error"] and check["outcome"] == "fail" else "failure"
        kind = "inconclusive" if check["outcome"] == "inconclusive" else plain(check["kind"])
        made = ET.SubElement(case, tag, type=kind, message=message)
        made.text = "\n".join(_details(document, check, query))
    return case


def _details(document: Document, check: Mapping[str, Any], query: Mapping[str, Any] | None) -> Iterator[str]:
    """Give what GitLab shows of a failure: it does not show the message."""
    yield f"{check_name(check)}: {plain(check['reason'])}"
    if check.get("current") is not None:
        line = f"current {figure(check['current'])}"
        if check.get("baseline") is not None:
            line += f", baseline {figure(check['baseline'])}, change {signed(check.get('difference'))}"
        yield line
    if query is not None:
        yield f"query: {plain(query['text'], 300)}"
        yield f"expected: {listed([one['document'] for one in query['expected']]) or 'nothing'}"
        yield f"retrieved: {listed([hit['document'] for hit in query['hits']]) or 'nothing'}"
        return
    lost = [id_ for id_, change in moves(document, check.get("metric", "")).items() if change < 0]
    if check.get("where"):
        ((field, value),) = check["where"].items()
        parts = (one["ids"] for one in document["segments"] if (one["field"], one["value"]) == (field, value))
        within = set(next(parts, ()))
        lost = [id_ for id_ in lost if id_ in within]
    if lost:
        yield f"lost most: {listed(lost)}"
