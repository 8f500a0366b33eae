"""blocks' minimal scorer, written from its page, beside karat's measures on the same logs.

Where the two differ on purpose, the measure that means what the scorer does is used: only the first citation counts
(``first=True``), results count as blocks, and of refusals accuracy is 0 in the scorer and has no value in karat.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
import pytest

from karat import golden
from karat.evaluation import score_run
from karat.runs import read_any_run

BLOCKS = [f"S.{section}.p.Bk{number:03}" for section in (1, 2, 3) for number in (1, 2, 3)]
OFFSETS = {block: [100 * place, 100 * place + 80] for place, block in enumerate(BLOCKS)}
FAR = 5000


def score_like_blocks(gold: list[Any], logs: dict[str, Any], k: int = 5) -> dict[str, float]:
    """The page's pseudocode; it does not define ``section_of``, ``overlaps`` and ``percentile``."""
    precisions, recalls, medians, p90s, covered, accurate = [], [], [], [], 0, 0
    for q in gold:
        items = logs[q["qid"]]["topk"][:k]
        got, rel = {item["id"] for item in items}, set(q["relevant"])
        precisions.append(len(got & rel) / max(1, len(items)))
        recalls.append(len(got & rel) / max(1, len(rel)))
        distances = logs[q["qid"]]["ΔS"][:k]
        medians.append(median(distances))
        p90s.append(float(np.percentile(distances, 90)))
        answer = logs[q["qid"]].get("answer_citations", [])
        if answer:
            cited, (start, end) = answer[0]["id"], answer[0]["offsets"]
            if cited in rel or cited.rpartition(".p.")[0] == q["anchor_section"]:
                covered += 1
                first, last = OFFSETS[cited]
                accurate += cited in rel and start < last and first < end
    return {
        "P@k": mean(precisions), "R@k": mean(recalls), "coverage": covered / len(gold),
        "citation_accuracy": accurate / len(gold), "ΔS_med": median(medians), "ΔS_p90": median(p90s),
    }  # fmt: skip


def make_logs(seed: int) -> tuple[list[Any], dict[str, Any]]:
    """Return gold rows and logs: half of the answers cite a relevant block, some too far from it, some nothing."""
    rng = random.Random(seed)
    gold, logs = [], {}
    for number in range(20):
        relevant, qid = rng.sample(BLOCKS, rng.randint(1, 3)), f"Q-{number}"
        gold.append({
            "qid": qid, "doc": "manual", "paraphrases": [f"What of {number}?"], "relevant": relevant,
            "anchor_section": relevant[0].rpartition(".p.")[0], "offsets": {name: OFFSETS[name] for name in relevant},
        })  # fmt: skip
        hits = rng.sample(BLOCKS, 6)
        cited = rng.choice([*relevant, *BLOCKS])
        start, end = OFFSETS[cited]
        # Elsewhere the scorer takes the name of a block for it, and karat its bytes, which are those of no gold.
        away = rng.choice([0, 0, FAR]) if cited == relevant[0] else 0
        logs[qid] = {
            "qid": qid, "query": f"What of {number}?",
            "topk": [
                {"id": name, "score": 1 - 0.1 * rank, "offsets": OFFSETS[name], "type": "prose", "document": "manual",
                 "section": name.rpartition(".p.")[0]}
                for rank, name in enumerate(hits)
            ],
            "ΔS": [round(rng.uniform(0.1, 0.9), 2) for _ in hits],
            "answer_citations": [
                {"id": cited, "document": "manual", "block": cited, "offsets": [start + away, end + away]}
            ] * rng.choice([0, 1, 1, 1]),
            "index_hash": "faiss:v3:hnsw:cos",
        }  # fmt: skip
    return gold, logs


@pytest.mark.parametrize("seed", range(3))
def test_the_numbers_are_those_of_the_scorer(tmp_path: Path, seed: int) -> None:
    """Precision, recall, coverage and delta-S, on random logs that are read from files."""
    gold, logs = make_logs(seed)
    (tmp_path / "manual.jsonl").write_text("".join(json.dumps(row) + "\n" for row in gold))
    (tmp_path / "logs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in logs.values()))
    golden_set = golden.read(tmp_path / "manual.jsonl")
    accuracy = "CiteAccuracy(window=0,first=True)"
    names = [
        "P@5",
        "R@5",
        "CiteCoverage(first=True)",
        accuracy,
        "DeltaS(logged=True)@5",
        "DeltaS(logged=True,stat='p90')@5",
    ]
    evaluation = score_run(golden_set, read_any_run(tmp_path / "logs.jsonl", golden_set), names, unit="target")
    theirs = score_like_blocks(gold, logs)
    assert evaluation.mean("P@5") == pytest.approx(theirs["P@k"])
    assert evaluation.mean("R@5") == pytest.approx(theirs["R@k"])
    assert evaluation.mean("CiteCoverage(first=True)") == pytest.approx(theirs["coverage"])
    (answered,) = [name for name in evaluation.scores.measures if name.startswith("CiteAccuracy")]
    assert sum(evaluation.values(answered).values()) / len(gold) == pytest.approx(theirs["citation_accuracy"])
    distances, p90s = (evaluation.values(name).values() for name in evaluation.scores.measures[4:])
    assert median(distances) == pytest.approx(theirs["ΔS_med"])
    assert median(p90s) == pytest.approx(theirs["ΔS_p90"])
