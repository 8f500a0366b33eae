"""Rerankers: mixing by hand, HTTP against a real server."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from each import each
from karat.core import InputError, Span, SystemFailed, UsageError
from karat.net._client import Endpoint
from karat.systems._chunk import Chunk
from karat.systems.rerank import HttpReranker, Mix
from strategies import quick

KEY = "sk-very-secret"


def chunks(*texts: str) -> list[Chunk]:
    return [Chunk(id=f"d:chunk:{i}", document="d", span=Span(0, len(text)), text=text) for i, text in enumerate(texts)]


# Mixing


def test_half_and_half_by_hand() -> None:
    """Combined is the mean of both scores; what the reranker puts under 0.5 is dropped, and 0.5 itself is kept."""
    kept = Mix()([0.9, 0.2, 0.8, 0.4], [0.49, 0.9, 0.5, 1.0], ["a", "b", "c", "d"], 5)
    assert [(hit.place, hit.combined) for hit in kept] == [
        (3, pytest.approx(0.7)),
        (2, pytest.approx(0.65)),
        (1, pytest.approx(0.55)),
    ]
    assert (kept[0].similarity, kept[0].rerank) == (0.4, 1.0)


def test_the_best_chunk_of_a_document_stands_for_it() -> None:
    """Only the best chunk of a document is kept, before the cut: five documents are five hits, not fewer."""
    similarities, reranks = [0.9, 0.8, 0.7, 0.6], [0.9, 0.9, 0.9, 0.9]
    assert [hit.place for hit in Mix()(similarities, reranks, ["a", "a", "b", "c"], 2)] == [0, 2]
    every = Mix(best_per_document=False)(similarities, reranks, ["a", "a", "b", "c"], 2)
    assert [hit.place for hit in every] == [0, 1]


def test_the_ends_of_the_weight() -> None:
    """Weight 1 leaves the order to the reranker, 0 to the similarity; equal ones stay in their order."""
    given_ = ([0.9, 0.1, 0.5], [0.6, 0.8, 0.8], ["a", "b", "c"], 9)
    assert [hit.place for hit in Mix(weight=1)(*given_)] == [1, 2, 0]
    assert [hit.place for hit in Mix(weight=0)(*given_)] == [0, 2, 1]
    assert [hit.place for hit in Mix(threshold=None)([0.0, 0.0], [-3.0, -3.0], ["a", "b"], 9)] == [0, 1]


SCORE = st.floats(0, 1)


@quick
@given(st.lists(st.tuples(SCORE, SCORE, st.sampled_from("abc")), max_size=12), SCORE, SCORE, st.integers(1, 9))
def test_mixing_keeps_its_promises(hits: list[Any], weight: float, threshold: float, k: int) -> None:
    """Best first, nothing under the threshold, one chunk a document, and as many as there are, up to k."""
    kept = Mix(weight=weight, threshold=threshold)(*([hit[i] for hit in hits] for i in range(3)), k)
    passing = {document for _, rerank, document in hits if rerank >= threshold}
    documents = [hits[hit.place][2] for hit in kept]
    assert len(kept) == min(k, len(passing))
    assert set(documents) <= passing
    assert len(set(documents)) == len(documents)
    assert [hit.combined for hit in kept] == sorted((hit.combined for hit in kept), reverse=True)
    for hit in kept:
        same = [(1 - weight) * s + weight * r for s, r, d in hits if d == hits[hit.place][2] and r >= threshold]
        assert hit.combined == max(same)


@each(
    ("make", "message"),
    [
        (lambda: Mix(weight=1.5), "weight=1.5"),
        (lambda: Mix(threshold=math.nan), "threshold=nan"),
        (lambda: Mix()([1.0], [1.0], ["a"], 0), "k=0"),
        (lambda: Mix()([1.0], [], ["a"], 1), "1 similarities, 0 rerank scores, 1 documents"),
        (lambda: Mix()([math.nan], [1.0], ["a"], 1), "not a finite number"),
        (lambda: Mix()([1.0], [math.inf], ["a"], 1), "not a finite number"),
    ],
)
def test_mistakes_of_mixing_are_named(make: Callable[[], object], message: str) -> None:
    """What makes no sense is refused."""
    with pytest.raises((UsageError, InputError), match=message):
        make()


# HTTP


class Server:
    """A real server on loopback that gives prepared answers in turn, the last one again and again."""

    def __init__(self) -> None:
        self.answers: list[Callable[[dict[str, Any]], Any]] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else the body waits 40 ms for the acknowledgement of the headers

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append(body)
                server.headers.append({name.lower(): value for name, value in self.headers.items()})
                place = min(len(server.requests), len(server.answers)) - 1
                self.answer(server.answers[place](body))

            def answer(self, answer: Any) -> None:
                if answer is None:  # hang up
                    self.close_connection = True
                    return
                status, data, headers = answer if isinstance(answer, tuple) else (200, answer, {})
                data = data if isinstance(data, bytes) else json.dumps(data).encode()
                self.send_response(status)
                for name, value in {"Content-Length": str(len(data)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                while "Slow" in headers:  # a blank now and then, before an answer that never comes
                    self.wfile.write(b" ")
                    time.sleep(0.05)
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._http.handle_error = lambda *_: None  # type: ignore[method-assign] # a client that has gone is expected
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1/rerank"

    def close(self) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    pytest.importorskip("httpx2", reason="httpx2 is not installed: the HTTP reranker is UNTESTED")
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    service = Server()
    yield service
    service.close()


def by_length(body: dict[str, Any]) -> dict[str, Any]:
    """Score a text by its length, and answer best first, as services do."""
    texts = body["documents"]
    rows = [{"index": i, "relevance_score": len(text) / 100} for i, text in enumerate(texts)]
    return {"results": sorted(rows, key=lambda row: -row["relevance_score"])[: body["top_n"]]}


def reranker(server: Server, **options: Any) -> HttpReranker:
    endpoint = {name: options.pop(name) for name in ("key_variable", "timeout", "retries") if name in options}
    return HttpReranker(Endpoint(url=server.url, backoff=0.01, **endpoint), **options)


def test_scores_come_in_the_order_of_the_chunks(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request is Cohere's, the key is a bearer token, and the answer's own order does not matter."""
    monkeypatch.setenv("RERANK_KEY", f" {KEY}\n")
    server.answers = [by_length]
    stage = reranker(server, model="rerank-3", key_variable="RERANK_KEY")
    assert stage("pool?", chunks("a", "abc", "ab")) == [0.01, 0.03, 0.02]
    assert server.requests == [{"model": "rerank-3", "query": "pool?", "documents": ["a", "abc", "ab"], "top_n": 3}]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in repr(stage) + json.dumps(stage.describe())
    assert stage.describe() == {"kind": "http", "url": server.url, "model": "rerank-3", "field": "documents"}
    stage.close()


def test_tei_and_voyage_are_understood(server: Server) -> None:
    """TEI calls the texts ``texts`` and answers with a bare list of ``score``; Voyage answers under ``data``."""
    server.answers = [
        lambda body: [{"index": i, "score": i} for i in range(len(body["texts"]))],
        lambda body: {"data": [{"index": 0, "relevance_score": 0.5}]},
    ]
    assert reranker(server, field="texts")("q", chunks("a", "b")) == [0.0, 1.0]
    assert server.requests == [{"query": "q", "texts": ["a", "b"]}]
    assert reranker(server)("q", chunks("a")) == [0.5]


def test_many_chunks_go_in_batches(server: Server) -> None:
    """Each batch is a request, and the scores come together; without chunks nothing is asked."""
    server.answers = [by_length]
    stage = reranker(server, batch=2)
    assert stage("q", chunks("a", "ab", "abc", "abcd", "abcde")) == [0.01, 0.02, 0.03, 0.04, 0.05]
    assert [request["top_n"] for request in server.requests] == [2, 2, 1]
    assert stage("q", []) == []
    assert len(server.requests) == 3


def test_odd_texts_arrive(server: Server) -> None:
    """Control characters, other scripts, and half of a surrogate pair can be sent."""
    server.answers = [by_length]
    texts = ['"\x00\n\u65e5\U0001f642', "\ud83d"]
    reranker(server)("\u00e9", chunks(*texts))
    assert server.requests[0]["documents"] == texts


@pytest.mark.slow
def test_what_passes_is_tried_again(server: Server) -> None:
    """A busy service, one that asks for a pause, and one that hangs up are asked again, and then it works."""
    server.answers = [
        lambda _: (503, {"error": "warming up"}, {}),
        lambda _: (429, {"error": "slow down"}, {"Retry-After": "1"}),
        lambda _: None,
        by_length,
    ]
    started = time.monotonic()
    assert reranker(server)("q", chunks("abc")) == [0.03]
    assert len(server.requests) == 4
    assert time.monotonic() - started >= 1


def test_what_does_not_pass_fails_with_the_services_own_words(server: Server) -> None:
    """After the last try, or at once when no try can help, it fails with exit code 3 and the server's words."""
    server.answers = [lambda _: (503, {"error": "overloaded"}, {})]
    with pytest.raises(SystemFailed, match=r"reranker http://127.0.0.1:\d+/v1/rerank: 503 .*overloaded") as failed:
        reranker(server, retries=2)("q", chunks("a"))
    assert failed.value.exit_code == 3
    assert len(server.requests) == 3
    server.answers, server.requests = [lambda _: (401, {"error": "no such key"}, {})], []
    with pytest.raises(SystemFailed, match=r"401 .*no such key"):
        reranker(server)("q", chunks("a"))
    assert len(server.requests) == 1


def test_the_key_is_in_no_message(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that repeats the key that it was sent is quoted without it."""
    monkeypatch.setenv("RERANK_KEY", KEY)
    server.answers = [lambda _: (403, {"error": f"key {KEY} is not valid"}, {})]
    with pytest.raises(SystemFailed) as failed:
        reranker(server, key_variable="RERANK_KEY")("q", chunks("a"))
    assert "key *** is not valid" in str(failed.value)
    assert KEY not in str(failed.value)


@pytest.mark.parametrize("slow", [False, True], ids=["silent", "byte by byte"])
def test_time_is_limited(server: Server, slow: bool) -> None:
    """Neither a service that is silent nor one that sends a byte now and then is waited for longer than said."""

    closing = threading.Event()

    def answer(body: dict[str, Any]) -> Any:
        if not slow:
            closing.wait()
        return 200, by_length(body), {"Content-Length": "1000000", "Slow": "1"} if slow else {}

    server.answers = [answer]
    with pytest.raises(SystemFailed, match="Timeout"):
        reranker(server, timeout=0.2, retries=1)("q", chunks("a" * 50, "b"))
    assert len(server.requests) == 2
    closing.set()


def test_nobody_there() -> None:
    """A port that nobody listens on is a failure of the service, with the system's word for it."""
    pytest.importorskip("httpx2", reason="httpx2 is not installed: the HTTP reranker is UNTESTED")
    endpoint = Endpoint(url="http://127.0.0.1:9/rerank", retries=1, backoff=0)
    with pytest.raises(SystemFailed, match="ConnectError"):
        HttpReranker(endpoint)("q", chunks("a"))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"<html>", "not JSON: <html>"),
        (b"[" * 100_000, "not JSON"),
        ({"ok": True}, "without results"),
        ("text", "without results"),
        ({"results": [{"index": 0, "relevance_score": 1}]}, "scores for 1 of 2 texts"),
        ({"results": [{"index": 2, "relevance_score": 1}]}, "not one of 0 to 1"),
        ({"results": [{"index": -1, "relevance_score": 1}]}, "not one of 0 to 1"),
        ({"results": [{"index": True, "relevance_score": 1}]}, "not one of 0 to 1"),
        ({"results": [{"index": 0, "relevance_score": 1}] * 2}, "is repeated"),
        ({"results": [{"index": 0, "relevance_score": "1"}]}, "not a finite number"),
        ({"results": [{"index": 0}]}, "not a finite number"),
        ({"results": [{"index": 0, "relevance_score": 10**400}]}, "not a finite number"),
        (b'{"results": [{"index": 0, "relevance_score": NaN}]}', "not a finite number"),
        ({"results": ["x"]}, "not one of 0 to 1"),
    ],
)
def test_wrong_answers_are_refused(server: Server, answer: Any, message: str) -> None:
    """An answer that is not one score for each text never becomes a ranking, and is not asked for again."""
    server.answers = [lambda _: answer]
    with pytest.raises(SystemFailed, match=message):
        reranker(server)("q", chunks("a", "b"))
    assert len(server.requests) == 1


@each(
    ("options", "message"),
    [
        ({"url": "ftp://x/rerank"}, "url 'ftp://x/rerank' is not usable; write one such as"),
        ({"url": "http://"}, "write one such as"),
        ({"url": "http://x:port/"}, "write one such as"),
        ({"url": "http://[::1/"}, "write one such as"),
        ({"timeout": 0}, "timeout=0"),
        ({"timeout": math.nan}, "timeout=nan"),
        ({"retries": -1}, "retries=-1"),
        ({"backoff": -1}, "backoff=-1"),
    ],
)
def test_mistakes_of_the_endpoint_are_named(options: dict[str, Any], message: str) -> None:
    """An endpoint that cannot be asked is refused before anything is sent."""
    with pytest.raises(UsageError, match=message):
        Endpoint(**{"url": "http://localhost/rerank", **options})


def test_secrets_in_the_url_are_not_shown() -> None:
    """A password before the host and a key among the parameters are in no name."""
    assert Endpoint(url="http://me:pw@[::1]:80/rerank?key=x").name == "http://[::1]:80/rerank"


def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says which variable is to be set, or that it holds what no header can carry."""
    pytest.importorskip("httpx2", reason="httpx2 is not installed: the HTTP reranker is UNTESTED")
    endpoint = Endpoint(url="http://localhost/rerank", key_variable="RERANK_KEY")
    monkeypatch.delenv("RERANK_KEY", raising=False)
    with pytest.raises(UsageError, match="RERANK_KEY is not set"):
        HttpReranker(endpoint)
    monkeypatch.setenv("RERANK_KEY", "a\nb")
    with pytest.raises(UsageError, match="a character that cannot be part of a key"):
        HttpReranker(endpoint)
    for options in ({"field": "docs"}, {"batch": 0}):
        with pytest.raises(UsageError, match=next(iter(options))):
            HttpReranker(Endpoint(url="http://localhost/rerank"), **options)  # type: ignore[arg-type]
