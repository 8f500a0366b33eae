"""Sessions in golden sets: what is stored when, and what the linter says about it."""

from __future__ import annotations

from dataclasses import replace

from karat import golden, score_hits
from karat.core import Document, GoldenSet, Hit, Judgment, Query, Session, Target, Trace
from karat.golden import fingerprint
from karat.golden.lint._rule import RULES, Subject

DOCUMENTS = tuple(Document(id=name, text=f"about {name}") for name in ("menu", "peanuts", "walnuts"))
QUERIES = (
    Query(id="q1", text="dinner?", session=Session(id="ana", turn=1, remember=("peanuts",))),
    Query(id="q2", text="and now?", session=Session(id="ana", turn=2, remember=("walnuts",))),
    Query(id="q3", text="breakfast?", session=Session(id="bo", turn=1)),
    Query(id="q4", text="opening hours?"),
)
TALK = GoldenSet(
    documents=(DOCUMENTS[0], replace(DOCUMENTS[1], superseded_by="walnuts"), DOCUMENTS[2]),
    queries=QUERIES,
    judgments=(
        Judgment(query="q1", target=Target(document="peanuts"), grade=3),
        Judgment(query="q2", target=Target(document="walnuts"), grade=3),
    ),
)


def apply(rule: str, subject: GoldenSet) -> list[tuple[str, ...]]:
    return [finding.where for finding in RULES[rule].check(Subject(golden=subject))]


def judged(*pairs: tuple[str, str]) -> GoldenSet:
    return replace(
        TALK, judgments=tuple(Judgment(query=q, target=Target(document=document), grade=3) for q, document in pairs)
    )


def test_a_memory_is_there_from_its_turn_on_and_only_in_its_session():
    """What no session stores is there from the start; a memory is known to later turns of the same session."""
    assert TALK.memories == {"peanuts", "walnuts"}
    stored = {query.id: [d.id for d in DOCUMENTS if TALK.is_stored(d.id, query)] for query in QUERIES}
    assert stored == {"q1": ["menu", "peanuts"], "q2": ["menu", "peanuts", "walnuts"], "q3": ["menu"], "q4": ["menu"]}


def test_a_memory_that_is_wanted_too_early_is_told():
    """It may be wanted by a judgment, a must-show list or a chain; an earlier turn and another session lack it."""
    assert apply("memory-not-stored", TALK) == []
    assert apply("memory-not-stored", judged(("q1", "walnuts"), ("q2", "peanuts"))) == [("q1: walnuts",)]
    listed = replace(TALK, queries=(*QUERIES[:2], replace(QUERIES[2], must_show=("menu",), chain=("peanuts",))))
    assert apply("memory-not-stored", listed) == [("q3: peanuts",)]
    twins = replace(judged(("q1", "walnuts")), classes={"nuts": ("peanuts", "walnuts")})
    assert apply("memory-not-stored", twins) == []


def test_a_successor_that_is_not_stored_yet_does_not_make_a_memory_stale():
    """At turn 1 the first memory is the current one; at turn 2 it is judged higher than what replaced it."""
    assert apply("superseded-judged-higher", TALK) == []
    assert apply("superseded-judged-higher", judged(("q1", "peanuts"), ("q2", "peanuts"))) == [("q2: peanuts",)]


def test_a_memory_is_stale_from_the_turn_on_that_stores_its_successor():
    """Turn 1 has no newer version of it; at turn 2 one of the two hits is out of date."""
    hits = {"q1": (Hit("peanuts", 1.0),), "q2": (Hit("peanuts", 1.0), Hit("walnuts", 0.9))}
    traces = {query: Trace(query=query, text="?", hits=own) for query, own in hits.items()}
    scores = score_hits(replace(TALK, queries=QUERIES[:2]), hits, ["StaleFree@5"], traces=traces)
    assert scores.values[:, 0].tolist() == [1.0, 0.5]


def test_a_sample_stores_what_the_turns_before_it_have_stored():
    """A memory is there at the same turn as in the whole set, and one of a later turn is not there at all."""
    for seed in range(20):
        drawn = golden.sample(TALK, 2, seed=seed)
        by_id = TALK.query_by_id
        for query in drawn.queries:
            known = [d.id for d in drawn.documents if drawn.is_stored(d.id, query)]
            assert known == [d.id for d in TALK.documents if TALK.is_stored(d.id, by_id[query.id])]
            heirs = {d.superseded_by for d in drawn.documents if d.id in known and d.superseded_by}
            assert ("walnuts" in heirs) == ("walnuts" in drawn.document_by_id and "peanuts" in known)
    (last,) = [s for s in (golden.sample(TALK, 1, seed=n) for n in range(20)) if s.queries[0].id == "q2"][:1]
    assert last.queries[0].session == Session(id="ana", turn=2, remember=("peanuts", "walnuts"))


def test_two_queries_of_one_turn_are_told():
    """Nothing says which of them is asked first; equal turns of two sessions are no problem."""
    assert apply("repeated-turn", TALK) == []
    twice = replace(TALK, queries=(*QUERIES, Query(id="q5", text="?", session=Session(id="ana", turn=2))))
    assert apply("repeated-turn", twice) == [("ana: turn 2",)]


def test_memories_are_written_read_and_part_of_the_fingerprint(tmp_path):
    """karat's format keeps them, agent's says that it cannot, and a set without them has the fingerprint of before."""
    golden.write(TALK, tmp_path / "talk")
    back = golden.read(tmp_path / "talk")
    assert back.queries == QUERIES
    without = replace(QUERIES[0], session=Session(id="ana", turn=1))
    assert fingerprint(replace(TALK, queries=(without, *QUERIES[1:]))) != fingerprint(back)
    # As karat 0.1 computed it before sessions could store anything.
    old = GoldenSet(queries=(Query(id="q", text="?", session=Session(id="s", documents=("d",), turn=2)),))
    assert fingerprint(old) == OLD
    assert "agent cannot hold session of 2 queries" in golden.write(TALK, tmp_path / "talk.json", "agent")


OLD = "sha256:9fb7bff34deff632ddbb8395b3ded256ca6615ccbc251b997a96644d670adb87"
