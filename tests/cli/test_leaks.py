"""No key that a service repeats reaches a file, a report, standard output or standard error; against a real server."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from cli.gate_project import main
from karat import golden
from karat.core import Document, GoldenSet, Judgment, Query, Target

KEY, OTHER, PASSWORD = "sk-proj-7Hq2mZ0xW9vB4tN8kL", "cust0m-h3ader-Value", "pa55Word77"
LOGIN = base64.b64encode(f"ana:{PASSWORD}".encode()).decode()
SET = GoldenSet(
    name="letters",
    grades=("no", "yes"),
    relevant=1,
    documents=tuple(Document(id=name, text=f"All about {name}.") for name in "abcd"),
    queries=tuple(Query(id=f"q{name}", text=f"about {name}?") for name in "abcd"),
    judgments=tuple(Judgment(query=f"q{name}", target=Target(document=name), grade=1) for name in "abcd"),
)
Answer = Callable[[dict[str, Any], str], tuple[int, Any]]


class Server(ThreadingHTTPServer):
    """Answers by a function of the question and of all that was sent with it, joined in one text."""

    answer: Answer
    sent: list[dict[str, str]]

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a run that ends at its first question leaves others half asked."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.sent.append(dict(self.headers))
        sent = [self.headers.get("Authorization", ""), self.path, *self.headers.values()]
        parts = [f"{KEY[:12]}...{KEY[-8:]}", f"ana:{PASSWORD}", KEY.encode().hex()]
        status, answer = self.server.answer(question, " ".join([*sent, *parts]))
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A service that knows every secret of this file."""
    for name, value in {"SHOP": KEY, "CUSTOM": OTHER}.items():
        monkeypatch.setenv(name, value)
    service = Server(("127.0.0.1", 0), Handler)
    service.sent = []
    threading.Thread(target=service.serve_forever, args=(0.01,), daemon=True).start()
    yield service
    service.shutdown()
    service.server_close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project without a configuration, which is the current folder."""
    golden.write(SET, tmp_path / "set")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def configure(folder: Path, server: Server, address: str = "127.0.0.1", more: str = "") -> None:
    """Write a configuration with one key, a header of its own, and a key in the query of the address."""
    url = f"http://{address}:{server.server_port}/find?index=docs&api_key={OTHER}"
    (folder / "karat.toml").write_text(
        f'[golden]\npath = "set"\n[eval]\nwarm_up = 0\n[system]\nurl = "{url}"\nretries = 0\n'
        f'content = "content"\nheaders = {{ X-Custom = "CUSTOM" }}\n{more}'
    )


def find_leaks(text: str) -> list[str]:
    """Return the secrets, or the parts of them, that a text has."""
    forms = [KEY, OTHER, PASSWORD, LOGIN, KEY.encode().hex(), base64.b64encode(KEY.encode()).decode()]
    forms += [KEY.split("-")[-1][:8], KEY[-8:], OTHER[:8], OTHER[-8:], PASSWORD[:8]]
    return [form for form in forms if form in text]


def walk(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Check, report in every format, accept and show; return all that is printed and written."""
    printed: list[str] = []

    def call(*arguments: str) -> None:
        main(arguments)
        printed.extend(capsys.readouterr())

    call("check", ".")
    for decision in map(str, (folder / "reports").glob("*.json")):
        for kind in ("junit", "csv", "latex", "github"):
            call("report", decision, "--format", kind)
        call("report", decision, "--comment")
    for run in map(str, (folder / "runs").glob("*.jsonl")):
        call("runs", "show", run)
        call("show", run, "qb")
        call("baseline", "update", run, "--force", "so")
        call("baseline", "show", ".", "--json")
    given = (".py", ".pyc", ".toml")  # written by the test and by Python
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix not in given]
    return "".join(printed) + "".join(path.read_bytes().decode(errors="replace") for path in files)


def hits(*ids: str, content: str = "") -> dict[str, Any]:
    return {"hits": [{"id": name, "score": 1.0, "content": content} for name in ids]}


ANSWERS: dict[str, Answer] = {
    "an error in the place of hits": lambda _, echo: (200, {"hits": {"error": f"invalid key: {echo}", echo: 0}}),
    "an error beside nothing": lambda _, echo: (200, {"error": {"message": f"invalid key: {echo}"}}),
    "a list of errors": lambda _, echo: (200, {"hits": [echo]}),
    "ids and texts": lambda _, echo: (200, hits("a", echo, content=f"asked with {echo}")),
    "a path that leads to a key": lambda _, echo: (200, {echo: [], "hits": {echo: 1}}),
    "a hit without an id": lambda _, echo: (200, {"hits": [{"text": echo, echo: echo}]}),
    "a hit whose id is no text": lambda _, echo: (200, {"hits": [{"id": [echo]}]}),
    "a failure with JSON": lambda _, echo: (500, {"error": echo}),
    "a failure with text": lambda _, echo: (400, f"{echo}\n{echo}".encode()),
    "a failure in UTF-16": lambda _, echo: (400, echo.encode("utf-16-le")),
    "a long failure": lambda _, echo: (400, b"x" * 980 + echo.encode() * 99),
    "no right to ask": lambda _, echo: (401, {"detail": echo}),
    "a page": lambda _, echo: (200, f"<html>{echo}</html>".encode()),
    "JSON in UTF-16": lambda _, echo: (200, json.dumps({"hits": [echo]}).encode("utf-16")),
    "JSON of escapes": lambda _, echo: (
        200, ('{"hits": ["' + "".join(f"\\u{ord(c):04x}" for c in echo) + '"]}').encode(),
    ),
    "some failures": lambda question, echo: (
        (200, hits("a", "b")) if "a?" in question["query"] else (500, {"error": echo})
    ),
    "an encoded echo": lambda _, echo: (200, {"hits": [base64.b64encode(echo.encode()).decode(), echo.encode().hex()]}),
}  # fmt: skip


@pytest.mark.parametrize("login", [False, True], ids=["bearer", "basic"])
@pytest.mark.parametrize("kind", ANSWERS)
def test_no_answer_leaks_what_was_sent(
    server: Server, folder: Path, capsys: pytest.CaptureFixture[str], kind: str, login: bool
) -> None:
    """Whatever a service answers: the run, unfinished or not, all reports and all that is printed are without it."""
    if login:
        configure(folder, server, f"ana:{PASSWORD}@127.0.0.1")
    else:
        configure(folder, server, more='key_variable = "SHOP"\n')
    server.answer = ANSWERS[kind]
    text = walk(folder, capsys)
    assert server.sent[0]["Authorization"] == (f"Basic {LOGIN}" if login else f"Bearer {KEY}")
    assert server.sent[0]["X-Custom"] == OTHER
    # A key that was not sent is not a secret of this service.
    unsent = {KEY, KEY[-8:], KEY.split("-")[-1][:8], KEY.encode().hex()} if login else {PASSWORD, PASSWORD[:8]}
    assert set(find_leaks(text)) - unsent == set()
    assert "***" in text


def test_good_answers_are_not_changed(server: Server, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Hits without secrets are written as they came, and the gate decides on them."""
    configure(folder, server, more='key_variable = "SHOP"\n')
    server.answer = lambda question, _: (200, hits(question["query"][-2], "z", content="sk-proj- keys, custom header"))
    assert main(["eval", ".", "-m", "RR@10"]) == 0
    assert "RR@10    1.0000      4/4" in capsys.readouterr().out
    (run,) = (folder / "runs").glob("*.jsonl")
    assert "sk-proj- keys, custom header" in run.read_text()
    assert "***" not in run.read_text()


def test_a_login_and_a_bearer_token_are_refused_before_anything_is_sent(
    server: Server, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The login would replace the token; one message says so, without either of them."""
    configure(folder, server, f"ana:{PASSWORD}@127.0.0.1", more='key_variable = "SHOP"\n')
    assert main(["eval", "."]) == 2
    err = capsys.readouterr().err
    where = f"http://127.0.0.1:{server.server_port}/find"
    both = "a user or a password in its address and a key_variable"
    assert err == f"karat: {where} has {both}, but only one of them can be sent; remove the others\n"
    assert server.sent == []


def test_the_password_of_an_address_decides_nothing(server: Server, folder: Path) -> None:
    """Neither it nor a hash of it is in the description: a weak password could be guessed from the hash."""
    from karat.projects import open_project

    descriptions = []
    for address in ("127.0.0.1", f"ana:{PASSWORD}@127.0.0.1", "ana:other@127.0.0.1"):
        configure(folder, server, address)
        descriptions.append(open_project(folder).system().description)
    assert descriptions[0] == descriptions[1] == descriptions[2]
    assert descriptions[0]["url_hash"]  # of the index, which is in the query beside the key


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("stage", ["embedder", "rerank"])
def test_embedders_and_rerankers_leak_nothing(
    server: Server, folder: Path, capsys: pytest.CaptureFixture[str], stage: str, status: int
) -> None:
    """Their answers go the same way."""
    url = f"http://127.0.0.1:{server.server_port}/v1"
    service = f'url = "{url}"\nretries = 0\nkey_variable = "SHOP"\n'
    tables = {
        "embedder": f'dense = true\nlexical = false\n[pipeline.embedder]\nkind = "openai"\nmodel = "m"\n{service}',
        "rerank": f'dense = false\n[pipeline.rerank]\nkind = "http"\n{service}',
    }
    (folder / "karat.toml").write_text(f'[golden]\npath = "set"\n[pipeline]\n{tables[stage]}')
    server.answer = lambda _, echo: (status, {"error": echo, "data": echo, "results": [{"index": echo}]})
    text = walk(folder, capsys)
    assert server.sent
    assert set(find_leaks(text)) <= {PASSWORD, PASSWORD[:8]}
    assert "***" in text


MODULE = f"""
import os

class Search:
    name = "shop at redis://ana:{PASSWORD}@db"

    def __init__(self, api_key="none"):
        self.api_key = api_key

    def retrieve(self, query, k):
        if "a?" in query:
            return ["a"]
        raise RuntimeError("401 for https://ana:{PASSWORD}@host/?token=" + os.environ["SHOP_TOKEN"] + "; key "
                           + os.environ["SHOP_TOKEN"][:12])
"""


def test_a_retriever_of_ones_own_leaks_nothing_either(
    server: Server, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its exceptions, its name and its parameters are written without what variables named like keys hold."""
    monkeypatch.setenv("SHOP_TOKEN", KEY)
    (folder / "own_search.py").write_text(MODULE)
    (folder / "karat.toml").write_text(
        f'[golden]\npath = "set"\n[eval]\nsystem = "own_search:Search"\n[eval.parameters]\napi_key = "{OTHER}"\n'
    )
    text = walk(folder, capsys)
    assert set(find_leaks(text)) == set()
    assert "401 for https://host/?token=***" in text
    assert '"api_key": "***"' in text


def test_a_bug_shows_a_traceback_without_keys(
    server: Server, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message of an exception may quote what it was given; the exit code is 3."""
    monkeypatch.setenv("SHOP_TOKEN", KEY)

    def fail(*_: object, **__: object) -> None:
        raise LookupError(f"{KEY}\n::stop-commands::x\n##[add-mask]y\x1b[2J")

    monkeypatch.setattr("karat.projects.open_project", fail)
    assert main(["eval", "."]) == 3
    err = capsys.readouterr().err
    assert "LookupError: ***\n:\\u003astop-commands::x\n#\\u0023[add-mask]y\\u001b[2J\n" in err
    assert find_leaks(err) == []


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (f'headers = "Bearer {KEY}"', "[system] headers = (str) is of the wrong type"),
        (f'key_variable = "{KEY}"', "has a key where the name of an environment variable belongs"),
        (f'headers = {{ X-Key = "Bearer {KEY}" }}', "has a key where the name of an environment variable belongs"),
        (f'url = ["http://ana:{PASSWORD}@host"]', "[system] url = (list) is of the wrong type"),
        (f'url = "ana:{PASSWORD}@host"', "url 'host' is not usable"),
    ],
)
def test_mistakes_in_a_configuration_show_no_key(
    folder: Path, capsys: pytest.CaptureFixture[str], lines: str, message: str
) -> None:
    """A key in the wrong place is a mistake that a log must not repeat."""
    url = "" if "url" in lines else 'url = "http://localhost:9/"\n'
    (folder / "karat.toml").write_text(f'[golden]\npath = "set"\n[system]\n{url}{lines}\n')
    assert main(["eval", "."]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert find_leaks(err) == []


@pytest.mark.parametrize(
    "line",
    [
        f'"system.url" = ["http://ana:{PASSWORD}@a/", "http://b/"]', f'"system.url" = ["http://a/?api_key={OTHER}"]',
        f'"eval.parameters.api_key" = ["{OTHER}", "b"]',
    ],
)  # fmt: skip
def test_a_sweep_over_secrets_is_refused(folder: Path, capsys: pytest.CaptureFixture[str], line: str) -> None:
    """Its values would be in the names of variants and in the log of experiments."""
    (folder / "karat.toml").write_text('[golden]\npath = "set"\n')
    (folder / "sweep.toml").write_text(f"[grid]\n{line}\n")
    assert main(["sweep", "sweep.toml", "--dry-run"]) == 2
    printed = "".join(capsys.readouterr())
    assert "holds a secret, which the log of experiments would keep" in printed
    assert find_leaks(printed) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ids and texts", "some failures"])
def test_sweeps_and_exports_leak_nothing(
    server: Server, folder: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    """The log of experiments, all that is printed of it, and what MLflow would get are without what was sent."""
    from karat.exports import read_records

    configure(folder, server, more='key_variable = "SHOP"\n')
    server.answer = ANSWERS[kind]
    (folder / "sweep.toml").write_text('[grid]\n"system.body.index" = ["a", "b"]\n')
    printed: list[str] = []
    for words in (
        *("sweep sweep.toml", "sweep sweep.toml --json", "experiments list", "experiments list --json"),
        *("experiments show 1", "experiments show 1 --json", "experiments diff 1 2", "trend .", "runs list ."),
    ):
        main(words.split())
        printed.extend(capsys.readouterr())
    runs = [str(path) for path in (folder / "runs").glob("*.jsonl")]
    assert len(runs) == 4
    main(["compare", *runs[:2], "--per-query", "--json"])
    printed.extend(capsys.readouterr())
    printed.append(repr(read_records([*runs, str(folder / "experiments.json")], measures=["RR@10"])))
    given = (".py", ".pyc", ".toml")
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix not in given]
    text = "".join([*printed, *(path.read_bytes().decode(errors="replace") for path in files)])
    assert (folder / "experiments.json").exists()
    assert set(find_leaks(text)) - {PASSWORD, PASSWORD[:8]} == set()
    assert "***" in text
