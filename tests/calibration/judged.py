"""Real runs on judged collections, resampled: the scores of three settings of BM25 on Cranfield and on SciFact.

A world draws n queries with replacement, and says which scores are the baseline's and which the candidate's:
``null``: the scores of two settings, and chance decides for each query which of them is the baseline's;
``lost``: the candidate is the baseline, but one in six queries, of those that worked, lost all of its hits;
``shifted``: the candidate is a worse setting, without normalisation by length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from many import Floats, Tests, decide_many
from numpy.typing import NDArray

import karat
from karat import golden
from karat.core import Measure, Provenance
from karat.core import Scores as ScoreTable
from karat.evaluation import Evaluation
from karat.gate import POLICIES, Policy, named_policy
from karat.gate._policy import Rule, is_measure
from karat.systems.index import Lexical

MEASURES = ("R@5", "P@5", "RR@10", "nDCG@5")
"""The measures that a policy without rules of its own is for."""
SIZES = (30, 50, 100, 300)
WORLDS = ("null", "lost", "shifted")
COLLECTIONS = ("cranfield", "scifact")
_SCORED = (*MEASURES, "RR@5")
_SETTINGS = {"plain": {}, "no stemmer": {"stemmer": "none"}, "no length": {"b": 0.0}}
_FAST = {"total": {"n": 1.0, "mean": 10.0, "p50": 10.0, "p95": 10.0, "p99": 10.0}}


@dataclass(frozen=True)
class Collection:
    """The scores of each setting: a row for each query, a column for each measure."""

    name: str
    scores: Mapping[str, Floats]

    def draw(self, world: str, n: int, runs: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return the scores of baselines and candidates: an axis each for runs, queries and measures."""
        rows = rng.integers(0, len(self.scores["plain"]), (runs, n))
        plain = self.scores["plain"][rows]
        if world == "shifted":
            return plain, self.scores["no length"][rows]
        if world == "null":
            other, swapped = self.scores["no stemmer"][rows], rng.random((runs, n, 1)) < 0.5
            return np.where(swapped, other, plain), np.where(swapped, plain, other)
        # The n // 6 smallest of random numbers, which for queries that never worked are infinite.
        order = np.where(plain.any(axis=2), rng.random((runs, n)), np.inf)
        lost = order <= np.partition(order, n // 6 - 1, axis=1)[:, n // 6 - 1, None]
        return plain, np.where(lost[:, :, None], 0.0, plain)


@cache
def read_collection(path: Path) -> Collection:
    """Search a collection with each setting, and score what comes back."""
    golden_set = golden.read(path)
    ids = [document.id for document in golden_set.documents]
    texts = [f"{document.title} {document.text}" for document in golden_set.documents]
    scores = {}
    for name, options in _SETTINGS.items():
        index = Lexical(**options).build(texts)
        run = {query.id: {ids[i]: score for i, score in index.search(query.text, 10)} for query in golden_set.queries}
        scores[name] = np.nan_to_num(karat.score(golden_set.qrels(), run, _SCORED).values)
    return Collection(name=path.name, scores=scores)


def list_policies(*, resamples: int | None = None) -> dict[str, Policy]:
    """Return every preset, with the rules that can be evaluated from these runs; see :func:`list_unknown`.

    agent-memory is left out: without tiers, chains and sessions, which these collections do not have, it is agent.
    """
    policies = {}
    for name in POLICIES:
        if name == "agent-memory":
            continue
        policy = named_policy(name, MEASURES)
        drop = policy.drop if resamples is None else replace(policy.drop, resamples=resamples)
        rules = tuple(rule for rule in policy.rules if not _is_unknown(rule))
        policies[name] = replace(policy, rules=rules, drop=drop)
    return policies


def list_unknown(name: str) -> list[str]:
    """Return the metrics of a preset that these runs do not have: judges, trials and must-show documents give them."""
    return [rule.metric for rule in named_policy(name, MEASURES).rules if _is_unknown(rule)]


def _is_unknown(rule: Rule) -> bool:
    """Return whether a rule is about answers, trials or must-show documents, and not about lists, times or counts."""
    if not is_measure(rule.metric):
        return not rule.is_latency and rule.metric != "coverage"
    return Measure.parse(rule.metric).definition.traced


@dataclass(frozen=True, eq=False)
class Cell:
    """The simulated runs of one world at one size, and the outcome of each by each preset."""

    before: Floats
    after: Floats
    outcomes: Mapping[str, NDArray[np.str_]]
    tests: Mapping[str, Tests | None]

    def rate(self, policy: str, outcome: str) -> float:
        """Return the share of the runs with an outcome."""
        return float((self.outcomes[policy] == outcome).mean())


def simulate(collection: Collection, world: str, n: int, policies: Mapping[str, Policy], *, runs: int) -> Cell:
    """Return simulated runs, which are the same for all policies."""
    rng = np.random.default_rng([n, WORLDS.index(world)])
    before, after = collection.draw(world, n, runs, rng)
    then, now = (
        {name: np.ascontiguousarray(scores[:, :, j]) for j, name in enumerate(_SCORED)} for scores in (before, after)
    )
    results = {name: decide_many(then, now, policy) for name, policy in policies.items()}
    return Cell(before, after, {name: result[0] for name, result in results.items()},
                {name: result[1] for name, result in results.items()})  # fmt: skip


def evaluate(values: Floats) -> Evaluation:
    """Return a run with these scores: a row for each query, and a column for each measure."""
    queries = tuple(f"q{i}" for i in range(len(values)))
    scores = ScoreTable.from_columns(
        "run",
        {
            name: dict(zip(queries, column.tolist(), strict=True))
            for name, column in zip(_SCORED, values.T, strict=True)
        },
    )
    return Evaluation(
        provenance=Provenance(name="run"), scores=scores, means=scores.mean(), queries=queries, latency=_FAST,
        total=len(queries), lists=dict.fromkeys(queries, ("d1",)),
    )  # fmt: skip


Rates = dict[tuple[str, str, str, str, int], float]
"""Shares by collection, policy, outcome, world and number of queries."""


def list_rows() -> Iterator[tuple[str, str, list[str]]]:
    """Yield the rows of the published table: a name, an outcome, and the presets that decide alike on these runs."""
    alike: dict[tuple[object, ...], list[str]] = {}
    for name, policy in list_policies().items():
        alike.setdefault(policy.rules, []).append(name)
    for names in alike.values():
        policy = list_policies()[names[0]]
        yield ", ".join(f"`{name}`" for name in names), "fail", names
        if any(rule.non_inferior for rule in policy.rules):
            yield ", ".join(f"`{name}`" for name in names), "pass", names


def format_table(collection: str, rates: Rates) -> str:
    """Return the published table of a collection in Markdown: shares in % at each size."""
    lines = ["| policy | outcome | null | lost | shifted |", "|---|---|---|---|---|"]
    for title, outcome, names in list_rows():
        cells = [
            " / ".join(f"{100 * rates[collection, names[0], outcome, world, n]:.1f}" for n in SIZES) for world in WORLDS
        ]
        lines.append(f"| {title} | {outcome} | {' | '.join(cells)} |")
    return "\n".join(lines)


def read_tables(text: str) -> Rates:
    """Return the rates in the published tables, each of which follows its collection's name in bold letters."""
    rates: Rates = {}
    for title, table in re.findall(r"\*\*(Cranfield|SciFact)\*\*.*?\n\n((?:\|.*\n)+)", text):
        for line in table.splitlines()[2:]:
            names, outcome, *cells = (cell.strip() for cell in line.strip("|").split("|"))
            for world, cell in zip(WORLDS, cells, strict=True):
                for n, share in zip(SIZES, cell.split(" / "), strict=True):
                    for name in re.findall(r"`([^`]+)`", names):
                        rates[title.lower(), name, outcome, world, n] = float(share) / 100
    return rates


def compute_rates(collection: Collection, policies: Mapping[str, Policy], sizes: Sequence[int], *, runs: int) -> Rates:
    """Return the rates of all presets in all worlds."""
    return {
        (collection.name, name, outcome, world, n): cell.rate(name, outcome)
        for world in WORLDS
        for n in sizes
        for cell in [simulate(collection, world, n, policies, runs=runs)]
        for name in policies
        for outcome in ("fail", "pass")
    }
