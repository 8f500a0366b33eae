"""The quotas of the profiles, and the rules on judging: each with the smallest set that breaks and that keeps it."""

from __future__ import annotations

from dataclasses import replace

from each import each
from karat.core import Document, GoldenSet, Judgment, Query, Source, Target
from karat.golden.lint._check import RULES
from karat.golden.lint._quota_rules import CATEGORIES, QUERY_TYPES, missing
from karat.golden.lint._rule import Finding, Profile, Subject


def apply(rule: str, golden: GoldenSet, profile: Profile | None = None) -> list[Finding]:
    """Return what a rule finds."""
    findings = list(RULES[rule].check(Subject(golden=golden, profile=profile)))
    assert all(finding.rule == rule and finding.severity == "warning" for finding in findings)
    return findings


def messages(rule: str, golden: GoldenSet, profile: Profile | None = None) -> list[str]:
    """Return the messages of what a rule finds."""
    return [finding.message for finding in apply(rule, golden, profile)]


def documents(*records: dict[str, str]) -> GoldenSet:
    """Build a set of documents."""
    return GoldenSet(documents=tuple(Document(id=f"d{i}", **record) for i, record in enumerate(records)))


def queries(*records: dict[str, object]) -> GoldenSet:
    """Build a set of queries."""
    members = tuple(Query(id=f"q{i}", text=f"question {i}", **r) for i, r in enumerate(records))  # type: ignore[arg-type]
    return GoldenSet(queries=members)


def judged(*graded: tuple[str, str, int], source: Source = "manual", annotator: str = "") -> GoldenSet:
    """Build a set of judgments: query, document, grade."""
    names = dict.fromkeys(query for query, _, _ in graded)
    return GoldenSet(
        queries=tuple(Query(id=name, text=f"about {name}") for name in names),
        judgments=tuple(
            Judgment(query=query, target=Target(document=document), grade=grade, source=source, annotator=annotator)
            for query, document, grade in graded
        ),
    )


def quotas() -> list[str]:
    """Return the rules that only speak under a profile."""
    return [name for name, rule in RULES.items() if rule.check.__module__.endswith("_quota_rules")]


@each("profile", [None, "small", "agent", "structured"])
def test_a_rule_of_a_profile_is_silent_under_the_others(profile: Profile | None) -> None:
    """A set that has nothing breaks the quotas of the profile that was asked for, and of no other."""
    poor = replace(queries({}, {}), documents=(Document(id="d", text="x"),))
    spoken = {name for name in quotas() if apply(name, poor, profile)}
    assert (
        spoken
        == {
            None: set(),
            "small": {
                "set-size",
                "document-lengths",
                "document-types",
                "document-formats",
                "document-domains",
                "query-types",
            },
            "agent": {"set-size", "category-quotas", "intent-quotas", "curated-subset"},
            "structured": {"set-size", "paraphrase-count", "block-types"},
        }[profile]
    )


def test_the_size_of_a_small_set() -> None:
    """A small set has 50 to 100 documents and 20 to 50 queries, a structured one 200 to 400; one off is a warning."""
    short = replace(documents(*[{}] * 49), queries=queries(*[{}] * 19).queries)
    assert messages("set-size", short, "small") == ["49 documents of at least 50", "19 queries of at least 20"]
    enough = replace(documents(*[{}] * 50), queries=queries(*[{}] * 20).queries)
    assert messages("set-size", enough, "small") == []
    full = replace(documents(*[{}] * 100), queries=queries(*[{}] * 50).queries)
    assert messages("set-size", full, "small") == []
    large = replace(documents(*[{}] * 101), queries=queries(*[{}] * 51).queries)
    assert messages("set-size", large, "small") == [
        "101 documents, and the profile has at most 100",
        "51 queries, and the profile has at most 50",
    ]
    assert messages("set-size", queries(*[{}] * 5000), "agent") == []
    assert messages("set-size", queries(*[{}] * 400), "structured") == []
    assert messages("set-size", queries(*[{}] * 401), "structured") == ["401 queries, and the profile has at most 400"]
    assert messages("set-size", queries(*[{}] * 199), "structured") == ["199 queries of at least 200"]
    assert messages("set-size", queries(*[{}] * 200), "structured") == []


def test_the_lengths_of_documents() -> None:
    """A short, a medium and a long document are needed, and none of more than 5,000 words."""
    texts = [{"text": "word " * n} for n in (100, 800, 5000)]
    assert messages("document-lengths", documents(*texts), "small") == []
    assert messages("document-lengths", documents(texts[0]), "small") == [
        "no document of 300 to 3,000 words, and none of 3,000 words or more; they have 100 to 100"
    ]
    assert messages("document-lengths", GoldenSet(), "small") == []
    longer = documents(*texts, {"text": "word " * 5001})
    assert messages("document-lengths", longer, "small") == ["1 document of more than 5,000 words"]


@each(
    ("rule", "field", "all_of_them", "lost"),
    [
        (
            "document-types",
            "type",
            ["KNOWLEDGE_ARTIFACT", "Communication Signal", "interaction-event"],
            "no document with the type INTERACTION_EVENT",
        ),
        ("document-formats", "format", ["Markdown", "plain text", "JSON"], "no document with the format JSON"),
        ("document-formats", "format", ["md", "txt", "json"], "no document with the format JSON"),
        (
            "document-domains",
            "domain",
            ["POLICY", "amenities", "customer support", "operational procedures"],
            "no document with the domain operations",
        ),
    ],
)
def test_the_kinds_of_documents(rule: str, field: str, all_of_them: list[str], lost: str) -> None:
    """Types, formats and domains are recognised however they are spelt, and the missing one is named."""
    assert messages(rule, documents(*({field: name} for name in all_of_them)), "small") == []
    assert messages(rule, documents(*({field: name} for name in all_of_them[:-1])), "small") == [lost]


@each(
    ("name", "needed"),
    [
        ("sentiment-based", "sentiment"),
        ("Sentiment", "sentiment"),
        ("how_to", "how-to"),
        ("How To", "how-to"),
        ("howto", "how-to"),
        ("comparison", "comparative"),
        ("FACTOID", "factual"),
        ("definitions", "definition"),
        ("troubleshooting_query", "troubleshooting"),
        ("query-troubleshooting", "troubleshooting"),
    ],
)
def test_types_of_queries_are_matched_loosely(name: str, needed: str) -> None:
    """Each spelling is one of the types, and no other."""
    assert set(missing(QUERY_TYPES, [name])) == set(QUERY_TYPES) - {needed}


def test_the_types_of_queries_of_a_small_set() -> None:
    """All six types are asked for; the missing ones are named."""
    whole = queries(*({"type": name} for name in QUERY_TYPES))
    assert messages("query-types", whole, "small") == []
    assert messages("query-types", queries({"type": "factual"}, {"type": "what?"}), "small") == [
        "no query of type comparative or troubleshooting or sentiment or definition or how-to"
    ]


def test_all_queries_of_one_type() -> None:
    """Three queries of one type are reported, whatever the profile; queries without a type are not."""
    assert messages("one-query-type", queries(*[{"type": "definition"}] * 3)) == [
        "all 3 queries are of type definition"
    ]
    assert messages("one-query-type", queries({"type": "definition"}, {"type": "how-to"}, {"type": "definition"})) == []
    assert messages("one-query-type", queries(*[{}] * 3)) == []
    assert messages("one-query-type", queries({"type": "definition"})) == []


def agent(**less: int) -> GoldenSet:
    """Build a set that keeps all quotas of an agent, less some queries of a category."""
    records: list[dict[str, object]] = []
    for name, quota in CATEGORIES.items():
        for i in range(quota - less.get(name.replace("-", "_"), 0)):
            records.append({"category": name.upper().replace("-", "_"), "intent": f"intent_{i % 7}"})
    return queries(*records)


def test_the_quotas_of_the_categories() -> None:
    """280 queries in eight categories keep the quotas, and a category with one fewer is reported."""
    whole = agent()
    assert len(whole.queries) == 280
    for rule in ("set-size", "category-quotas", "intent-quotas"):
        assert messages(rule, whole, "agent") == []
    assert messages("category-quotas", agent(cold_start=1, edge_case=10), "agent") == [
        "2 categories below quota: cold-start 14 of 15, edge-case 0 of 10"
    ]


def test_the_quotas_of_the_intents() -> None:
    """Seven intents with 15 queries each, and an intent for every query."""
    assert messages("intent-quotas", agent(intent_specific=1), "agent") == [
        "1 intent with fewer than 15 queries: intent-6 14 of 15"
    ]
    five = agent()
    names = tuple(
        replace(query, intent="intent_0" if query.intent > "intent_4" else query.intent) for query in five.queries
    )
    assert messages("intent-quotas", replace(five, queries=names), "agent") == [
        "5 intents of 7 among the intent-specific queries"
    ]
    first, *rest = five.queries
    (finding,) = apply("intent-quotas", replace(five, queries=(replace(first, intent=" "), *rest)), "agent")
    assert finding.where == ("q0",)


def test_the_curated_subset() -> None:
    """Fifty queries have to be judged by people; what behaviour says does not count."""
    by_hand = [(f"q{i}", "d", 3) for i in range(50)]
    assert messages("curated-subset", judged(*by_hand), "agent") == []
    assert messages("curated-subset", judged(*by_hand[:49]), "agent") == [
        "49 of at least 50 queries judged by a person"
    ]
    assert messages("curated-subset", judged(*by_hand, source="implicit"), "agent") == [
        "0 of at least 50 queries judged by a person"
    ]


def test_synthetic_ids() -> None:
    """Ids that spell out the intent of their query are made up, unless there are such documents."""
    golden_set = replace(
        judged(("q1", "mem-add_feature-1", 3)), queries=(Query(id="q1", text="x", intent="add_feature"),)
    )
    assert apply("synthetic-ids", golden_set, "agent")[0].where == ("q1: mem-add_feature-1",)
    assert messages("synthetic-ids", replace(golden_set, documents=(Document(id="mem-add_feature-1"),)), "agent") == []
    real = replace(judged(("q1", "4711", 3)), queries=golden_set.queries)
    assert messages("synthetic-ids", real, "agent") == []


def test_three_paraphrases() -> None:
    """Three wordings, with or without the text of the query among them."""
    golden = queries(*({"paraphrases": tuple("abcd"[:n])} for n in (3, 2, 4, 0)))
    assert apply("paraphrase-count", golden, "structured")[0].where == ("q2", "q3")
    assert messages("paraphrase-count", golden, "structured") == ["2 of 4 queries without 3 wordings"]


def test_all_types_of_blocks() -> None:
    """Prose, code, tables and figures have to be among the relevant blocks."""

    def blocks(*tags: str, grade: int = 3, sections: int = 2) -> GoldenSet:
        targets = [Target(document="d", block=f"S.{i % sections}.{tag}.Bk001") for i, tag in enumerate(tags)]
        return GoldenSet(judgments=tuple(Judgment(query="q", target=target, grade=grade) for target in targets))

    assert messages("block-types", blocks(*"pctf"), "structured") == []
    assert messages("block-types", blocks("p", "t"), "structured") == ["no relevant block of type code or figure"]
    assert messages("block-types", blocks(*"pctf", grade=1), "structured") == [
        "no relevant block of type prose or code or table or figure"
    ]
    assert messages("block-types", blocks(*"pctf", sections=1), "structured") == [
        "all relevant blocks stand under one heading"
    ]


def test_one_annotator() -> None:
    """Agreement needs a pair that two people judged."""
    alone = judged(("q1", "a", 3), ("q2", "b", 2), annotator="ana")
    assert messages("one-annotator", alone) == ["one annotator, ana: agreement cannot be computed"]
    assert messages("one-annotator", judged(("q1", "a", 3))) == ["no annotator is named: agreement cannot be computed"]
    apart = replace(alone, judgments=(*alone.judgments, *judged(("q3", "a", 3), annotator="bo").judgments))
    assert "no pair that two of them judged" in messages("one-annotator", apart)[0]
    both = replace(alone, judgments=(*alone.judgments, *judged(("q1", "a", 0), annotator="bo").judgments))
    assert messages("one-annotator", both) == []
    assert messages("one-annotator", judged(("q1", "a", 3), source="implicit", annotator="log")) == []


def test_grades_that_are_never_given() -> None:
    """Grades above 0 that nobody gives are named with their meaning."""
    assert messages("unused-grades", judged(("q", "a", 3), ("q", "b", 0))) == [
        "2 grades of 4 never used: 1 (tangential), 2 (answers part)"
    ]
    assert messages("unused-grades", judged(("q", "a", 3), ("q", "b", 2), ("q", "c", 1))) == []
    assert messages("unused-grades", GoldenSet()) == []


def test_judgments_that_nobody_made() -> None:
    """Clicks and machines alone are weak; one judgment by a person is enough to be silent."""
    weak = judged(("q1", "a", 3), ("q2", "b", 2), source="bootstrapped")
    clicks = judged(("q3", "a", 2), source="implicit")
    both = replace(weak, judgments=weak.judgments + clicks.judgments)
    assert messages("weak-judgments", both) == ["no judgment was made by a person: 2 bootstrapped and 1 implicit"]
    assert messages("weak-judgments", replace(both, judgments=both.judgments + judged(("q1", "b", 1)).judgments)) == []


def test_mostly_one_relevant_document() -> None:
    """More than half of the queries with one relevant document are reported, half of them are not."""
    golden = judged(("q1", "a", 3), ("q2", "b", 2), ("q2", "c", 1), ("q3", "a", 3), ("q3", "b", 3))
    assert messages("single-relevant", golden) == ["2 of 3 queries with a relevant document have one only (67 %)"]
    more = replace(golden, judgments=golden.judgments + judged(("q1", "b", 2)).judgments)
    assert messages("single-relevant", more) == []
    assert messages("single-relevant", replace(more, classes={"same": ("a", "b")})) != []


def test_parts_count_where_parts_are_judged() -> None:
    """Two relevant blocks of one document are one document, and under the profile `structured` two answers."""
    targets = [Target(document="d", block=f"S.1.p.Bk00{i}") for i in (1, 2)]
    golden = GoldenSet(judgments=tuple(Judgment(query="q", target=target, grade=3) for target in targets))
    assert len(messages("single-relevant", golden)) == 1
    assert messages("single-relevant", golden, "structured") == []


def test_hard_negatives() -> None:
    """A negative, or a document that was judged not relevant, is enough."""
    golden = judged(("q1", "a", 3), ("q2", "b", 2))
    assert len(messages("no-hard-negatives", golden)) == 1
    assert messages("no-hard-negatives", judged(("q1", "a", 3), ("q1", "b", 0))) == []
    first, *rest = golden.queries
    named = replace(golden, queries=(replace(first, negatives=(Target(document="b"),)), *rest))
    assert messages("no-hard-negatives", named) == []
