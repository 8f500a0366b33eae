"""The judges against a real server: values by hand, misbehaviour, budget, bound, cache, and a run that is killed."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from each import each
from judges.model_server import Failure, ModelServer, Reply, Request, obey, serve
from karat.core import SystemFailed
from karat.judges import (
    JUDGES,
    Asker,
    Bench,
    Budget,
    Chat,
    Item,
    Model,
    Opinion,
    Pace,
    Replies,
    Usage,
    judge_items,
    load_prompts,
)
from karat.net import NotAService, Unreachable

ITEM = Item(
    query="q",
    question="Is Wi-Fi free, and when does the pool open?",
    answer="Wi-Fi is free. The pool opens at noon. The bar is red.",
    reference="Wi-Fi is free. The pool opens at noon.",
    texts=("The spa is closed. The bar is red.", "We say: Wi-Fi is free.", "The pool opens at noon."),
)
PROBE = Usage(100, 10)
"""What it takes to find out how the server is asked for JSON."""
SILENT = Item(query="s", question="Is the spa open?")


def embed(texts: Sequence[str]) -> Any:
    """A vector of two words, of length 1."""
    rows = np.array([[1.0 + ("Wi-Fi" in text), 1.0 + ("bar" in text)] for text in texts], np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def make_bench(server: ModelServer | str, path: Path | None = None, **options: Any) -> Bench:
    """Return a bench that asks a server."""
    limits = {name: options.pop(name, None) for name in ("most_calls", "most_money")}
    address = server if isinstance(server, str) else server.url
    model = Model(url=address, model="m", **{"backoff": 0.001, "retries": 2, "timeout": 60.0, **options})
    replies = None if path is None else Replies(path)
    asker = Asker(Chat(model), Budget(model, **limits), replies, Pace())
    return Bench(asker=asker, prompts=load_prompts(), embed=embed)


def judge(bench: Bench, name: str, *items: Item, **options: Any) -> list[Opinion]:
    return judge_items(bench, items or (ITEM,), [JUDGES[name]], **options)


def opinion_of(reply: Reply, name: str = "faithfulness", item: Item = ITEM, **options: Any) -> Opinion:
    """Return what a judge says of an item if the model replies so."""
    with serve(reply, **options) as server:
        (opinion,) = judge(make_bench(server), name, item)
    return opinion


@each(
    ("name", "expected"),
    [
        ("faithfulness", 1.0),  # the bar is red in the first text
        ("context_recall", 1.0),
        ("context_precision", (1 / 2 + 2 / 3) / 2),  # texts 2 and 3 of three hold the reference
        ("context_precision_without_reference", 1.0),
        ("answer_precision", 2 / 3),
        ("answer_recall", 1.0),
        ("answer_correctness", 2 * (2 / 3) / (2 / 3 + 1)),
        ("noise_sensitivity", 1 / 3),  # the bar, from a text that does not help
        ("refusal", 1.0),
        ("answer_relevance", float((np.array([2, 1]) @ [2, 2]) / np.sqrt(5 * 8))),  # Wi-Fi; Wi-Fi and bar
    ],
)
def test_values_by_hand(name: str, expected: float) -> None:
    """On the same answer, by a model that decides by words."""
    opinion = opinion_of(obey, name)
    assert opinion.reason == ""
    assert opinion.value == pytest.approx(expected, abs=1e-6)
    assert opinion.findings


def test_perfect_is_exactly_one_and_nothing_is_exactly_zero() -> None:
    """Whatever the number of claims."""
    item = Item(query="q", question="?", answer=". ".join(f"Fact {i}" for i in range(29)) + ".", texts=("None.",))
    assert opinion_of(obey, item=item).value == 0.0
    texts = (". ".join(f"Fact {i}" for i in range(29)) + ".",)
    whole = Item(query="q", question="?", answer=item.answer, texts=texts)
    with serve(obey) as server:
        (opinion,) = judge(make_bench(server), "faithfulness", whole)
        assert [request.kind for request in server.requests] == ["Claims", *["ClaimVerdicts"] * 3]
    assert opinion.value == 1.0
    assert len(opinion.findings) == 29


@each(
    ("item", "name", "reason"),
    [
        (SILENT, "faithfulness", "no answer recorded"),
        (Item(query="s", question="Is the spa open?", answer="\u200b"), "lexical_support", "no answer recorded"),
        (Item(query="q", question="?", refused=True), "faithfulness", "the answer was refused"),
        (Item(query="q", question="?", answer="!"), "answer_recall", "no reference answer in the golden set"),
        (Item(query="q", question="?", error="timed out", reference="A."), "context_precision", "the question failed"),
        (Item(query="q", question="?", answer=" ... "), "faithfulness", "no answer recorded"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_has_a_reason_and_no_value(item: Item, name: str, reason: str) -> None:
    """Neither 0 nor 1, of which one would be wrong."""
    opinion = opinion_of(obey, name, item)
    assert (opinion.value, opinion.reason) == (None, reason)


def first(failure: Any, times: int = 1) -> Reply:
    """Misbehave at first, then reply well."""
    return lambda request: failure if request.number <= times else obey(request)


TRANSIENT = {
    "429": Failure(429, b'{"error": "slow down"}', {"Retry-After": "0.01"}),
    "500": Failure(500, b"oops"),
    "hang up": Failure(hang_up=True),
}
UNREADABLE = {
    "truncated JSON": '{"claims": ["Wi-Fi is',
    "another shape": '{"statements": ["Wi-Fi is free."]}',
    "a list": '["Wi-Fi is free."]',
    "another language": "Ich kann leider keine Aussagen finden.",
    "wrong types": '{"claims": [1, 2]}',
    "more fields": '{"claims": [], "confidence": 0.9}',
    "nesting": "[" * 100_000,
}


@each("kind", [*TRANSIENT, *UNREADABLE])
def test_one_failure_is_mended(kind: str) -> None:
    """What may pass is asked again, and a reply that cannot be used is sent back once with what is wrong."""
    with serve(first({**TRANSIENT, **UNREADABLE}[kind])) as server:
        (opinion,) = judge(make_bench(server), "faithfulness")
        assert opinion.value == 1.0
        assert len(server.requests) == 3
        if kind in UNREADABLE:
            assert "That reply cannot be used" in server.requests[1].body["messages"][3]["content"]


@each("kind", UNREADABLE)
def test_a_reply_that_cannot_be_used_twice_is_not_measurable(kind: str) -> None:
    """It is no value, and says why; exactly one repair was tried."""
    with serve(lambda _: UNREADABLE[kind]) as server:
        (opinion,) = judge(make_bench(server), "faithfulness")
        assert len(server.requests) == 2
    assert opinion.value is None
    assert opinion.reason.startswith("the judge's reply cannot be used: ")


def test_a_server_that_stays_busy_is_not_measurable() -> None:
    """With the number of attempts that the model has, and the service's own message."""
    with serve(lambda _: Failure(503, b'{"error": {"message": "overloaded"}}')) as server:
        (opinion,) = judge(make_bench(server), "faithfulness")
        assert len(server.requests) == 3
    assert opinion.value is None
    assert "overloaded" in opinion.reason


def ragged(change: Any) -> Reply:
    """Reply well, but for the verdicts."""

    def reply(request: Request) -> Any:
        value = obey(request)
        if request.kind in ("ClaimVerdicts", "ChunkVerdicts"):
            value["verdicts"] = change(value["verdicts"])
        return value

    return reply


@pytest.mark.parametrize("name", ["faithfulness", "context_precision"])
@pytest.mark.parametrize(
    "change",
    [lambda all_: all_[:-1], lambda all_: [*all_, all_[0]], lambda all_: [all_[0]] * len(all_), lambda _: []],
    ids=["one missing", "one twice", "one for all", "none"],
)
def test_ragged_lists_are_not_measurable(name: str, change: Any) -> None:
    """A list with a gap would change the denominator, or give a verdict to another claim."""
    opinion = opinion_of(ragged(change), name)
    assert opinion.value is None
    assert "there should be one verdict for each" in opinion.reason


@each("change", [{"quote": "Wi-Fi costs money"}, {"quote": ""}, {"chunk": 9}, {"chunk": 0}])
def test_a_verdict_without_words_of_the_text_does_not_count(change: dict[str, Any]) -> None:
    """All three claims are called supported, and none is."""
    opinion = opinion_of(ragged(lambda verdicts: [verdict | change for verdict in verdicts]))
    assert opinion.value == 0.0
    assert all("the quoted words are not in text" in finding.reason for finding in opinion.findings)


def test_quotes_may_differ_in_spacing_and_case() -> None:
    """A model writes on one line what a text has on two."""
    item = Item(query="q", question="?", answer="wi-fi is free.", texts=("Wi-Fi\n  IS free.",))

    def reply(request: Request) -> Any:
        if request.kind == "Claims":
            return obey(request)
        return {"verdicts": [{"claim": 1, "supported": True, "chunk": 1, "quote": "wi-fi is free", "reason": ""}]}

    assert opinion_of(reply, item=item).value == 1.0


def test_the_second_run_makes_no_call_and_votes_are_asked(tmp_path: Path) -> None:
    """A cache saves what was asked before, and never answers for another vote."""
    with serve(obey) as server:
        once = judge(make_bench(server, tmp_path / "replies.db"), "faithfulness")
        assert len(server.requests) == 2
        again = make_bench(server, tmp_path / "replies.db")
        assert judge(again, "faithfulness") == once
        assert (len(server.requests), again.asker.budget.spending.cached) == (2, 2)
        voted = judge(again, "faithfulness", votes=3)
        assert len(server.requests) == 2 + 2 * 2
        assert [opinion.vote for opinion in voted] == [0, 1, 2]


def test_another_model_parameter_or_prompt_is_asked_anew(tmp_path: Path) -> None:
    """All that decides about a reply is part of its name."""
    with serve(obey) as server:
        for count, options in enumerate([{}, {"temperature": 0.5}, {"seed": 7}, {"max_tokens": 99}], 1):
            judge(make_bench(server, tmp_path / "replies.db", **options), "faithfulness")
            assert len(server.requests) == 2 * count


def make_items(count: int) -> list[Item]:
    return [Item(query=f"q{i}", question="?", answer=f"Fact {i}.", texts=(f"Fact {i}.",)) for i in range(count)]


def test_never_more_at_once_than_the_bound() -> None:
    """Counted by the server."""
    with serve(obey, delay=0.005) as server:
        opinions = judge(make_bench(server), "faithfulness", *make_items(60), concurrency=16)
        assert server.busiest <= 16
        assert len(server.requests) == 120
    assert [opinion.query for opinion in opinions] == [f"q{i}" for i in range(60)]
    assert all(opinion.value == 1.0 for opinion in opinions)


@pytest.mark.parametrize("budget", [0, 1, 7, 30])
def test_never_more_calls_than_the_budget(budget: int) -> None:
    """What was not asked is missing and says so; what was asked has its value. Attempts count as calls."""
    reply = first(Failure(500, b"oops"), times=3)
    with serve(reply, delay=0.001) as server:
        bench = make_bench(server, most_calls=budget, retries=3)  # one thread may get all three failures
        opinions = judge(bench, "faithfulness", *make_items(20), concurrency=8)
        assert len(server.requests) <= budget
        assert bench.asker.budget.spending.calls <= budget
    assert len(opinions) == 20
    assert {opinion.reason for opinion in opinions} <= {"", "not asked: the budget is spent"}
    assert sum(opinion.value is None for opinion in opinions) >= 20 - budget // 2


@pytest.mark.parametrize("usage", [True, False])
def test_never_more_money_than_the_budget(usage: bool) -> None:
    """Even if the server does not say how many tokens there were: then what could be spent counts as spent."""
    with serve(obey, usage=usage) as server:
        bench = make_bench(server, most_money=0.02, input_price=1.0, output_price=10.0, max_tokens=100)
        judge(bench, "faithfulness", *make_items(40), concurrency=8)
        spent = bench.asker.budget.spending
        assert 0 < spent.money <= 0.02
        if usage:
            assert spent.money == pytest.approx((len(server.requests) + 1) * (100 * 1.0 + 10 * 10.0) / 1e6)
        assert len(server.requests) < 80


@pytest.mark.parametrize("rungs", [("json_schema",), ("json_object", "prompt"), ("prompt",)])
def test_the_ladder_is_climbed_once(rungs: tuple[str, ...]) -> None:
    """The strictest way that the server accepts; the schema is in the prompt where no server holds to it."""

    def reply(request: Request) -> Any:
        told = str(request.body["messages"][0]["content"])
        claims = "Claims" if request.kind == "Claims" or '"claims"' in told else "ClaimVerdicts"
        named = {"type": "json_schema", "json_schema": {"name": claims}}
        return obey(Request({**request.body, "response_format": named}, request.number))

    with serve(reply, rungs=rungs) as server:
        bench = make_bench(server)
        opinions = judge(bench, "faithfulness", *make_items(5), concurrency=4)
        assert bench.asker.chat.rung == rungs[0]
        assert server.probes == (0 if rungs == ("prompt",) else 1)
    assert all(opinion.value == 1.0 for opinion in opinions)


def test_tokens_of_a_reply_that_was_cut_off_were_spent() -> None:
    """They are counted, and paid for; the answer is not measurable."""
    cut = {"message": {"content": '{"refused": fal'}, "finish_reason": "length"}
    body = json.dumps({"choices": [cut], "usage": {"prompt_tokens": 70, "completion_tokens": 400}}).encode()
    with serve(lambda _: Failure(200, body)) as server:
        bench = make_bench(server, input_price=1.0, output_price=2.0)
        (opinion,) = judge(bench, "refusal")
    assert opinion.value is None
    assert "cut off at max_tokens" in opinion.reason
    spending = bench.asker.budget.spending
    assert (spending.calls, spending.usage) == (2, Usage(70, 400) + PROBE)
    assert spending.money == pytest.approx((870 + PROBE.sent + 2 * PROBE.received) / 1e6)


def test_a_probe_that_is_cut_off_was_understood() -> None:
    """A model that thinks aloud has no room for its reply to the probe, and all the room it needs for others."""
    with serve(obey) as server:
        server.probe_ends = "length"
        (opinion,) = judge(make_bench(server), "refusal")
        assert (opinion.value, server.probes) == (1.0, 1)
    assert {request.kind for request in server.requests} == {"Refusal"}


def test_a_server_that_is_down_or_none_ends_the_run() -> None:
    """No other question would fare better."""
    with pytest.raises(Unreachable):
        judge(make_bench("http://127.0.0.1:9/v1"), "faithfulness")
    with serve(lambda _: Failure(401, b'{"error": "bad key"}')) as server, pytest.raises(NotAService, match="bad key"):
        judge(make_bench(server), "faithfulness", *make_items(20))
    with serve(lambda _: Failure(200, b"<html>")) as server, pytest.raises(SystemFailed, match="not JSON"):
        judge(make_bench(server), "faithfulness")


def test_nobody_is_asked_after_an_error_that_ends_the_run() -> None:
    """Not even by the thread that met it, which may have the next item before anybody cancels that."""
    queries, went_on = [], threading.Event()

    def fail(_: Bench, item: Item) -> Any:
        queries.append(item.query)
        if item.query == "q1":
            raise NotAService("the key is refused")
        if item.query == "q2":
            went_on.set()
        return 1.0, ()

    def look_away(_: Opinion) -> None:
        went_on.wait(0.2)  # which it does not, so that this is no race

    judge = replace(JUDGES["refusal"], function=fail)
    with pytest.raises(NotAService):
        judge_items(Bench(), make_items(4), [judge], concurrency=1, progress=look_away)
    assert queries == ["q0", "q1"]
