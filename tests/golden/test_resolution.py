"""The resolution: the smallest drop that a set can tell from chance, over all queries and by category."""

from __future__ import annotations

from dataclasses import replace

from each import each
from karat.core import GoldenSet, Judgment, Query, Target
from karat.golden.lint._capacity_rules import Capacity, low_resolution, low_resolution_category
from karat.golden.lint._resolution import resolution
from karat.golden.lint._rule import Subject
from karat.stats import detectable, power

WIFI = Target(document="wifi")


def golden(n: int, *, categories: dict[str, int] | None = None, **head: object) -> GoldenSet:
    """Build a set of n queries, each with a relevant document; the first ones in categories of these sizes."""
    names = [name for name, size in (categories or {}).items() for _ in range(size)]
    names += [""] * (n - len(names))
    queries = tuple(Query(id=f"q{i}", text=f"question {i}", category=name) for i, name in enumerate(names))
    judgments = tuple(Judgment(query=query.id, target=WIFI, grade=3) for query in queries)
    return GoldenSet(queries=queries, judgments=judgments, **head)  # type: ignore[arg-type]


def test_the_numbers_of_the_specification() -> None:
    """280 queries detect .025, .042 or .059 at a standard deviation of .15, .25 or .35 (statistics.md, section 2)."""
    seen = resolution(golden(280)).all
    assert seen.queries == 280
    assert {sd: round(drop or 0, 3) for sd, drop in seen.two_sided.items()} == {0.15: 0.025, 0.25: 0.042, 0.35: 0.059}


@each(("n", "sd", "drop"), [(73, 0.15, 0.05), (199, 0.25, 0.05), (387, 0.35, 0.05), (20, 0.15, 0.1)])
def test_the_numbers_of_queries_of_the_specification(n: int, sd: float, drop: float) -> None:
    """That many queries see the drop, and one fewer do not."""
    enough, short = (resolution(golden(size), sd=sd).all.two_sided[sd] for size in (n, n - 1))
    assert enough is not None
    assert short is not None
    assert enough <= drop < short


def test_fifteen_queries_see_a_tenth_two_times_in_three() -> None:
    """What 15 queries see at 80 % power is more than .10, which they see with power .67."""
    drop = resolution(golden(15)).all.two_sided[0.15]
    assert drop is not None
    assert drop > 0.10
    assert round(power(15, 0.10, 0.15), 2) == 0.67


def test_one_side_sees_smaller_drops() -> None:
    """A gate looks for drops only; what it sees is smaller, and is that of the one-sided test."""
    seen = resolution(golden(50), sd=0.2).all
    assert seen.one_sided == {0.2: detectable(50, 0.2, sides=1)}
    assert seen.one_sided[0.2] < seen.two_sided[0.2]  # type: ignore[operator]


def test_queries_without_a_relevant_document_do_not_count() -> None:
    """A query for which recall and nDCG have no value cannot show a difference."""
    gold = golden(30)
    weak = replace(gold, judgments=tuple(replace(j, grade=1) if j.query == "q3" else j for j in gold.judgments))
    assert resolution(weak).all.queries == 29


def test_paraphrases_do_not_make_more_queries() -> None:
    """Three paraphrases each, given with the query or as queries of their own, leave the number as it was."""
    queries = (
        Query(id="a", text="Reset the WiFi?", paraphrases=("How to reset WiFi?", "WiFi reset")),
        Query(id="b", text="Check-out time?"),
        Query(id="c", text="how to  RESET wifi?"),
        Query(id="d", text="wifi reset", paraphrases=("restart the router",)),
        Query(id="e", text="Restart the router"),
    )
    judgments = tuple(Judgment(query=query.id, target=WIFI, grade=3) for query in queries)
    assert resolution(GoldenSet(queries=queries, judgments=judgments)).all.queries == 2


def test_queries_without_text_are_not_one_question() -> None:
    """Judgments without topics have queries without words, which says nothing about their being alike."""
    queries = tuple(Query(id=f"q{i}", text=" ") for i in range(5))
    judgments = tuple(Judgment(query=query.id, target=WIFI, grade=3) for query in queries)
    assert resolution(GoldenSet(queries=queries, judgments=judgments)).all.queries == 5


def test_every_category_has_its_own() -> None:
    """Categories are seen apart, also one whose queries have nothing relevant, and the queries that have none."""
    gold = golden(40, categories={"wifi": 20, "rooms": 15, "noise": 1})
    lost = replace(gold, judgments=tuple(j for j in gold.judgments if j.query != "q35"))
    seen = resolution(lost, sd=0.15)
    assert {category.name: category.queries for category in seen.categories} == {
        "wifi": 20,
        "rooms": 15,
        "noise": 0,
        "": 4,
    }
    assert next(category for category in seen.categories if category.name == "noise").two_sided == {0.15: None}
    assert seen.document().categories["rooms"].two_sided == {"0.15": detectable(15, 0.15)}
    assert resolution(golden(40)).categories == ()


def test_a_set_that_cannot_see_a_twentieth_is_told_what_it_sees_and_needs() -> None:
    """With 72 queries the rule speaks, with 73 it is silent."""
    (finding,) = low_resolution(Subject(golden=golden(72)))
    assert finding.severity == "warning"
    assert "72 queries with a relevant document" in finding.message
    assert "0.050 / 0.084 / 0.117" in finding.message
    assert (
        finding.fix == "add queries: to see a drop of 0.05 takes 73 / 199 / 387 of them, at these standard deviations"
    )
    assert list(low_resolution(Subject(golden=golden(73)))) == []
    assert list(low_resolution(Subject(golden=GoldenSet(queries=golden(3).queries)))) == []


def test_a_known_spread_decides() -> None:
    """Two systems that differ less let fewer queries see as much."""
    assert list(low_resolution(Capacity(golden=golden(40), sd=0.10))) == []
    (finding,) = low_resolution(Capacity(golden=golden(80), sd=0.3))
    assert finding.fix.endswith("takes 285 of them, at that standard deviation")


def test_one_query_sees_nothing() -> None:
    """A spread needs two queries."""
    (finding,) = low_resolution(Subject(golden=golden(1)))
    assert finding.message == "1 query with a relevant document: no drop can be told from chance"


def test_small_categories_are_one_warning_where_it_is_asked_for() -> None:
    """With a profile or a gate, all categories that cannot see a tenth are in one finding; without, none is."""
    gold = golden(60, categories={"wifi": 20, "cold-start": 15, "edge-case": 10, "rooms": 15})
    assert list(low_resolution_category(Subject(golden=gold))) == []
    for subject in (Subject(golden=gold, profile="agent"), Subject(golden=replace(gold, gate={"R@5": 0.8}))):
        (finding,) = low_resolution_category(subject)
        assert finding.where == ("cold-start (15)", "edge-case (10)", "rooms (15)")
        assert finding.fix == "20 queries are needed at a standard deviation of 0.15"
    assert list(low_resolution_category(Subject(golden=golden(60), profile="agent"))) == []
