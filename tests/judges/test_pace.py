"""How a server is asked: not faster than it wants, again after what may pass, and with what never changes first."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from judges.model_server import Failure, Request, obey, serve
from judges.test_judging import judge, make_bench, make_items
from karat.judges import Asker, Bench, Budget, Chat, Model, Pace, load_prompts


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.sleeps: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(round(seconds, 6))
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time of the pace and of the pauses between attempts."""
    clock = Clock()
    for module in ("_pace", "_asker"):
        monkeypatch.setattr(f"karat.chat.{module}.time", clock)
    return clock


def test_a_rate_limit_spaces_requests(clock: Clock) -> None:
    """By hand: 120 a minute is one in half a second, the first at once; a pause that was asked for counts from then."""
    pace = Pace(120)
    for _ in range(3):
        pace.wait()
    assert (clock.sleeps, clock.now) == ([0.5, 0.5], 101.0)
    pace.hold(7.0)
    pace.wait()
    assert clock.now == 108.0


@pytest.mark.parametrize(("pause", "slept"), [("7", 7.0), ("100000", 60.0)])
def test_a_server_says_when_to_come_back(clock: Clock, pause: str, slept: float) -> None:
    """Retry-After is kept, up to a minute; then the reply counts as if nothing had been."""
    busy = Failure(429, b'{"error": "slow down"}', {"Retry-After": pause})
    with serve(lambda request: busy if request.number == 1 else obey(request)) as server:
        (opinion,) = judge(make_bench(server), "faithfulness", concurrency=1)
        assert len(server.requests) == 3
    assert opinion.value == 1.0
    assert clock.sleeps == [pytest.approx(slept, abs=1e-3)]


def test_pauses_double_and_are_spread(clock: Clock) -> None:
    """Without a word of the server: 1, 2, 4 seconds, each times 0.5 to 1.5, so that not all come back at once."""
    pauses = []
    for _ in range(4):
        clock.sleeps.clear()
        with serve(lambda request: Failure(500, b"oops") if request.number <= 3 else obey(request)) as server:
            judge(make_bench(server, backoff=1.0, retries=3), "faithfulness", concurrency=1)
        pauses.append(tuple(clock.sleeps))
        assert all(0.5 * base <= pause <= 1.5 * base for base, pause in zip((1, 2, 4), clock.sleeps, strict=True))
    assert len(set(pauses)) > 1


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """What a server waits for that is too slow; set at the end, so that its threads end."""
    event = threading.Event()
    yield event
    event.set()


def test_a_server_that_is_too_slow_is_not_measurable(released: threading.Event) -> None:
    """Each attempt ends at the timeout, whatever comes later, and counts as a call; the reason says so."""

    def reply(_: Request) -> str:
        released.wait(600)
        return "too late"

    with serve(reply) as server:
        model = Model(url=server.url, model="m", timeout=0.05, retries=1, backoff=0.001)
        asker = Asker(Chat(model, "json_schema"), Budget(model))
        (slow,) = judge(Bench(asker=asker, prompts=load_prompts()), "faithfulness")
        released.set()
    assert slow.value is None
    assert "timed out" in slow.reason
    assert asker.budget.spending.calls == 2


def test_what_never_changes_comes_first() -> None:
    """So that a provider's cache of prompts has it: all requests of a kind begin with the same instructions."""
    with serve(obey) as server:
        judge(make_bench(server), "faithfulness", *make_items(3))
    by_kind: dict[str, list[Request]] = {}
    for request in server.requests:
        by_kind.setdefault(request.kind, []).append(request)
    assert {kind: len(requests) for kind, requests in by_kind.items()} == {"Claims": 3, "ClaimVerdicts": 3}
    for requests in by_kind.values():
        first, second = (request.body["messages"] for request in requests[:2])
        assert [message["role"] for message in first] == ["system", "user"]
        assert first[0] == second[0]
        assert len(first[0]["content"]) > 300
        assert first[1] != second[1]
        assert len({str(request.body["response_format"]) for request in requests}) == 1
