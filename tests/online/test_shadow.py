"""A shadow: the control's answer comes back as it is, and the treatment is asked the same beside it."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
from contextvars import ContextVar
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from shadows import find, find_backwards, read

from karat.core import Answer, Hit, UsageError
from karat.online import Log
from karat.online.flags import LiveFlags, change_flag
from karat.online.shadow import Limits, Shadow
from karat.online.shadow._breaker import Breaker
from karat.online.shadow._sampling import make_chooser
from karat.systems import HttpSystem


def test_both_lists_their_latencies_and_how_they_differ(path: Path, log: Log) -> None:
    """The control's own object is returned; everything about the call is in the store."""
    answer = find("wifi", 3)
    with Shadow(lambda query, k: answer, find_backwards, log=log, feature="f", percent=100) as shadow:
        with shadow.within(query="q7", session="s", user="u"):
            assert shadow("wifi", 3) is answer
        assert shadow.drain()
        assert shadow.counts == {"calls": 1, "sampled": 1, "answered": 1}
    (run,) = read(path)
    assert (run.text, run.session, run.user, run.query, run.feature) == ("wifi", "s", "u", "q7", "f")
    assert (run.control, run.treatment) == (tuple(answer), tuple(answer[::-1]))
    assert (run.difference, run.status, run.weight, run.systems) == (
        "reordered", "answered", 1.0, ("<lambda>", "find_backwards")
    )  # fmt: skip
    assert run.control_latency is not None
    assert run.treatment_latency is not None


class Retriever:
    name = "own"

    def retrieve(self, query: str, k: int) -> list[Hit]:
        return [Hit("wifi:chunk:1", 0.5), Hit("wifi:chunk:2", 0.4), Hit("pool", 0.3)][:k]


class Answering:
    def answer(self, query: str, k: int) -> Answer:
        return Answer("Free.", hits=["wifi", "pool"][:k])


def test_objects_with_retrieve_and_answer(path: Path, log: Log) -> None:
    """They are called by the method that karat calls; chunks count as their documents."""
    shadow = Shadow(Retriever(), Answering(), log=log, feature="f", percent=100)
    assert [hit.id for hit in shadow.retrieve("x", k=3)] == ["wifi:chunk:1", "wifi:chunk:2", "pool"]
    assert shadow.drain()
    (run,) = read(path)
    assert (run.control, run.treatment, run.difference) == (("wifi", "pool"), ("wifi", "pool"), "identical")
    assert run.systems == ("own", "Answering")


async def find_async(query: str, k: int = 10) -> list[str]:
    await asyncio.sleep(0)
    return find(query, k)


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize(("control", "treatment"), [(find, find_async), (find_async, find), (find_async, find_async)])
def test_async_systems(path: Path, log: Log, control: Any, treatment: Any, isolate: bool) -> None:
    """Any mixture: an async control is awaited, and the treatment is a task of the same loop, or runs in a thread."""
    shadow = Shadow(control, treatment, log=log, feature="f", percent=100, isolate=isolate)
    assert inspect.iscoroutinefunction(shadow.retrieve) == inspect.iscoroutinefunction(control)

    async def main() -> None:
        for number in range(5):
            result = shadow(f"q{number}", 2)
            assert (await result if inspect.isawaitable(result) else result) == find(f"q{number}", 2)
        while shadow.pending:
            await asyncio.sleep(0.001)

    asyncio.run(main())
    assert [(run.text, run.difference) for run in read(path)] == [(f"q{number}", "identical") for number in range(5)]
    assert shadow.counts == {"calls": 5, "sampled": 5, "answered": 5}


class Service(BaseHTTPRequestHandler):
    """Answers every query with documents named after it, in the order that its path says."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        names = (find if self.path == "/old" else find_backwards)(request["query"], request["k"])
        body = json.dumps({"hits": [{"id": name, "score": 1.0} for name in names]}).encode()
        self.send_response(500 if request["query"] == "broken" and self.path == "/new" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def test_services_behind_http(path: Path, log: Log) -> None:
    """karat's own HTTP systems; one that answers with an error has failed."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    try:
        systems = [HttpSystem(url=f"{address}/{name}", retries=0) for name in ("old", "new")]
        shadow = Shadow(*systems, log=log, feature="f", percent=100)
        for query in ("wifi", "broken"):
            assert [hit["id"] for hit in shadow.retrieve(query, 3)] == find(query, 3)
        assert shadow.drain()
    finally:
        server.shutdown()
        server.server_close()
    runs = read(path)
    assert [(run.text, run.status, run.difference) for run in runs] == [
        ("wifi", "answered", "reordered"),
        ("broken", "failed", "treatment failed"),
    ]
    assert "500" in runs[1].error


def test_a_treatment_has_the_context_of_its_call(path: Path, log: Log) -> None:
    """A tenant, or the span of a trace, is that of the caller, in whatever thread the treatment runs."""
    tenant = ContextVar("tenant", default="nobody")
    with Shadow(find, lambda query, k: [tenant.get()], log=log, feature="f", percent=100) as shadow:
        for name in ("ann", "bob"):
            token = tenant.set(name)
            shadow(name, 1)
            tenant.reset(token)
        assert shadow.drain()
    assert [(run.text, run.treatment) for run in read(path)] == [("ann", ("ann",)), ("bob", ("bob",))]


def test_what_the_control_raises_is_raised(path: Path, log: Log) -> None:
    """The same exception; the treatment is not asked, and the call is counted."""
    queries = []

    def fail(query: str) -> list[str]:
        raise LookupError("no index of a@example.org")

    shadow = Shadow(fail, queries.append, log=log, feature="f", percent=100)
    with pytest.raises(LookupError, match="no index"):
        shadow("wifi")
    (run,) = read(path)
    assert (run.status, run.difference, run.error) == (
        "control failed",
        "not compared",
        "LookupError: no index of [e-mail]",
    )
    assert queries == []


def test_an_iterator_of_the_control_is_not_read(path: Path, log: Log) -> None:
    """It belongs to the host, who gets all of it."""
    shadow = Shadow(lambda query: iter(find(query)), find, log=log, feature="f", percent=100)
    assert list(shadow("a")) == find("a")
    assert [run.status for run in read(path)] == ["control unreadable"]


def test_sampling_is_by_session_and_always_the_same(path: Path, log: Log) -> None:
    """All calls of a session, or none; another process, or another shadow, chooses the same."""
    shadow = Shadow(find, find, log=log, feature="f", percent=30)
    for number in range(400):
        session = f"s{number % 100}"
        with shadow.within(session=session) if number % 2 else log.session(session):
            shadow(f"q{number}", 1)
    assert shadow.drain()
    runs = read(path)
    chosen = {run.session for run in runs}
    choose = make_chooser("f", 30)
    assert chosen == {f"s{number}" for number in range(100) if choose(f"s{number}")}
    assert len(runs) == 4 * len(chosen) == shadow.counts["sampled"]
    assert runs[0].weight == pytest.approx(100 / 30)
    other = make_chooser("g", 30)
    units = [str(number) for number in range(4000)]
    first, second = {unit for unit in units if choose(unit)}, {unit for unit in units if other(unit)}
    assert abs(len(first) - 1200) < 150, "5 standard deviations"
    assert abs(len(first & second) - 360) < 90, "features are sampled independently"
    assert {unit for unit in units if make_chooser("f", 10)(unit)} <= first, "who is in stays in when the share grows"


def test_sampling_by_query_where_there_is_no_session(log: Log) -> None:
    """Without a session, or with unit="query", the text decides, so that all who ask it are compared or none."""
    shadow = Shadow(find, find, log=log, feature="f", percent=50, unit="query")
    for number in range(60):
        with shadow.within(session=f"s{number}"):
            shadow("wifi" if number % 2 else "pool", 1)
    assert shadow.drain()
    choose = make_chooser("f", 50)
    assert shadow.counts["sampled"] == 30 * sum(choose(text) > 0 for text in ("wifi", "pool"))


def test_a_flag_says_the_share_and_switches_it_off(tmp_path: Path, path: Path, log: Log) -> None:
    """A host follows the flag of the feature; without one, and once it is off, nothing is compared."""
    store = tmp_path / "flags.db"
    change_flag(store, "other", {"shadow_percent": 100}, author="ada", reason="another feature")
    with LiveFlags(store) as flags, Shadow(find, find, log=log, feature="f", percent=100, flags=flags) as shadow:
        for change in ({}, {"shadow_percent": 25}, {"enabled": False}):
            if change:
                change_flag(store, "f", change, author="ada", reason="try it")
                assert flags.refresh()
            for number in range(40):
                with shadow.within(session=f"s{number}"):
                    shadow("wifi", 1)
        assert shadow.drain()
        choose = make_chooser("f", 25)
        wanted = {f"s{number}" for number in range(40) if choose(f"s{number}")}
        runs = read(path)
        assert {run.session for run in runs} == wanted
        assert {run.weight for run in runs} == {4.0}
        assert shadow.counts["sampled"] == len(runs) == len(wanted)


def test_nothing_and_everything(log: Log) -> None:
    """0 asks the treatment nothing, 100 everything; after close() nothing more."""
    never = Shadow(find, find, log=log, feature="f", percent=0)
    always = Shadow(find, find, log=log, feature="f", percent=100)
    for _ in range(5):
        never("a")
        always("a")
    always.close()
    assert always("a") == find("a")
    assert always.drain()
    assert (never.counts["sampled"], always.counts["sampled"]) == (0, 5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"percent": 101}, "not between 0.01 and 100"),
        ({"percent": 0.001}, "not between 0.01 and 100"),
        ({"feature": ""}, "feature is empty"),
        ({"k": 0}, "k=0"),
        ({"unit": "user"}, "unit='user'"),
        ({"treatment": 3}, "int is not a system"),
        ({"log": "karat.db"}, "'karat.db' is not a log"),
        ({"percent": "10"}, "percent='10' is not between"),
        ({"percent": None}, "percent=None is not between"),
        ({"k": "10"}, "k='10' is not a rank"),
        ({"limits": 5}, "limits=5 are no karat.online.shadow.Limits"),
        ({"flags": "karat.db"}, "flags='karat.db' is no karat.online.flags.LiveFlags"),
    ],
)
def test_settings_without_sense(log: Log, settings: dict[str, Any], message: str) -> None:
    """They are refused when the shadow is made, and not at a call."""
    with pytest.raises(UsageError, match=message):
        Shadow(**{"control": find, "treatment": find, "log": log, "feature": "f", **settings})


def test_defaults_are_those_of_the_page() -> None:
    """One session of ten is compared, and the treatment may take what docs/shadow.md says."""
    page = (Path(__file__).parents[2] / "docs" / "shadow.md").read_text(encoding="utf-8")
    chosen = {name: inspect.signature(Shadow).parameters[name].default for name in ("percent", "k")}
    assert chosen == {"percent": 10, "k": 10}
    for name, value in (chosen | asdict(Limits())).items():
        assert f"| `{name}` | {value:g} |" in page


async def _find_late(query: str, k: int) -> list[str]:
    await asyncio.sleep(0.05)
    return find(query, k)


def test_a_drain_never_stops_the_loop_that_it_waits_for(log: Log) -> None:
    """In the loop of the tasks it returns at once, and a coroutine can wait; elsewhere it waits as always."""

    async def ask() -> None:
        shadow = Shadow(_find_late, _find_late, log=log, feature="f", percent=100)
        await shadow("wifi", 1)
        assert not shadow.drain(seconds=600)
        assert shadow.pending == 1
        assert not await shadow.drain_async(seconds=0)
        assert await shadow.drain_async()
        assert (shadow.drain(), shadow.counts["answered"]) == (True, 1)
        isolated = Shadow(_find_late, _find_late, log=log, feature="g", percent=100, isolate=True)
        await isolated("wifi", 1)
        assert isolated.drain()

    asyncio.run(ask())


def test_limits_are_above_0() -> None:
    """Each of them."""
    for name in ("timeout", "queue", "workers", "hung", "failures", "pause"):
        with pytest.raises(UsageError, match=f"{name}=0 is not above 0"):
            Limits(**{name: 0})


def test_the_breaker_counts_failures_in_a_row() -> None:
    """An answer begins anew; a trial that fails opens it again; one that never ends is followed by another."""
    now = [0.0]
    breaker = Breaker(3, 10.0, clock=lambda: now[0])
    for ending in (breaker.fail, breaker.fail, breaker.succeed, breaker.fail, breaker.fail):
        ending()
    assert (breaker.state, breaker.admit()) == ("closed", "closed")
    breaker.fail()
    now[0] = 9.9
    assert (breaker.state, breaker.admit()) == ("open", None)
    now[0] = 10.0
    assert [breaker.admit(), breaker.admit()] == ["trial", None]
    breaker.fail()
    assert (breaker.state, breaker.opened, breaker.admit()) == ("open", 2, None)
    now[0] = 20.0
    assert breaker.admit() == "trial"
    now[0] = 30.0
    assert breaker.admit() == "trial", "the first trial was lost"
    breaker.succeed()
    assert (breaker.state, breaker.admit()) == ("closed", "closed")


@pytest.mark.slow
def test_100_000_calls_in_order_are_counted_right(path: Path, log: Log) -> None:
    """Four threads, a treatment with every fault, a short queue: every answer is the control's, and all add up.

    Calls of the treatment that hang come back only when all answers are there: no answer has waited for them.
    """
    numbers = iter(range(10**9))
    answered = threading.Event()

    def fail(query: str, k: int) -> Any:
        number = next(numbers)
        if number in (5, 50, 500):
            answered.wait()
        faults = {0: ["another"], 1: 7, 2: [query, *map(str, range(200))], 3: None}
        if number % 7 == 4:
            raise RuntimeError
        return faults.get(number % 7, [query])

    limits = Limits(queue=50, failures=10**9, timeout=0.5, hung=1000)
    shadow = Shadow(lambda query, k: [query], fail, log=log, feature="f", percent=20, limits=limits)
    wrong: list[str] = []

    def call(thread: int) -> None:
        for number in range(25_000):
            query = f"{thread}-{number}"
            if shadow(query, 1) != [query]:
                wrong.append(query)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answered.set()
    assert shadow.drain()
    counts = shadow.counts
    choose = make_chooser("f", 20)
    sampled = {f"{thread}-{number}" for thread in range(4) for number in range(25_000) if choose(f"{thread}-{number}")}
    assert wrong == []
    assert (counts.pop("calls"), counts.pop("sampled")) == (100_000, len(sampled))
    assert sum(counts.values()) == len(sampled)
    runs = read(path)
    assert {run.text for run in runs} == sampled
    assert len(runs) == len(sampled)
    assert {status: sum(run.status == status for run in runs) for status in counts} == counts
    for thread in range(4):
        order = [int(run.text.split("-")[1]) for run in runs if run.text.startswith(f"{thread}-")]
        assert order == sorted(order)
    assert all(run.control == (() if run.status == "queue full" else (run.text,)) for run in runs)
    answers = {(run.treatment[:1] == (run.text,), len(run.treatment)) for run in runs if run.status == "answered"}
    assert answers == {(True, 1), (True, 100), (False, 1)}, "right, far too long, and of another query"
    assert counts["failed"] > 0
