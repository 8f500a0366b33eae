"""The built-in pipeline through the CLI, against an independent one on a fixed part of SciFact.

The whole collections are in ``benchmarks/retrieval`` (ten minutes). Here are 40 claims and 160 abstracts that
are one chunk each, so that bm25s by itself, cosines and sums of reciprocal ranks written out here, and pytrec_eval have
to give the very same means. The vectors are the embedder's own; tests/systems/embed holds them against a slow forward
pass.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval

from karat import golden
from karat.core import GoldenSet
from karat.systems.embed import find_cache, make_embedder, with_cache
from public_data import DATA, skip_without

SCIFACT = DATA / "scifact"
VERB = "eval"
Ranking = Mapping[str, float]

pytestmark = [pytest.mark.public_data, skip_without("scifact")]


@pytest.fixture(scope="module")
def part() -> GoldenSet:
    """The first claims whose evidence is short, and short abstracts around it."""
    whole = golden.read(SCIFACT)
    short = {document.id: document for document in whole.documents if len(document.text.split()) < 200}
    relevant: dict[str, set[str]] = {}
    for (query, target), grade in whole.decided.items():
        if grade > 0:
            relevant.setdefault(query, set()).add(target.document)
    queries = [query for query in whole.queries if relevant.get(query.id, {""}) <= short.keys()][:40]
    kept = dict.fromkeys(name for query in queries for name in sorted(relevant[query.id]))
    kept |= dict.fromkeys([id_ for id_ in short if id_ not in kept][: 160 - len(kept)])
    ids = {query.id for query in queries}
    return GoldenSet(
        name="part",
        grades=whole.grades,
        relevant=whole.relevant,
        documents=tuple(short[id_] for id_ in kept),
        queries=tuple(queries),
        judgments=tuple(j for j in whole.judgments if j.query in ids),
    )


def by_words(part: GoldenSet) -> dict[str, Ranking]:
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")

    def words(texts: list[str]) -> list[list[str]]:
        tokens: list[list[str]] = bm25s.tokenize(
            texts, stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False
        )
        return tokens

    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index(words([f"{document.title}\n{document.text}" for document in part.documents]), show_progress=False)
    return {
        query.id: {
            document.id: float(score)
            for document, score in zip(part.documents, index.get_scores(tokens), strict=True)
            if score > 0
        }
        for query, tokens in zip(part.queries, words([query.text for query in part.queries]), strict=True)
    }


def by_meaning(part: GoldenSet, cache: Path) -> dict[str, Ranking]:
    model = with_cache(make_embedder("granite"), cache)
    matrix = model([f"{document.title}\n{document.text}" for document in part.documents]).astype(float)
    vectors = model([query.text for query in part.queries]).astype(float)
    ids = [document.id for document in part.documents]
    return {
        query.id: dict(zip(ids, row.tolist(), strict=True))
        for query, row in zip(part.queries, vectors @ matrix.T, strict=True)
    }


def fused(channels: list[dict[str, Ranking]]) -> dict[str, Ranking]:
    results: dict[str, dict[str, float]] = {}
    for channel in channels:
        for query, scores in channel.items():
            for rank, id_ in enumerate(sorted(scores, key=lambda name: -scores[name])[:300], 1):
                total = results.setdefault(query, {})
                total[id_] = total.get(id_, 0.0) + 1 / (60 + rank)
    return results


def means(part: GoldenSet, ranked: dict[str, Ranking]) -> list[float]:
    qrels: dict[str, dict[str, int]] = {}
    for (query, target), grade in part.decided.items():
        qrels.setdefault(query, {})[target.document] = grade
    scored = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "recall.100"}).evaluate(
        {query: dict(scores) for query, scores in ranked.items()}
    )
    return [float(np.mean([scored[query][name] for query in qrels])) for name in ("ndcg_cut_10", "recall_100")]


@pytest.mark.slow
def test_the_pipeline_finds_what_an_independent_one_finds(
    part: GoldenSet, run: Callable[..., tuple[str, str]], tmp_path: Path
) -> None:
    """nDCG@10 and R@100 of BM25, of the dense channel and of both fused, through ``karat eval``."""
    assert (len(part.queries), len(part.documents)) == (40, 160)
    golden.write(part, tmp_path / "set")
    results = {}
    for channels, setting in {"lexical": "dense = false", "dense": "lexical = false", "both": ""}.items():
        (tmp_path / "karat.toml").write_text(f'[golden]\npath = "set"\n[pipeline]\n{setting}\n')
        out, _ = run(tmp_path, "-m", "nDCG@10", "-m", "R@100", "--k", "100", "--json")
        results[channels] = [cell["mean"] for cell in json.loads(out)["runs"][0]["measures"].values()]
    words, meaning = by_words(part), by_meaning(part, find_cache())
    wanted = {"lexical": words, "dense": meaning, "both": fused([words, meaning])}
    for channels, ranked in wanted.items():
        assert results[channels] == pytest.approx(means(part, ranked), abs=1e-6), channels
    assert results["both"][0] > 0.7
