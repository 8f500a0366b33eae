"""ragas: current and legacy field names, in JSON, JSONL and CSV."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from golden.formats.golden_strategies import golden_sets, quick, relevant, round_trip
from karat import golden
from karat.core import Document, GoldenSet, InputError, Judgment, Query, Span, Target
from karat.files import Mistakes

SAMPLE = {
    "user_input": "When is breakfast?",
    "reference": "From seven.",
    "reference_contexts": ["Breakfast is from 7 to 10.", "Room service is all day."],
    "synthesizer_name": "single_hop_specific_query_synthesizer",
}


def write_csv(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows as ragas does: csv.DictWriter, so that a list is written as Python shows it."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_json(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))
    return path


def test_a_sample_is_a_query_with_its_contexts(tmp_path: Path) -> None:
    """Each reference context is a document, whose id is made of its text, and relevant."""
    result = golden.read(write_json(tmp_path / "desk.json", [SAMPLE]))
    (query,) = result.queries
    assert (query.text, query.answer) == ("When is breakfast?", "From seven.")
    assert query.type == "single_hop_specific_query_synthesizer"
    assert [document.text for document in result.documents] == SAMPLE["reference_contexts"]
    assert result.qrels() == {query.id: {document.id: 1 for document in result.documents}}
    assert (result.name, result.grades, result.relevant) == ("desk", ("not relevant", "relevant"), 1)


def test_every_layout_gives_the_same_set(tmp_path: Path) -> None:
    """A list, an object of samples, JSONL, and CSV with lists written by Python or by JSON."""
    rows = [SAMPLE, {**SAMPLE, "user_input": 'Is "tea"\nfree?', "reference_contexts": ["It's free, 'we' say.\n"]}]
    listed = golden.read(write_json(tmp_path / "a.json", rows))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    cells = [{**row, "reference_contexts": json.dumps(row["reference_contexts"])} for row in rows]
    write_csv(tmp_path / "python.csv", rows).rename(tmp_path / "p")
    (tmp_path / "csv").mkdir()
    paths = [
        tmp_path / "a.jsonl",
        write_csv(tmp_path / "csv" / "a.csv", rows),
        write_json(tmp_path / "csv" / "a.json", {"samples": rows}),
    ]
    assert [golden.read(path) for path in paths] == [listed] * 3
    (tmp_path / "json").mkdir()
    assert golden.read(write_csv(tmp_path / "json" / "a.csv", cells)) == listed


def test_the_same_passage_is_one_document(tmp_path: Path) -> None:
    """Under two questions, and whatever number of a hop ragas wrote before it."""
    original = {"user_input": "a?", "reference_contexts": ["<1-hop>\n\nText.", "<2-hop>\n\nMore."]}
    two = {"user_input": "b?", "reference_contexts": ["Text."]}
    result = golden.read(write_json(tmp_path / "a.json", [original, two]))
    assert [document.text for document in result.documents] == ["Text.", "More."]
    assert len(result.judgments) == 3


def test_ids_are_used_where_there_are_some(tmp_path: Path) -> None:
    """Of samples and of contexts; ids of contexts are enough for a judgment."""
    rows = [
        {"id": 7, "user_input": "a?", "reference_contexts": ["x"], "reference_context_ids": ["d1"]},
        {"id": "8", "user_input": "b?", "reference_context_ids": ["d1", 2]},
    ]
    result = golden.read(write_json(tmp_path / "a.json", rows))
    assert result.documents == (Document(id="d1", text="x"),)
    assert result.qrels() == {"7": {"d1": 1}, "8": {"d1": 1, "2": 1}}


def test_an_id_of_a_query_does_not_depend_on_its_place(tmp_path: Path) -> None:
    """It is made of the question; the same question twice has two."""
    rows = [{"user_input": "a?", "reference": "1"}, {"user_input": "b?"}, {"user_input": "a?", "reference": "2"}]
    first = [query.id for query in golden.read(write_json(tmp_path / "a.json", rows)).queries]
    second = [query.id for query in golden.read(write_json(tmp_path / "b.json", rows[::-1])).queries]
    assert len(set(first)) == 3
    assert first[2] == f"{first[0]}-2"
    assert set(first) == set(second)


def test_what_a_system_did_is_no_gold(tmp_path: Path) -> None:
    """Retrieved contexts and responses are left out, and a note says so."""
    row = {"user_input": "a?", "retrieved_contexts": ["r"], "response": "s", "reference": "t"}
    result = golden.read(write_json(tmp_path / "a.json", [row]))
    assert (result.documents, result.judgments) == ((), ())
    assert any("retrieved or answered is left out" in note for note in result.notes)
    assert not any("unknown key" in note for note in result.notes)


def test_legacy_contexts_are_gold_only_without_an_answer(tmp_path: Path) -> None:
    """The old test set generator wrote what a question was made of; with an answer, it is what was retrieved."""
    row = {"question": "a?", "contexts": ["x"], "ground_truth": "t", "evolution_type": "simple", "episode_done": True}
    result = golden.read(write_json(tmp_path / "made.json", [row]))
    assert [document.text for document in result.documents] == ["x"]
    assert result.queries[0].type == "simple"
    assert result.queries[0].metadata == {"episode_done": True}
    run = {"question": "a?", "contexts": ["x"], "ground_truths": ["t", "u"], "answer": "s"}
    result = golden.read(write_json(tmp_path / "run.json", [run]))
    assert result.documents == ()
    assert result.queries[0].answer == "t"
    assert any("only the first" in note for note in result.notes)


def test_of_a_conversation_the_last_question_is_kept(tmp_path: Path) -> None:
    """And a note says so."""
    said = [
        {"content": "Hello", "type": "human"},
        {"content": "Yes?", "type": "ai"},
        {"content": "Towels?", "type": "human"},
    ]
    result = golden.read(write_json(tmp_path / "a.json", [{"user_input": said, "reference": "Soon."}]))
    assert result.queries[0].text == "Towels?"
    assert any("conversation" in note for note in result.notes)


def test_a_question_may_look_like_a_list(tmp_path: Path) -> None:
    """It is not a conversation."""
    row = {"user_input": "[1, 2]", "reference_contexts": ["[3]"], "reference": "{}"}
    result = golden.read(write_json(tmp_path / "a.json", [row]))
    assert (result.queries[0].text, result.queries[0].answer, result.documents[0].text) == ("[1, 2]", "{}", "[3]")


def test_every_mistake_is_reported_with_its_place(tmp_path: Path) -> None:
    """By the index in a list, by the line in JSONL and CSV."""
    rows: list[Any] = [
        {"reference": "x"},
        {"user_input": "a?", "reference_contexts": 5},
        {"user_input": "b?", "reference_contexts": ["x"], "reference_context_ids": ["1", "2"]},
        {"user_input": "c?", "reference_contexts": ["x"], "reference_context_ids": ["1"]},
        {"user_input": "d?", "reference_contexts": ["y"], "reference_context_ids": ["1"]},
        {"user_input": "e?", "reference_context_ids": [None]},
        {"user_input": "f?", "reference_context_ids": 5},
        {"user_input": [{"content": "Yes?", "type": "ai"}]},
        "f?",
    ]
    with pytest.raises(Mistakes) as caught:
        golden.read(write_json(tmp_path / "a.json", rows), "ragas")
    assert [error.what for error in caught.value.errors] == [
        "[0]: 'user_input' (or 'question') is missing",
        "[1]: 'reference_contexts' is 5, not a list of texts",
        "[2]: 1 contexts have 2 ids",
        "[4]: context '1' had another text before",
        "[5]: 'reference_context_ids': id None is not text",
        "[6]: 'reference_context_ids' is 5, not a list of ids",
        "[7]: 'user_input' is a conversation without a message of the user",
        "[8]: 'f?' is not an object",
    ]
    (tmp_path / "a.csv").write_text("user_input,reference\na?,x\n,y\n")
    with pytest.raises(InputError, match=r"a\.csv, line 3: 'user_input'"):
        golden.read(tmp_path / "a.csv")
    (tmp_path / "a.jsonl").write_text('{"user_input": "a?"}\n{"user_input": 1}\n')
    with pytest.raises(InputError, match=r"a\.jsonl, line 2: 'user_input' is 1, not text"):
        golden.read(tmp_path / "a.jsonl")


def test_unknown_keys_are_reported(tmp_path: Path) -> None:
    """A misspelt key is not lost silently."""
    result = golden.read(write_json(tmp_path / "a.json", [{"user_input": "a?", "referense": "x"}]))
    assert any("'referense'" in note and "'reference'" in note for note in result.notes)


def test_a_file_without_samples_is_refused(tmp_path: Path) -> None:
    """It says nothing."""
    with pytest.raises(InputError, match="holds no samples"):
        golden.read(write_json(tmp_path / "a.json", []), "ragas")


def test_a_span_is_written_as_its_passage(tmp_path: Path) -> None:
    """The context is what is marked, not the whole document; the note says that the span itself is lost."""
    original = GoldenSet(
        documents=(Document(id="d", text="\u20ac 5 a night.\r\nNo pets.\r\n"),),
        queries=(Query(id="q", text="pets?"),),
        judgments=(Judgment(query="q", target=Target(document="d", span=Span(15, 23)), grade=2),),
    )
    assert "ragas cannot hold span of 1 judgments" in golden.write(original, tmp_path / "a.jsonl", "ragas")
    row = json.loads((tmp_path / "a.jsonl").read_text())
    assert row["reference_contexts"] == ["No pets."]
    assert row["reference_context_ids"] == ["d@15-23"]


def test_documents_that_the_set_does_not_have_stay_ids(tmp_path: Path) -> None:
    """A judgment on one is written and read without its text."""
    original = GoldenSet(
        queries=(Query(id="q", text="?"),), judgments=(Judgment(query="q", target=Target(document="d"), grade=3),)
    )
    golden.write(original, tmp_path / "a.jsonl", "ragas")
    assert golden.read(tmp_path / "a.jsonl").qrels() == {"q": {"d": 1}}


@pytest.mark.slow
@quick
@given(original=golden_sets())
def test_what_is_kept_goes_round(original: GoldenSet) -> None:
    """Questions, answers, types, what is relevant and its texts come back."""
    again = round_trip(original, "ragas")
    assert [(query.id, query.text, query.answer, query.type) for query in again.queries] == [
        (query.id, query.text, query.answer, query.type) for query in original.queries
    ]
    assert relevant(again) == relevant(original)
    assert {document.id: document.text for document in again.documents} == {
        document: original.document_by_id[document].text for _, document in relevant(original)
    }
