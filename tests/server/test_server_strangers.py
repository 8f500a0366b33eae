"""What strangers can take from a server without a token, or with an old one: little, and not for long."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.requests import ClientDisconnect
from uvicorn.server import ServerState

from cli.gate_project import make_project
from karat.index import Indexer
from karat.server import Tokens
from karat.server._app import Application
from karat.server._asking import Refused
from karat.server._audit import Audit
from karat.server._connections import Connection
from karat.server._events import EACH, Streams
from karat.server._guard import Gate
from karat.server._pages import ACTIONS, PAGES
from karat.server._serving import _listen
from karat.server._watching import Watcher
from server.served import HOST, WORK, make_client, make_indexed_project, write_work

FORM = "application/x-www-form-urlencoded"
WRONG = b"token=karat_00000000_x"


class _Asked:
    """A request to an application, without a server between: the body comes when the test says so."""

    def __init__(self, path: str, *, method: str = "GET", **headers: str) -> None:
        fields = {"host": HOST, "accept": "application/json", **headers}
        self.scope = {
            "type": "http", "method": method, "path": path, "query_string": b"", "client": ("10.0.0.1", 1),
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in fields.items()],
            "scheme": "http", "server": ("127.0.0.1", 1), "root_path": "", "http_version": "1.1",
        }  # fmt: skip
        self.incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.outgoing: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def ask(self, app: Callable[..., Awaitable[None]]) -> int:
        """Return the status, once the answer is whole."""
        await app(self.scope, self.incoming.get, self.outgoing.put)
        status: int = (await self.outgoing.get())["status"]
        return status


@pytest.fixture
def site(tmp_path: Path) -> tuple[Callable[..., Awaitable[None]], Watcher, Tokens]:
    tokens, watcher = Tokens(tmp_path), Watcher(tmp_path)
    gate = Gate(str(tmp_path), hosts=[HOST], tokens=tokens, needs_token=True)
    return Application(tmp_path, gate, watcher, PAGES, ACTIONS).make(), watcher, tokens


@pytest.mark.parametrize("has_session", [False, True])
def test_a_revoked_token_ends_its_stream(
    site: tuple[Callable[..., Awaitable[None]], Watcher, Tokens], has_session: bool
) -> None:
    """Before the next event is told, whether the token came with the request or began a session."""
    app, watcher, tokens = site
    text = tokens.add("Ada", "viewer")

    async def listen() -> list[bytes]:
        headers = {"authorization": f"Bearer {text}"}
        if has_session:
            form = _Asked("/sign-in", method="POST", content_type=FORM)
            form.incoming.put_nowait({"type": "http.request", "body": f"token={text}".encode()})
            await app(form.scope, form.incoming.get, form.outgoing.put)
            answer = dict((await form.outgoing.get())["headers"])
            headers = {"cookie": answer[b"set-cookie"].decode().partition(";")[0]}
        stranger = _Asked("/events", **headers)
        task = asyncio.create_task(stranger.ask(app))
        await asyncio.sleep(0)
        while stranger.outgoing.qsize() < 2 or not watcher.hub._listeners:
            await asyncio.sleep(0)
        watcher.hub.tell("good")
        while stranger.outgoing.qsize() < 3:
            await asyncio.sleep(0)
        tokens.revoke(text.split("_")[1])
        watcher.hub.tell("secret")
        assert await asyncio.wait_for(task, 60) == 200
        return [stranger.outgoing.get_nowait()["body"] for _ in range(stranger.outgoing.qsize())]

    assert asyncio.run(listen()) == [b"retry: 3000\n\n", b"event: change\ndata: good\n\n", b""]


def test_streams_are_limited() -> None:
    """With one token, until one ends: also one that broke."""

    async def pieces() -> Any:
        yield b"x"

    async def fail(_: object) -> None:
        raise OSError("gone")

    async def open_many() -> None:
        streams = Streams()
        first, *_ = [streams.open("ada", pieces()) for _ in range(EACH)]
        with pytest.raises(Refused, match="too many pages") as refused:
            streams.open("ada", pieces())
        assert (refused.value.status, refused.value.wait) == (503, 30)
        streams.open("grace", pieces())
        with pytest.raises(ClientDisconnect):
            await first({"type": "http", "asgi": {"spec_version": "2.4"}}, asyncio.Queue[Any]().get, fail)
        streams.open("ada", pieces())

    asyncio.run(open_many())


def test_a_body_has_to_come_in_time(
    site: tuple[Callable[..., Awaitable[None]], Watcher, Tokens], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A half one is answered after a while, and one whose sender has gone is no bug."""
    app, *_ = site
    monkeypatch.setattr("karat.server._asking._PATIENCE", 0.01)
    slow, gone = (_Asked("/sign-in", method="POST", content_type=FORM) for _ in range(2))
    slow.incoming.put_nowait({"type": "http.request", "body": b"token=", "more_body": True})
    assert asyncio.run(slow.ask(app)) == 408
    gone.incoming.put_nowait({"type": "http.disconnect"})
    assert asyncio.run(gone.ask(app)) == 400


def test_tries_whose_bodies_come_late_are_counted(
    site: tuple[Callable[..., Awaitable[None]], Watcher, Tokens],
) -> None:
    """Eight requests that were all begun before the first was wrong are still five tries."""
    app, *_ = site

    async def guess() -> list[int]:
        forms = [_Asked("/sign-in", method="POST", content_type=FORM) for _ in range(8)]
        tasks = [asyncio.create_task(form.ask(app)) for form in forms]
        await asyncio.sleep(0.01)
        for form in forms:
            form.incoming.put_nowait({"type": "http.request", "body": WRONG})
        return list(await asyncio.gather(*tasks))

    assert sorted(asyncio.run(guess())) == [401] * 5 + [429] * 3


def test_half_requests_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """A head that does not end, also after a whole request; an answer takes as long as it needs."""
    connections: list[Connection] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert connections[0]._deadline is None
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async def send_half() -> bytes:
        config = uvicorn.Config(app, log_level="critical", lifespan="off")
        config.load()

        def connect() -> Connection:
            connections.append(Connection(config, ServerState(), {}))
            return connections[-1]

        async with await asyncio.get_running_loop().create_server(connect, "127.0.0.1", 0) as server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            answer = await reader.readuntil(b"ok")
            monkeypatch.setattr("karat.server._connections.PATIENCE", 0.01)
            writer.write(b"GET / HTTP/1.1\r\n")
            assert await asyncio.wait_for(reader.read(), 60) == b""  # uvicorn alone would wait for ever
            writer.close()
        return answer

    assert asyncio.run(send_half()).startswith(b"HTTP/1.1 200")


def test_answers_are_sent_at_once() -> None:
    """The body of an answer does not wait for the client to acknowledge its head: Nagle's algorithm is off."""

    async def connect() -> list[int]:
        found: asyncio.Queue[int] = asyncio.Queue()

        async def note(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = writer.get_extra_info("socket")
            await found.put(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        hosts = ["127.0.0.1", *(["::1"] if socket.has_dualstack_ipv6() else [])]
        for host in hosts:
            async with await asyncio.start_server(note, sock=_listen(host, 0)) as server:
                _, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
                writer.close()
                await writer.wait_closed()
        return [await found.get() for _ in hosts]

    assert all(asyncio.run(connect()))


def test_strangers_do_not_fill_the_audit_log(tmp_path: Path) -> None:
    """Twenty lines of an address in a minute, and one that says there were more."""
    now = [0.0]
    audit = Audit(tmp_path, lambda: now[0])
    for _ in range(50):
        audit.note_stranger("origin refused", peer="10.0.0.1", path="/x")
    audit.note_stranger("origin refused", peer="10.0.0.2")
    now[0] = 60.0
    audit.note_stranger("origin refused", peer="10.0.0.1")
    lines = [json.loads(line) for line in (tmp_path / ".karat" / "audit.jsonl").read_text().splitlines()]
    events = [(line["event"], line["peer"]) for line in lines]
    refused = ("origin refused", "10.0.0.1")
    more = ("more refusals left out", "10.0.0.1")
    assert events == [refused] * 20 + [more, ("origin refused", "10.0.0.2"), refused]


def test_refused_origins_are_bounded_lines(tmp_path: Path) -> None:
    """Where the guard writes them, too."""
    client = make_client(tmp_path, needs_token=True)
    for _ in range(25):
        client.post("/sign-in", headers={"origin": "http://evil.example"})
    assert len((tmp_path / ".karat" / "audit.jsonl").read_text().splitlines()) == 21


def test_viewers_do_not_see_where_the_project_is(tmp_path: Path) -> None:
    """In errors of label files, nor in the arguments of work."""
    make_project(tmp_path)
    (tmp_path / "labels" / "people").mkdir(parents=True)
    (tmp_path / "labels" / "people" / "ana.jsonl").write_text("{\n{}\n")
    write_work(tmp_path)
    head = tmp_path / ".karat" / "work" / WORK / "work.json"
    arguments = ["judge", "run", f"{tmp_path}/runs/old.jsonl", "--project", str(tmp_path)]
    head.write_text(json.dumps({**json.loads(head.read_text()), "arguments": arguments}))
    client = make_client(tmp_path)
    agreement, works = client.get("/judge/agreement.json"), client.get("/jobs.json")
    assert (agreement.status_code, works.status_code) == (200, 200)
    assert agreement.json()["left_out"][0].startswith("labels/people/ana.jsonl")
    assert works.json()["works"][0]["head"]["arguments"] == ["judge", "run", "runs/old.jsonl", "--project", "."]
    assert str(tmp_path) not in agreement.text + works.text


BROKEN = {
    "no golden set": lambda folder: (folder / "set" / "queries.jsonl").write_text("{"),
    "no project": lambda folder: (folder / "karat.toml").write_text('[golden]\npath = "../nowhere"\n'),
    "a damaged baseline": lambda folder: (folder / "baseline.json").write_text("{"),
    "a damaged log of experiments": lambda folder: (folder / "experiments.json").write_text("{"),
    "a store of something else": lambda folder: (folder / "karat.db").write_bytes(b"SQLite format 3\0" + b"x" * 4096),
    "no run files any more": lambda folder: [path.unlink() for path in (folder / "runs").glob("[no]*.jsonl")],
}


@pytest.mark.slow(10)
@pytest.mark.parametrize("damage", [None, *BROKEN])
def test_no_page_says_where_the_project_is(tmp_path: Path, damage: str | None) -> None:
    """Whatever is wrong with it: files are named as seen from the project, in pages, JSON, CSV and errors."""
    folder = make_indexed_project(tmp_path / "team" / "p")
    (folder / "runs" / "folder.jsonl").mkdir()
    (folder / "runs" / "odd.jsonl.gz").write_bytes(b"\x1f\x8b")
    if damage is not None:
        BROKEN[damage](folder)
    if damage != "no run files any more":  # these the index still has
        Indexer(folder).update()
    client = make_client(folder)
    paths = ["/runs/old", "/runs/new", "/runs/odd.jsonl.gz", "/compare/q01?a=old&b=new", "/queries/q01", "/golden/q01"]
    paths += ["/index", "/runs", "/golden", "/judge", "/judge/agreement", "/proposals", "/proposals/1", "/trials"]
    paths += ["/trials/rerank", "/experiments", "/live", "/jobs", f"/jobs/{WORK}", "/confirm?feature=rerank&act=stop"]
    place = folder / ".karat" / "work" / WORK
    head = json.loads((place / "work.json").read_text())
    (place / "work.json").write_text(json.dumps({**head, "arguments": ["eval", str(folder)]}))
    (place / "output.txt").write_text(f"saved: {folder}/runs/new.jsonl\n")
    for path in paths:
        stem, _, query = path.partition("?")
        for suffix in ("", ".json", ".csv"):
            text = client.get(f"{stem}{suffix}?{query}").text
            assert "team/p" not in text, (path, suffix)
            assert str(tmp_path) not in text, (path, suffix)
