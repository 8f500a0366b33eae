"""Embeddings over HTTP, from a real server on loopback that does as each test tells it."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from each import each
from karat.core import SystemFailed, UsageError
from karat.net import _client
from karat.systems.embed import Endpoint, make_embedder

QUICK = {"timeout": 5, "retries": 3, "backoff": 0.01}


class Server(ThreadingHTTPServer):
    """Answers with what was put into ``answers``, then with the vector [3, length of the text]."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.requests, self.connections = [], [], 0
        self.closing = threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    def get_request(self):
        self.connections += 1
        return super().get_request()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else the body waits 40 ms for the acknowledgement of the headers

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, dict(self.headers), body))
        answer = self.server.answers.pop(0) if self.server.answers else vectors(body["input"])
        if callable(answer):
            answer(self)
            return
        status, content, *headers = answer if isinstance(answer, tuple) else (200, answer)
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def hang_up(request):
    request.connection.shutdown(socket.SHUT_RDWR)
    request.close_connection = True


def vectors(texts):
    items = [{"object": "embedding", "index": at, "embedding": [3, len(text)]} for at, text in enumerate(texts)]
    return {"object": "list", "data": items, "model": "toy", "usage": {"prompt_tokens": 1, "total_tokens": 1}}


@pytest.fixture
def server(monkeypatch):
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.closing.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def endpoint(server):
    endpoint = Endpoint("toy", url=server.url, **QUICK)
    yield endpoint
    endpoint.close()


def test_vectors_by_hand(server, endpoint):
    """[3, 4] becomes [0.6, 0.8], of length 1; the request is what the protocol says."""
    vectors = endpoint(["pool", ""])
    assert vectors.dtype == np.float32
    assert vectors.tolist() == [pytest.approx([0.6, 0.8]), pytest.approx([3 / 10**0.5, 1 / 10**0.5])]
    ((path, headers, body),) = server.requests
    assert path == "/v1/embeddings"
    assert body == {"model": "toy", "input": ["pool", " "]}  # servers refuse an empty text
    assert "Authorization" not in headers


def test_rows_are_put_in_order_by_their_index(server, endpoint):
    """A server may answer in any order: the index says whose vector it is."""
    answer = vectors(["a", "bb", "ccc"])
    answer["data"] = [answer["data"][place] for place in (2, 0, 1)]
    server.answers.append(answer)
    assert (endpoint(["a", "bb", "ccc"]) / endpoint(["a", "bb", "ccc"])).tolist() == [[1, 1]] * 3


def test_a_server_without_indexes_keeps_the_order(server, endpoint):
    """Some leave the index out; then the order is the order."""
    server.answers.append({"data": [{"embedding": [1, 0]}, {"embedding": [0, 1]}]})
    assert endpoint(["a", "b"]).tolist() == [[1, 0], [0, 1]]


def test_many_texts_go_in_batches_over_one_connection(server):
    """Five texts in batches of two are three requests, and the connection stays open between calls."""
    endpoint = Endpoint("toy", url=f"{server.url}/embeddings/", batch=2, **QUICK)
    vectors = endpoint(["a" * n for n in range(1, 6)])
    endpoint(["x"])
    endpoint.close()
    assert (vectors[:, 1] / vectors[:, 0] * 3).tolist() == pytest.approx([1, 2, 3, 4, 5])
    assert [len(body["input"]) for _, _, body in server.requests] == [2, 2, 1, 1]
    assert {path for path, _, _ in server.requests} == {"/v1/embeddings"}
    assert server.connections == 1


def test_a_server_that_recovers_is_asked_again(server, endpoint):
    """500, then 503, then a connection that breaks, then the answer: nobody notices."""
    server.answers += [(500, b"oops"), (503, b""), hang_up]
    assert endpoint(["pool"])[0].tolist() == pytest.approx([0.6, 0.8])
    assert len(server.requests) == 4


def test_retry_after_is_kept(server, endpoint):
    """Too many requests: it waits as long as the server says, not as short as it would itself."""
    server.answers.append((429, {"error": {"message": "slow down"}}, ("Retry-After", "0.4")))
    start = time.monotonic()
    endpoint(["pool"])
    assert time.monotonic() - start >= 0.4
    assert len(server.requests) == 2


def test_waits_grow_and_have_an_end(server):
    """Waits double, and neither they nor the server's wish go beyond the longest."""
    server.answers += [(500, b""), (500, b""), (429, b"", ("Retry-After", "3600"))]
    patient = _client.Endpoint(url=server.url, backoff=0.1, longest_pause=0.3)
    start = time.monotonic()
    _client.Client(patient, "embedder").post({"input": ["pool"]})
    assert 0.1 + 0.2 + 0.3 <= time.monotonic() - start < 600


def test_a_server_that_stays_broken_is_quoted(server, endpoint):
    """After the last retry the error has the server's own words, how often it was asked, and exit code 3."""
    server.answers += [(503, {"error": {"message": "model is\nloading", "code": 7}})] * 4
    with pytest.raises(SystemFailed) as e:
        endpoint(["pool"])
    assert str(e.value) == (
        f"embedder {server.url}/embeddings: 503 Service Unavailable: model is loading (asked 4 times)"
    )
    assert e.value.exit_code == 3


@pytest.mark.parametrize(
    ("status", "content", "words"),
    [
        (401, {"error": {"message": "Incorrect API key provided"}}, "401 Unauthorized: Incorrect API key provided"),
        (404, {"error": "model 'toy' not found"}, "404 Not Found: model 'toy' not found"),
        (422, {"detail": [{"msg": "x"}]}, '422 Unprocessable Entity: {"detail": [{"msg": "x"}]}'),
        (400, b"<html>" + b"x" * 2000, "400 Bad Request: <html>" + "x" * 994 + "..."),
        (307, b"", "307 Temporary Redirect: it leads elsewhere, which is not followed; name the address that answers"),
        (400, b"[" * 100_000, "400 Bad Request: " + "[" * 1000 + "..."),
    ],
)
def test_what_no_retry_can_mend_is_told_at_once(server, endpoint, status, content, words):
    """A wrong key, model or text is not asked for twice."""
    server.answers += [(status, content)] * 4
    with pytest.raises(SystemFailed) as e:
        endpoint(["pool"])
    assert str(e.value).endswith(words)
    assert len(server.requests) == 1


def item(embedding, index=0):
    return {"index": index, "embedding": embedding}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"<html>Welcome</html>", "an answer that is not JSON: <html>Welcome</html>"),
        (b"", "an answer that is not JSON: nothing"),
        (b"\xff\xfe", "an answer that is not JSON: "),
        (b"[" * 100_000, "an answer that is not JSON: [[["),
        ([], "returned no embeddings: []"),
        ({"error": {"message": "out of memory"}}, "returned no embeddings: out of memory"),
        ({"data": {}}, "returned no embeddings: "),
        ({"data": ["x", "y"]}, "returned no embeddings: "),
        ({"data": [{}, {}]}, "returned no embeddings: "),
        ({"data": [item([1, 2])]}, "returned 1 vectors for 2 texts"),
        ({"data": [item([1, 2])] * 3}, "returned 3 vectors for 2 texts"),
        ({"data": [item([1, 2])] * 2}, "numbered the vectors of 2 texts [0, 0]"),
        ({"data": [item([1, 2], 1), item([1, 2], 2)]}, "numbered the vectors of 2 texts [1, 2]"),
        ({"data": [item([1, 2], 0), item([1, 2], index=True)]}, "numbered the vectors of 2 texts [0, True]"),
        ({"data": [item([1, 2]), item([1], 1)]}, "returned vectors of different lengths"),
        ({"data": [item("AACAPw=="), item("AACAPw==", 1)]}, "returned vectors that are not lists of numbers"),
        ({"data": [item(["1"]), item(["2"], 1)]}, "returned vectors that are not lists of numbers"),
        ({"data": [item([]), item([], 1)]}, "returned vectors that are not lists of numbers"),
        ({"data": [item([[1]]), item([[1]], 1)]}, "returned vectors that are not lists of numbers"),
        ({"data": [item([True]), item([None], 1)]}, "returned vectors that are not lists of numbers"),
        ({"data": [item([1, 2]), item([1, float("nan")], 1)]}, "returned a vector with a number that is not finite"),
    ],
)
def test_an_answer_that_makes_no_sense_is_told(server, endpoint, answer, words):
    """A vector goes to its own text or nowhere; the error has the beginning of what came instead."""
    server.answers.append(answer)
    with pytest.raises(SystemFailed) as e:
        endpoint(["a", "b"])
    assert words in str(e.value)
    assert str(e.value).startswith(f"embedder {server.url}/embeddings: ")
    assert len(str(e.value)) < 1200


def test_vectors_of_another_length_are_refused(server, endpoint):
    """The first answer says how long vectors are, and they stay so."""
    assert endpoint.size == 2
    server.answers.append({"data": [item([1, 2, 3])]})
    with pytest.raises(SystemFailed, match="returned vectors of 3 dimensions, not of 2"):
        endpoint(["pool"])


def test_size_is_asked_for_once(server, endpoint):
    """Who wants to know the length before any text causes one request; an empty list causes none."""
    assert (endpoint.size, endpoint.size, endpoint([]).shape) == (2, 2, (0, 2))
    assert len(server.requests) == 1


def test_dimensions_are_asked_for_and_checked(server):
    """A model that can give shorter vectors is told so, and believed only when it does."""
    endpoint = Endpoint("toy", url=server.url, dimensions=3, **QUICK)
    assert (endpoint.size, endpoint.name) == (3, f"openai:toy@{server.url}/3")
    with pytest.raises(SystemFailed, match="returned vectors of 2 dimensions, not of 3"):
        endpoint(["pool"])
    endpoint.close()
    assert server.requests[0][2]["dimensions"] == 3


def test_a_vector_of_zeros_stays_one(server, endpoint):
    """It has no direction, so it is near to nothing; it does not become NaN. Huge and tiny ones are scaled."""
    server.answers.append({"data": [item([0, 0]), item([3e300, 4e300], 1), item([3e-200, 4e-200], 2)]})
    assert endpoint(["a", "b", "c"]).tolist() == [[0, 0], pytest.approx([0.6, 0.8]), pytest.approx([0.6, 0.8])]


def test_a_server_that_hangs_is_given_up(server):
    """Silence longer than the timeout counts as a failure, and is retried like one."""
    hang = lambda request: request.server.closing.wait()  # noqa: E731 (it is a value here)
    server.answers += [hang, hang]
    endpoint = Endpoint("toy", url=server.url, timeout=0.2, retries=1, backoff=0.01)
    with pytest.raises(SystemFailed, match=r"ReadTimeout: timed out \(asked 2 times\)"):
        endpoint(["pool"])
    endpoint.close()


def test_a_server_that_is_not_there(server):
    """A refused connection is told with the address, and with the system's words."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        with pytest.raises(SystemFailed, match=rf"{url}/embeddings: ConnectError: .*refused.*\(asked 4 times\)"):
            Endpoint("toy", url=url, **QUICK)(["pool"])


def test_the_key_comes_from_the_environment_and_goes_nowhere_else(server, monkeypatch):
    """The key is sent, and is in no name, description, repr or error, even when the server repeats it."""
    monkeypatch.setenv("TOY_KEY", "sk-secret\n")
    endpoint = Endpoint("toy", url=server.url, key_variable="TOY_KEY", **QUICK)
    server.answers.append((401, {"error": {"message": "the key sk-secret is wrong"}}))
    with pytest.raises(SystemFailed) as e:
        endpoint(["pool"])
    endpoint.close()
    assert server.requests[0][1]["Authorization"] == "Bearer sk-secret"
    assert str(e.value).endswith("401 Unauthorized: the key *** is wrong")
    assert e.value.__cause__ is None
    shown = [repr(endpoint), endpoint.name, str(endpoint.describe()), str(vars(endpoint)), str(e.value)]
    assert not [text for text in shown if "secret" in text]


def test_no_half_of_a_key_is_shown(server, monkeypatch):
    """Where only the beginning of an answer is shown, it does not end in the middle of the key."""
    monkeypatch.setenv("TOY_KEY", "sk-secret")
    server.answers.append((401, b"x" * 995 + b"sk-secret"))
    with pytest.raises(SystemFailed) as e:
        Endpoint("toy", url=server.url, key_variable="TOY_KEY", **QUICK)(["pool"])
    assert str(e.value).endswith("xxx***")


def test_a_key_that_is_missing_is_named(server, monkeypatch):
    """Before anything is sent, the variable is named; its value never is."""
    endpoint = Endpoint("toy", url=server.url, key_variable="TOY_KEY")
    with pytest.raises(UsageError, match=f"variable TOY_KEY is not set; it holds the key of {server.url}/embeddings"):
        endpoint(["pool"])
    monkeypatch.setenv("TOY_KEY", "sk-\nsecret")
    with pytest.raises(UsageError, match=r"TOY_KEY holds a character that cannot be part of a key$"):
        endpoint(["pool"])
    assert not server.requests


def test_openai_is_the_default_and_wants_its_key(monkeypatch):
    """``openai:<model>`` alone means OpenAI's own server, whose key has a well-known name."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError, match=r"OPENAI_API_KEY is not set; it holds the key of https://api\.openai\.com/v1"):
        make_embedder("openai:text-embedding-3-small")(["pool"])


@each("url", ["", "localhost:8080", "ftp://host/v1", "http://", "http://host:x/v1", "http://[::1"])
def test_an_address_that_is_none_is_refused(url):
    """It is told before the first request."""
    with pytest.raises(UsageError, match="write one such as https://host/v1"):
        Endpoint("toy", url=url)


@pytest.mark.parametrize("url", ["https://user:sk-secret@host/v1", "https://host/v1?key=sk-secret"])
def test_a_secret_in_the_address_is_refused(url):
    """Addresses are part of names and messages, so no secret may be in them; the error does not repeat it."""
    with pytest.raises(UsageError, match="takes no user, password or query; name a key_variable instead") as e:
        Endpoint("toy", url=url)
    assert "secret" not in str(e.value)


def test_senseless_numbers_are_refused():
    """Batches, dimensions, timeouts and retries have lower bounds."""
    for options in ({"batch": 0}, {"dimensions": 0}):
        with pytest.raises(UsageError, match="choose 1 or more"):
            Endpoint("toy", **options)
    for options in ({"timeout": 0}, {"retries": -1}, {"backoff": -1}):
        with pytest.raises(UsageError, match="timeout must be above 0, the others 0 or more"):
            Endpoint("toy", **options)
    with pytest.raises(UsageError, match="needs the name of a model"):
        Endpoint("")


def test_half_a_surrogate_pair_is_sent_as_the_replacement_character(server, endpoint):
    """A request is UTF-8 whatever the text."""
    endpoint(["pool \ud83d"])
    assert server.requests[0][2]["input"] == ["pool \ufffd"]


def test_connections_are_closed_with_the_embedder(server):
    """Nobody has to call close: an embedder that is gone leaves no socket behind (a warning here is an error)."""
    endpoint = Endpoint("toy", url=server.url, **QUICK)
    endpoint(["pool"])
    client = endpoint._client._client
    del endpoint
    assert client.is_closed
