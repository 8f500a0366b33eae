"""Answers in a retriever's log: cited ids are those of its hits and blocks, and an answer may be a row of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from each import each
from karat.core import Document, GoldenSet, InputError, Judgment, Query, Target
from karat.evaluation import score_run
from karat.runs import read_any_run

TEXT = "# Manual\n\n## Intro\n\nNothing of use.\n\n## Reset\n\nHold the button for ten seconds.\n"
RESET, INTRO = "S.1.2.p.Bk002", "S.1.1.p.Bk001"
HOLD = TEXT.index("Hold")
GOLDEN = GoldenSet(
    documents=(Document(id="manual", text=TEXT, format="markdown"), Document(id="other", text=TEXT, format="markdown")),
    queries=(Query(id="Q-1", text="How do I reset it?"),),
    judgments=(Judgment(query="Q-1", target=Target(document="manual", block=RESET), grade=3),),
)
ROW: dict[str, Any] = {"qid": "Q-1", "query": "How do I reset it?", "normaliser": "karat-1"}
HITS = [{"id": RESET, "document": "manual", "score": 1.0, "type": "prose"}]


def read(folder: Path, *rows: dict[str, Any], said: list[str] | None = None) -> dict[str, float]:
    """Return the means of a log."""
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps({**ROW, **row}) + "\n" for row in rows))
    run = read_any_run(path, GOLDEN, say=[].append if said is None else said.append)
    return score_run(GOLDEN, run, ["CiteCoverage", "CitePrecision"], unit="target").means


@each(
    ("fields", "coverage"),
    [
        # As blocks' page has it: the id of a block with offsets, and no document.
        ({"topk": HITS, "answer_citations": [{"id": RESET, "offsets": [HOLD, HOLD + 20]}]}, 1.0),
        ({"topk": [], "answer_citations": [{"id": RESET, "offsets": [HOLD, HOLD + 20]}]}, 1.0),
        ({"topk": [], "answer_citations": [{"id": f"manual#{RESET}"}]}, 1.0),
        ({"topk": HITS, "cited_chunks": [RESET]}, 1.0),
        ({"topk": HITS, "answer_citations": [{"id": RESET, "document": "other"}]}, 0.0),
        ({"topk": [{"id": "c7", "document": "manual", "offsets": [HOLD, HOLD + 9], "score": 1}],
          "answer_citations": [{"id": "c7", "offsets": [HOLD, HOLD + 4]}]}, 1.0),
        ({"topk": HITS, "answer_citations": [{"id": "ghost"}]}, 0.0),
    ],
)  # fmt: skip
def test_a_cited_id_names_a_hit_or_a_block(tmp_path: Path, fields: dict[str, Any], coverage: float) -> None:
    """Its document is that of the hit, or of the judged block, unless the log names another."""
    assert read(tmp_path, fields) == {"CiteCoverage": coverage, "CitePrecision": coverage}


def test_a_cited_block_of_two_documents_is_ambiguous(tmp_path: Path) -> None:
    """As it is among hits."""
    with pytest.raises(InputError, match=r"log\.jsonl, line 1: block .S\.1\.1\.p\.Bk001. could be in document"):
        read(tmp_path, {"topk": HITS, "answer_citations": [{"id": INTRO}]})


def test_an_answer_may_be_a_row_of_its_own(tmp_path: Path) -> None:
    """It is joined by query, words, seed and trace id; one that belongs to nothing, or is a second one, is told."""
    hits = {"event": "retrieve.run", "trace_id": "t1", "topk": HITS}
    cited = {"event": "answer.decide", "trace_id": "t1", "answer_citations": [{"id": RESET}], "λ_state": "→"}
    said: list[str] = []
    assert read(tmp_path, cited, hits, said=said) == {"CiteCoverage": 1.0, "CitePrecision": 1.0}
    assert not [note for note in said if "answer.decide" in note]
    (trace,) = read_any_run(tmp_path / "log.jsonl", GOLDEN).traces
    assert (trace.telemetry["λ_state"], trace.envelope["event"]) == ("→", "retrieve.run")
    read(tmp_path, hits, {**cited, "trace_id": "t9"}, said=said)
    assert "1 rows of 'answer.decide' belong to no row with hits, and are left out" in said[-1]
    read(tmp_path, hits, cited, cited, said=said)
    assert "1 rows of 'answer.decide' are second answers, and are left out" in said[-1]


def test_a_row_of_an_answer_may_have_the_hits_too(tmp_path: Path) -> None:
    """Then it is all there is."""
    row = {"event": "answer.decide", "topk": HITS, "answer_citations": [{"id": RESET}]}
    assert read(tmp_path, row) == {"CiteCoverage": 1.0, "CitePrecision": 1.0}
