"""Beluga's evaluation dataset."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from each import each
from golden.sets import SCALES, golden_sets, sent_round
from karat import golden
from karat.core import GRADES, GoldenSet, InputError, Judgment, Query, Target
from karat.golden import FORMATS
from strategies import quick

# The three queries of the source's own program, as its loader expects them in a file.
EXAMPLE = {
    "queries": [
        {"id": "q1", "query": "How do I handle errors?", "relevant_doc_ids": ["1", "3"]},
        {"id": "q2", "query": "API design patterns", "relevant_doc_ids": ["2"], "graded_relevance": None},
        {
            "id": "q3",
            "query": "How to write tests?",
            "relevant_doc_ids": ["4"],
            "graded_relevance": {"4": 3, "3": 1},
        },
    ]
}
BINARY = ("not relevant", "relevant")
KEEPS = FORMATS.get("beluga").keeps


def written(folder: Path, value: Any) -> Path:
    path = folder / "queries.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def file_with(**fields: Any) -> dict[str, Any]:
    return {"queries": [{"id": "q", "query": "?", "relevant_doc_ids": [], **fields}]}


def test_the_queries_of_the_source_are_read(tmp_path: Path) -> None:
    """Beside grades, what is only listed has the lowest grade that is relevant on four grades, which is 2."""
    result = golden.read(written(tmp_path, EXAMPLE))
    assert (result.name, result.grades, result.relevant, result.documents) == ("queries", GRADES, 2, ())
    assert result.queries[0] == Query(id="q1", text="How do I handle errors?")
    assert result.qrels() == {"q1": {"1": 2, "3": 2}, "q2": {"2": 2}, "q3": {"4": 3, "3": 1}}
    assert result.notes == ()


def test_without_grades_all_that_is_relevant_has_grade_1(tmp_path: Path) -> None:
    """A file that only lists has a binary scale, and is written as it was."""
    plain = {"queries": [{"id": "q1", "query": "?", "relevant_doc_ids": ["1", "3"]}]}
    result = golden.read(written(tmp_path, plain))
    assert (result.grades, result.relevant, result.qrels()) == (BINARY, 1, {"q1": {"1": 1, "3": 1}})
    golden.write(result, tmp_path / "again.json", "beluga")
    assert json.loads((tmp_path / "again.json").read_text()) == plain


@each(("grades", "top", "relevant"), [({"a": 1, "b": 0}, 1, 1), ({"a": 2}, 2, 1), ({"a": 3}, 3, 2), ({"a": 4}, 4, 1)])
def test_the_scale_ends_at_the_best_grade(tmp_path: Path, grades: dict[str, int], top: int, relevant: int) -> None:
    """Relevant begins at 2 on a scale up to 3, and at 1 on every other, as in all formats."""
    result = golden.read(written(tmp_path, file_with(graded_relevance=grades, relevant_doc_ids=["a"])))
    assert (len(result.grades) - 1, result.relevant) == (top, relevant)
    assert result.qrels() == {"q": grades}


def test_a_list_that_grades_contradict_is_kept(tmp_path: Path) -> None:
    """It is where the linter looks for it, and it is written again."""
    result = golden.read(
        written(tmp_path, file_with(relevant_doc_ids=["a", "b"], graded_relevance={"a": 3, "b": 1, "c": 2}))
    )
    assert result.queries[0].metadata == {"relevant_entities": ["a", "b"]}
    assert result.qrels() == {"q": {"a": 3, "b": 1, "c": 2}}
    assert sent_round(result, "beluga")[0].queries == result.queries


def test_ids_may_be_numbers(tmp_path: Path) -> None:
    """Whole numbers are taken as text."""
    result = golden.read(written(tmp_path, {"queries": [{"id": 7, "query": "?", "relevant_doc_ids": [3]}]}))
    assert result.qrels() == {"7": {"3": 1}}


@each(
    ("value", "message"),
    [
        ({"query": []}, ": 'queries' is missing; did you mean it by 'query'?"),
        ({"queries": {}}, ": 'queries' is {}, not a list"),
        ({"queries": ["q"]}, "queries[0]: 'q' is not an object"),
        ({"queries": [{"query": "?", "relevant_doc_ids": []}]}, "queries[0]: 'id' is missing"),
        ({"queries": [{"id": "q", "relevant_doc_ids": []}]}, "queries[0]: 'query' is missing"),
        ({"queries": [{"id": "q", "query": "?"}]}, "queries[0]: 'relevant_doc_ids' is missing"),
        (file_with(query=3), "queries[0]: 'query' is 3, not text"),
        (file_with(relevant_doc_ids=[1.5]), "queries[0]: 'relevant_doc_ids': id 1.5 is not text"),
        (file_with(graded_relevance={"a": -1}), "queries[0].graded_relevance: 'a' has grade -1, not one from 0 to 255"),
        (file_with(graded_relevance={"a": 10**9}), "'a' has grade 1000000000, not one from 0 to 255"),
        (file_with(graded_relevance=[1]), "queries[0]: 'graded_relevance' is [1], not an object"),
        ({**file_with(graded_relevance={"a": 2}), "grades": ["no", "yes"]}, "'a' has grade 2, and the scale ends at 1"),
        ('{"queries": [{"id": "q", "id": "q"}]}', "line 1: key 'id' appears twice in one object"),
        ('{\n"queries": [', "line 2: is not valid JSON"),
        ("", ": is empty"),
        ("7", ": holds 7, not an object"),
    ],
)
def test_a_mistake_is_reported_with_its_place(tmp_path: Path, value: Any, message: str) -> None:
    """Each mistake names the file, the query and the field."""
    with pytest.raises(InputError) as raised:
        golden.read(written(tmp_path, value), "beluga")
    assert str(raised.value).startswith(str(tmp_path / "queries.json"))
    assert message in str(raised.value)


def test_reading_and_parsing_fail_differently(tmp_path: Path) -> None:
    """A file that cannot be read has another message than one that cannot be parsed."""
    with pytest.raises(InputError, match="no such file or folder"):
        golden.read(tmp_path / "none.json", "beluga")
    with pytest.raises(InputError, match="is a folder, not a file"):
        golden.read(tmp_path, "beluga")
    with pytest.raises(InputError, match="is not valid JSON"):
        golden.read(written(tmp_path, "{"), "beluga")
    (tmp_path / "queries.json").write_bytes(b'{"queries": ["\xe9"]}')
    with pytest.raises(InputError, match="byte 0xe9 is not UTF-8"):
        golden.read(tmp_path / "queries.json", "beluga")


def test_an_empty_list_is_an_empty_set(tmp_path: Path) -> None:
    """No queries is what the file says; that it is worth nothing is for the linter to say."""
    result = golden.read(written(tmp_path, {"queries": []}), "beluga")
    assert (result.queries, result.judgments) == ((), ())


def test_unknown_keys_are_notes(tmp_path: Path) -> None:
    """A misspelt key is reported, in a query and beside the queries."""
    notes = golden.read(written(tmp_path, {**file_with(graded_relevence={}), "version": "1"})).notes
    assert [note.rsplit(", ", 1)[-1] for note in notes] == ["did you mean 'graded_relevance'?", "ignored"]


@pytest.mark.slow
@given(golden_sets(KEEPS))
@quick
def test_what_is_kept_goes_round(original: GoldenSet) -> None:
    """What is written is read again, whatever characters it has and whatever its scale is."""
    assert sent_round(original, "beluga") == (original, ())


@each(("grades", "relevant"), SCALES)
def test_a_scale_is_declared_only_where_it_cannot_be_seen(
    tmp_path: Path, grades: tuple[str, ...], relevant: int
) -> None:
    """Binary and four grades need no head, if their best grade is used; all others do."""
    top = len(grades) - 1
    judgment = Judgment(query="q", target=Target(document="d"), grade=top)
    original = GoldenSet(grades=grades, relevant=relevant, queries=(Query(id="q", text="?"),), judgments=(judgment,))
    golden.write(original, tmp_path / "a.json", "beluga")
    known = (grades, relevant) in ((GRADES, 2), (BINARY, 1))
    assert ("grades" in json.loads((tmp_path / "a.json").read_text())) is not known
    assert replace(golden.read(tmp_path / "a.json"), name="golden") == original


@pytest.mark.slow
@given(golden_sets())
@quick
def test_what_is_lost_is_reported(original: GoldenSet) -> None:
    """Of a set with everything, documents keep their grades."""
    back, lost = sent_round(original, "beluga")
    assert back.qrels() == original.qrels()
    assert f"beluga cannot hold {len(original.documents):,} documents" in lost or not original.documents
