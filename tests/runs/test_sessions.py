"""Questions of a session: what a system is told, in which order, and what it stores between the turns."""

from __future__ import annotations

import asyncio
import math
import threading
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from karat.config import Settings
from karat.core import Context, Document, GoldenSet, InputError, Judgment, Query, Session, Target, UsageError
from karat.evaluation import score_run
from karat.runs import make_run
from karat.systems import adapt

DOCUMENTS = (
    Document(id="menu", text="the menu"),
    Document(id="peanuts", text="Ana does not eat peanuts", superseded_by="walnuts"),
    Document(id="walnuts", text="Ana does not eat walnuts either"),
    Document(id="tea", text="Bo drinks tea"),
)


def turn(id_: str, session: str, number: int, *remember: str, **others: Any) -> Query:
    return Query(id=id_, text=f"{id_}?", session=Session(id=session, turn=number, remember=remember), **others)


# The second turn of ana comes before the first one, and bo's stands between them.
QUERIES = (
    turn("a2", "ana", 2, "walnuts"),
    turn("b1", "bo", 1, "tea"),
    Query(id="alone", text="alone?", harvested="2026-01-02", metadata={"device": "phone", "relevant_entities": ["x"]}),
    turn("a1", "ana", 1, "peanuts"),
    turn("a3", "ana", 3),
)
GOLDEN = GoldenSet(
    documents=DOCUMENTS,
    queries=QUERIES,
    judgments=tuple(
        Judgment(query=query, target=Target(document=document), grade=3)
        for query, document in [("a1", "peanuts"), ("a2", "walnuts"), ("a3", "walnuts"), ("b1", "tea")]
    ),
)


@dataclass
class Memory:
    """A memory of each session that writes down how it was called; safe for several threads."""

    calls: list[tuple[str, ...]] = field(default_factory=list)
    stored: dict[str, list[str]] = field(default_factory=dict)
    ingested: list[str] = field(default_factory=list)
    contexts: dict[str, Context] = field(default_factory=dict)
    broken: str = ""
    lock: Any = field(default_factory=threading.Lock)

    def ingest(self, documents, company_id=""):
        self.ingested = [document.id for document in documents]

    def start_session(self, context):
        with self.lock:
            self.calls.append(("start", context.session))
            self.stored[context.session] = []

    def remember(self, documents, context):
        if self.broken in [document.id for document in documents]:
            raise OSError("disk full")
        with self.lock:
            self.calls.append(("remember", context.session, *(document.id for document in documents)))
            assert not any(document.superseded_by for document in documents)
            self.stored[context.session] += [document.id for document in documents]

    def retrieve(self, query, k, context):
        with self.lock:
            self.calls.append(("ask", context.session, query))
            self.contexts[query] = context
            return self.stored.get(context.session, [])[::-1][:k]

    def of(self, session: str) -> list[tuple[str, ...]]:
        return [(call[0], *call[2:]) for call in self.calls if call[1] == session]


ANA = [
    ("start",), ("remember", "peanuts"), ("ask", "a1?"), ("remember", "walnuts"), ("ask", "a2?"), ("ask", "a3?"),
]  # fmt: skip


@pytest.mark.parametrize("settings", [{}, {"concurrency": 4}, {"concurrency": 3, "timeout": 600.0}])
def test_turns_are_asked_in_their_order_and_memories_are_there_from_their_turn_on(settings):
    """Sessions are apart, documents that nobody stores are ingested, and the hits say what was known by then."""
    memory = Memory()
    run = make_run(GOLDEN, memory, Settings(warm_up=0, **settings))
    assert (memory.of("ana"), memory.ingested) == (ANA, ["menu"])
    assert memory.of("bo") == [("start",), ("remember", "tea"), ("ask", "b1?")]
    hits = {trace.query: [hit.id for hit in trace.hits] for trace in run.traces}
    assert hits == {"a1": ["peanuts"], "a2": ["walnuts", "peanuts"], "a3": ["walnuts", "peanuts"], "b1": ["tea"]} | {
        "alone": []
    }
    assert score_run(GOLDEN, run, ["RR@5"]).scores.mean() == {"RR@5": 1.0}


def test_the_context_has_what_the_golden_set_says_and_no_gold():
    """Session, turn, time, tenant and metadata; the list that the judges contradict stays with them."""
    memory = Memory()
    make_run(GOLDEN, adapt(memory, tenant="acme"), Settings())
    assert memory.contexts["a2?"] == Context(session="ana", turn=2, tenant="acme")
    alone = Context(time="2026-01-02", tenant="acme", metadata={"device": "phone"})
    assert memory.contexts["alone?"] == alone
    assert memory.calls[0] == ("ask", "", "b1?")  # the warm-up is outside the sessions
    run = make_run(GOLDEN, Memory(), Settings())
    assert {trace.query: (trace.context.session, trace.context.turn) for trace in run.traces}["a3"] == ("ana", 3)


def test_every_way_of_asking_gets_the_context():
    """A function, a coroutine and a batch; who does not ask for it is called as before."""
    seen = []

    async def later(query, k, *, context):
        await asyncio.sleep(0)
        seen.append(context.turn)
        return []

    class Many:
        def retrieve_many(self, queries, k, contexts):
            seen.append([(query, context.session) for query, context in zip(queries, contexts, strict=True)])
            return [[] for _ in queries]

    make_run(GOLDEN, later, Settings(warm_up=0))
    assert sorted(seen) == [0, 1, 1, 2, 3]
    seen.clear()
    make_run(GOLDEN, Many(), Settings(warm_up=0, batch=8))
    assert seen == [[("b1?", "bo"), ("alone?", ""), ("a1?", "ana")], [("a2?", "ana")], [("a3?", "ana")]]
    seen.clear()
    run = make_run(GOLDEN, lambda query, k: seen.append(query) or [], Settings(warm_up=0))
    assert seen == [f"{query.id}?" for query in QUERIES] == [trace.text for trace in run.traces]


def test_each_repeat_and_each_paraphrase_is_a_session_of_its_own():
    """What one asking has stored is not known to the next; a turn without the paraphrase is asked uncounted."""
    queries = (*QUERIES[:3], replace(QUERIES[3], text="a1?"), replace(QUERIES[4], paraphrases=("a3 again?",)))
    memory = Memory()
    run = make_run(replace(GOLDEN, queries=queries), memory, Settings(warm_up=0, repeat=2, paraphrases=True))
    again = [*ANA[:-1], ("ask", "a3 again?")]
    sessions = {"ana": ANA, "ana~2": ANA, "ana~p1": again, "ana~2~p1": again}
    assert {name: memory.of(name) for name in sessions} == sessions
    assert len(run.traces) == 2 * 6
    named = [turn("x", "s", 1), turn("y", "s~2", 1)]
    with pytest.raises(InputError, match="two sessions are called 's~2'"):
        make_run(GoldenSet(queries=tuple(named)), Memory(), Settings(repeat=2))


def test_a_sample_keeps_the_turns_before_those_that_were_drawn():
    """They are asked and stored, not counted; what comes after the last one is left out."""
    for seed in range(5):
        memory = Memory()
        run = make_run(GOLDEN, memory, Settings(warm_up=0, sample=2, seed=seed))
        drawn = [trace.query for trace in run.traces]
        assert len(drawn) == 2
        last = max([int(name[1]) for name in drawn if name.startswith("a") and name != "alone"], default=0)
        assert memory.of("ana") == (ANA[: [0, 3, 5, 6][last]])


def test_memories_that_cannot_be_stored_fail_the_questions_that_follow():
    """They count as 0 with the reason, and are not asked; other sessions go on."""
    run = make_run(GOLDEN, Memory(broken="walnuts"), Settings(warm_up=0, concurrency=2))
    errors = {trace.query: trace.error for trace in run.traces if trace.error}
    reason = "before turn 2 of session 'ana': Memory failed to store the memories: OSError: disk full"
    assert errors == {"a2": reason, "a3": reason}
    assert score_run(GOLDEN, run, ["RR@5"]).scores.mean()["RR@5"] == pytest.approx(2 / 4)


def test_a_killed_run_goes_on_with_its_sessions(tmp_path):
    """A session that was cut is asked again from its beginning, so that the later turns find what they need."""

    class Dying(Memory):
        def retrieve(self, query, k, context):
            if query == "a2?":
                raise KeyboardInterrupt
            return super().retrieve(query, k, context)

    whole = make_run(GOLDEN, Memory(), Settings(warm_up=0, timeout=None))
    with pytest.raises(KeyboardInterrupt):
        make_run(GOLDEN, Dying(), Settings(warm_up=0, timeout=None), name="m", output=tmp_path / "run.jsonl")
    memory = Memory()
    part = next(tmp_path.glob("*.part"))
    lines = part.read_text(encoding="utf-8").splitlines(keepends=True)
    assert len(lines) == 1 + 3
    changed = adapt(memory, name="m")
    changed = replace(changed, description=adapt(Dying(), name="m").description)
    run = make_run(GOLDEN, changed, Settings(warm_up=0, timeout=None), output=tmp_path / "run.jsonl")
    assert [(trace.query, trace.hits) for trace in run.traces] == [(trace.query, trace.hits) for trace in whole.traces]
    assert memory.of("ana") == ANA
    assert memory.of("bo") == []


def test_without_sessions_the_same_memories_are_there_and_the_question_is_on_its_own():
    """The second run of a comparison that shows what the session is worth."""
    memory = Memory()
    run = make_run(GOLDEN, memory, Settings(warm_up=0, without_sessions=True))
    assert ("remember", "ana", "walnuts") in memory.calls
    assert {call[1] for call in memory.calls if call[0] == "ask"} == {""}
    assert run.provenance.settings["without_sessions"] is True
    assert "without_sessions" not in make_run(GOLDEN, Memory(), Settings()).provenance.settings


def test_a_system_without_a_memory_is_told_of():
    """It gets the memories with all other documents, and whoever reads the numbers knows."""

    class Plain:
        def ingest(self, documents):
            self.names = [document.id for document in documents]

        def retrieve(self, query, k):
            return self.names[:k]

    notes: list[str] = []
    make_run(GOLDEN, Plain(), Settings(), say=notes.append)
    assert notes == [
        "sessions store 3 of the documents between their turns, but Plain has no remember(documents, context): it gets "
        "them with the others, before the first question"
    ]


def test_what_cannot_work_is_refused_before_any_question():
    """A memory that cannot forget, a batch without contexts, and a memory that the set does not hold."""

    class Hoarder:
        def remember(self, documents, context): ...

        def retrieve(self, query, k): ...

    class Mixed:
        def retrieve(self, query, k, context): ...

        def retrieve_many(self, queries, k): ...

    with pytest.raises(UsageError, match=r"no start_session\(context\) that forgets"):
        adapt(Hoarder())
    with pytest.raises(UsageError, match="retrieve_many of Mixed has no parameter contexts"):
        make_run(GOLDEN, Mixed(), Settings(batch=2))
    with pytest.raises(InputError, match="stores the memory 'walnuts', which is not among the documents"):
        make_run(replace(GOLDEN, documents=()), Memory(), Settings())


def test_a_sample_is_scored_with_the_memories_of_the_whole_set():
    """A memory whose successor a turn stores that was not asked is not stale: without versions there is no value."""
    run = make_run(GOLDEN, Memory(), Settings(warm_up=0))
    first = replace(run, traces=tuple(trace for trace in run.traces if trace.query in ("a1", "b1")))
    assert math.isnan(score_run(GOLDEN, first, ["StaleFree@5"]).scores.mean()["StaleFree@5"])
    later = replace(run, traces=tuple(trace for trace in run.traces if trace.query != "a1"))
    assert score_run(GOLDEN, later, ["StaleFree@5"]).scores.mean()["StaleFree@5"] == pytest.approx((1 + 0.5 + 0.5) / 3)
    assert score_run(GOLDEN, run, ["StaleFree@5"]).scores.mean()["StaleFree@5"] == pytest.approx(
        (1 + 1 + 0.5 + 0.5) / 4
    )
