"""Judgments in columns say the same as their objects, whatever their order is."""

from __future__ import annotations

import pickle
import random
from dataclasses import replace

import numpy as np

from each import each
from karat.core import GoldenSet, HitList, Judgment, JudgmentTable, Query, Source, Target, Trace, make_trace
from karat.evaluation import segment_queries
from karat.golden import describe_questions, identify

QUERIES, SOURCES = [f"q{i}" for i in range(5)], ("manual", "validated", "bootstrapped")


def draw_judgments(rng: random.Random) -> list[Judgment]:
    """Return judgments in any order: some parts of documents, some pairs twice, some with an annotator or a date."""
    targets = [Target(document=f"d{i}", block=block) for i in range(4) for block in ("", "S.1:p1")]
    targets.append(Target(document="d1#S.1:p1"))  # has the name of a part of another document
    judgments = [
        Judgment(
            query=rng.choice(QUERIES),
            target=rng.choice(targets),
            grade=rng.randint(-1, 12),
            source=rng.choice(SOURCES),
            annotator=rng.choice(["", "Añä"]),
            date=rng.choice(["", "2026-11-17"]),
        )
        for _ in range(rng.randint(0, 12))
    ]
    if rng.random() < 0.7:
        judgments = list({(one.query, one.target): one for one in judgments}.values())
    if rng.random() < 0.5:
        judgments.sort(key=lambda judgment: judgment.query)
    return judgments


def to_table(judgments: list[Judgment]) -> JudgmentTable:
    """Return judgments in columns, made the simple way."""
    origins: list[tuple[Source, str, str]] = [(one.source, one.annotator, one.date) for one in judgments]
    queries, targets = (list(dict.fromkeys(getattr(one, name) for one in judgments)) for name in ("query", "target"))
    distinct = list(dict.fromkeys(origins))
    return JudgmentTable(
        queries=tuple(queries),
        targets=tuple(targets),
        origins=tuple(distinct),
        query=np.array([queries.index(one.query) for one in judgments], np.int64),
        target=np.array([targets.index(one.target) for one in judgments], np.int64),
        grade=np.array([one.grade for one in judgments], np.int64),
        origin=np.array([distinct.index(origin) for origin in origins], np.int64),
    )


@each("seed", range(200))
def test_columns_and_objects_are_the_same_set(seed: int) -> None:
    """Everything that is computed from columns is what the objects give: grades, digests, fingerprint, segments."""
    rng = random.Random(seed)
    judgments, queries = draw_judgments(rng), tuple(Query(id=name, text="?") for name in QUERIES)
    objects = GoldenSet(queries=queries, judgments=tuple(judgments))
    columns = replace(objects, judgments=to_table(judgments))  # type: ignore[arg-type]
    assert columns.judgment_count == len(judgments)
    assert columns.judgment_sources == objects.judgment_sources == {judgment.source for judgment in judgments}
    assert list(columns.decided.items()) == list(objects.decided.items())
    assert columns.grades_by_query == objects.grades_by_query
    assert list(columns.grades_by_query) == list(objects.grades_by_query)
    assert list(columns.relevant_targets()) == list(objects.relevant_targets())
    assert columns.findable == objects.findable == {query for query, _ in objects.relevant_targets()}
    assert identify(columns) == identify(objects)
    assert dict(describe_questions(columns)) == dict(describe_questions(objects))
    assert segment_queries(columns) == segment_queries(objects)
    some = set(QUERIES[:2])
    assert columns.restrict(some).judgments == objects.restrict(some).judgments
    assert columns.judgments == tuple(judgments)
    assert pickle.loads(pickle.dumps(columns)) == objects


def test_decided_by_hand() -> None:
    """The grades of a query that stands in two places are those of both, in the order of the judgments."""
    rows = [("a", "x", 1), ("b", "x", 0), ("a", "y", 2)]
    judgments = [Judgment(query=query, target=Target(document=name), grade=grade) for query, name, grade in rows]
    golden = GoldenSet(judgments=to_table(judgments))  # type: ignore[arg-type]
    assert golden.qrels() == {"a": {"x": 1, "y": 2}, "b": {"x": 0}}
    assert [(query, str(target)) for query, target in golden.decided] == [("a", "x"), ("b", "x"), ("a", "y")]
    assert golden.findable == {"a"}


def test_a_trace_makes_its_hits_when_they_are_asked_for() -> None:
    """Until then it has their columns, and it is equal to a trace that was made of objects."""
    hits = HitList(["wifi:chunk:1", "pool"], [2.0, 1.0], ["wifi", "pool"])
    trace = make_trace("q", "?", hits, {"total": 1.0}, judged="digest")
    assert trace.listed is hits
    assert [(hit.id, hit.score, hit.document) for hit in hits] == [("wifi:chunk:1", 2.0, "wifi"), ("pool", 1.0, "pool")]
    assert trace == Trace(query="q", text="?", hits=hits.hits(), timings={"total": 1.0}, judged="digest")
    assert trace.listed is trace.hits
    assert pickle.loads(pickle.dumps(trace)) == trace
