"""Live traffic as pages: numbers by hand, sessions as timelines, and cases that become proposals."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from starlette.testclient import TestClient

from karat import online
from karat.config import ALERTS
from karat.index import Indexer
from karat.monitoring import open_watched, watch
from karat.pages import keep_traffic
from karat.server._live_charts import list_ticks
from monitoring.logs import DAY, make_query, write
from server.served import find_sessions, make_client, make_project

SVG = "{http://www.w3.org/2000/svg}"
MONDAY = 1_762_732_800.0
"""9 November 2025, midnight in UTC: long ago, so that the span is all of the log."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four sessions: one reads, one asks again, one finds nothing, and one has no id and asks a golden query."""
    folder = tmp_path_factory.mktemp("live")
    make_project(folder)
    with online.open(folder / "karat.db", keep_ids=True, redact=False) as log:
        read = log.record("wifi password", ["pool", "wifi"], session="a/..", time=MONDAY, latency=40.0)
        log.feedback("read_after_search", "a/..", "wifi", query=read, rank=2, time=MONDAY + 5)
        log.record("casino hours", ["d01"], session="b", time=MONDAY + 60, latency=50.0)
        log.record("hours of the casino", ["d02"], session="b", time=MONDAY + 90, latency=60.0)
        log.record("tennis", [], session="c", time=MONDAY + 120)
        query = log.record("What of 01?", ["d01", "d02"], time=MONDAY + 180, latency=20.0)
        log.feedback("validate_useful", query=query, document="d01", time=MONDAY + 190)
    online.ingest(folder / "karat.db")
    indexer = Indexer(folder)
    indexer.update()
    keep_traffic(indexer, "", "")
    return folder


@pytest.fixture(scope="module")
def client(folder: Path) -> TestClient:
    return make_client(folder)


def test_traffic_is_counted(client: TestClient) -> None:
    """By hand: five queries in four sessions; one found nothing, one was asked again, two were used."""
    traffic = client.get("/live.json").json()["traffic"]
    rates = {rate["name"]: rate["count"] for rate in traffic["report"]["rates"]}
    assert (traffic["span"], traffic["report"]["queries"], traffic["report"]["sessions"]) == ("all", 5, 4)
    assert (rates["nothing found"], rates["asked again"], rates["used"], rates["failed"]) == (1, 1, 2, 2)
    assert sum(bucket["queries"] for bucket in traffic["buckets"]) == 5
    assert [bucket["nothing_found"] for bucket in traffic["buckets"] if bucket["queries"]] == [1]
    states = {alert["name"]: alert["state"] for alert in traffic["watch"]["alerts"]}
    assert (traffic["watch"]["status"], states.pop("silence")) == ("alert", "firing"), "nobody has asked for long"
    assert set(states.values()) == {"not measurable", "fine"}
    assert [name for name, state in states.items() if state == "fine"] == ["dropped"]


def test_axes_have_numbers_that_tell_ticks_apart(client: TestClient) -> None:
    """A single query in an hour, and the time it took: no number stands twice at an axis."""
    for chart in ("traffic", "latency"):
        picture = ElementTree.fromstring(client.get(f"/live.svg?chart={chart}").text)
        numbers = [text.text for text in picture.iter(f"{SVG}text") if text.get("text-anchor") == "end"][:-1]
        assert numbers[0] == "0"
        assert len(numbers) == len(set(numbers)) > 1


@pytest.mark.parametrize(
    ("most", "ticks"), [
        (0.05, [0, 0.02, 0.04, 0.06]), (1, [0, 0.5, 1]), (1.1, [0, 0.5, 1, 1.5]), (7, [0, 2, 4, 6, 8]),
        (0.3, [0, 0.1, 0.2, 0.3]), (130_000, [0, 50_000, 100_000, 150_000]),
    ],
)  # fmt: skip
def test_ticks_are_round(most: float, ticks: list[float]) -> None:
    """Of values however small or large; none is above the last tick."""
    assert list_ticks(most) == pytest.approx(ticks)


def test_a_page_says_how_to_switch_an_alert_off(client: TestClient) -> None:
    """The key of each alert is on the page, and outcomes of queries have the names that karat online report prints."""
    page = client.get("/live").text
    for alert in client.get("/live.json").json()["traffic"]["watch"]["alerts"]:
        assert f"{alert['name']}</code>" in page
    assert "Asked again" in page
    assert "Searched again" not in page


def test_an_alert_is_said_in_words_and_units(client: TestClient) -> None:
    """How long nobody asked, and from when on that is an alert; never a number without its unit."""
    page, overview = client.get("/live").text, client.get("/").text
    for text in (page, overview):
        assert re.search(r"[Nn]o query for [\d.]+ hours, an alert from 60 min", text)
    assert re.search(r"[\d,]+ min<span class=\"was\">n = 1", page)
    assert "e+0" not in page


def test_an_alert_that_is_open_is_named_on_top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot be measured now, and is a row of the table all the same; one that is beyond its limit is not fine."""
    make_project(tmp_path)
    off = "\n".join(f"{name} = false" for name in ALERTS if name not in ("errors", "divergent"))
    with (tmp_path / "karat.toml").open("a") as settings:
        settings.write(f"[online]\nsamples = 20\n[online.alerts]\nerrors = {{ limit = 0.5, minutes = 10 }}\n{off}\n")
    store = tmp_path / "karat.db"
    states = {"attributes": {"lambda": "divergent"}}
    write(store, [make_query(str(number), DAY + number, **states) for number in range(20)])
    watch(store, config=open_watched(tmp_path).config, now=DAY + 360)
    write(store, [make_query(f"later {number}", DAY + 300 + number, error="down") for number in range(20)])
    indexer = Indexer(tmp_path)
    indexer.update()
    with monkeypatch.context() as patch:
        patch.setattr("karat.pages._live.time.time", lambda: DAY + 660)
        keep_traffic(indexer, "", "")
    page = " ".join(make_client(tmp_path).get("/live").text.split())
    assert "<code>divergent</code> is open since 2023-11-15 00:06, and cannot be measured now: no answer is" in page
    assert '<code class="quiet">divergent</code>' in page
    assert "beyond, for 5 of 10 min" in page
    assert "Not measurable, since" not in page


def test_every_query_is_in_a_share(client: TestClient) -> None:
    """Also one of which nobody knows how it ended; and no page says that nothing in the golden set is like a query."""
    page = client.get("/live").text
    rates = {rate["name"]: rate["count"] for rate in client.get("/live.json").json()["traffic"]["report"]["rates"]}
    assert rates["failed"] + rates["used"] + rates["unknown"] == 5
    assert "<dt>Unknown</dt>" in page
    assert "nothing like it" not in page


def test_sessions_are_filtered_and_paged(client: TestClient) -> None:
    """By outcome and by words; the newest first, each once."""
    keys = lambda address: [own["key"] for own in client.get(address).json()["traffic"]["sessions"]]  # noqa: E731
    every = keys("/live.json")
    assert (every[0][0], every[1:]) == ("q", ["sc", "sb", "sa/.."])
    assert keys("/live.json?outcome=nothing+found") == ["sc"]
    assert keys("/live.json?q=CASINO") == ["sb"]
    first = client.get("/live.json?limit=3").json()
    assert keys(f"/live.json?limit=3&after={first['more']}") == ["sa/.."]
    rows = client.get("/live.csv").text.splitlines()
    assert len(rows) == 5
    assert client.get("/live.svg?chart=traffic").text.startswith("<svg xmlns")


def test_a_session_is_a_timeline(client: TestClient) -> None:
    """What was asked, what came back and what was done with it; an id with a path in it is an address, too."""
    pages = [client.get(address.replace("?", ".json?", 1)) for address in find_sessions(client)]
    assert [page.status_code for page in pages] == [200] * 4
    alone, _, again, reads = (page.json() for page in pages)
    assert [step["kind"] for step in reads["steps"]] == ["query", "read_after_search"]
    assert [(hit["document"], hit["read"], hit["passed"]) for hit in reads["steps"][0]["hits"]] == [
        ("pool", False, True),
        ("wifi", True, False),
    ]
    assert [step["outcome"] for step in again["steps"]] == ["asked again", "unknown"]
    assert again["steps"][1]["repeats"]
    assert (alone["steps"][0]["golden"], alone["steps"][0]["hits"][0]["useful"]) == ("q01", True)
    assert client.get("/sessions?session=sa&at=1").status_code == 404


def test_a_query_says_what_people_who_ask_it_do(client: TestClient) -> None:
    """One session asked it, whatever its punctuation, and called a document useful."""
    live = client.get("/queries/q01.json").json()["live"]
    assert (live["asked"], live["sessions"], live["outcomes"]) == (1, 1, {"used": 1})
    assert [(own["document"], own["shown"], own["useful"]) for own in live["documents"]] == [
        ("d01", 1, 1),
        ("d02", 1, 0),
    ]
    assert client.get("/queries/q02.json").json()["live"] is None
    assert client.get("/index.json").json()["traffic"]["queries"] == 5


def send(client: TestClient, **fields: Any) -> Any:
    token = re.search(r'data-csrf="(\w+)"', client.get("/live").text)
    assert token
    return client.post("/propose/case", data={"csrf": token[1], **fields})


def test_a_case_becomes_a_proposal(client: TestClient) -> None:
    """The query with the grades that somebody gave; gold stays as it is, and what does not fit is said."""
    fields = {"query": "live-1", "text": "casino hours", "who": "ana", "grades[d01]": "1", "grades[d02]": ""}
    answer = send(client, **fields)
    assert answer.status_code == 303
    proposal = client.get(f"{answer.headers['location']}.json").json()
    query, judged = proposal["changes"]
    assert query["query"] == {"id": "live-1", "text": "casino hours"}
    assert (judged["judgment"]["document"], judged["judgment"]["grade"]) == ("d01", 1)
    assert client.get("/golden/live-1").status_code == 404
    assert send(client, **fields | {"query": "q02"}).status_code == 400
    assert send(client, **fields | {"grades[d01]": "many"}).status_code == 400
    known = send(client, query="q01", text="What of 01?", who="ana", **{"grades[d02]": "1"})
    assert len(client.get(f"{known.headers['location']}.json").json()["changes"]) == 1


def test_a_project_without_traffic_learns_how_to_log(tmp_path: Path) -> None:
    """Neither store nor journal; then a journal that nobody brought in."""
    make_project(tmp_path)
    client = make_client(tmp_path)
    assert "karat.online.open" in client.get("/live").text
    with online.open(tmp_path / "karat.db") as log:
        log.record("wifi", ["d01"])
    assert "karat online ingest" in client.get("/live").text
    assert client.get("/live.svg").status_code == 404
    assert client.get("/sessions?session=sa&at=1").status_code == 404
