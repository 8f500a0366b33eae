"""The document of a decision: what karat writes fits its schema, and what is not whole is refused by its place."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.gate_project import accept, make_project, make_run
from each import each
from karat import reports
from karat.core import InputError
from karat.projects import gate_run, open_project, report_document
from karat.reports import read_document, render_json
from karat.runs import read_any_run
from karat.schema import DecisionDocument, Mismatch, from_plain, to_plain
from reports.documents import attacked, conclude, make_check, make_document, typed, without_baseline
from reports.report_samples import sample

SCHEMA: dict[str, Any] = json.loads(reports.decision_schema())
DRAFT = jsonschema.Draft202012Validator(SCHEMA)
OTHERS = (
    "render_canary_html",
    "render_gain",
    "render_online_html",
    "render_scores",
    "render_shadow_html",
    "render_sparklines",
    "render_trial_html",
    "render_trial_svg",
    "render_watch_html",
)
"""The renderers of other documents."""
RENDERERS = [getattr(reports, name) for name in reports.__all__ if name.startswith("render_") and name not in OTHERS]
OLD = Path(__file__).with_name("decision_format_1.json")
"""Written by karat before the document had a type: a must-pass, a segment, an error, whole numbers as limits."""


def mistakes(value: Any) -> list[str]:
    """Return the places at which another implementation of JSON Schema finds something wrong."""
    return [error.json_path for error in DRAFT.iter_errors(value)]


def saved(folder: Path, document: Any, name: str = "decision.json") -> str:
    """Write a document as it is."""
    path = folder / name
    path.write_text(json.dumps(document), "utf-8")
    return str(path)


def test_the_schema_is_one() -> None:
    """By the meta-schema that it names."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert SCHEMA["title"] == "karat report"


@pytest.mark.parametrize("document", [make_document(), without_baseline(), attacked("<b>")])
def test_documents_of_the_tests_fit(document: dict[str, Any], tmp_path: Path) -> None:
    """What the other tests render is what karat may write, and is read back as it was."""
    assert mistakes(document) == []
    assert read_document(saved(tmp_path, document)) == typed(document)


@pytest.mark.parametrize("alone", [False, True])
def test_what_karat_writes_fits(tmp_path: Path, alone: bool) -> None:
    """A real run with a baseline, an error, a query that finds nothing, a limit on a part, queries that must pass."""
    golden_set = make_project(
        tmp_path,
        '[gate]\nmust_pass = ["q01", {query = "q02", metric = "RR@10", min = 0.5}]\n'
        '[[gate.rules]]\nmetric = "latency.p95"\nmax = 500\n'
        '[[gate.rules]]\nmetric = "RR@10"\nwhere = {category = "prices"}\nmax_drop_abs = 0.1\n',
    )
    accept(tmp_path, make_run(tmp_path, golden_set, [1] * 12, "old"))
    run = make_run(tmp_path, golden_set, [0, 2, 3, *[1] * 9], errors={"q05": "Timeout"})
    project = open_project(tmp_path)
    document = report_document(gate_run(project, read_any_run(run, project.golden), alone=alone))
    path = tmp_path / "decision.json"
    path.write_text(render_json(document))
    assert mistakes(json.loads(path.read_text())) == []
    assert read_document(str(path)) == document
    assert (document.baseline is None) == alone


def test_a_decision_of_an_older_karat_is_read(tmp_path: Path) -> None:
    """Byte for byte the same when it is written again, and rendered in every format."""
    document = read_document(str(OLD))
    assert document is not None
    assert render_json(document) == OLD.read_text()
    assert mistakes(json.loads(OLD.read_text())) == []
    overall = "FAIL by policy default (4 of 6 checks failed: RR@10, RR@10 category=prices, q01, q02 RR@10; 1 inconcl"
    assert overall in reports.render_markdown(document)
    assert all(render(document) for render in RENDERERS)


@pytest.mark.parametrize("queries", [1, 3, 12])
def test_json_written_in_pieces_is_that_of_the_whole(queries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karat.reports._json._ROWS", 3)
    document = typed(sample() | {"queries": sample()["queries"][:queries]})
    assert render_json(document) == json.dumps(to_plain(document), allow_nan=False) + "\n"


@each("number", [1e-5, 9.99e-5, 1e-4, 0.1 + 0.2, -0.0, 1e15, 1e16, 1.5e300])
@each("text", ["plain", "früh \x7f \u2028", "half \ud800", 'a "quoted" \\ \x1f/'])
def test_rows_are_encoded_as_python_does(number: float, text: str) -> None:
    """Whatever encoder is used for very many: numbers with an exponent, and texts that it cannot encode."""
    plain = sample()
    plain["queries"][1] |= {"text": text, "ms": number, "scores": {"RR@10": number}}
    plain["movers"] = [{"query": text, "measure": "RR@10", "baseline": number, "candidate": 0.5, "moved": [text]}]
    document = typed(plain)
    assert render_json(document) == json.dumps(to_plain(document), allow_nan=False) + "\n"


@each("field", ["ms", "scores", "baseline", "hits"])
def test_nan_is_never_written(field: str) -> None:
    """Not as null either, which would mean that nothing was measured."""
    document = typed(sample())
    query = document.queries[0]
    nan = math.nan
    values = {"ms": nan, "scores": {"RR@10": nan}, "baseline": {"RR@10": nan}}
    values["hits"] = tuple(msgspec.structs.replace(hit, score=nan) for hit in query.hits)
    odd = msgspec.structs.replace(query, **{field: values[field]})
    with pytest.raises(ValueError, match="not JSON compliant"):
        render_json(msgspec.structs.replace(document, queries=(odd, *document.queries[1:])))


def test_a_decision_without_what_was_added_later_is_read(tmp_path: Path) -> None:
    """The limits of the policy, the direction of a measure and the documents that left were added within format 1."""
    plain = make_document()
    del plain["verdict"]["list_below"]
    for measure in plain["measures"]:
        del measure["lower_is_better"]
    for query in plain["queries"]:
        del query["left"]
    assert read_document(saved(tmp_path, plain)) == typed(make_document())


def place(document: Any, path: str, value: Any) -> Any:
    """Put a value into a document, and return the document."""
    *parents, name = path.split(".")
    inner = document
    for parent in parents:
        inner = inner[parent]
    inner[name] = value
    return document


@each(
    ("path", "value"),
    [
        ("created", "today"),
        ("verdict.outcome", "maybe"),
        ("run.queries", -1),
        ("run.queries", True),
        ("queries", {}),
        ("baseline", "old"),
        ("measures", None),
    ],
)
def test_what_is_wrong_is_told_by_its_place(path: str, value: Any, tmp_path: Path) -> None:
    """In one line, by both implementations."""
    document = place(make_document(), path, value)
    assert mistakes(document) == [f"$.{path}"]
    with pytest.raises(InputError) as caught:
        read_document(saved(tmp_path, document))
    assert f"decision.json: is not a complete decision: $.{path}: " in str(caught.value)


def test_what_is_missing_or_unknown_is_named(tmp_path: Path) -> None:
    """Every key of the document has to be there, and no other."""
    for name in make_document():
        document = make_document()
        del document[name]
        assert mistakes(document) == ["$"]
        if name == "karat":
            assert read_document(saved(tmp_path, document)) is None
            continue
        with pytest.raises(InputError, match=name):
            read_document(saved(tmp_path, document))
    with pytest.raises(InputError, match="more"):
        read_document(saved(tmp_path, {**make_document(), "more": 1}))


def without(document: Any, path: str) -> Any:
    """Take a value out of a document, and return the document."""
    *parents, name = path.split(".")
    inner = document
    for parent in parents:
        inner = inner[int(parent) if parent.isdigit() else parent]
    del inner[name]
    return document


@each("name", ["wins", "ties", "losses", "significant", "low", "high", "p_corrected"])
def test_a_difference_comes_with_all_that_is_said_of_it(name: str, tmp_path: Path) -> None:
    """Else a table would have half a row."""
    document = without(make_document(), f"measures.0.{name}")
    assert mistakes(document) == ["$.measures[0]"]
    with pytest.raises(InputError, match=name):
        read_document(saved(tmp_path, document))


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"checks": [make_check(n=None, total=12)]}, "checks"),
        ({"measures": [{**make_document()["measures"][0], "compared": 0.5}]}, "measures"),
    ],
)
def test_a_share_comes_with_both_of_its_numbers(change: dict[str, Any], place: str, tmp_path: Path) -> None:
    """Else no report could say on how many queries of how many it rests."""
    document = {**make_document(), **change}
    document["measures"][0].pop("n_compared", None)
    assert mistakes(document) == [f"$.{place}[0]"]
    with pytest.raises(InputError, match=rf"\$\.{place}\[0\]: it has a (?:total, but no n|mean .* but no n_compared)"):
        read_document(saved(tmp_path, document))


@each(
    ("change", "said"),
    [
        ({"verdict": make_document(outcome="fail")["verdict"]}, "the verdict is fail, but the worst of its checks is"),
        ({"baseline": None}, "it has differences, but no baseline"),
        ({"queries": [make_document()["queries"][0]] * 2}, "two of its queries have the same id"),
        ({"created": "2026-02-30"}, "created 2026-02-30 is not a day"),
        ({"format": 10**300}, "more than 300 digits"),
        (
            {"checks": [make_check(where={"a": "b", "c": "d"})]},
            r"\$.checks\[0\].where: expected `object` of length <= 1",
        ),
        (
            {"segments": [{**make_document()["segments"][0], "means": None}]},
            r"\$.segments\[0\].means: expected `object`, got `null`",
        ),
        ({"queries": [{**make_document()["queries"][0], "ms": 10**400}]}, "more than 300 digits"),
    ],
)
def test_what_says_two_things_is_refused(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    """A report of it would say two things, or none."""
    with pytest.raises(InputError, match=said):
        read_document(saved(tmp_path, {**make_document(), **change}))


def test_a_decision_may_have_any_name(tmp_path: Path) -> None:
    """It is known by how it begins."""
    document = make_document()
    assert read_document(saved(tmp_path, document, "decision.txt")) == typed(document)


def test_a_newer_format_needs_a_newer_karat(tmp_path: Path) -> None:
    """It is not called damaged."""
    with pytest.raises(InputError, match=r"has format 2, and this version of karat knows 1; a newer karat"):
        read_document(saved(tmp_path, {**make_document(), "format": 2}))


def test_what_is_cut_off_or_no_text_is_refused(tmp_path: Path) -> None:
    """A file that was damaged on its way is no run, and no decision."""
    text = render_json(typed(make_document()))
    path = tmp_path / "decision.json"
    for data in (text[:-100].encode(), b"\xff" + text.encode(), text.replace("0.75", "NaN", 1).encode(), b"[" * 9999):
        path.write_bytes(data + b'{"karat": "report"}' if data[:1] == b"[" else data)
        with pytest.raises(InputError, match=r"decision\.json"):
            read_document(str(path))


def test_what_is_no_decision_is_left_to_others(tmp_path: Path) -> None:
    """A run of another tool may be JSON too; a name without .json is not even opened."""
    assert read_document(saved(tmp_path, {"q1": {"d1": 1.0}})) is None
    assert read_document(str(tmp_path / "none.jsonl")) is None
    with pytest.raises(InputError, match=r"none\.json: no such file"):
        read_document(str(tmp_path / "none.json"))


def test_in_another_order_and_packed(tmp_path: Path) -> None:
    """As other tools write it again, or an archive keeps it."""
    document = make_document()
    packed = tmp_path / "decision.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(document, sort_keys=True, indent=2).encode()))
    assert read_document(str(packed)) == typed(document)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return every place of a JSON value, as its container and its key."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [(value, key) for key in keys] + [pair for key in keys for pair in places(value[key])]


# Whole floats are left out: JSON Schema takes 1.0 for an integer, and karat never writes one.
DAMAGE = st.sampled_from([None, True, 0, -1, 0.5, 10**30, "", "x", "pass", "\x1b[2J", "\udc80", [], {}, [[]], {"x": 1}])


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["replace", "remove", "add"]), DAMAGE, st.sampled_from(["x", "", "low"]))
def test_the_type_and_the_schema_refuse_the_same(place: int, change: str, value: Any, name: str) -> None:
    """A document in which anything is another value, missing or new: the type and jsonschema agree on it."""
    document = json.loads(OLD.read_text())
    every = places(document)
    holder, key = every[place % len(every)]
    if change == "remove":
        del holder[key]
    elif change == "add" and isinstance(holder, dict):
        holder[name] = value
    else:
        holder[key] = value
    try:
        from_plain(document, DecisionDocument)
    except Mismatch:
        assert not DRAFT.is_valid(document)
    else:
        assert mistakes(document) == []


TEXT = st.text(max_size=20)
NUMBER = st.floats(allow_nan=False, allow_infinity=False, width=32)
ODD = {
    "failures": st.lists(st.fixed_dictionaries({"query": TEXT, "reasons": st.lists(TEXT, max_size=2)}), max_size=3),
    "recommendations": st.lists(
        st.fixed_dictionaries({"rule": TEXT, "finding": TEXT, "advice": TEXT, "queries": st.lists(TEXT, max_size=2)}),
        max_size=2,
    ),
    "queries": st.just([]),
    "measures": st.just([]),
    "checks": st.just([]),
    "segments": st.just([]),
    "passages": st.just({}),
    "latency": st.just({"stages": {}, "baseline": {}, "histogram": {"edges": [], "counts": []}}),
    "golden": st.fixed_dictionaries(
        {"name": TEXT, "documents": st.just(0), "queries": st.just(0), "judgments": st.just(0)}
    ),
}


@pytest.mark.slow
@settings(max_examples=60)
@given(st.fixed_dictionaries({}, optional=ODD))
def test_every_document_that_fits_can_be_rendered(changes: dict[str, Any]) -> None:
    """A file that was edited by hand may say odd things; it never ends in a traceback."""
    document = {**make_document(), **changes}
    assert mistakes(document) == []
    for render in RENDERERS:
        assert render(typed(document))


def test_conclusions_come_from_the_facts() -> None:
    """The queries that failed and the recommendations are those of the rules, as plain data."""
    document = attacked("x")
    assert document["failures"][0] == {
        "query": "x",
        "reasons": ["must pass: x", "failed: x"],
        "since": "new",
    }
    assert {recommendation["rule"] for recommendation in document["recommendations"]} >= {"failed-queries"}
    assert conclude(document) == document


def test_json_is_one_line_of_ascii() -> None:
    """Whatever the content is, a terminal or a log cannot be misled by it."""
    text = render_json(typed(attacked("é\u202e\n\x1b")))
    assert text.isascii()
    assert text.count("\n") == 1
    assert json.loads(text) == attacked("é\u202e\n\x1b")
