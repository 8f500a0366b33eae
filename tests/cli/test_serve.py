"""``karat serve`` from a shell: it starts, says where, and ends; and the tokens of those who may look."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path

import pytest

from cli.gate_project import make_project
from karat.server import Tokens

VERB = "serve"
Run = Callable[..., tuple[str, str]]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_interrupted(tmp_path: Path, number: int) -> None:
    """The address is a line of JSON; Ctrl-C and a plain kill end it with 0, and leave no process behind."""
    make_project(tmp_path)
    command = [sys.executable, "-m", "karat", "serve", str(tmp_path), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        start = json.loads(process.stdout.readline())
        assert start["project"] == str(tmp_path.resolve())
        with urllib.request.urlopen(start["address"], timeout=600) as answer:
            assert b"First steps" in answer.read()
        events = urllib.request.urlopen(start["address"] + "events", timeout=600)
        process.send_signal(number)
        _, errors = process.communicate(timeout=600)
        events.close()
    assert (process.returncode, errors) == (0, "")


@pytest.mark.slow(5)
def test_a_server_for_other_machines_says_which_name_it_lacks(tmp_path: Path) -> None:
    """At every address it answers to this machine, and to others under the names that it was given."""
    make_project(tmp_path)
    token = Tokens(tmp_path).add("Ada", "viewer")
    command = [sys.executable, "-m", "karat", "serve", str(tmp_path), "--host", "0.0.0.0", "--port", "0", "--json"]
    for options, name, code in (([], "192.0.2.7", 421), (["--allow-host", "192.0.2.7"], "192.0.2.7", 200)):
        whole = [*command, "--behind-tls-proxy", *options]
        with subprocess.Popen(whole, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            start = json.loads(process.stdout.readline())
            host, port = start["address"].removeprefix("http://").rstrip("/").split(":")
            for header, expected in ((f"localhost:{port}", 200), (f"{name}:{port}", code)):
                headers = {"authorization": f"Bearer {token}", "host": header}
                connection = HTTPConnection("127.0.0.1", int(port), timeout=600)
                connection.request("GET", "/index.json", headers=headers)
                assert connection.getresponse().status == expected
                connection.close()
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=600)
        says_so = "--allow-host NAME" in start["note"]
        assert (host, says_so) == ((name, False) if options else ("localhost", True))


def test_a_port_in_use_is_one_message(run: Run, tmp_path: Path) -> None:
    """Exit code 3: nothing is wrong with the command."""
    make_project(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        out, err = run(tmp_path, "--port", str(port), code=3)
    assert out == ""
    assert re.fullmatch(rf"karat: cannot listen on 127.0.0.1 port {port}: .* choose another with --port.*\n", err)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--host", "0.0.0.0"], "give --tls-cert and --tls-key, or say --behind-tls-proxy"),
        (["--host", "0.0.0.0", "--behind-tls-proxy"], "makes a token first"),
        (["--behind-tls-proxy"], "everybody needs a token"),
        (["--tls-cert", "x.pem"], "belong together"),
    ],
)
def test_what_is_not_safe_is_not_started(run: Run, tmp_path: Path, options: list[str], message: str) -> None:
    """Without tokens, or without a word on TLS, nobody else can reach it."""
    make_project(tmp_path)
    assert message in run(tmp_path, *options, "--port", "0", code=2)[1]


def test_a_folder_without_a_project_is_refused(run: Run, tmp_path: Path) -> None:
    """So is one that is not there."""
    assert "karat init" in run(tmp_path, code=2)[1]
    assert "no such folder" in run(tmp_path / "none", code=2)[1]


def test_tokens_are_added_listed_and_revoked(run: Run, tmp_path: Path) -> None:
    """The token is printed once, alone on standard output; as JSON, too."""
    make_project(tmp_path)
    project = ("--project", tmp_path)
    assert run("token", "list", *project)[0] == "no tokens yet\n"
    out, err = run("token", "add", "Ada", "--role", "admin", *project)
    assert re.fullmatch(r"karat_[0-9a-f]{8}_[\w-]{43}\n", out)
    assert "not shown again" in err
    document = json.loads(run("token", "add", "Grace", "--json", *project)[0])
    assert document["token"].startswith("karat_")
    listed = run("token", "list", *project)[0]
    assert [line.split()[1:3] for line in listed.splitlines()[1:]] == [["good", "viewer"], ["good", "admin"]] or [
        line.split()[1:3] for line in listed.splitlines()[1:]
    ] == [["good", "admin"], ["good", "viewer"]]
    assert document["token"].split("_", 2)[2] not in listed
    id_ = document["tokens"][0]["id"]
    assert run("token", "revoke", id_, *project)[0] == f"revoked {id_}\n"
    states = {line["id"]: line["state"] for line in json.loads(run("token", "list", "--json", *project)[0])["tokens"]}
    assert states[id_] == "revoked"
    assert "no token" in run("token", "revoke", "none", *project, code=2)[1]
