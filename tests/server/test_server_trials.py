"""Trials and flags as pages, and what an admin does there: through the very functions of karat trial and karat flag."""

from __future__ import annotations

import csv
import io
import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from karat.online.flags import change_flag, list_flags, show_flag_history
from karat.online.trials import list_trials, read_transitions, record_batch, report_trial, start_trial, stop_trial
from karat.schema import to_json
from karat.server import Tokens
from karat.stats.sequential import Tally
from server.served import BETTER, PLAN, make_client

EVIL = "<script>alert(1)</script>\u202e'\">"
HARMFUL = replace(
    BETTER,
    differences={"Success": Tally.from_counts({-1.0: 60, 0: 90}), "Found": Tally(), "unjudged": Tally()},
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "karat.toml").write_text('[online]\nstore = "log.db"\n')
    return tmp_path


@pytest.fixture
def store(folder: Path) -> str:
    """A store in which the trial of rerank may stop for harm."""
    place = str(folder / "log.db")
    change_flag(place, "rerank", {"percent": 50.0}, author="ada", reason="a trial")
    start_trial(place, PLAN)
    record_batch(place, "rerank", "monday", HARMFUL)
    return place


def send(client: TestClient, address: str, **fields: Any) -> Any:
    token = re.search(r'data-csrf="(\w+)"', client.get("/trials").text)
    assert token
    return client.post(address, data={"csrf": token[1], **fields})


def read_fields(html: str) -> dict[str, str]:
    form = html[html.index('class="propose') :]
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))


def test_a_page_shows_what_the_command_line_says(folder: Path, store: str) -> None:
    """The same document, but for the number of looks: a page counts none."""
    client = make_client(folder)
    page = client.get("/trials/rerank.json").json()
    told = json.loads(to_json(report_trial(store, "rerank")))
    assert page["report"].pop("points")[0]["log_worse"] == told.pop("points")[0]["log_worse"]
    assert (page["report"]["status"].pop("looks"), told["status"].pop("looks")) == (1, 2)
    assert page["report"] == told
    listed = client.get("/trials.json").json()
    assert [trial["looks"] for trial in listed["trials"]] == [2]
    assert listed["flags"] == json.loads(to_json(list_flags(store)))["flags"]


def test_a_decision_is_confirmed_with_a_reason_and_written_down(folder: Path, store: str) -> None:
    """The form of the page is all that is needed; trial and flag change together, and the audit log knows who."""
    client = make_client(folder)
    html = client.get("/confirm?feature=rerank&act=decide").text
    assert "Reject it as harmful" in html
    fields = read_fields(html)
    assert client.post("/trials/decide", data=fields).status_code == 400  # no reason
    assert client.post("/trials/decide", data={**fields, "reason": "  "}).status_code == 400
    answer = client.post("/trials/decide", data={**fields, "reason": f"as agreed {EVIL}", "who": "Ada"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/trials/rerank?number=1")
    [done] = read_transitions(store, "rerank")
    assert (done.before, done.after, done.author) == ("running", "rejected", "Ada")
    assert done.reason.endswith(f"as agreed {EVIL}")
    assert not list_flags(store).flags[0].enabled
    page = client.get(answer.headers["location"]).text
    assert "as agreed &lt;script&gt;" in page
    assert EVIL not in page
    lines = [json.loads(line) for line in (folder / ".karat" / "audit.jsonl").read_text().splitlines()]
    assert [(line["event"], line["subject"]) for line in lines] == [("decide trial", "decide: rerank")]


@pytest.mark.slow
def test_of_two_who_decide_at_once_one_does(folder: Path, store: str) -> None:
    """Six people confirm the same decision: one transition, one change of the flag, and five are told."""
    clients = [make_client(folder) for _ in range(6)]
    forms = [read_fields(client.get("/confirm?feature=rerank&act=decide").text) for client in clients]

    def decide(place: int) -> int:
        fields = {**forms[place], "reason": f"I am {place}", "who": f"p{place}"}
        return clients[place].post("/trials/decide", data=fields).status_code

    with ThreadPoolExecutor(6) as pool:
        statuses = sorted(pool.map(decide, range(6)))
    assert statuses == [303, 409, 409, 409, 409, 409]
    assert len(read_transitions(store, "rerank")) == 1
    assert len(show_flag_history(store, "rerank").changes) == 2


def test_a_guardrail_has_a_picture(folder: Path, store: str) -> None:
    """By its measure; one that the trial does not have is not there."""
    client = make_client(folder)
    picture = client.get("/trials/rerank.svg?chart=evidence:Found")
    assert (picture.status_code, "trial 1: Found" in picture.text) == (200, True)
    assert client.get("/trials/rerank.svg?chart=evidence:nDCG").status_code == 404
    assert "Found" in client.get("/trials/rerank.json").json()["report"]["guardrails"]


@pytest.mark.slow
def test_what_was_overtaken_is_not_done(folder: Path, store: str) -> None:
    """A form of a trial that is over, of an evidence that says something else by now, or of another version."""
    client = make_client(folder)
    decide = read_fields(client.get("/confirm?feature=rerank&act=decide").text)
    flag = read_fields(client.get("/confirm?feature=rerank&act=off").text)
    for number in range(3):
        record_batch(store, "rerank", f"later {number}", BETTER)
    answer = client.post("/trials/decide", data={**decide, "reason": "late"}, headers={"accept": "application/json"})
    assert (answer.status_code, "look again" in answer.json()["error"]) == (409, True)
    assert client.post("/flags/change", data={**flag, "reason": "stop it", "who": "Bo"}).status_code == 303
    assert client.post("/flags/change", data={**flag, "reason": "again", "who": "Bo"}).status_code == 409
    stop_trial(store, "rerank", author="ada", reason="enough")
    change_flag(store, "rerank", {"enabled": True}, author="ada", reason="once more")
    start_trial(store, PLAN)
    assert client.post("/trials/decide", data={**decide, "act": "stop", "reason": "late"}).status_code == 409
    assert [trial.status for trial in list_trials(store).trials] == ["rejected", "running"]


@pytest.mark.parametrize(
    ("act", "before", "after"),
    [("off", (True, 50.0), (False, 50.0)), ("roll back", (True, 50.0), (True, 0.0)), ("on", (False, 5.0), (True, 5.0))],
)
def test_a_flag_is_changed(folder: Path, store: str, act: str, before: tuple[bool, float], after: Any) -> None:
    """By the kill switch, back to nobody, and on again; each with author and reason."""
    change_flag(store, "rerank", {"enabled": before[0], "percent": before[1]}, author="x", reason="x")
    client = make_client(folder)
    fields = read_fields(client.get("/confirm", params={"feature": "rerank", "act": act}).text)
    assert client.post("/flags/change", data={**fields, "reason": "because", "who": "Ada"}).status_code == 303
    [flag] = list_flags(store).flags
    assert (flag.enabled, flag.percent) == after
    last = show_flag_history(store, "rerank").changes[-1]
    assert (last.author, last.reason) == ("Ada", "because")
    assert client.get("/confirm", params={"feature": "rerank", "act": act}).status_code == 409


@pytest.mark.slow
def test_only_admins_decide(folder: Path, store: str) -> None:
    """Viewers and annotators look, and see no button; what they send is refused, and nothing changes."""
    client = make_client(folder, needs_token=True)
    for role in ("viewer", "annotator", "admin"):
        bearer = {"authorization": f"Bearer {Tokens(folder).add(role, role)}"}
        may = role == "admin"
        assert ("Stop the trial" in client.get("/trials/rerank", headers=bearer).text) is may
        assert client.get("/confirm?feature=rerank&act=stop", headers=bearer).status_code == (200 if may else 403)
        sent = {"feature": "rerank", "act": "stop", "number": 1, "reason": "no", "who": "somebody else"}
        assert client.post("/trials/decide", json=sent, headers=bearer).status_code == (200 if may else 403)
        sent = {"feature": "rerank", "act": "off", "version": 1, "reason": "no"}
        assert client.post("/flags/change", json=sent, headers=bearer).status_code == (200 if may else 403)
    [done] = read_transitions(store, "rerank")
    assert done.author == "admin"  # the name of the token, whatever was sent
    assert client.post("/trials/decide", json=sent).status_code == 401


def test_a_change_needs_the_form_of_a_page(folder: Path, store: str) -> None:
    """Without its token nothing is done."""
    fields = {"feature": "rerank", "act": "stop", "number": "1", "reason": "x", "csrf": "0" * 64}
    assert make_client(folder).post("/trials/decide", data=fields).status_code == 403
    assert read_transitions(store, "rerank") == ()


@pytest.mark.slow
def test_every_trial_has_an_address_and_lists_go_on(folder: Path, store: str) -> None:
    """Earlier ones can be looked at and not changed; a feature with a flag alone has a page, too."""
    for feature in ("a.b", "c.json", "d:1"):
        start_trial(store, replace(PLAN, feature=feature))
    stop_trial(store, "rerank", author="ada", reason="enough")
    start_trial(store, PLAN)
    change_flag(store, "alone", {"percent": 1.0}, author="ada", reason="x")
    client = make_client(folder)
    seen, after = [], ""
    while True:
        page = client.get("/trials.json", params={"limit": 2, "after": after}).json()
        seen += [(trial["feature"], trial["number"]) for trial in page["trials"]]
        if not (after := page["more"]):
            break
    assert seen == [("rerank", 2), ("d:1", 1), ("c.json", 1), ("a.b", 1), ("rerank", 1)]
    html = client.get("/trials").text
    for address in set(re.findall(r'href="(/trials/?[^"#]*)"', html)):
        assert client.get(address.replace("&amp;", "&")).status_code == 200, address
    earlier = client.get("/trials/rerank.json?number=1").json()
    assert (earlier["acts"], earlier["numbers"]) == ([], [1, 2])
    assert [own["act"] for own in client.get("/trials/alone.json").json()["acts"]] == ["roll back", "off"]
    assert client.get("/trials/rerank?number=3").status_code == 404
    assert "did you mean" in client.get("/trials/rerang").text


def test_a_trial_is_exported(folder: Path, store: str) -> None:
    """Points as CSV, the picture of karat trial report as SVG."""
    client = make_client(folder)
    [row] = csv.DictReader(io.StringIO(client.get("/trials/rerank.csv").text))
    assert (row["differences"], float(row["mean"])) == ("150", -0.4)
    [listed] = csv.DictReader(io.StringIO(client.get("/trials.csv").text))
    assert (listed["feature"], listed["the evidence allows"]) == ("rerank", "harm-stop")
    picture = client.get("/trials/rerank.svg?chart=evidence")
    assert "Evidence" in picture.text or "evidence" in picture.text
    change_flag(store, "alone", {"percent": 1.0}, author="ada", reason="x")
    assert client.get("/trials/alone.svg").status_code == 404


def test_a_trial_without_a_measurement_draws_nothing(folder: Path, store: str) -> None:
    """It says what to do instead; its picture, asked for by its address, is small."""
    start_trial(store, replace(PLAN, feature="empty"))
    client = make_client(folder)
    page = client.get("/trials/empty").text
    assert "karat trial collect empty" in page
    assert "<svg" not in page
    picture = client.get("/trials/empty.svg?chart=evidence").text
    assert int(re.search(r'height="(\d+)"', picture)[1]) < 100  # type: ignore[index]


def test_without_a_store_the_page_teaches(tmp_path: Path) -> None:
    """And nothing is made by looking; a store that is no store is an error that says so."""
    (tmp_path / "karat.toml").write_text("")
    client = make_client(tmp_path)
    assert 'karat.online.open("karat.db")' in client.get("/trials").text
    assert client.get("/trials/rerank").status_code == 404
    assert client.get("/confirm?feature=rerank&act=stop").status_code == 404
    assert send(client, "/flags/change", feature="rerank", act="off", version=1, reason="x").status_code == 404
    assert not (tmp_path / "karat.db").exists()


@pytest.mark.sqlite
def test_a_store_can_be_given(folder: Path, store: str, tmp_path: Path) -> None:
    """Instead of that of karat.toml; one that is no database is an error that says so."""
    client = make_client(folder, store=store)
    assert len(client.get("/trials.json").json()["trials"]) == 1
    (tmp_path / "other.db").write_text("no database")
    answer = make_client(folder, store=str(tmp_path / "other.db")).get("/trials")
    assert answer.status_code in (400, 503)
    assert "other.db" in answer.text
