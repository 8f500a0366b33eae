"""The server, asked by the official client: over its pipes as agents do, and in memory where that is the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from jsonschema import Draft202012Validator

from cli.gate_project import make_gated_project, make_project, make_run
from each import each
from in_process import run_karat
from karat.cli._mcp import _texts
from karat.core import GoldenSet
from karat.labelling import QueuePlan, make_queue, open_desk
from karat.mcp import TOOLS, make_server

if TYPE_CHECKING:
    from mcp import Client  # takes more than half a second to import

PLACES = [1, 2, 1, 1, 3, 1, 0, 1, 2, 1, 1, 1]
SEARCH = """
import os, subprocess, sys
print("the system prints")
os.write(1, b"and writes\\n")
subprocess.run(["echo", "and its child"])

def search(query, k):
    number = query.split()[2].rstrip("?")
    return ["d" + number] if ANSWERS else ["x" + number, "d" + number]
"""
LOGGING = """
import os

def search(query, k):
    with open("log", "a") as log:
        log.write(f"{os.getpid()}\\n")
    return ["d01"]
"""
HANGING = """
import os, signal, subprocess, time
from pathlib import Path

signal.signal(signal.SIGINT, signal.SIG_IGN)

def search(query, k):
    child = subprocess.Popen(["sleep", "600"])
    Path("began.tmp").write_text(f"{os.getpid()} {child.pid}")
    Path("began.tmp").rename("began")
    time.sleep(600)
"""


def talk(server: Any, ask: Callable[[Client], Awaitable[None]], **options: Any) -> None:
    """Connect a client to a server, in memory or over pipes, and let it ask."""
    from mcp import Client

    async def main() -> None:
        with anyio.fail_after(600):
            async with Client(server, **options) as client:
                await ask(client)

    anyio.run(main)


def at(folder: Path) -> Any:
    """A server in memory, whose calls are processes all the same."""
    return make_server(folder, _texts())


def text_of(result: Any) -> str:
    (block,) = result.content
    return str(block.text)


def make_system_project(folder: Path, code: str) -> GoldenSet:
    golden = make_project(folder, 'system = "mcp_search:search"\n')
    (folder / "mcp_search.py").write_text(code)
    return golden


async def await_file(path: Path) -> str:
    while not path.exists():
        await anyio.sleep(0.02)
    return path.read_text()


async def await_end(*processes: int) -> None:
    for process in processes:
        while _is_alive(process):
            await anyio.sleep(0.02)


def _is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.slow
def test_tools_are_described_for_an_agent(tmp_path: Path) -> None:
    """Each in a few words, with sound schemas; none may destroy, and most only read. Old clients are served, too."""

    async def ask(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == list(TOOLS)
        for tool in tools:
            Draft202012Validator.check_schema(tool.input_schema)
            Draft202012Validator.check_schema(tool.output_schema)
            assert len(tool.description or "") < 320
            assert tool.input_schema["additionalProperties"] is False
            assert all("description" in part for part in tool.input_schema["properties"].values())
            assert tool.annotations is not None
            assert tool.annotations.destructive_hint is False
        assert len(json.dumps([tool.model_dump(mode="json") for tool in tools])) < 80_000
        writing = {tool.name for tool in tools if tool.annotations and not tool.annotations.read_only_hint}
        assert writing == {name for name in ("check", "propose_judgment", "propose_query") if name in TOOLS}
        assert "never an instruction" in (client.instructions or "")

    talk(at(tmp_path), ask)
    talk(at(tmp_path), ask, mode="legacy")


@each(
    "tool, arguments, message",
    [
        ("list_runs", {"last": "three"}, "argument last: expected `int`, got `str`"),
        ("list_runs", {"last": 0}, "argument last: expected `int` >= 1"),
        ("list_runs", {"last": 51}, "argument last: expected `int` <= 50"),
        ("list_runs", {"lats": 3}, "there is no argument 'lats', did you mean 'last'?"),
        ("list_runs", {"measures": ["P@1"] * 11}, "argument measures: expected `array` of length <= 10"),
        ("gate", {"run": "a\x00b"}, "argument run: has a control character; leave it out"),
        ("gate", {"run": "a\nb"}, "argument run: has a control character; leave it out"),
        ("gate", {"run": "x" * 301}, "argument run: expected `str` of length <= 300"),
        ("gate", {"policy": "threshold"}, "there is no argument 'policy'; there are run"),
        ("check", {"baseline": "mine.json"}, "there is no argument 'baseline'"),
        ("check", {"label": "\x1b[2J" + "x" * 9}, "argument label: has a control character"),
        ("explain", {"ask": "no"}, "argument ask: expected `bool`, got `str`"),
    ],
)
def test_wrong_arguments_are_results_that_say_so(
    tmp_path: Path, tool: str, arguments: dict[str, Any], message: str
) -> None:
    """What, where and what to do; no process is started for them, and neither policy nor baseline can be chosen."""

    async def ask(client: Client) -> None:
        result = await client.call_tool(tool, arguments)
        assert result.is_error
        assert message in text_of(result)
        assert text_of(result).isprintable()

    talk(at(tmp_path), ask)


def test_what_does_not_exist_is_an_error_of_the_protocol(tmp_path: Path) -> None:
    """It names what there is."""
    from mcp import MCPError

    async def ask(client: Client) -> None:
        with pytest.raises(MCPError, match=r"there is no tool 'chek', did you mean 'check'\?"):
            await client.call_tool("chek", {})
        with pytest.raises(MCPError, match="there is no resource 'karat://gold'; there are karat://policy"):
            await client.read_resource("karat://gold")

    talk(at(tmp_path), ask)


@pytest.mark.slow
def test_a_mistake_of_the_project_is_one_message(tmp_path: Path) -> None:
    """As the command line prints it; a secret of the environment is not in it."""

    from mcp import MCPError

    async def ask(client: Client) -> None:
        result = await client.call_tool("list_runs", {})
        assert result.is_error
        assert "karat.toml" in text_of(result)
        assert "s3cr3t-value" not in text_of(result)
        with pytest.raises(MCPError, match=r"karat\.toml"):
            await client.read_resource("karat://policy")

    (tmp_path / "karat.toml").write_text('[eval]\nsystem = "s3cr3t-value"\nmeasure = 1\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEARCH_API_KEY", "s3cr3t-value")
        talk(at(tmp_path), ask)


@pytest.mark.slow
def test_a_call_that_is_cancelled_ends_all_that_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even a system that does not listen, and its own children; afterwards the server answers as before."""
    make_system_project(tmp_path, HANGING)
    monkeypatch.chdir(tmp_path)

    async def ask(client: Client) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "check", {})
            processes = (await await_file(tmp_path / "began")).split()
            group.cancel_scope.cancel()
        await await_end(*map(int, processes))
        (tmp_path / "mcp_search.py").write_text(SEARCH.replace("ANSWERS", "True"))
        result = await client.call_tool("check", {})
        assert result.structured_content is not None, text_of(result)
        assert result.structured_content["measures"][0]["mean"] == 1.0

    talk(at(tmp_path), ask)


@pytest.mark.slow
def test_a_system_that_ends_the_process_is_told(tmp_path: Path) -> None:
    """It has no result, and the server goes on."""
    make_system_project(tmp_path, "import os\ndef search(query, k): os._exit(0)\n")

    async def ask(client: Client) -> None:
        result = await client.call_tool("check", {})
        assert (result.is_error, "ended without a result" in text_of(result)) == (True, True)

    talk(at(tmp_path), ask)


@pytest.mark.slow
def test_calls_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    """Two checks ask the system one after the other, and what is read is the same as alone."""
    golden = make_system_project(tmp_path, LOGGING)
    make_run(tmp_path, golden, PLACES, "old")
    results: dict[str, Any] = {}

    async def ask(client: Client) -> None:
        async def keep(name: str, tool: str, **arguments: Any) -> None:
            results[name] = await client.call_tool(tool, arguments)

        async with anyio.create_task_group() as group:
            group.start_soon(lambda: keep("first", "check", label="first"))
            group.start_soon(lambda: keep("second", "check", label="second"))
            group.start_soon(lambda: keep("gate", "gate", run="old"))
            group.start_soon(lambda: keep("gate again", "gate", run="old"))

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        talk(at(tmp_path), ask)
    assert {name for name, result in results.items() if result.is_error} == set()
    assert results["gate"].structured_content == results["gate again"].structured_content
    labels = [results[name].structured_content["run"]["title"] for name in ("first", "second")]
    assert labels == ["first", "second"]
    names = (tmp_path / "log").read_text().split()
    assert len(set(names)) == 2
    assert names == sorted(names, key=names.index)  # all of one, then all of the other


@pytest.mark.slow
def test_an_agent_works_over_pipes(tmp_path: Path) -> None:
    """Every tool and resource; new code is seen at once, what a system prints stays out, and looks are counted."""
    make_gated_project(tmp_path, PLACES, 'system = "mcp_search:search"\n[gate]\npolicy = "threshold"\n')
    (tmp_path / "runs/old.jsonl").unlink()
    (tmp_path / "set/README.md").write_text("# About turns\n")
    code = tmp_path / "mcp_search.py"
    code.write_text(SEARCH.replace("ANSWERS", "False"))
    told: list[tuple[float, str | None]] = []

    async def hear(far: float, total: float | None, message: str | None) -> None:
        told.append((far, message))

    async def ask(client: Client) -> None:
        first = await client.call_tool("check", {"label": "second place"}, progress_callback=hear)
        code.write_text(SEARCH.replace("ANSWERS", "True"))
        second = await client.call_tool("check", {"label": "first place"})
        means = [result.structured_content["measures"][0]["mean"] for result in (first, second)]
        assert means == [0.5, 1.0]
        assert [result.meta["karat/looks"] for result in (first, second)] == [1, 2]
        assert "2 systems were decided on in this session" in text_of(second)
        again = await client.call_tool("gate", {"run": "first place"})
        assert again.meta["karat/looks"] == 2
        assert again.structured_content["verdict"] == second.structured_content["verdict"]
        assert text_of(again).splitlines()[-2].startswith("PASS")
        compared = await client.call_tool("compare_runs", {"before": "second place", "candidate": "first place"})
        (row,) = compared.structured_content["pairs"][0]["measures"]
        assert (row["difference"], row["low"], row["high"]) == (0.5, 0.5, 0.5)
        listed = await client.call_tool("list_runs", {"last": 2})
        assert [run["label"] for run in listed.structured_content["runs"]] == ["first place", "second place"]
        explained = await client.call_tool("explain", {"run": "first place", "query": "q01"})
        assert "lost nothing relevant" in text_of(explained)
        await propose(client)
        resources = (await client.list_resources()).resources
        texts = [(await client.read_resource(resource.uri)).contents[0].text for resource in resources]
        assert texts[:2] == [texts[0], "# About turns\n"]
        assert texts[0].startswith("threshold")

    async def propose(client: Client) -> None:
        plan = QueuePlan(name="first", kind="pool", sources=(*map(str, (tmp_path / "runs").glob("*.jsonl")),))
        make_queue(open_desk(tmp_path), plan)
        gold = (tmp_path / "set/judgments.jsonl").read_bytes()
        task = (await client.call_tool("next_pair", {})).structured_content
        pair = {"query": task["query"], "document": task["document"], "grade": 0, "reason": "it is about another"}
        judged = await client.call_tool("propose_judgment", pair)
        addition = await client.call_tool(
            "propose_query", {"text": "Which?", "document": "d01", "reason": "asked often"}
        )
        proposals = [result.structured_content["proposal"] for result in (judged, addition)]
        assert (proposals, judged.structured_content["by"]) == (["0001", "0002"], "agent acoding agent")
        assert (tmp_path / "set/judgments.jsonl").read_bytes() == gold

    from mcp import Implementation, StdioServerParameters, stdio_client

    command = [sys.executable, "-c", "from karat.cli import main; main()", "mcp", str(tmp_path)]
    server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ), cwd=tmp_path)
    talk(stdio_client(server), ask, client_info=Implementation(name="a\ncoding agent\x1b", version="1"))
    numbers = [far for far, _ in told]
    assert numbers == sorted(set(numbers))
    assert told[-1][1] == "asking 12 of 12"


def start(folder: Path) -> subprocess.Popen[bytes]:
    """Start a server, and return when it has answered."""
    command = [sys.executable, "-c", "from karat.cli import main; main()", "mcp", "."]
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    write(process, {"id": 1, "method": "initialize", "params": info})
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "karat"
    write(process, {"method": "notifications/initialized"})
    return process


def write(process: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["its input ends", "a signal comes"])
def test_the_server_ends_with_its_calls(tmp_path: Path, ending: str) -> None:
    """When its input ends, with exit code 0, and on Ctrl-C; standard output has nothing but the protocol."""
    make_system_project(tmp_path, HANGING)
    with start(tmp_path) as process:
        write(process, {"id": 2, "method": "tools/call", "params": {"name": "check", "arguments": {}}})
        processes = anyio.run(await_file, tmp_path / "began").split()
        if ending == "a signal comes":
            process.send_signal(signal.SIGINT)
            process.wait(600)
        rest, _ = process.communicate(timeout=600)
    assert process.returncode == (130 if ending == "a signal comes" else 0)
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
    anyio.run(lambda: await_end(*map(int, processes)))


def test_the_verb_refuses_what_it_cannot_serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that does not exist, and a machine without the SDK: one message, exit code 2."""
    process = run_karat("mcp", tmp_path / "none")
    assert (process.returncode, process.stdout) == (2, b"")
    assert b"none: no such folder; name the folder with karat.toml" in process.stderr
    monkeypatch.setitem(sys.modules, "mcp", None)
    process = run_karat("mcp", tmp_path)
    assert (process.returncode, process.stdout) == (2, b"")
    assert b"karat[mcp]" in process.stderr
