"""JUnit XML, as Jenkins and GitLab read it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from karat.reports import render_junit
from reports.documents import ATTACKS, attacked, make_check, make_document, make_query, without_baseline

# What the schema of Jenkins' xUnit plugin (junit-10.xsd) allows of that which is used here: attributes that have to be
# there, those that may, and children. No XSD validator is among the development dependencies.
SCHEMA: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "testcase": (
        {"name"},
        {"time", "classname", "group"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "skipped": (set(), {"type", "message"}, set()),
    "error": (set(), {"type", "message"}, set()),
    "failure": (set(), {"type", "message"}, set()),
}


def check_structure(element: ET.Element) -> None:
    """Assert that an element and all below it are as the schema says, and that the counts are right."""
    required, optional, children = SCHEMA[element.tag]
    assert required <= set(element.keys()) <= required | optional, element.tag
    assert {child.tag for child in element} <= children, element.tag
    if element.tag in ("properties", "testsuite", "testsuites", "testcase"):
        assert not (element.text or "").strip()
    if element.tag == "testsuite":
        assert int(element.attrib["tests"]) == len(element.findall("testcase"))
        for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(element.attrib[key]) == len(element.findall(f"testcase/{tag}"))
    if element.tag == "testcase":
        assert len(element) <= 1
        assert re.fullmatch(r"\d+\.\d+", element.get("time", "0.0"))
    for child in element:
        check_structure(child)


def parsed(document: dict[str, Any]) -> ET.Element:
    root = ET.fromstring(render_junit(document).encode())
    assert root.tag == "testsuites"
    check_structure(root)
    return root


def test_one_case_for_each_rule_and_each_query_that_must_pass() -> None:
    """Rules are in a suite of their own, queries in another; a case says what is asked."""
    must = make_check("must_pass", "fail", query="q3", metric=None, current=None, limit=None, reason="nothing relevant")
    root = parsed(make_document(outcome="fail", checks=[make_check(), make_check("max_drop_rel", limit=0.05), must]))
    assert [(suite.get("name"), [case.get("name") for case in suite.iter("testcase")]) for suite in root] == [
        ("karat.turns.gate", ["RR@10: at least 0.5", "RR@10: falls by at most 5.0%"]),
        ("karat.turns.must-pass", ["q3: must find something relevant"]),
    ]
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "1", "0")
    (case,) = root[1].iter("testcase")
    assert case.attrib["time"] == "0.0120"
    assert case[0].attrib == {"type": "must_pass", "message": "nothing relevant"}
    assert (case[0].text or "").splitlines() == [
        "q3: nothing relevant", "query: What of q3?", "expected: d-q3", "retrieved: x1, d-q3, x3, x4, x5"
    ]  # fmt: skip


def test_a_failed_rule_names_the_queries_that_lost() -> None:
    """In the text of the failure, because GitLab does not show the message; of a part of the queries those in it."""
    fall = make_check("non_inferior", "fail", baseline=0.8, difference=-0.05, reason="dropped")
    elsewhere = make_check("non_inferior", "fail", where={"category": "times"}, reason="dropped")
    one, other = parsed(make_document(outcome="fail", checks=[fall, elsewhere])).iter("failure")
    assert (one.text or "").splitlines() == [
        "RR@10: dropped",
        "current 0.7500, baseline 0.8000, change -0.0500",
        "lost most: q3, q4",
    ]
    assert "lost" not in (other.text or "")


def test_inconclusive_is_skipped_or_a_failure_as_the_policy_says() -> None:
    """What passes with a warning must not make a job red, and what does not pass must."""
    made = without_baseline()
    (skipped,) = parsed(made).iter("skipped")
    assert skipped.attrib == {"message": "inconclusive: there is no baseline"}
    made["verdict"] |= {"on_inconclusive": "fail", "exit_code": 4}
    (failure,) = parsed(made).iter("failure")
    assert failure.get("type") == "inconclusive"


def test_a_query_that_got_an_error_is_an_error() -> None:
    """A system that cannot be asked is no wrong answer."""
    must = make_check("must_pass", "fail", query="q1", metric=None, reason="it failed: Timeout")
    root = parsed(make_document(checks=[must], queries=[make_query("q1", 0.0, error="Timeout")], outcome="fail"))
    assert (root.get("errors"), root.get("failures")) == ("1", "0")


def test_no_two_cases_have_the_same_name() -> None:
    """GitLab ignores all but the first of them."""
    root = parsed(make_document(checks=[make_check(), make_check(), make_check()]))
    assert [case.get("name") for case in root.iter("testcase")] == [
        "RR@10: at least 0.5", "RR@10: at least 0.5 (2)", "RR@10: at least 0.5 (3)"
    ]  # fmt: skip


def test_no_rules_give_an_empty_suite() -> None:
    """A file without any suite is a mistake for Jenkins."""
    assert [suite.get("tests") for suite in parsed(make_document(checks=[]))] == ["0"]


@pytest.mark.parametrize("attack", ATTACKS)
def test_content_is_text_only(attack: str) -> None:
    """It parses, is as the schema says, and has the elements that harmless words give."""
    root, calm = parsed(attacked(attack)), parsed(attacked("calm"))
    assert [element.tag for element in root.iter()] == [element.tag for element in calm.iter()]


def test_the_same_document_gives_the_same_bytes_apart_from_the_day() -> None:
    """The day stands in the timestamps only."""
    one, other = (render_junit(make_document(created=day)) for day in ("2026-11-16", "2026-11-17"))
    assert one.replace("2026-11-16T", "2026-11-17T") == other
