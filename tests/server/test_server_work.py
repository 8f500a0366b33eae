"""Long work from a page: it is a verb of karat, goes on without the server, and can be stopped."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from cli.gate_project import accept, make_project, make_run
from karat.index import Indexer
from karat.server import Tokens
from karat.work import list_work, start_work
from server.served import OLD, make_client, make_indexed_project
from server.test_server_faults import serving

SEARCH = """
import pathlib, time
def search(query, k):
    pathlib.Path(__file__).with_name("asked").touch()
    while any(pathlib.Path(__file__).with_name(name).exists() for name in ("wait", "wait" + query[-3:-1])):
        time.sleep(0.05)
    return ["d" + query[-3:-1]]
"""
SWEEP = '[grid]\n"eval.concurrency" = [1, 2]\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project whose system waits as long as there is a file ``wait``."""
    make_project(tmp_path, 'system = "worked_search:search"\nwarm_up = 0\n')
    (tmp_path / "worked_search.py").write_text(SEARCH)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    (tmp_path / "policy.toml").write_text('name = "other"\n')
    return tmp_path


def wait_for(find: Callable[[], object]) -> Any:
    end = time.monotonic() + 600
    while time.monotonic() < end:
        if thing := find():
            return thing
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def send(client: TestClient, address: str, **fields: str) -> Any:
    token = re.search(r'data-csrf="(\w+)"', client.get("/jobs").text)
    assert token
    return client.post(address, data={"csrf": token[1], "who": "ada", **fields})


def find_state(folder: Path) -> str:
    return list_work(folder)[0].state


@pytest.mark.slow(10)
def test_an_evaluation_is_started_and_stopped_by_forms(folder: Path) -> None:
    """One at a time; it is interrupted as by Ctrl-C, and the next one goes on and ends with a run."""
    client = make_client(folder)
    assert client.get("/jobs.json").json()["sweeps"] == ["sweep.toml"]
    (folder / "wait").touch()
    answer = send(client, "/jobs/evaluate", label="--from a page")
    assert answer.status_code == 303
    wait_for((folder / "asked").exists)
    assert send(client, "/jobs/sweep", sweep="sweep.toml").status_code == 409
    page = client.get(f"{answer.headers['location']}.json").json()
    assert (page["line"]["state"], page["line"]["head"]["by"]) == ("running", "ada")
    work = page["line"]["head"]["id"]
    assert send(client, "/jobs/stop", work=work).status_code == 303
    assert wait_for(lambda: find_state(folder) == "stopped")
    (folder / "wait").unlink()
    send(client, "/jobs/evaluate", label="again")
    assert wait_for(lambda: find_state(folder) != "running")
    line = list_work(folder)[0]
    assert (line.state, line.progress and (line.progress.done, line.progress.total)) == ("done", (12, 12))
    (run,) = (folder / "runs").glob("*.jsonl")
    assert '"again"' in run.read_text().splitlines()[0]
    assert "RR@10" in client.get(f"/jobs/{line.head.id}.json").json()["output"]
    assert send(client, "/jobs/stop", work=work).status_code == 409


@pytest.mark.slow(10)
def test_work_goes_on_when_whoever_started_it_is_gone(folder: Path) -> None:
    """Also when the process that watches it is killed: then it runs to its end, and nobody knows how it ended."""
    (folder / "wait").touch()
    code = "import sys; from pathlib import Path; from karat.work import start_work\n"
    code += "start_work(Path(sys.argv[1]), 'evaluate', 'karat eval', ['eval', sys.argv[1]], by='ada')"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True, env=environment)
    wait_for((folder / "asked").exists)
    assert find_state(folder) == "running"
    runner = wait_for(lambda: _find_runner(list_work(folder)[0].head.id))
    os.kill(runner, signal.SIGKILL)
    wait_for(lambda: _find_runner(list_work(folder)[0].head.id) is None)
    assert find_state(folder) == "running"
    (folder / "wait").unlink()
    assert wait_for(lambda: find_state(folder) == "lost")
    assert list((folder / "runs").glob("*.jsonl"))


def _find_runner(work: str) -> int | None:
    """Return the process that watches a piece of work, which names its folder."""
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"-c" in words and any(word.endswith(work.encode()) for word in words):
            return int(place.parent.name)
    return None


@pytest.mark.slow
def test_only_what_the_project_has_can_be_started(folder: Path) -> None:
    """No run of elsewhere, no file that is not a sweep of this project, and nobody but an admin."""
    client = make_client(folder)
    assert send(client, "/jobs/sweep", sweep="../sweep.toml").status_code == 404
    assert send(client, "/jobs/sweep", sweep="policy.toml").status_code == 404
    assert send(client, "/jobs/judge", run="../../etc/passwd").status_code == 404
    assert send(client, "/jobs/queue", name="ab", kind="decide", a="x", b="../y").status_code == 404
    assert send(client, "/jobs/queue", name="--help", kind="pool", a="x", b="y").status_code == 400
    assert send(client, "/jobs/stop", work="../..").status_code == 404
    assert client.get("/jobs/none").status_code == 404
    assert client.get("/jobs/..%2F..%2Fset").status_code == 404
    (folder / "other").mkdir()
    (folder / "elsewhere.toml").write_text('project = "other"\n' + SWEEP)
    assert client.get("/jobs.json").json()["sweeps"] == ["sweep.toml"]
    token = Tokens(folder).add("Bo", "annotator")
    guarded = make_client(folder, needs_token=True)
    headers = {"authorization": f"Bearer {token}"}
    assert guarded.get("/jobs.json", headers=headers).status_code == 200
    assert "Jobs are started by an admin" in guarded.get("/jobs", headers=headers).text
    assert guarded.post("/jobs/evaluate", headers=headers, json={}).status_code == 403
    assert not list_work(folder)


def test_work_that_fails_says_how(tmp_path: Path) -> None:
    """Exit code and message are those of the verb."""
    (tmp_path / "karat.toml").write_text("[eval]\n")
    line = start_work(tmp_path, "evaluate", "karat eval", ["eval", str(tmp_path)], by="ada")
    assert wait_for(lambda: find_state(tmp_path) == "failed")
    page = make_client(tmp_path).get(f"/jobs/{line.head.id}.json").json()
    assert page["line"]["end"]["code"] == 2
    assert "karat:" in page["output"]


@pytest.mark.slow(5)
def test_people_are_asked_what_decides_between_two_runs(tmp_path: Path) -> None:
    """From the comparison: the queue is that of karat label queue, and its page asks the first pair."""
    folder = make_indexed_project(tmp_path)
    client = make_client(folder)
    answer = send(client, "/jobs/queue", name="a-or-b", kind="decide", a="old", b="new")
    assert answer.status_code == 303
    assert wait_for(lambda: find_state(folder) != "running")
    line = list_work(folder)[0]
    assert line.state == "done", client.get(f"/jobs/{line.head.id}.json").json()["output"]
    assert client.get("/judge.json?queue=a-or-b&who=ana").json()["task"]["why"]


@pytest.mark.slow(10)
def test_progress_comes_by_events(folder: Path) -> None:
    """While the sixth question is not answered, those who listen learn how far it is; then that the work has ended."""
    (folder / "wait06").touch()
    with serving(folder) as (address, _), urllib.request.urlopen(f"{address}/events", timeout=600) as stream:
        start_work(folder, "evaluate", "karat eval", ["eval", str(folder)], by="ada")
        far = json.loads(_wait_for_event(stream, "progress", lambda data: json.loads(data)["stage"] == "asking"))
        assert (far["id"], far["total"]) == (list_work(folder)[0].head.id, 12)
        assert far["done"] < 6
        (folder / "wait06").unlink()
        _wait_for_event(stream, "change", lambda data: data == "work" and find_state(folder) == "done")


def _wait_for_event(stream: Any, kind: str, is_wanted: Callable[[str], bool]) -> str:
    name = ""
    for line in stream:
        field, _, value = line.decode().rstrip("\n").partition(": ")
        name = value if field == "event" else name
        if field == "data" and name == kind and is_wanted(value):
            return str(value)
    raise AssertionError("the stream ended")


ANSWERS = """
import karat
class Guide:
    def answer(self, query, k):
        wanted = "d" + query[-3:-1]
        hits = [karat.Hit(wanted, 1.0, content=f"All about {wanted}, and more.")]
        return karat.Answer(text=f"All about {wanted}.", hits=tuple(hits))
"""


@pytest.mark.slow(20)
def test_a_sweep_and_judges_are_started_by_forms(tmp_path: Path) -> None:
    """What they find is on the pages that say what they are for; the run is judged once it is there."""
    golden = make_project(tmp_path, 'system = "answering_guide:Guide"\nwarm_up = 0\n')
    accept(tmp_path, make_run(tmp_path, golden, OLD, "old", system={"kind": "test", "size": 1}))
    (tmp_path / "answering_guide.py").write_text(ANSWERS)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    client = make_client(tmp_path)
    assert send(client, "/jobs/sweep", sweep="sweep.toml").status_code == 303
    assert wait_for(lambda: find_state(tmp_path) != "running")
    line = list_work(tmp_path)[0]
    assert (line.state, line.head.kind) == ("done", "sweep"), client.get(f"/jobs/{line.head.id}.json").text
    Indexer(tmp_path).update()
    variants = client.get("/experiments.json?sweep=sweep.toml").json()["variants"]
    assert sorted(own["settings"]["eval.concurrency"] for own in variants) == [1, 2]
    run = next(own["id"] for own in client.get("/runs.json").json()["runs"] if own["id"] != "old")
    with (tmp_path / "karat.toml").open("a") as file:
        file.write('[judges]\nnames = ["lexical_support"]\n')
    assert send(client, "/jobs/judge", run=run).status_code == 303
    assert wait_for(lambda: find_state(tmp_path) != "running")
    line = list_work(tmp_path)[0]
    page = client.get(f"/jobs/{line.head.id}.json").json()
    assert (line.state, line.head.kind) == ("done", "judge"), page["output"]
    assert "LexicalSupport" in page["output"]
