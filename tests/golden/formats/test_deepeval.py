"""deepeval: goldens in JSON, JSONL and CSV, in snake_case and camelCase."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given

from golden.formats.golden_strategies import golden_sets, quick, relevant, round_trip
from karat import golden
from karat.core import Document, GoldenSet, InputError, Judgment, Query, Target
from karat.files import Mistakes

# As EvaluationDataset.save_as("json") writes it.
GOLDEN = {
    "input": "When is breakfast?",
    "actual_output": None,
    "expected_output": "From seven.",
    "retrieval_context": None,
    "context": ["Breakfast is from 7 to 10.", "Room service is all day."],
    "name": "g1",
    "comments": "checked",
    "source_file": "breakfast.md",
    "tools_called": None,
    "expected_tools": [{"name": "search"}],
    "additional_metadata": {"evolutions": ["Reasoning"]},
    "custom_column_key_values": {"area": "food"},
}
METADATA = {
    "evolutions": ["Reasoning"],
    "source_file": "breakfast.md",
    "comments": "checked",
    "expected_tools": [{"name": "search"}],
    "custom_column_key_values": {"area": "food"},
}


def write_json(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))
    return path


def write_csv(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows as save_as("csv") does: texts of a context joined, objects as JSON."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(rows[0])
        for row in rows:
            writer.writerow(["|".join(v) if k == "context" else _cell(v) for k, v in row.items()])
    return path


def _cell(value: object) -> object:
    return json.dumps(value) if isinstance(value, list | dict) else value


def test_a_golden_is_a_query_with_its_contexts(tmp_path: Path) -> None:
    """Its name is the id, each text of the context a relevant document, the rest metadata."""
    result = golden.read(write_json(tmp_path / "desk.json", [GOLDEN]))
    assert result.queries == (Query(id="g1", text="When is breakfast?", answer="From seven.", metadata=METADATA),)
    assert [document.text for document in result.documents] == GOLDEN["context"]
    assert result.qrels() == {"g1": {document.id: 1 for document in result.documents}}
    assert result.notes == ()


def test_every_layout_gives_the_same_set(tmp_path: Path) -> None:
    """A list, CSV, JSONL with joined contexts, camelCase under ``goldens``."""
    listed = golden.read(write_json(tmp_path / "a.json", [GOLDEN]))
    camel = {
        "input": GOLDEN["input"],
        "expectedOutput": GOLDEN["expected_output"],
        "context": GOLDEN["context"],
        "name": "g1",
        "comments": "checked",
        "sourceFile": "breakfast.md",
        "expectedTools": GOLDEN["expected_tools"],
        "additionalMetadata": GOLDEN["additional_metadata"],
        "customColumnKeyValues": GOLDEN["custom_column_key_values"],
    }
    (tmp_path / "more").mkdir()
    (tmp_path / "a.jsonl").write_text(json.dumps({**GOLDEN, "context": "|".join(GOLDEN["context"])}) + "\n")  # type: ignore[arg-type]
    assert golden.read(tmp_path / "a.jsonl") == listed
    assert golden.read(write_csv(tmp_path / "a.csv", [GOLDEN])) == listed
    assert golden.read(write_json(tmp_path / "more" / "a.json", {"goldens": [camel]})) == listed


def test_what_a_system_did_is_no_gold(tmp_path: Path) -> None:
    """What it retrieved, answered and called is left out, and a note says so."""
    row = {"input": "a?", "actual_output": "b", "retrievalContext": ["c"], "tools_called": [{"name": "d"}]}
    result = golden.read(write_json(tmp_path / "a.json", [row]))
    assert result.documents == ()
    assert result.queries[0].metadata == {}
    assert len(result.notes) == 1
    assert "is left out: it is not gold" in result.notes[0]


def test_conversations_are_left_out(tmp_path: Path) -> None:
    """They have a scenario, and no question; a file of nothing else is refused."""
    talk = {"scenario": "A guest complains.", "turns": None, "expected_outcome": "Calm."}
    result = golden.read(write_json(tmp_path / "a.json", [GOLDEN, talk]))
    assert len(result.queries) == 1
    assert any("1 goldens of conversations left out" in note for note in result.notes)
    with pytest.raises(InputError, match="holds no goldens"):
        golden.read(write_json(tmp_path / "b.json", [talk]), "deepeval")


def test_names_that_are_shared_are_no_ids(tmp_path: Path) -> None:
    """deepeval does not ask for them to differ."""
    rows = [{"input": "a?", "context": [], "name": "x"}, {"input": "b?", "name": "x"}]
    result = golden.read(write_json(tmp_path / "a.json", rows))
    assert len({query.id for query in result.queries} - {"x"}) == 2
    assert any("share names" in note for note in result.notes)


def test_every_mistake_is_reported_with_its_place(tmp_path: Path) -> None:
    """The field and the golden."""
    rows: list[Any] = [
        {"expected_output": "x"},
        {"input": 5},
        {"input": "a?", "context": [5]},
        {"input": "b?", "additional_metadata": [1]},
        {"input": "c?", "comments": "x", "additional_metadata": {"comments": "y"}},
        {"input": "d?", "source_file": 5},
        {"input": "e?", "context": ["x"], "additional_metadata": {"context_ids": ["1", "2"]}},
    ]
    with pytest.raises(Mistakes) as caught:
        golden.read(write_json(tmp_path / "a.json", rows), "deepeval")
    assert [error.what for error in caught.value.errors] == [
        "[0]: 'input' is missing",
        "[1]: 'input' is 5, not text",
        "[2]: 'context' is [5], not a list of texts",
        "[3]: 'additional_metadata' is [1], not an object",
        "[4]: 'comments' is both a field and in 'additional_metadata'",
        "[5]: 'source_file' is 5, not text",
        "[6]: 1 contexts have 2 ids",
    ]


def test_unknown_keys_are_reported(tmp_path: Path) -> None:
    """A misspelt key is not lost silently."""
    result = golden.read(write_json(tmp_path / "a.json", [{"input": "a?", "context": [], "expected_ouput": "x"}]))
    assert any("'expected_ouput'" in note and "'expected_output'" in note for note in result.notes)


def test_a_document_without_a_text_cannot_be_written(tmp_path: Path) -> None:
    """deepeval needs texts, not ids."""
    original = GoldenSet(
        queries=(Query(id="q", text="?"),), judgments=(Judgment(query="q", target=Target(document="d"), grade=3),)
    )
    with pytest.raises(InputError, match="query 'q': document 'd' is not in the set"):
        golden.write(original, tmp_path / "a.json", "deepeval")


def test_metadata_that_would_be_taken_for_ids_is_refused(tmp_path: Path) -> None:
    """Its key is where the ids of contexts go."""
    original = GoldenSet(
        documents=(Document(id="d"),),
        queries=(Query(id="q", text="?", metadata={"context_ids": ["x"]}),),
        judgments=(Judgment(query="q", target=Target(document="d"), grade=3),),
    )
    with pytest.raises(InputError, match="query 'q': its metadata has 'context_ids'"):
        golden.write(original, tmp_path / "a.json", "deepeval")


@pytest.mark.slow
@quick
@given(original=golden_sets(metadata=True))
def test_what_is_kept_goes_round(original: GoldenSet) -> None:
    """Questions, answers, metadata, what is relevant and its texts come back."""
    assume(not any("context_ids" in query.metadata for query in original.queries))
    again = round_trip(original, "deepeval")
    assert [(query.id, query.text, query.answer, query.metadata) for query in again.queries] == [
        (query.id, query.text, query.answer, query.metadata) for query in original.queries
    ]
    assert relevant(again) == relevant(original)
    assert {document.id: document.text for document in again.documents} == {
        document: original.document_by_id[document].text for _, document in relevant(original)
    }
