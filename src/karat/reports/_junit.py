"""The gate as JUnit XML, which Jenkins, GitLab and others show as tests."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Sequence

from karat.reports._failures import losers
from karat.reports._verdict import (
    OPERATIONS,
    explain_outcome,
    find_observed_drops,
    lets_pass,
    name_outcome,
    name_policy,
)
from karat.reports._warnings import list_warnings
from karat.reports._words import (
    clean,
    describe_reason,
    describe_rule,
    format_change,
    format_value,
    join_ids,
    name_check,
)
from karat.schema import CheckRow, DecisionDocument, QueryRow


def render_junit(document: DecisionDocument) -> str:
    """Return one test for each rule that was checked, and one for each query that must pass.

    A check that failed is a failure. An inconclusive one is skipped if the policy lets it pass, and otherwise a
    failure. One that did not fail although the mean dropped by more than is tolerated is skipped, too: it has no green
    tick. A run that failed, and a query that must pass and got an error, is an error. No two tests have the same name,
    because GitLab takes only the first of them.
    """
    root = ET.Element("testsuites", name="karat")
    golden = clean(document.golden.name).replace(".", "_") or "golden"
    suites = {
        "operations": [check for check in document.checks if check.kind in OPERATIONS],
        "gate": [check for check in document.checks if not check.query and check.kind not in OPERATIONS],
        "must-pass": [check for check in document.checks if check.query and check.kind not in OPERATIONS],
    }
    for name, checks in suites.items():
        if checks or name == "gate":
            root.append(_suite(document, f"karat.{golden}.{name}", checks))
    for key in ("tests", "failures", "errors"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in root)))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(document: DecisionDocument, name: str, checks: Sequence[CheckRow]) -> ET.Element:
    suite = ET.Element("testsuite", name=name)
    properties = ET.SubElement(suite, "properties")
    for key, value in _properties(document):
        ET.SubElement(properties, "property", name=key, value=clean(value))
    names: Counter[str] = Counter()
    queries = {query.id: query for query in document.queries}
    for check in checks:
        suite.append(_case(document, check, queries.get(check.query), name, names))
    suite.set("tests", str(len(checks)))
    for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(key, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("timestamp", f"{clean(document.created)}T00:00:00")
    return suite


def _properties(document: DecisionDocument) -> Iterator[tuple[str, str]]:
    golden, run, verdict = document.golden, document.run, document.verdict
    yield "outcome", verdict.outcome
    yield "verdict", "; ".join([name_outcome(document), *explain_outcome(document)])
    yield from (("warning", warning) for warning in list_warnings(document))
    yield "policy", name_policy(verdict)
    yield "on_inconclusive", verdict.on_inconclusive
    yield "run", run.name
    yield "run.fingerprint", run.fingerprint
    yield "golden", golden.full_name
    yield "golden.fingerprint", golden.fingerprint or ""
    if document.baseline:
        yield "baseline", document.baseline.name
        yield "baseline.recorded", document.baseline.recorded


def _case(
    document: DecisionDocument, check: CheckRow, query: QueryRow | None, suite: str, names: Counter[str]
) -> ET.Element:
    base = f"{name_check(check)}: {describe_rule(check)}"
    names[base] += 1
    name = base if names[base] == 1 else f"{base} ({names[base]})"
    case = ET.Element("testcase", classname=suite, name=name)
    if query is not None and query.ms is not None:
        case.set("time", f"{query.ms / 1000:.4f}")
    message = describe_reason(check)
    if check.outcome == "inconclusive" and lets_pass(document, check):
        ET.SubElement(case, "skipped", message=f"inconclusive, which passes here (on_inconclusive = pass): {message}")
    elif check.outcome == "pass" and check in find_observed_drops(document):
        ET.SubElement(case, "skipped", message=f"not failed, but worse by more than is tolerated: {message}")
    elif check.outcome != "pass":
        broken = check.outcome == "error" or (query is not None and query.error and check.outcome == "fail")
        tag = "error" if broken else "failure"
        kind = "inconclusive" if check.outcome == "inconclusive" else check.kind
        failure = ET.SubElement(case, tag, type=kind, message=message)
        failure.text = "\n".join(_details(document, check, query))
    return case


def _details(document: DecisionDocument, check: CheckRow, query: QueryRow | None) -> Iterator[str]:
    """Yield the lines that GitLab shows of a failure: it does not show the message."""
    yield f"{name_check(check)}: {clean(check.reason)}"
    if check.current is not None:
        line = f"current {format_value(check, check.current)}"
        if check.baseline is not None:
            line += f", baseline {format_value(check, check.baseline)}, change {format_change(check)}"
        yield line
    if query is not None:
        yield f"query: {clean(query.text, 300)}"
        yield f"expected: {join_ids([row.document for row in query.expected]) or 'nothing'}"
        yield f"retrieved: {join_ids([hit.document for hit in query.hits]) or 'nothing'}"
        return
    lost = list(losers(document, check.metric))
    if check.segment is not None:
        within = next((set(segment.ids) for segment in document.segments if segment.key == check.segment), set())
        lost = [id_ for id_ in lost if id_ in within]
    if lost:
        yield f"lost most: {join_ids(lost)}"
