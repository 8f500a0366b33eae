"""Segments of a golden set: the queries with each value of a field."""

from __future__ import annotations

from dataclasses import replace

from each import each
from karat.core import Document, GoldenSet, Judgment, Query, Span, Target
from karat.evaluation import segment_queries

TEXT = """# Desk

The desk is open all day.

```
reset --now
```

# Prices

| room | price |
|---|---|
| single | 90 |
"""


def judged(*targets: Target, documents: tuple[Document, ...] = (Document(id="desk", text=TEXT),)) -> GoldenSet:
    """Return a set in which query q0 has the first target, q1 the second, and so on."""
    return GoldenSet(
        documents=documents,
        queries=tuple(Query(id=f"q{i}", text="?") for i in range(len(targets))),
        judgments=tuple(Judgment(query=f"q{i}", target=target, grade=3) for i, target in enumerate(targets)),
    )


@each(
    ("target", "types"),
    [
        (Target(document="desk", block="S.1.p.Bk001"), {"prose"}),
        (Target(document="desk", block="S.1.c.Bk002"), {"code"}),
        (Target(document="desk", section="S.2"), {"table"}),
        (Target(document="desk", section="S.1"), {"prose", "code"}),
        (Target(document="desk", span=Span(TEXT.index("| room"), TEXT.index("| room") + 5)), {"table"}),
        (Target(document="desk"), set()),
        (Target(document="desk", block="S.9.p.Bk099"), set()),
        (Target(document="desk", section="nowhere"), set()),
    ],
    ids=[
        "prose by id",
        "code by id",
        "section",
        "section of two",
        "span",
        "document",
        "unknown block",
        "unknown section",
    ],
)
def test_the_types_of_blocks_are_those_of_what_answers(target: Target, types: set[str]) -> None:
    """Gold may be named by block, section or span; a whole document and an unknown id have no type."""
    assert {value for _, value in segment_queries(judged(target), ["block"])} == types


def test_without_the_text_the_id_of_a_block_tells_its_type() -> None:
    """The blocks format holds no documents, and its ids have a letter for the type."""
    targets = [Target(document="book", block=f"S.4.2.{letter}.Bk011a") for letter in "pctf"]
    targets.append(Target(document="book", block="docA#s03"))
    assert {
        value: queries for (_, value), queries in segment_queries(judged(*targets, documents=()), ["block"]).items()
    } == {
        "code": ["q1"],
        "figure": ["q3"],
        "prose": ["q0"],
        "table": ["q2"],
    }


def test_fields_of_the_metadata_are_segments_too() -> None:
    """BEIR keeps further fields there, and a list has several; a field of their own is looked up nowhere else."""
    rows = [("q1", "", {"len": "long", "category": "a"}), ("q2", "", {"len": 7}), ("q3", "", {"len": ["x"]})]
    queries = tuple(Query(id=id_, text="?", category=own, metadata=more) for id_, own, more in rows)
    golden = GoldenSet(queries=queries)
    assert segment_queries(golden, ["len"]) == {("len", "7"): ["q2"], ("len", "long"): ["q1"], ("len", "x"): ["q3"]}
    assert segment_queries(golden, ["category"]) == {("category", "a"): ["q1"]}
    own = GoldenSet(queries=(replace(queries[0], category="b"), *queries[1:]))
    assert segment_queries(own, ["category"]) == {("category", "b"): ["q1"]}
