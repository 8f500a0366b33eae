"""JUnit XML, as Jenkins and GitLab read it."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.reports import render_junit
from reports.documents import ATTACKS, attacked, make_check, make_document, make_query, typed, without_baseline

if TYPE_CHECKING:
    from xmlschema import XMLSchema

FOLDER = Path(__file__).resolve().parents[2] / ".venv-junit"
# The schema of Jenkins' xUnit plugin is in no package of its own; the source of pytest has it, for a test like these.
SOURCE = "pytest==7.4.4 --hash=sha256:2cf0005922c6ace4a3e2ec8b4080eb0d9753fdc93107415332f50ce9e7994280"
MEMBER = "pytest-7.4.4/testing/example_scripts/junit-10.xsd"
DIGEST = "a1a816f58d1bf95ebabf371994df0b9246dee66ea9572fbec4f9296f1b2c0ff6"
Parsed = Callable[[dict[str, Any]], ET.Element]


def _download(schema: Path, environment: dict[str, str]) -> str:
    """Fetch the schema, and say what pip has against it."""
    (FOLDER / "source.txt").write_text(SOURCE + "\n")
    process = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", "pytest", "--require-hashes",
         "--requirement", "source.txt", "--dest", "."],
        cwd=FOLDER, env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    if not process.returncode:
        with tarfile.open(FOLDER / "pytest-7.4.4.tar.gz") as source:
            member = source.extractfile(MEMBER)
            assert member is not None
            schema.write_bytes(member.read())
    return process.stderr if process.returncode else ""


@pytest.fixture(scope="session")
def schema(environment: dict[str, str]) -> XMLSchema:
    """The schema, fetched on first use; where pip cannot fetch it nothing is proved, which CI does not accept."""
    from xmlschema import XMLSchema

    path = FOLDER / "junit-10.xsd"
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != DIGEST:
            error = _download(path, environment)
            if error and os.environ.get("CI") != "true":
                pytest.skip(f"UNTESTED: the schema of JUnit cannot be had: {error.strip().splitlines()[-1]}")
            assert not error, error
    assert hashlib.sha256(path.read_bytes()).hexdigest() == DIGEST
    return XMLSchema(path)


@pytest.fixture(scope="session")
def parsed(schema: XMLSchema) -> Parsed:
    """Render a document, and see that it is as the schema says, that its counts are right and its names differ."""

    def call(document: dict[str, Any]) -> ET.Element:
        data = render_junit(typed(document)).encode()
        root = ET.fromstring(data)
        schema.validate(root)
        for suite in root:
            assert suite.attrib["tests"] == str(len(suite.findall("testcase")))
            for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
                assert suite.attrib[key] == str(len(suite.findall(f"testcase/{tag}")))
        for key in ("tests", "failures", "errors"):
            assert root.attrib[key] == str(sum(int(suite.attrib[key]) for suite in root))
        cases = list(root.iter("testcase"))
        # The schema takes any string and any number of results; of two cases with one name GitLab shows the first.
        assert all(re.fullmatch(r"\d+\.\d+", case.get("time", "0.0")) for case in cases)
        assert all(len(case) <= 1 for case in cases)
        names = [(case.get("classname"), case.get("name")) for case in cases]
        assert len(set(names)) == len(names)
        return root

    return call


@pytest.mark.slow
@pytest.mark.parametrize(
    "harm",
    [
        lambda root: root[0].attrib.pop("failures"),
        lambda root: root[0].set("result", "fine"),
        lambda root: root[0].append(ET.Element("case")),
        lambda root: root[0][1].append(ET.Element("property")),
        lambda root: root.append(ET.Element("testcase", name="stray")),
    ],
)
def test_the_schema_tells_right_from_wrong(schema: XMLSchema, harm: Callable[[ET.Element], object]) -> None:
    """An attribute too few or too many, an element that it does not know or that stands where it must not."""
    root = ET.fromstring(render_junit(typed(make_document())))
    assert schema.is_valid(root)
    harm(root)
    assert not schema.is_valid(root)


def test_one_case_for_each_rule_and_each_query_that_must_pass(parsed: Parsed) -> None:
    """Rules are in a suite of their own, queries in another; a case says what is asked."""
    must = make_check("must_pass", "fail", query="q3", metric=None, current=None, limit=None, reason="nothing relevant")
    root = parsed(make_document(outcome="fail", checks=[make_check(), make_check("max_drop_rel", limit=0.05), must]))
    assert [(suite.get("name"), [case.get("name") for case in suite.iter("testcase")]) for suite in root] == [
        ("karat.turns.gate", ["RR@10: at least 0.5", "RR@10: falls by at most 5.0%"]),
        ("karat.turns.must-pass", ["q3: must find something relevant at any rank"]),
    ]
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "1", "0")
    (case,) = root[1].iter("testcase")
    assert case.attrib["time"] == "0.0120"
    assert case[0].attrib == {"type": "must_pass", "message": "nothing relevant"}
    assert (case[0].text or "").splitlines() == [
        "q3: nothing relevant", "query: What of q3?", "expected: d-q3", "retrieved: x1, d-q3, x3, x4, x5"
    ]  # fmt: skip


def test_a_failed_rule_names_the_queries_that_lost(parsed: Parsed) -> None:
    """In the text of the failure, because GitLab does not show the message; of a part of the queries those in it."""
    fall = make_check("non_inferior", "fail", baseline=0.8, difference=-0.05, reason="dropped")
    elsewhere = make_check("non_inferior", "fail", where={"category": "times"}, reason="dropped")
    first, other = parsed(make_document(outcome="fail", checks=[fall, elsewhere])).iter("failure")
    assert (first.text or "").splitlines() == [
        "RR@10: dropped",
        "current 0.7500, baseline 0.8000, change -0.0500",
        "lost most: q3, q4",
    ]
    assert "lost" not in (other.text or "")


def test_inconclusive_is_skipped_or_a_failure_as_the_policy_says(parsed: Parsed) -> None:
    """What passes with a warning must not make a job red, and what does not pass must."""
    document = without_baseline()
    (skipped,) = parsed(document).iter("skipped")
    assert skipped.attrib == {
        "message": "inconclusive, which passes here (on_inconclusive = pass): there is no baseline"
    }
    document["verdict"] |= {"on_inconclusive": "fail", "exit_code": 4}
    (failure,) = parsed(document).iter("failure")
    assert failure.get("type") == "inconclusive"


def test_a_query_that_got_an_error_is_an_error(parsed: Parsed) -> None:
    """A system that cannot be asked is no wrong answer."""
    must = make_check("must_pass", "fail", query="q1", metric=None, reason="it failed: Timeout")
    root = parsed(make_document(checks=[must], queries=[make_query("q1", 0.0, error="Timeout")], outcome="fail"))
    assert (root.get("errors"), root.get("failures")) == ("1", "0")


def test_no_two_cases_have_the_same_name(parsed: Parsed) -> None:
    """GitLab ignores all but the first of them."""
    root = parsed(make_document(checks=[make_check(), make_check(), make_check()]))
    assert [case.get("name") for case in root.iter("testcase")] == [
        "RR@10: at least 0.5", "RR@10: at least 0.5 (2)", "RR@10: at least 0.5 (3)"
    ]  # fmt: skip


def test_no_rules_give_an_empty_suite(parsed: Parsed) -> None:
    """A file without any suite is a mistake for Jenkins."""
    assert [suite.get("tests") for suite in parsed(make_document(checks=[]))] == ["0"]


@pytest.mark.parametrize("attack", ATTACKS)
def test_content_is_text_only(parsed: Parsed, attack: str) -> None:
    """It parses, is as the schema says, and has the elements that harmless words give."""
    root, calm = parsed(attacked(attack)), parsed(attacked("calm"))
    assert [element.tag for element in root.iter()] == [element.tag for element in calm.iter()]


@pytest.mark.slow
@given(text=st.text(st.characters(), max_size=20))
def test_any_text_is_as_the_schema_says(parsed: Parsed, text: str) -> None:
    """Also halves of surrogate pairs, control characters and what is no character."""
    parsed(attacked(f"a{text}"))


def test_the_same_document_gives_the_same_bytes_apart_from_the_day() -> None:
    """The day stands in the timestamps only."""
    first, other = (render_junit(typed(make_document(created=day))) for day in ("2026-11-16", "2026-11-17"))
    assert first.replace("2026-11-16T", "2026-11-17T") == other
