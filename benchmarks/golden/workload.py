"""Makes the golden workload: varied documents with planted near-duplicates, queries about them, graded judgments.

No filler: every document draws from a vocabulary of 60,000 made-up words with Zipf's frequencies, and half of it from
the few hundred words of its topic, so that documents of one topic are alike as real ones are, and no two are the same
unless that was planted.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

VOCABULARY, TOPICS, TOPIC_WORDS = 60_000, 500, 400
PLANTED = 0.02
"""The share of documents that are another one with a few words changed."""
_ONSETS = ("b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "br", "st", "tr", "sh")
_SYLLABLES = [onset + vowel for onset in _ONSETS for vowel in ("a", "e", "i", "o", "u", "ai")]


def make(folder: Path, documents: int, queries: int, judgments: int) -> list[tuple[str, str]]:
    """Write a set in karat's format into a folder; give the pairs of near-duplicates in it."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(11)
    words = _vocabulary(rng)
    texts, topics = _texts(words, documents, rng)
    planted = _plant(texts, words, rng)
    (folder / "golden.toml").write_text('name = "bench"\nversion = "1.0.0"\n')
    _write(folder / "documents.jsonl", ({"id": f"doc{i:06}", "text": _prose(text)} for i, text in enumerate(texts)))
    about = rng.integers(0, documents, queries)
    _write(folder / "queries.jsonl", (_query(i, texts[at], rng) for i, at in enumerate(about)))
    _write(folder / "judgments.jsonl", _judgments(about, topics, judgments // queries, rng))
    return [(f"doc{first:06}", f"doc{other:06}") for first, other in planted]


def _vocabulary(rng: np.random.Generator) -> list[str]:
    """Return distinct words, the frequent ones short."""
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        length = 1 if len(words) < 60 else 2 if len(words) < 2_000 else rng.integers(2, 5)
        words["".join(rng.choice(_SYLLABLES, length))] = None
    return list(words)


def _texts(words: list[str], count: int, rng: np.random.Generator) -> tuple[list[list[str]], np.ndarray]:
    general = _zipf(VOCABULARY)
    special = _zipf(TOPIC_WORDS)
    of_topic = np.stack([rng.choice(np.arange(200, VOCABULARY), TOPIC_WORDS, replace=False) for _ in range(TOPICS)])
    topics = rng.integers(0, TOPICS, count)
    texts = []
    for topic in topics:
        length = int(rng.integers(150, 251))
        drawn = np.searchsorted(general, rng.random(length))
        ours = of_topic[topic][np.searchsorted(special, rng.random(length))]
        texts.append([words[i] for i in np.where(rng.random(length) < 0.5, ours, drawn)])
    return texts, topics


def _zipf(count: int) -> np.ndarray:
    """Return the cumulated frequencies; the first words are less frequent than Zipf's law has them, as in real text."""
    weights = 1 / (np.arange(count) + 2.7)
    return np.cumsum(weights / weights.sum())


def _plant(texts: list[list[str]], words: list[str], rng: np.random.Generator) -> list[tuple[int, int]]:
    """Make some documents of others, with one to five words changed; give those that stay four fifths alike."""
    places = rng.choice(len(texts), 2 * int(PLANTED * len(texts)), replace=False).reshape(-1, 2)
    for first, other in places:
        copy = list(texts[first])
        for place in rng.choice(len(copy), int(rng.integers(1, 6)), replace=False):
            copy[place] = words[int(rng.integers(len(words)))]
        texts[other] = copy
    alike = [(int(min(pair)), int(max(pair))) for pair in places if _jaccard(texts[pair[0]], texts[pair[1]]) >= 0.8]
    return sorted(alike)


def _jaccard(first: list[str], other: list[str]) -> float:
    here, there = (set(zip(text, text[1:], text[2:], strict=False)) for text in (first, other))
    return len(here & there) / len(here | there)


def _prose(text: list[str]) -> str:
    """Make sentences and paragraphs of words."""
    parts = []
    for i in range(0, len(text), 13):
        end = "\n\n" if i % 65 == 52 else " "
        parts.append(" ".join(text[i : i + 13]).capitalize() + "." + end)
    return "".join(parts).strip()


def _query(i: int, text: list[str], rng: np.random.Generator) -> dict[str, Any]:
    words = rng.choice(text, int(rng.integers(3, 10)), replace=False)
    return {"id": f"q{i:05}", "text": " ".join(words) + "?" * (i % 3 == 0), "category": f"c{i % 8}"}


def _judgments(about: np.ndarray, topics: np.ndarray, each: int, rng: np.random.Generator) -> Any:
    """Judge the document that a query is about, others of its topic, and some at random."""
    of_topic = [np.flatnonzero(topics == topic) for topic in range(TOPICS)]
    for query, document in enumerate(about):
        near = of_topic[topics[document]]
        chosen = np.concatenate([[document], rng.choice(near, each), rng.integers(0, len(topics), each)])
        kept = list(dict.fromkeys(chosen.tolist()))[:each]
        grades = rng.choice(4, len(kept), p=[0.6, 0.2, 0.12, 0.08])
        grades[0] = 3
        for target, grade in zip(kept, grades.tolist(), strict=True):
            annotator = "ana" if target % 3 else "bo"
            yield {"query": f"q{query:05}", "document": f"doc{target:06}", "grade": grade, "annotator": annotator}


def _write(path: Path, rows: Any) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
