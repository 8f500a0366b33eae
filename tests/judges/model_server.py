"""A server with OpenAI's API that replies, and misbehaves, as a test wants; it counts what it gets."""

from __future__ import annotations

import json
import re
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[["Request"], Any]
"""Returns the content of a reply: text, or a value that is written as JSON; or a :class:`Failure`."""


@dataclass(frozen=True)
class Failure:
    """A response that is no reply."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    hang_up: bool = False


@dataclass(frozen=True)
class Request:
    """A request, with the data of its message by name."""

    body: dict[str, Any]
    number: int
    """From 1, over all requests but the probes."""

    @property
    def kind(self) -> str:
        """The name of the schema that the reply has to have."""
        schema = self.body.get("response_format", {}).get("json_schema")
        return str(schema["name"]) if schema else ""

    @property
    def message(self) -> str:
        """The first message of the user."""
        return str(self.body["messages"][1]["content"])

    @property
    def mark(self) -> str:
        """The mark of the data, as the first line names it."""
        return self.message.partition("\n")[0].removeprefix("Data stands between marks of ").removesuffix(".")

    @property
    def data(self) -> dict[str, str]:
        """The texts between marks, by name."""
        mark = re.escape(self.mark)
        blocks = re.findall(rf"^<{mark} ([^>\n]+)>\n(.*?)\n</{mark} \1>$", self.message, re.DOTALL | re.MULTILINE)
        return dict(blocks)

    @property
    def outside(self) -> str:
        """All that is not data: what a model may take for an instruction."""
        mark = re.escape(self.mark)
        rest = re.sub(rf"^<{mark} ([^>\n]+)>\n.*?\n</{mark} \1>$", "", self.message, flags=re.DOTALL | re.MULTILINE)
        return "\n".join([str(self.body["messages"][0]["content"]), rest])

    def numbered(self, name: str) -> list[str]:
        """The texts called ``name 1``, ``name 2`` and so on."""
        return [text for key, text in self.data.items() if re.fullmatch(rf"{name} [0-9]+", key)]


class ModelServer(ThreadingHTTPServer):
    """The server, what it got, and how many requests it had at once."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, reply: Reply, rungs: tuple[str, ...], delay: float, usage: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.reply, self.rungs, self.delay, self.usage = reply, rungs, delay, usage
        self.requests: list[Request] = []
        self.probed: list[dict[str, Any]] = []
        self.probes = self.busy = self.busiest = 0
        self.probe_ends = "stop"
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        """The address without the last part."""
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that have gone."""


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else the body waits 40 ms for the acknowledgement of the headers

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        rung = body.get("response_format", {}).get("type", "prompt")
        if len(body["messages"]) == 1:
            server.probed.append(body)
        if rung not in server.rungs:
            self._send(Failure(400, json.dumps({"error": {"message": f"unknown response_format {rung}"}}).encode()))
            return
        if len(body["messages"]) == 1:
            server.probes += 1
            self._answer('{"ok": true}', server.probe_ends)
            return
        with server.lock:
            request = Request(body, len(server.requests) + 1)
            server.requests.append(request)
            server.busy += 1
            server.busiest = max(server.busiest, server.busy)
        try:
            time.sleep(server.delay)
            reply = server.reply(request)
        finally:
            with server.lock:
                server.busy -= 1
        if isinstance(reply, Failure):
            self._send(reply)
        else:
            self._answer(reply if isinstance(reply, str) else json.dumps(reply))

    def _answer(self, content: str, end: str = "stop") -> None:
        message = {"message": {"role": "assistant", "content": content}, "finish_reason": end}
        usage = {"usage": {"prompt_tokens": 100, "completion_tokens": 10}} if self.server.usage else {}
        self._send(Failure(200, json.dumps({"choices": [message], **usage}).encode()))

    def _send(self, response: Failure) -> None:
        if response.hang_up:
            self.close_connection = True
            return
        self.send_response(response.status)
        for name, value in {"Content-Length": str(len(response.body)), **response.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(response.body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serve(
    reply: Reply, *, rungs: tuple[str, ...] = ("json_schema",), delay: float = 0.0, usage: bool = True
) -> Iterator[ModelServer]:
    """Run a server for the time of a block."""
    server = ModelServer(reply, rungs, delay, usage)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Proxy(ThreadingHTTPServer):
    """A proxy that forwards requests, and counts them."""

    daemon_threads = True
    forwarded = 0


class _Forwarder(BaseHTTPRequestHandler):
    server: Proxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self.server.forwarded += 1
        data = self.rfile.read(int(self.headers["Content-Length"]))
        request = urllib.request.Request(self.path, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as response:
            body = response.read()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def forward() -> Iterator[Proxy]:
    """Run a proxy for the time of a block."""
    server = Proxy(("127.0.0.1", 0), _Forwarder)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def obey(request: Request) -> Any:
    """Reply by the words of the texts: a claim is a sentence, and supported by a text that has all of it."""
    data = request.data
    match request.kind:
        case "Claims":
            return {"claims": [f"{line.strip()}." for line in data["text"].split(".") if line.strip()]}
        case "ClaimVerdicts":
            verdicts = [_support(number, claim, request) for number, claim in enumerate(request.numbered("claim"), 1)]
            return {"verdicts": verdicts}
        case "ChunkVerdicts":
            texts = request.numbered("text")
            answers = [line.strip() for line in data["answer"].split(".") if line.strip()]
            useful = [any(line in text for line in answers) for text in texts]
            return {"verdicts": [{"chunk": i, "useful": u, "reason": "words"} for i, u in enumerate(useful, 1)]}
        case "Questions":
            return {"questions": [data["answer"]] * int(data["count"])}
        case "Refusal":
            return {"refused": "not know" in data["answer"], "reason": "words"}
        case "Grade":
            share = len(_words(data["question"]) & _words(data["passage"])) / len(_words(data["question"]))
            return {"grade": round(3 * share), "reason": "words"}
        case "Preference":
            first, second = (len(data[place]) for place in ("first", "second"))
            return {
                "better": "first" if first > second else "second" if first < second else "neither",
                "reason": "length",
            }
        case "Score":
            return {"score": 4 if "free" in data["answer"] else 2, "reason": "words"}
    return "a reply to something else"


def _words(text: str) -> set[str]:
    return set(re.findall(r"[\w-]+", text.lower()))


def _support(number: int, claim: str, request: Request) -> dict[str, Any]:
    words = claim.rstrip(".")
    place = next((i for i, text in enumerate(request.numbered("text"), 1) if words in text), 0)
    quote = words if place else ""
    return {"claim": number, "supported": bool(place), "chunk": place, "quote": quote, "reason": "words"}
