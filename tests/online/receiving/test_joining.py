"""What the spans of a trace become, in whatever order and in however many requests they come."""

from __future__ import annotations

import itertools
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from karat.core import InputError, UsageError
from karat.online import Log, check_health, forget, ingest
from karat.online.receiving import Receiver, make_record_id
from online.receiving.conftest import Read
from online.receiving.some_spans import (
    START,
    TRACE,
    batch,
    chain,
    evaluation,
    genai,
    make_span,
    model,
    reranker,
    retriever,
)

FOUND = [("pool", 0.9), ("wifi", 0.8)]
RAG = (
    chain(times=(1, 9)),
    retriever(2, "wifi?", FOUND, parent=1),
    retriever(3, "wifi?", [("spa", None)], "words", parent=1),
    reranker(4, "wifi?", [("wifi", 0.99), ("spa", 0.5)], parent=1),
    model(5, "It is free.", parent=1),
)


def test_a_trace_becomes_a_query_with_channels_stages_session_and_answer(receiver: Receiver, read: Read) -> None:
    """By hand: two channels of a millisecond each, a reranker whose list comes back, and three milliseconds in all."""
    done = receiver.accept(batch(*RAG))
    assert (done.accepted, done.rejected) == (5, 0)
    assert receiver.settle() == 1
    (query,), events = read()
    assert (query.id, query.text, query.session) == (make_record_id(TRACE, f"{2:016x}"), "wifi?", "s1")
    assert query.time == (START + 2_000_000) / 1e9
    assert [(hit.document, hit.rank, hit.score, hit.channels) for hit in query.hits] == [
        ("wifi", 1, 0.99, ("dense",)),
        ("spa", 2, 0.5, ("words",)),
    ]
    assert query.channels == {"dense": ("pool", "wifi"), "words": ("spa",)}
    assert query.stages == {"candidate.dense": 1.0, "candidate.words": 1.0, "rerank": 1.0}
    assert (query.latency, query.answer, query.count, query.trace) == (3.0, "It is free.", 2, TRACE)
    assert (query.system, query.build, query.tool, events) == ("hotel", "1.2", "dense", [])


@pytest.mark.parametrize("order", list(itertools.permutations(range(5)))[::17])
def test_the_order_and_the_requests_in_which_spans_come_change_nothing(
    path: Path, read: Read, order: tuple[int, ...]
) -> None:
    """Each span in a request of its own, the root last or first: one record, the same as of all together."""
    with Receiver(path, settle=60, keep_ids=True) as receiver:
        for number in order:
            receiver.accept(batch(RAG[number]))
            receiver.settle()
    with Receiver(path.with_name("other.db"), settle=60, keep_ids=True) as receiver:
        receiver.accept(batch(*RAG))
    ingest(path.with_name("other.db"))
    (query,), events = read()
    from karat.online import read_log

    with read_log(path.with_name("other.db")) as log:
        assert (list(log.queries()), events) == ([query], [])


def test_both_conventions_and_memories_say_the_same(receiver: Receiver, read: Read) -> None:
    """A retrieval span with new names, a search of a memory, and a retriever of OpenInference: the same list."""
    for number, make in enumerate((retriever, genai, genai), 1):
        fields = {"operation": "search_memory"} if number == 3 else {}
        trace = f"{number:032x}"
        receiver.accept(batch(make(2, "wifi?", FOUND, trace=trace, **{"session.id": "s1"}, **fields)))
    receiver.settle()
    queries, _ = read()
    assert len(queries) == 3
    assert {(query.text, query.session, query.hits, query.count) for query in queries} == {
        ("wifi?", "s1", queries[0].hits, 2)
    }
    assert [(hit.id, hit.score) for hit in queries[0].hits] == FOUND


def test_a_span_that_comes_twice_is_stored_once(receiver: Receiver, path: Path, read: Read) -> None:
    """In the same request, before its trace is written, after it, and after a restart that has forgotten it."""
    receiver.accept(batch(*RAG, *RAG))
    receiver.accept(batch(*RAG))
    receiver.settle()
    receiver.accept(batch(*RAG))
    receiver.settle()
    assert len(read()[0]) == 1
    received = check_health(path).received
    assert received is not None
    assert (received.spans, received.queries, received.repeated, received.late) == (20, 1, 14, 0)
    receiver.close()
    for file in path.parent.glob("karat.db.spans*"):
        file.unlink()
    with Receiver(path, settle=0, keep_ids=True) as again:
        again.accept(batch(*RAG))
    assert len(read()[0]) == 1


def test_nested_retrievers_are_channels_and_different_questions_are_queries(receiver: Receiver, read: Read) -> None:
    """An agent asks twice: once a fusion of two retrievers, through a span between, and once another question."""
    receiver.accept(
        batch(
            chain(times=(1, 20)),
            retriever(2, "wifi?", FOUND, "fusion", parent=1, times=(2, 8)),
            make_span(3, "parallel", parent=2),
            retriever(4, "wifi password", [("wifi", 1.0)], "words", parent=3),
            retriever(5, "wifi?", [("pool", 1.0)], parent=3),
            make_span(6, "retrieve", parent=5, **{"openinference.span.kind": "RETRIEVER"}),
            retriever(9, "spa?", [], parent=1, **{"output.value": '{"documents": []}'}),
            retriever(11, "spa?", [("spa", 0.1)], parent=1),
            model(12, "At nine.", parent=1),
        )
    )
    receiver.settle()
    (fusion, nothing, spa), _ = read()
    assert ([hit.id for hit in fusion.hits], fusion.channels) == (
        ["pool", "wifi"],
        {"words": ("wifi",), "dense": ("pool",)},
    )
    assert (fusion.tool, fusion.latency, fusion.answer) == ("fusion", 6.0, None)
    assert fusion.stages == {"candidate.words": 1.0, "candidate.dense": 1.0}
    assert (nothing.text, nothing.count, nothing.hits, nothing.answer) == ("spa?", 0, (), None)
    assert ([hit.id for hit in spa.hits], spa.answer, spa.channels) == (["spa"], "At nine.", {})


def test_what_is_not_said_is_not_known(receiver: Receiver, path: Path, read: Read) -> None:
    """Without content a span has neither text nor documents; documents without ids have a hash, or only a number."""
    receiver.accept(
        batch(
            make_span(2, "retrieval", **{"gen_ai.operation.name": "retrieval"}),
            make_span(
                3,
                "texts",
                trace="2" * 32,
                **{
                    "openinference.span.kind": "RETRIEVER",
                    "retrieval.documents.0.document.content": "Free.",
                    "retrieval.documents.0.document.score": float("nan"),
                },
            ),
            make_span(
                4,
                "bare",
                trace="3" * 32,
                **{"openinference.span.kind": "RETRIEVER", "retrieval.documents.0.document.score": 0.5},
            ),
        )
    )
    receiver.settle()
    (silent, texts, bare), _ = read()
    assert (silent.text, silent.hits, silent.count) == ("", (), None)
    assert texts.hits[0].document.startswith("text-")
    assert (texts.hits[0].score, texts.count) == (None, 1)
    assert (bare.hits, bare.count) == ((), 1)
    received = check_health(path).received
    assert received is not None
    assert (received.documents_by_text, received.documents_without_id) == (1, 1)


def test_a_channel_that_failed_is_no_query_that_failed(receiver: Receiver, read: Read) -> None:
    """The error of a channel is an attribute; that of the last step is the query's."""
    failed = make_span(3, "words", 1, error="timed out", **{"gen_ai.operation.name": "retrieval"})
    failed = type(failed)(**{**{name: getattr(failed, name) for name in failed.__slots__}, "error": "timed out"})
    receiver.accept(batch(chain(), retriever(4, "wifi?", FOUND, parent=1, times=(2, 5)), failed))
    receiver.settle()
    queries, _ = read()
    assert {(query.error, query.count) for query in queries} == {("", 2), ("timed out", None)}


def test_a_retrieval_that_failed_is_a_query_that_failed(receiver: Receiver, read: Read) -> None:
    """What a channel found inside it did not come back; and a reranker after it does not make it right.

    One channel of two that fails is not the query's failure.
    """
    second, third = "2" * 32, "3" * 32
    receiver.accept(
        batch(
            retriever(2, "wifi?", [], "fusion", times=(2, 8), error="timed out"),
            retriever(3, "wifi?", FOUND, "words", parent=2),
            retriever(2, "wifi?", FOUND, "fusion", trace=second, error="timed out"),
            reranker(4, "wifi?", FOUND, trace=second),
            retriever(2, "wifi?", [], "words", trace=third, error="timed out"),
            retriever(3, "wifi?", FOUND, trace=third),
            reranker(5, "wifi?", FOUND, trace=third),
        )
    )
    receiver.settle()
    queries, _ = read()
    by_trace = {query.trace: query for query in queries}
    lost, reranked, partial = (by_trace[trace] for trace in (TRACE, second, third))
    assert (lost.error, lost.hits, lost.count) == ("timed out", (), None)
    assert (reranked.error, reranked.count) == ("timed out", 2)
    assert (partial.error, partial.count, partial.attributes["channel_errors"]) == ("", 2, {"words": "timed out"})


def test_late_children_join_their_query(receiver: Receiver, path: Path, read: Read) -> None:
    """A channel and an answer that come after the record was written are events of it; another question is a query."""
    receiver.accept(batch(chain(), retriever(2, "wifi?", FOUND, "fusion", parent=1)))
    receiver.settle()
    receiver.accept(
        batch(
            retriever(3, "wifi?", [("pool", 1.0)], parent=2),
            model(5, "It is free.", parent=1),
            retriever(2, "wifi?", FOUND, "fusion", parent=1),
        )
    )
    receiver.settle()
    (query,), events = read()
    assert {event.kind: event.attributes for event in events} == {
        "late_stage": {"stage": "candidate.dense", "ids": ["pool"], "milliseconds": 1.0},
        "late_answer": {"answer": "It is free."},
    }
    assert {(event.query, event.session) for event in events} == {(query.id, "s1")}
    receiver.accept(batch(retriever(7, "spa?", [], parent=1)))
    receiver.settle()
    assert [query.text for query in read()[0]] == ["wifi?", "spa?"]
    received = check_health(path).received
    assert received is not None
    assert (received.late, received.repeated) == (2, 1)


def test_a_trace_waits_for_its_first_span(path: Path, read: Read) -> None:
    """Without its root a trace waits for the patience; with it, for the settling; and it is never begun twice."""
    with Receiver(path, settle=0, patience=3600, keep_ids=True) as receiver:
        receiver.accept(batch(*RAG[1:]))
        assert receiver.settle() == 0
        receiver.accept(batch(RAG[0]))
        assert receiver.settle() == 1
        receiver.accept(batch(model(7, "Again.", parent=1)))
        assert receiver.settle() == 1  # at once, since a part of its trace is written
    assert len(read()[1]) == 1


def test_too_many_waiting_spans_are_written_as_they_are(path: Path, read: Read) -> None:
    """Nothing is lost when the buffer is full: the oldest traces are written, and that is told."""
    with Receiver(path, settle=3600, patience=3600, keep_ids=True, most_waiting=10) as receiver:
        for number in range(1, 31):
            receiver.accept(batch(retriever(2, f"question {number}", FOUND, trace=f"{number:032x}")))
        receiver.settle()
        assert len(read()[0]) > 0
    assert len(read()[0]) == 30
    received = check_health(path).received
    assert received is not None
    assert received.early > 0


def test_what_people_say_is_feedback_and_what_programs_say_is_kept(receiver: Receiver, read: Read) -> None:
    """Evaluations on spans and in log records, before and after their query is written; one of an unknown trace."""
    judged = retriever(
        2,
        "wifi?",
        FOUND,
        parent=1,
        **{
            "evaluations.0.evaluation.name": "relevance",
            "evaluations.0.evaluation.annotator_kind": "HUMAN",
            "evaluations.0.evaluation.label": "not relevant",
            "evaluations.0.evaluation.metadata": '{"document_position": 0}',
            "evaluations.1.evaluation.name": "hallucination",
            "evaluations.1.evaluation.annotator_kind": "LLM",
            "evaluations.1.evaluation.score": 0.25,
            "evaluations.1.evaluation.explanation": "mail ann@example.org",
        },
    )
    receiver.accept(batch(chain(), judged, model(5, "It is free.", parent=1)))
    receiver.accept(batch(evaluation(5, "user_feedback", score__value=1.0)))
    receiver.settle()
    receiver.accept(batch(evaluation(5, "user_feedback", score__value=-1, score__label="thumbs-down")))
    receiver.accept(batch(evaluation(1, "user_feedback", trace="9" * 32, score__value=1)))
    receiver.settle(everything=True)
    (query,), events = read()
    rows = {(event.kind, event.query, event.document, event.rank, event.value) for event in events}
    assert rows == {
        ("validate_not_useful", query.id, "pool", 1, 0.0),
        ("evaluation", query.id, "", None, 0.25),
        ("task_outcome", query.id, "", None, 1.0),
        ("task_outcome", query.id, "", None, 0.0),
        ("task_outcome", "", "", None, 1.0),
    }
    assert {event.session for event in events if event.query} == {"s1"}
    (said,) = (event for event in events if event.kind == "evaluation")
    assert said.attributes == {"name": "hallucination", "annotator": "LLM", "explanation": "mail [e-mail]"}


def test_changes_of_a_memory_are_events(receiver: Receiver, read: Read) -> None:
    """A memory is searched, and then written to: the second is an action of the same session."""
    write = {"gen_ai.operation.name": "update_memory", "gen_ai.memory.record.id": "m7", "session.id": "s1"}
    receiver.accept(batch(chain(), genai(2, "wifi?", FOUND, "search_memory", parent=1), make_span(3, "w", 1, **write)))
    receiver.settle()
    (query,), (event,) = read()
    assert (event.kind, event.document, event.query, event.session) == ("update_memory", "m7", query.id, "s1")


def test_texts_are_redacted_and_ids_hashed_before_the_disk(path: Path, read: Read) -> None:
    """What the buffer, the journal and the store have is what a host's own log would have written."""
    secret = "mail ann@example.org"
    spans = (
        chain(**{"session.id": "s1", "user.id": "ann"}),
        retriever(2, secret, FOUND, parent=1),
        model(5, secret, parent=1),
    )
    with Receiver(path, settle=0) as receiver:
        receiver.accept(batch(*spans))
        files = b"".join(file.read_bytes() for file in path.parent.glob("karat.db.spans*"))
        assert b"ann" not in files
        assert b"[e-mail]" in files
    (query,), _ = read()
    from karat import online

    with online.open(path) as log:
        assert isinstance(log, Log)
        log.record(secret, session="s1", user="ann", time=query.time + 1)
    own = read()[0][1]
    assert (query.text, query.session, query.user) == (own.text, own.session, own.user)
    assert query.answer == "mail [e-mail]"
    assert forget(path, session="s1").rows == 2


def test_forgetting_reaches_spans_that_wait(path: Path) -> None:
    """Whoever is forgotten is in the buffer no more, and their trace is never written."""
    receiver = Receiver(path, settle=3600, patience=3600)
    receiver.accept(batch(chain(), *RAG[1:]))
    assert forget(path, session="s1").frames == 5
    received = check_health(path).received
    assert received is not None
    assert received.waiting == 0
    receiver.close()
    assert check_health(path).queries.rows == 0


def test_loops_of_parents_lead_nowhere(receiver: Receiver, read: Read) -> None:
    """Spans that are around each other, and one around itself: every one is in a record, and nothing hangs."""
    receiver.accept(
        batch(
            retriever(2, "a", FOUND, parent=3),
            retriever(3, "b", FOUND, parent=4),
            make_span(4, "x", parent=2),
            retriever(5, "c", FOUND, parent=5),
        )
    )
    receiver.settle(everything=True)
    queries, events = read()
    assert {query.text for query in queries} == {"a", "c"} or {query.text for query in queries} == {"b", "c"}
    assert events == []


@pytest.mark.slow
def test_a_deep_trace_takes_no_longer_than_its_length(receiver: Receiver, read: Read) -> None:
    """Ten thousand retrievers inside each other are one query."""
    receiver.accept(batch(*(retriever(number, "deep", [("a", 1.0)], parent=number - 1) for number in range(1, 10_001))))
    receiver.settle()
    assert len(read()[0]) == 1


def test_spans_of_karat_itself_are_no_traffic(receiver: Receiver, path: Path, read: Read) -> None:
    """The spans and scores of karat eval, and spans of converted runs, are ignored and counted."""
    receiver.accept(batch(genai(2, "wifi?", FOUND, **{"karat.run.id": "mine"})))
    score = evaluation(2, "RR", score__value=1.0)
    receiver.accept(batch(replace(score, attributes={**score.attributes, "karat.run.id": "mine"})))
    receiver.accept(batch(genai(3, "wifi?", FOUND, **{"karat.format": 1})))
    receiver.settle()
    assert read() == ([], [])
    received = check_health(path).received
    assert received is not None
    assert received.ignored == {"karat": 3}


def test_two_thousand_documents_of_a_channel_stay_within_a_record(receiver: Receiver, path: Path, read: Read) -> None:
    """Where a record would be larger than the journal takes, the lists of channels are left out, and it says so."""
    many = [(f"{number}-{'x' * 240}", 1.0) for number in range(1800)]
    receiver.accept(batch(chain(), *(retriever(n, "wifi?", many, f"c{n}", parent=1) for n in (2, 3, 4))))
    receiver.settle()
    (query,), _ = read()
    assert (len(query.hits), query.channels) == (1800, {})
    assert query.attributes["channels"] == "left out: too large"
    assert check_health(path).dropped == {}


def test_looking_changes_nothing_and_a_newer_buffer_is_left_alone(path: Path) -> None:
    """Health reads the buffer without writing to it; one of a later version is refused, by whom it would be changed."""
    with Receiver(path, settle=0, keep_ids=True) as receiver:
        receiver.accept(batch(*RAG))
    buffer = path.with_name("karat.db.spans")
    before = buffer.read_bytes()
    assert check_health(path).received is not None
    assert buffer.read_bytes() == before
    with sqlite3.connect(buffer) as connection:
        connection.execute("pragma user_version = 99")
    connection.close()
    with pytest.raises(InputError, match="a buffer of version 99"):
        Receiver(path)


def test_settings_without_sense_are_refused(path: Path) -> None:
    """A trace cannot wait less for its first span than for its last."""
    with pytest.raises(UsageError, match="patience"):
        Receiver(path, settle=10, patience=1)
