"""Knowledge gain: equal to evaluating without and with the documents, and nothing that is there is embedded again."""

from __future__ import annotations

import json
import math
import tomllib
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner

from each import each
from karat.cli._main import cli
from karat.core import Document, GoldenSet, Judgment, KaratError, Query, Target, UsageError
from karat.diagnosis import measure_gain
from karat.golden import write
from karat.judges import lexical_support
from karat.projects import evaluate
from karat.schema import Gain, json_schema
from karat.systems import Pipeline, Stages

SUBJECTS = ("pool", "bar", "spa", "gym", "lift", "desk")
KNOWN = tuple(
    Document(id=f"{name}-{number}", text=f"The {name} opens at {number}. Ask at the {other} for towels of the {name}.")
    for number, (name, other) in enumerate(zip(SUBJECTS, SUBJECTS[1:] + SUBJECTS[:1], strict=True), 6)
)
NEW = (
    Document(id="sauna", text="The sauna opens at five. It is behind the spa."),
    Document(id="noise", text="Pool bar spa gym lift desk: towels, towels, towels."),
    Document(id="copy", text=KNOWN[0].text),
)
QUERIES = (
    *(Query(id=name, text=f"When does the {name} open?", answer=f"The {name} opens at {number}.")
      for number, name in enumerate(SUBJECTS, 6)),
    Query(id="sauna", text="When can I use the sauna?", answer="The sauna opens at five."),
    Query(id="plain", text="Where are towels?"),
)  # fmt: skip
JUDGMENTS = (
    *(Judgment(query=name, target=Target(document=f"{name}-{number}"), grade=2)
      for number, name in enumerate(SUBJECTS, 6)),
    Judgment(query="sauna", target=Target(document="sauna"), grade=2),
    Judgment(query="plain", target=Target(document="bar-7"), grade=2),
)  # fmt: skip
GOLDEN = GoldenSet(documents=KNOWN, queries=QUERIES, judgments=JUDGMENTS)
WEIGHTS = {"R@2": 3.0, "ContextRecall": 1.0}
TABLES = {
    "words": "dense = false",
    "both": "lexical = true\ndense = true",
    "all": "expand = true\nneighbours = true\nmmr = true\nper_document = 0\n"
    "chunk = { name = 'sentence', size = 10, overlap = 2 }",
}


class Hashing:
    """An embedder by the letters of words, which remembers what it was given."""

    name = "hashing"
    texts: list[str]

    def __init__(self) -> None:
        self.texts = []

    def describe(self) -> dict[str, Any]:
        return {"embedder": self.name}

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        self.texts += texts
        rows = np.zeros((len(texts), 16), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[zlib.crc32(word.encode()) % 16] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> Hashing:
    """The embedder of every pipeline."""
    hashing = Hashing()
    monkeypatch.setattr("karat.systems._pipeline.make_embedder", lambda _: hashing)
    return hashing


def make(folder: Path, table: str) -> Path:
    write(GOLDEN, folder / "set")
    config = f'[golden]\npath = "set"\n[pipeline]\nembedding_cache = false\n{table}\n[eval]\nk = 3\n'
    (folder / "karat.toml").write_text(config)
    write(GoldenSet(documents=NEW), folder / "more")
    return folder


class Fixed:
    """A pipeline over certain documents, whatever it is told to ingest."""

    def __init__(self, stages: Stages, documents: Sequence[Document]) -> None:
        self.pipeline = Pipeline(stages)
        self.pipeline.ingest(documents)

    def retrieve(self, query: str, k: int) -> Any:
        return self.pipeline.retrieve(query, k)

    def read(self, query: Query, k: int) -> str:
        texts = {chunk.id: chunk.text for chunk in self.pipeline.chunks}
        return "\n".join(texts[hit.id] for hit in self.pipeline.retrieve(query.text, k))


def brute(stages: Stages, documents: Sequence[Document]) -> dict[str, dict[str, float]]:
    """Return the values of a system over some documents, by an evaluation of its own."""
    system = Fixed(stages, documents)
    golden = replace(GOLDEN, documents=(*KNOWN, *NEW))
    recall = evaluate(golden, system, ["R@2"], k=3).column("R@2")
    context = {query.id: lexical_support(query.answer, system.read(query, 3)) for query in QUERIES if query.answer}
    return {"R@2": recall, "ContextRecall": context}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_it_is_what_evaluations_without_and_with_a_document_give(table: str, tmp_path: Path, embedder: Hashing) -> None:
    """Of each document and of all, on every query: the oracle ingests everything anew."""
    stages = Stages.from_table({"embedding_cache": False, **tomllib.loads(table)})
    before = brute(stages, KNOWN)
    result = measure_gain(
        make(tmp_path, table), tmp_path / "more" / "documents.jsonl", weights=WEIGHTS, novelty_weight=0.5, cache=False
    )
    added = {document.id: (document,) for document in NEW}
    for gain in (*result.documents, result.together):
        after = brute(stages, [*KNOWN, *(added[gain.documents[0]] if len(gain.documents) == 1 else NEW)])
        changes = {}
        for row in gain.measures:
            old, new = before[row.measure], after[row.measure]
            assert row.before == pytest.approx(math.fsum(old.values()) / len(old), abs=1e-12)
            assert row.after == pytest.approx(math.fsum(new.values()) / len(new), abs=1e-12)
            assert row.queries == len(old)
            changes[row.measure] = row.after - row.before
        novelty = 0.5 * (gain.novelty_mean or 0.0)
        assert gain.gain == pytest.approx((3 * changes["R@2"] + changes["ContextRecall"]) / 4 + novelty, abs=1e-12)
        assert {row.query: row.change for row in (*gain.helps, *gain.hurts)} == pytest.approx(by_query(before, after))
    gains = [gain.gain for gain in result.documents]
    assert gains == sorted(gains, reverse=True)


def by_query(before: dict[str, dict[str, float]], after: dict[str, dict[str, float]]) -> dict[str, float]:
    changes = {}
    for query in (query.id for query in QUERIES):
        known = [(name, weight) for name, weight in WEIGHTS.items() if query in before[name]]
        total = sum(weight for _, weight in known)
        change = sum(weight * (after[name][query] - before[name][query]) for name, weight in known) / total
        if abs(change) > 1e-12:
            changes[query] = change
    return changes


def test_only_new_documents_and_each_question_once_are_embedded(tmp_path: Path, embedder: Hashing) -> None:
    """Not even the vectors of questions are made again for the next document."""
    measure_gain(make(tmp_path, TABLES["both"]), tmp_path / "more" / "documents.jsonl", cache=False)
    counts = {text: embedder.texts.count(text) for text in embedder.texts}
    assert all(counts[query.text] == 1 for query in QUERIES)
    assert sum(counts[document.text] for document in KNOWN[1:]) == len(KNOWN) - 1
    assert all(counts[document.text] == 2 for document in NEW[:2])  # by itself, and with all


def by_name(gains: Sequence[Gain]) -> dict[str, Gain]:
    return {gain.documents[0]: gain for gain in gains}


def test_what_is_new_helps_and_a_copy_is_not_novel(tmp_path: Path, embedder: Hashing) -> None:
    """The sauna is asked for, and nobody had it; by hand, R@5 of its query goes from 0 to 1."""
    result = measure_gain(make(tmp_path, TABLES["both"]), tmp_path / "more" / "documents.jsonl", cache=False)
    gains = by_name(result.documents)
    assert result.documents[0].documents == ("sauna",)
    assert "sauna" in {row.query for row in gains["sauna"].helps}
    assert gains["sauna"].measures[0].change == pytest.approx(1 / 8)
    assert (gains["copy"].novelty_mean, gains["copy"].novelty_max) == pytest.approx((0.0, 0.0), abs=1e-6)
    assert 0 < gains["sauna"].novelty_mean <= 1
    assert result.notes == ()


def test_notes_say_what_cannot_be_told(tmp_path: Path) -> None:
    """Without vectors, references or judgments of the new documents."""
    folder = make(tmp_path, TABLES["words"])
    (tmp_path / "set" / "queries.jsonl").write_text(
        "".join(json.dumps({"id": query.id, "text": query.text}) + "\n" for query in QUERIES)
    )
    (tmp_path / "one.jsonl").write_text('{"id": "extra", "text": "The cellar is dry."}\n')
    result = measure_gain(folder, tmp_path / "one.jsonl", cache=False)
    assert list(result.weights) == ["R@5"]
    assert [gain.novelty_mean for gain in result.documents] == [None]
    assert result.notes == (
        "no query has a reference answer, so that ContextRecall is left out",
        "no new document is judged, so that what it answers itself does not count in R@5",
        "novelty needs vectors, and the dense channel is off",
    )


@each(
    ("documents", "options", "message"),
    [
        ("nowhere", {}, "no such file or folder"),
        ("set/documents.jsonl", {}, "document 'pool-6' is there already"),
        ("more/documents.jsonl", {"weights": {"R@5": 0.0}}, "weight R@5=0; choose a number above 0"),
        ("more/documents.jsonl", {"weights": {"R@5x": 1.0}}, "R@5x"),
        ("more/documents.jsonl", {"weights": {"WrongRefusal": 1.0}}, "not a measure where higher is better"),
        ("more/documents.jsonl", {"weights": {"CiteCoverage": 1.0}}, "a measure of answers or traces"),
        ("more/documents.jsonl", {"novelty_weight": -1.0}, "novelty weight -1; choose 0 or more"),
    ],
)
def test_mistakes_are_told(documents: str, options: dict[str, Any], message: str, tmp_path: Path) -> None:
    """Before anything is asked."""
    with pytest.raises(KaratError, match=message):
        measure_gain(make(tmp_path, TABLES["words"]), tmp_path / documents, cache=False, **options)


def test_another_system_is_refused(tmp_path: Path) -> None:
    """Documents can only be added to the built-in pipeline."""
    folder = make(tmp_path, "")
    (folder / "karat.toml").write_text('[golden]\npath = "set"\n[system]\nurl = "http://localhost:1"\n')
    with pytest.raises(UsageError, match="is not the built-in pipeline"):
        measure_gain(folder, tmp_path / "more" / "documents.jsonl")


def test_the_verb_prints_a_table_and_json(tmp_path: Path) -> None:
    """The JSON is what the published schema says, and weights are given with the measures."""
    arguments = [
        "gain",
        str(make(tmp_path, TABLES["words"])),
        "--documents",
        str(tmp_path / "more" / "documents.jsonl"),
    ]
    text = CliRunner().invoke(cli, [*arguments, "-m", "R(rel=2)@5", "-m", "ContextRecall=2"])
    assert text.exit_code == 0, text.output
    assert text.output.splitlines()[0].startswith("sauna would add most: +0.")
    assert "gain: the mean of 1 x R(rel=2)@5, 2 x ContextRecall" in text.output
    printed = CliRunner().invoke(cli, [*arguments, "--json"])
    document = json.loads(printed.stdout)
    jsonschema.validate(document, json_schema("gain"))
    assert next(row["documents"] for row in document["documents"]) == ["sauna"]
    page = CliRunner().invoke(cli, [*arguments, "--markdown"]).stdout.splitlines()
    assert page[0] == "# Knowledge gain"
    assert next(line for line in page if line.startswith("| sauna"))
    wrong = CliRunner().invoke(cli, [*arguments, "-m", "R@5=much"])
    assert isinstance(wrong.exception, UsageError)


def test_where_nothing_helps_no_document_is_praised_and_ties_are_by_id(tmp_path: Path) -> None:
    """Songs about each subject push every right document from the first place; two walls change nothing."""
    folder, new = make(tmp_path, TABLES["words"]), tmp_path / "new"
    new.mkdir()
    (new / "wall.md").write_text("Grey stone.")
    (new / "arch.md").write_text("White marble.")
    (new / "song.md").write_text("\n\n".join(f"When does the {name} open? Does the {name} open?" for name in SUBJECTS))
    arguments = ["gain", str(folder), "--documents", str(new), "-m", "R@1"]
    text = CliRunner().invoke(cli, arguments)
    assert text.stdout.splitlines()[0] == "no document would add anything; the first is arch: +0.0000"
    document = json.loads(CliRunner().invoke(cli, [*arguments, "--json"]).stdout)
    assert [row["documents"] for row in document["documents"]] == [["arch"], ["wall"], ["song"]]
    hurts = [row["query"] for row in document["documents"][-1]["hurts"]]
    assert hurts == sorted(hurts)
    assert len(hurts) > 2
