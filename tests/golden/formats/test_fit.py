"""FIT-RAG-EVAL-001's golden dataset."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from each import each
from golden.sets import TEXTS, golden_sets, sent_round
from karat import golden
from karat.core import Document, GoldenSet, InputError, Judgment, Query, Span, Target
from karat.files import Mistakes
from karat.golden import FORMATS
from strategies import quick

# The source's own example: two entities and two queries, without its comments.
EXAMPLE: dict[str, Any] = {
    "version": "1.0.0",
    "created_at": "2026-01-04",
    "description": "Golden dataset for RAG evaluation (hotel domain)",
    "entities": [
        {
            "entity_id": "entity-refund-policy",
            "entity_type": "KNOWLEDGE_ARTIFACT",
            "title": "Refund and Cancellation Policy",
            "content": "Our refund policy allows full refunds up to 48 hours before check-in.",
            "metadata": {"format": "MARKDOWN", "category": "POLICY", "owner": "desk"},
            "tags": ["refund", "cancellation", "policy"],
        },
        {
            "entity_id": "entity-amenities-list",
            "entity_type": "COMMUNICATION_SIGNAL",
            "title": "Hotel Amenities",
            "content": "We offer complimentary WiFi.",
            "metadata": {"format": "PLAIN_TEXT", "category": "AMENITIES"},
            "tags": [],
        },
    ],
    "queries": [
        {
            "query_id": "q001",
            "query_text": "What is the refund policy if I cancel my reservation?",
            "expected_results": {
                "relevant_entities": ["entity-refund-policy"],
                "top_1_chunk": "entity-refund-policy:chunk:0",
                "relevance_labels": {"entity-refund-policy": 3, "entity-terms-of-service": 1},
            },
            "category": "POLICY_QUERY",
        },
        {
            "query_id": "q002",
            "query_text": "Do you have a swimming pool?",
            "expected_results": {
                "relevant_entities": ["entity-amenities-list"],
                "top_1_chunk": "entity-amenities-list:chunk:0",
                "relevance_labels": {"entity-amenities-list": 3},
            },
            "category": "AMENITY_QUERY",
        },
    ],
}
COMMENTED = """{
  "version": "1.0.0",
  "entities": [
    {"entity_id": "http://a", "content": "see // there"}
    // ... 48+ more entities
  ],
  "queries": [
    {"query_id": "q001", "query_text": "?", "expected_results": {"relevance_labels": {"a": 3, // Highly relevant
      "b": 1}}}
  ]
}
"""
KEEPS = FORMATS.get("fit").keeps


def written(folder: Path, value: Any) -> Path:
    path = folder / "golden-dataset.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def with_results(**results: Any) -> dict[str, Any]:
    changed = copy.deepcopy(EXAMPLE)
    changed["queries"][0]["expected_results"] = results
    return changed


def test_the_example_of_the_source_is_read(tmp_path: Path) -> None:
    """Every field of entities, queries and head lands where the model has it."""
    result = golden.read(written(tmp_path, EXAMPLE))
    assert (result.name, result.version, result.created) == ("golden-dataset", "1.0.0", "2026-01-04")
    assert (result.grades[3], result.relevant, result.notes) == ("answers directly", 2, ())
    refund, amenities = result.documents
    assert refund == Document(
        id="entity-refund-policy",
        text="Our refund policy allows full refunds up to 48 hours before check-in.",
        title="Refund and Cancellation Policy",
        type="KNOWLEDGE_ARTIFACT",
        format="markdown",
        domain="policy",
        tags=("refund", "cancellation", "policy"),
        metadata={"owner": "desk"},
    )
    assert (amenities.format, amenities.domain) == ("text", "amenities")
    assert result.queries[0] == Query(
        id="q001",
        text="What is the refund policy if I cancel my reservation?",
        category="POLICY_QUERY",
        top_chunk="entity-refund-policy:chunk:0",
    )
    assert result.qrels() == {
        "q001": {"entity-refund-policy": 3, "entity-terms-of-service": 1},
        "q002": {"entity-amenities-list": 3},
    }


def test_the_example_of_the_source_is_written_again(tmp_path: Path) -> None:
    """Reading and writing changes nothing: names of formats and categories have their capitals again."""
    golden.write(golden.read(written(tmp_path, EXAMPLE)), tmp_path / "again.json", "fit")
    assert json.loads((tmp_path / "again.json").read_text()) == EXAMPLE


def test_comments_are_called_comments(tmp_path: Path) -> None:
    """The source's example has // comments; the message names the line of the first that is one."""
    with pytest.raises(InputError) as raised:
        golden.read(written(tmp_path, COMMENTED))
    reported = (
        "golden-dataset.json, line 5: is not valid JSON: holds a comment; remove every comment (// ...) from the file"
    )
    assert str(raised.value).endswith(reported)
    rest = COMMENTED.replace("    // ... 48+ more entities\n", "")
    with pytest.raises(InputError, match=r"line 7: is not valid JSON: holds a comment"):
        golden.read(written(tmp_path, rest))
    assert golden.read(written(tmp_path, rest.replace("// Highly relevant", ""))).qrels() == {"q001": {"a": 3, "b": 1}}
    with pytest.raises(InputError, match=r"line 1: is not valid JSON: Expecting"):
        golden.read(written(tmp_path, '{"entities": [,], "x": "//"}'), "fit")


@each(
    ("results", "grades", "kept"),
    [
        ({"relevance_labels": {"a": 2, "b": 1}}, {"a": 2, "b": 1}, None),
        ({"relevant_entities": ["a"], "relevance_labels": {"a": 3, "b": 1}}, {"a": 3, "b": 1}, None),
        ({"relevant_entities": ["a", "c"], "relevance_labels": {"a": 3}}, {"a": 3, "c": 2}, None),
        ({"relevant_entities": ["c"]}, {"c": 2}, None),
        ({"relevant_entities": ["b", "a"], "relevance_labels": {"a": 3, "b": 1}}, {"a": 3, "b": 1}, ["b", "a"]),
        ({"relevant_entities": ["b"], "relevance_labels": {"a": 3, "b": 2}}, {"a": 3, "b": 2}, ["b"]),
        ({"relevant_entities": [], "relevance_labels": {"a": 2}}, {"a": 2}, []),
    ],
)
def test_two_truths(tmp_path: Path, results: Any, grades: dict[str, int], kept: list[str] | None) -> None:
    """Labels count, the list fills in; where they contradict each other the list is kept for the linter."""
    result = golden.read(written(tmp_path, with_results(**results)))
    assert result.qrels()["q001"] == grades
    assert result.queries[0].metadata.get("relevant_entities") == kept
    back, _ = sent_round(result, "fit")
    assert (back.queries, back.judgments) == (result.queries, result.judgments)


def test_a_file_that_only_lists_has_a_binary_scale(tmp_path: Path) -> None:
    """Where nobody gave a label, what is listed has grade 1 of 1."""
    changed = copy.deepcopy(EXAMPLE)
    for query in changed["queries"]:
        del query["expected_results"]["relevance_labels"]
    result = golden.read(written(tmp_path, changed))
    assert (result.grades, result.relevant) == (("not relevant", "relevant"), 1)
    assert result.qrels() == {"q001": {"entity-refund-policy": 1}, "q002": {"entity-amenities-list": 1}}


def test_an_id_that_is_listed_twice_counts_once(tmp_path: Path) -> None:
    """A double id would make recall wrong: it is read once, and a note says where."""
    result = golden.read(written(tmp_path, with_results(relevant_entities=["a", "a"])))
    assert result.qrels()["q001"] == {"a": 2}
    assert [note.split(": ", 1)[1] for note in result.notes] == [
        "queries[0].expected_results: 'relevant_entities' names an id twice; it is read once"
    ]


def test_a_declared_scale(tmp_path: Path) -> None:
    """A head may declare another scale, and then labels have to be on it."""
    five = {**with_results(relevance_labels={"a": 4}), "grades": ["a", "b", "c", "d", "e"], "relevant": 3}
    result = golden.read(written(tmp_path, five))
    assert (result.grades, result.relevant) == (("a", "b", "c", "d", "e"), 3)
    with pytest.raises(InputError, match=r"queries\[0\]: 'a' has grade 4, and the scale ends at 3"):
        golden.read(written(tmp_path, with_results(relevance_labels={"a": 4})))


@each(
    ("change", "message"),
    [
        ({"entities": None}, ": 'entities' is missing"),
        ({"queries": None}, ": 'queries' is missing"),
        ({"entities": {}}, ": 'entities' is {}, not a list"),
        ({"entities": [7]}, "entities[0]: 7 is not an object"),
        ({"entities": [{}]}, "entities[0]: 'entity_id' is missing"),
        ({"entities": [{"entity_id": ""}]}, "entities[0]: 'entity_id': an id is empty"),
        ({"entities": [{"entity_id": "a", "metadata": []}]}, "entities[0]: 'metadata' is [], not an object"),
        (
            {"entities": [{"entity_id": "a", "metadata": {"format": 1}}]},
            "entities[0].metadata: 'format' is 1, not text",
        ),
        ({"entities": [{"entity_id": "a", "tags": [1]}]}, "entities[0]: 'tags' holds 1, not text"),
        ({"version": 1.0}, "'version' is 1.0, not text"),
        ({"queries": [{"query_id": "q"}]}, "queries[0]: 'expected_results' is missing"),
        (
            {"queries": [{"query_id": "q", "expected_result": {}}]},
            "'expected_results' is missing; did you mean it by 'expected_result'?",
        ),
        ({"queries": [{"query_id": "q", "expected_results": {}}]}, "expected_results: 'relevance_labels' is missing"),
        ({"queries": [{"query_id": "q", "expected_results": []}]}, "'expected_results' is [], not an object"),
    ],
)
def test_a_mistake_is_reported_with_its_place(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """Each mistake names the file, the record and the field."""
    with pytest.raises(InputError) as raised:
        golden.read(written(tmp_path, {**EXAMPLE, **change}), "fit")
    assert str(raised.value).startswith(str(tmp_path / "golden-dataset.json"))
    assert message in str(raised.value)


@each(
    ("results", "message"),
    [
        ({"relevance_labels": {"a": "x"}}, "relevance_labels: 'a' is 'x', not a whole number"),
        ({"relevance_labels": {"a": True}}, "relevance_labels: 'a' is True, not a whole number"),
        ({"relevance_labels": {"a": 2.5}}, "relevance_labels: 'a' is 2.5, not a whole number"),
        ({"relevance_labels": {"a": None}}, "relevance_labels: 'a' has grade None, not one from 0 to 255"),
        ({"relevance_labels": {"a": -1}}, "relevance_labels: 'a' has grade -1, not one from 0 to 255"),
        ({"relevance_labels": {"": 1}}, "an id is empty"),
        ({"relevance_labels": [3]}, "'relevance_labels' is [3], not an object"),
        ({"relevant_entities": "a"}, "'relevant_entities' is 'a', not a list"),
        ({"relevant_entities": [None]}, "'relevant_entities': id None is not text"),
        ({"relevance_labels": {}, "top_1_chunk": 3}, "'top_1_chunk' is 3, not text"),
    ],
)
def test_what_is_wrong_with_labels(tmp_path: Path, results: dict[str, Any], message: str) -> None:
    """A label that is not a grade, or a list that is not a list, is reported with the path to it."""
    with pytest.raises(InputError) as raised:
        golden.read(written(tmp_path, with_results(**results)))
    assert "queries[0].expected_results" in str(raised.value)
    assert message in str(raised.value)


@each(
    ("data", "message"),
    [
        (b"", ": is empty"),
        (b" \n", ": is empty"),
        (b"[]", ": holds [], not an object"),
        (b'{"entities": [], "entities": [], "queries": []}', "line 1: key 'entities' appears twice in one object"),
        (b'{"entities": [{"entity_id": "\xff"}]}', "line 1: byte 0xff is not UTF-8"),
        (json.dumps(EXAMPLE, indent=1).encode()[:-40], "line 61: is not valid JSON"),
    ],
)
def test_files_that_are_no_json_object(tmp_path: Path, data: bytes, message: str) -> None:
    """Empty, cut off, not UTF-8, or with a repeated key."""
    (tmp_path / "golden.json").write_bytes(data)
    with pytest.raises(InputError) as raised:
        golden.read(tmp_path / "golden.json", "fit")
    assert message in str(raised.value)


def test_all_mistakes_come_at_once(tmp_path: Path) -> None:
    """One reading tells the mistakes of all entities and queries."""
    changed = copy.deepcopy(EXAMPLE)
    del changed["entities"][1]["entity_id"], changed["queries"][0]["query_text"]
    changed["queries"][1]["expected_results"]["relevance_labels"] = {"a": 9}
    with pytest.raises(Mistakes) as raised:
        golden.read(written(tmp_path, changed))
    assert [str(error).split(": ")[1] for error in raised.value.errors] == ["entities[1]", "queries[0]", "queries[1]"]


def test_unknown_keys_are_notes(tmp_path: Path) -> None:
    """A misspelt key is reported wherever it is."""
    changed = with_results(relevance_labels={"a": 3}, top1_chunk="x")
    changed |= {"descripton": ""}
    changed["entities"][0]["titel"] = ""
    changed["queries"][1]["kategory"] = ""
    notes = golden.read(written(tmp_path, changed)).notes
    assert [note.split(", ", 1)[-1] for note in notes[:3]] == [
        "entities[0]: unknown key 'titel', ignored, did you mean 'title'?",
        "queries[0].expected_results: unknown key 'top1_chunk', ignored, did you mean 'top_1_chunk'?",
        "queries[1]: unknown key 'kategory', ignored, did you mean 'category'?",
    ]
    assert notes[3].endswith(": unknown key 'descripton', ignored, did you mean 'description'?")


def test_metadata_with_the_names_of_fields_survives() -> None:
    """A document's own 'format' and 'category' are not mistaken for the fields of these names."""
    metadata = {"format": 7, "category": ["x"], "metadata": {"a": 1}, "other": None}
    plain = GoldenSet(
        documents=(Document(id="d", metadata=metadata), Document(id="e", metadata={"metadata": {"a": 1}}))
    )
    back, lost = sent_round(plain, "fit")
    assert (back, lost) == (plain, ())


def test_metadata_that_holds_metadata_is_left_alone(tmp_path: Path) -> None:
    """Other people's nesting is not taken for karat's."""
    entity = {"entity_id": "d", "metadata": {"metadata": {"a": 1}}}
    result = golden.read(written(tmp_path, {**EXAMPLE, "entities": [entity]}))
    assert result.documents[0].metadata == {"metadata": {"a": 1}}


def test_metadata_of_queries_survives() -> None:
    """A key that looks like the list that contradicts, and is none, stays what it is."""
    metadata = {"relevant_entities": 5, "team": {"desk": None}}
    plain = GoldenSet(queries=(Query(id="q", text="?", metadata=metadata),))
    assert sent_round(plain, "fit")[0] == plain


@pytest.mark.slow
@given(golden_sets(KEEPS, document__domain=TEXTS.map(str.lower)))
@quick
def test_what_is_kept_goes_round(original: GoldenSet) -> None:
    """What is written is read again, whatever characters it has and whatever its scale is."""
    assert sent_round(original, "fit") == (original, ())


@pytest.mark.slow
@given(golden_sets())
@quick
def test_what_is_lost_is_reported(original: GoldenSet) -> None:
    """Of a set with everything, documents keep their grades, and the file is read again."""
    back, lost = sent_round(original, "fit")
    assert back.qrels() == original.qrels()
    assert (back.grades, back.relevant) == (original.grades, original.relevant)
    assert any("paraphrases" in note for note in lost) == any(query.paraphrases for query in original.queries)


QUERY = Query(id="q", text="?")


def judged(name: str, grade: int = 2, query: str = "q") -> GoldenSet:
    return GoldenSet(queries=(QUERY,), judgments=(Judgment(query=query, target=Target(document=name), grade=grade),))


@each(
    ("wrong", "message"),
    [
        (GoldenSet(queries=(QUERY, QUERY)), "query 'q' appears twice"),
        (GoldenSet(queries=(replace(QUERY, id=""),)), "a query: an id is empty"),
        (GoldenSet(queries=(replace(QUERY, text="\ud800"),)), "query 'q' holds half of a surrogate pair"),
        (GoldenSet(queries=(replace(QUERY, metadata={"x": float("nan")}),)), "query 'q' cannot be written as JSON"),
        (GoldenSet(documents=(Document(id="d", metadata={"x": {1}}),)), "document 'd' cannot be written as JSON"),
        (GoldenSet(documents=(Document(id=""),)), "a document: an id is empty"),
        (GoldenSet(description="\udfff"), "the set holds half of a surrogate pair"),
        (GoldenSet(grades=()), "the set has no grades"),
        (judged("d", 4), "query 'q' gives 'd' grade 4, not one from 0 to 3"),
        (judged("d", -1), "query 'q' gives 'd' grade -1, not one from 0 to 3"),
        (judged(""), "query 'q': an id is empty"),
        (judged("\ud800"), "is not valid Unicode"),
        (judged("d", query="r"), "a judgment names query 'r', which the set does not have"),
    ],
)
def test_what_would_not_be_read_again_is_not_written(tmp_path: Path, wrong: GoldenSet, message: str) -> None:
    """The message names the id, and nothing is left behind."""
    with pytest.raises(InputError) as raised:
        golden.write(wrong, tmp_path / "golden.json", "fit")
    assert message in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_a_document_has_the_best_grade_of_its_parts() -> None:
    """Judgments of spans become one of the document, and the loss is reported."""
    spans = [Target(document="d", span=Span(0, n)) for n in (3, 5)]
    original = GoldenSet(
        queries=(QUERY,),
        judgments=tuple(Judgment(query="q", target=t, grade=g) for t, g in zip(spans, (1, 3), strict=True)),
    )
    back, lost = sent_round(original, "fit")
    assert back.judgments == (Judgment(query="q", target=Target(document="d"), grade=3),)
    assert lost == ("fit cannot hold span of 2 judgments",)


def test_one_record_is_one_line(tmp_path: Path) -> None:
    """A change of one query is a change of one line."""
    golden.write(judged("d"), tmp_path / "golden.json", "fit")
    assert (tmp_path / "golden.json").read_text() == (
        '{\n"version": "",\n"created_at": "",\n"description": "",\n"entities": [],\n"queries": [\n'
        '  {"query_id": "q", "query_text": "?", "expected_results": {"relevant_entities": ["d"], "top_1_chunk": "", '
        '"relevance_labels": {"d": 2}}, "category": ""}\n]\n}\n'
    )


def test_a_query_may_have_a_type(tmp_path: Path) -> None:
    """``query_type`` is the type that the format demands of queries; it is read, written and not an unknown key."""
    typed = {**EXAMPLE, "queries": [{**EXAMPLE["queries"][0], "query_type": "troubleshooting"}, EXAMPLE["queries"][1]]}
    result = golden.read(written(tmp_path, typed))
    assert [query.type for query in result.queries] == ["troubleshooting", ""]
    assert result.notes == ()
    assert not any("type" in loss for loss in golden.write(result, tmp_path / "again.json", "fit"))
    again = json.loads((tmp_path / "again.json").read_text())["queries"]
    assert [query.get("query_type") for query in again] == ["troubleshooting", None]
