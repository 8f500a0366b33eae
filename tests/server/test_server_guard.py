"""Who may ask: hosts, origins, form tokens, roles, sign-in and its limits; and what is written down about it."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
from functools import partial
from pathlib import Path

import pytest
from msgspec import Struct
from starlette.testclient import TestClient

from karat.core import InputError, SystemFailed, UsageError
from karat.files import make_folder
from karat.schema import from_plain
from karat.schema.pages import AuditLine, IndexState
from karat.server import Action, Role, Tokens, Visit, add_token, list_tokens, revoke_token
from karat.server._audit import Audit
from karat.server._guard import POLICY
from karat.server._page import Done
from karat.server._sessions import Attempts, Sessions
from karat.server._tokens import User
from server.served import HOST, make_client, make_indexed_project

ORIGIN = {"origin": f"http://{HOST}"}


class _Asked(Struct, frozen=True, kw_only=True):
    word: str


def _act(visit: Visit, request: _Asked) -> Done:
    assert request.word
    return Done(document=IndexState(waiting=len(request.word), problem=visit.user.name), address="/runs")


def _action(role: Role) -> Action:
    return Action(
        name=f"say-{role}",
        address=f"/say/{role}",
        request=_Asked,
        act=_act,
        document="page-runs",
        about="Say.",
        role=role,
    )


ACTIONS = [_action("annotator"), _action("admin")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_indexed_project(tmp_path_factory.mktemp("guarded"))


@pytest.fixture
def local(folder: Path) -> TestClient:
    return make_client(folder, actions=ACTIONS)


@pytest.fixture
def guarded(folder: Path) -> TestClient:
    return make_client(folder, needs_token=True, actions=ACTIONS)


def _form_token(client: TestClient) -> str:
    match = re.search(r'data-csrf="([0-9a-f]{64})"', client.get("/runs").text)
    assert match is not None
    return match[1]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8321", "127.0.0.1", "127.0.0.1:80", "", "localhost:1"])
def test_another_host_is_refused(local: TestClient, host: str) -> None:
    """A name that leads to this machine (DNS rebinding) is not this server."""
    answer = local.get("/runs", headers={"host": host})
    assert answer.status_code == 421
    assert "old" not in answer.text


def test_every_answer_has_the_headers(local: TestClient) -> None:
    """Pages, files, errors and refusals; nothing is allowed that does not come from this server."""
    for answer in (
        local.get("/"), local.get("/nothing"), local.get("/runs.json"), local.get("/", headers={"host": "x"}),
        local.delete("/runs"),
    ):  # fmt: skip
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "server" not in answer.headers
    assert "unsafe" not in POLICY
    assert local.get("/runs").headers["cache-control"] == "no-cache, private"


def test_files_are_kept_for_a_year(local: TestClient) -> None:
    """Their names change when they do."""
    address = re.findall(r'href="(/static/[^"]+)"', local.get("/").text)[0]
    assert "immutable" in local.get(address).headers["cache-control"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 303), (ORIGIN, 303), ({**ORIGIN, "sec-fetch-site": "same-origin"}, 303),
        ({"origin": "http://evil.example"}, 403), ({"origin": "null"}, 403), ({"origin": f"https://{HOST}"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403), ({"sec-fetch-site": "same-site"}, 403),
    ],
)  # fmt: skip
def test_a_change_comes_from_a_page_of_this_server(local: TestClient, headers: dict[str, str], status: int) -> None:
    """Origin and Sec-Fetch-Site are looked at, beside the token of the form."""
    fields = {"word": "yes", "csrf": _form_token(local)}
    assert local.post("/say/admin", data=fields, headers=headers).status_code == status


def test_a_change_needs_the_token_of_the_form(local: TestClient) -> None:
    """A wrong one, none, and that of another server are refused; JSON carries it in a header."""
    token = _form_token(local)
    for wrong in ("", "0" * 64, token[:-1], "é"):
        assert local.post("/say/admin", data={"word": "yes", "csrf": wrong}).status_code == 403
    answer = local.post("/say/admin", json={"word": "four"}, headers={"x-karat-form": token})
    assert answer.json() == {"waiting": 4, "problem": "local"}


def test_bodies_are_bounded_and_typed(local: TestClient) -> None:
    """Too long, of another kind, or with odd fields: one message, and nothing is done."""
    token = {"x-karat-form": _form_token(local)}
    assert local.post("/say/admin", json={"word": "x" * 300_000}, headers=token).status_code == 413
    assert local.post("/say/admin", content=b"word=1", headers=token).status_code == 415
    assert local.post("/say/admin", json={"word": 5}, headers=token).status_code == 400
    assert local.post("/say/admin", json=["word"], headers=token).status_code == 400
    form = {**token, "content-type": "application/x-www-form-urlencoded"}
    assert local.post("/say/admin", content=b"word=a&word=b", headers=form).status_code == 400
    assert local.post("/say/admin", content=b"word=%ff", headers=form).status_code == 400
    answer = local.put("/say/admin", json={})
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_nothing_is_shown_without_a_token(guarded: TestClient) -> None:
    """A browser is led to the page on which people sign in, a program gets 401."""
    for address in ("/", "/runs.json", "/runs.csv", "/api", "/events", "/index.svg"):
        assert guarded.get(address, headers={"accept": "application/json"}).status_code == 401
    answer = guarded.get("/runs", headers={"accept": "text/html"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?next=%2Fruns")
    signing = guarded.get("/sign-in").text
    assert "Sign in" in signing
    assert "<nav" not in signing  # each page would lead back here


@pytest.mark.parametrize(
    ("role", "statuses"), [("viewer", (200, 403, 403)), ("annotator", (200, 200, 403)), ("admin", (200, 200, 200))]
)
def test_roles_decide_what_people_may(guarded: TestClient, folder: Path, role: str, statuses: tuple[int, ...]) -> None:
    """Viewers look, annotators also judge, admins also decide."""
    bearer = {"authorization": f"Bearer {Tokens(folder).add('Ada', role)}"}
    looked = guarded.get("/runs", headers=bearer).status_code
    judged = guarded.post("/say/annotator", json={"word": "x"}, headers=bearer).status_code
    decided = guarded.post("/say/admin", json={"word": "x"}, headers=bearer).status_code
    assert (looked, judged, decided) == statuses


def test_people_sign_in_and_out(guarded: TestClient, folder: Path) -> None:
    """The cookie is for this server alone, and no script reads it; a revoked token ends its sessions at once."""
    tokens = Tokens(folder)
    text = tokens.add("Grace", "annotator")
    answer = guarded.post("/sign-in", data={"token": text}, headers=ORIGIN)
    cookie = answer.headers["set-cookie"]
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert text not in cookie
    assert guarded.get("/runs").status_code == 200
    token = _form_token(guarded)
    assert guarded.post("/say/annotator", data={"word": "x", "csrf": token}).status_code == 303
    assert guarded.post("/sign-out", data={"csrf": token}).headers["location"] == "/sign-in"
    assert guarded.get("/runs").status_code == 401
    guarded.post("/sign-in", data={"token": text})
    assert guarded.get("/runs").status_code == 200
    tokens.revoke(text.split("_")[1])
    assert guarded.get("/runs").status_code == 401
    assert guarded.post("/sign-in", data={"token": text}).status_code == 401


def test_who_signs_in_goes_on_where_they_were(guarded: TestClient, folder: Path) -> None:
    """On this server alone, also after a wrong token; an address of another one is that of the first page."""
    text = Tokens(folder).add("Grace", "annotator")
    html = {"accept": "text/html"}
    page = "/judge?queue=first&who="
    link = guarded.get(page, headers=html).headers["location"]
    assert link == "/sign-in?next=%2Fjudge%3Fqueue%3Dfirst%26who%3D"
    shown = 'name="next" value="/judge?queue=first&amp;who="'
    assert shown in guarded.get(link).text
    assert shown in guarded.post("/sign-in", data={"token": "wrong", "next": page}, headers=html).text
    odd = (
        "//evil.example",
        "/\\evil.example",
        "https://evil.example/",
        "javascript:alert(1)",
        "judge",
        "/x\r\ny: z",
        "/ä",
    )
    for address, expected in ((page, page), *((address, "/") for address in odd)):
        answer = guarded.post("/sign-in", data={"token": text, "next": address}, headers=ORIGIN)
        assert (answer.status_code, answer.headers["location"]) == (303, expected)


def test_guessing_is_slow(folder: Path) -> None:
    """After five wrong tokens in a minute the next has to wait, in a form and as a header; a right one passes."""
    client = make_client(folder, needs_token=True)
    right = Tokens(folder).add("Linus", "viewer")
    for _ in range(5):
        assert client.post("/sign-in", data={"token": "karat_00000000_x"}).status_code == 401
    bearer = {"authorization": "Bearer karat_00000000_x"}
    for answer in (
        client.post("/sign-in", data={"token": "karat_00000000_x"}), client.get("/runs.json", headers=bearer)
    ):  # fmt: skip
        assert answer.status_code == 429
        assert 1 <= int(answer.headers["retry-after"]) <= 61
    assert client.get("/runs.json", headers={"authorization": f"Bearer {right}"}).status_code == 200
    assert client.post("/sign-in", data={"token": right}).status_code == 303


def test_attempts_are_forgotten_after_a_minute() -> None:
    """Of one address, and of all together."""
    now = [0.0]
    attempts = Attempts(lambda: now[0])
    for _ in range(5):
        attempts.note("a")
    assert attempts.seconds_to_wait("a") == 61
    assert attempts.seconds_to_wait("b") == 0
    for other in range(25):
        attempts.note(f"x{other}")
    assert attempts.seconds_to_wait("b") > 0
    now[0] = 60.0
    assert attempts.seconds_to_wait("a") == attempts.seconds_to_wait("b") == 0


def test_sessions_end(tmp_path: Path) -> None:
    """After four hours without a request, after twelve hours anyway."""
    now = [0.0]
    tokens = Tokens(tmp_path)
    user = tokens.find(tokens.add("Ada", "viewer"))
    assert user is not None
    sessions = Sessions(tokens, lambda: now[0])
    secret = sessions.begin(user)
    for hour in range(1, 12):
        now[0] = hour * 3600.0
        assert sessions.find(secret) == user
    now[0] = 12 * 3600 + 1.0
    assert sessions.find(secret) is None
    idle = sessions.begin(user)
    now[0] += 4 * 3600 + 1
    assert sessions.find(idle) is None


def test_tokens_are_kept_as_hashes_and_expire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is its owner's alone, and has no token; what is cut, changed or expired is nobody's."""
    tokens = Tokens(tmp_path)
    text = tokens.add("Ada", "admin", days=2)
    path = tmp_path / ".karat" / "tokens.json"
    assert text.split("_", 2)[2] not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert tokens.find(text) == User(name="Ada", role="admin", token=text.split("_")[1])
    for wrong in (text[:-1], text + "x", text.replace("karat_", "other_"), "", "karat__", "karat_" * 9, "\udc80"):
        assert tokens.find(wrong) is None
    monkeypatch.setattr(
        "karat.server._tokens.time.time", lambda: __import__("datetime").datetime.now().timestamp() + 3 * 86_400
    )
    assert tokens.find(text) is None
    assert tokens.list()[0].state == "expired"
    assert not tokens.has_any()


def test_a_token_has_no_name_that_somebody_has_in_other_letters(tmp_path: Path) -> None:
    """Neither of another token nor of labels, or one person would count as two; the same name gets a new token."""
    tokens = Tokens(tmp_path)
    people = tmp_path / "labels" / "people"
    people.mkdir(parents=True)
    (people / "bo.jsonl").write_text("")
    tokens.add("Ana", "annotator")
    for name in ("ana", "ANA", "Bo"):
        with pytest.raises(UsageError, match="in other letters"):
            tokens.add(name, "annotator")
    for name in ("Ana", "bo"):
        tokens.add(name, "annotator")
    assert [line.name for line in tokens.list()].count("Ana") == 2


def test_git_leaves_tokens_out_of_a_commit(tmp_path: Path) -> None:
    """Also in a project that was made by hand, in which no .gitignore names the folder."""
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / "karat.toml").write_text("")
    Tokens(tmp_path).add("Ada", "admin")
    Audit(tmp_path).note("signed in")
    make_folder(tmp_path / ".karat" / "work")
    seen = subprocess.run(
        ["git", "-C", str(tmp_path), "status", "--porcelain", "--untracked-files=all"],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    assert seen == "?? karat.toml\n"
    (tmp_path / ".karat" / ".gitignore").write_text("mine\n")
    Tokens(tmp_path).add("Bo", "admin")
    assert (tmp_path / ".karat" / ".gitignore").read_text() == "mine\n"


def test_odd_tokens_are_refused(tmp_path: Path) -> None:
    """Names, roles, days and ids that make no sense; a damaged file is not taken for an empty one."""
    tokens = Tokens(tmp_path)
    for name, role, days in (("", "viewer", 1), ("a\nb", "viewer", 1), ("Ada", "king", 1), ("Ada", "viewer", 0)):
        with pytest.raises(UsageError):
            tokens.add(name, role, days)
    with pytest.raises(InputError, match="no token"):
        tokens.revoke("none")
    own = tokens.add("Ada", "viewer").split("_")[1]
    with pytest.raises(InputError, match=f"no token 'Ada'; Ada has {own}$"):
        tokens.revoke("Ada")
    (tmp_path / ".karat").mkdir(exist_ok=True)
    (tmp_path / ".karat" / "tokens.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        tokens.has_any()


@pytest.mark.slow
def test_what_people_did_is_written_down(tmp_path: Path) -> None:
    """Sign-in, refusal and change are lines that are only added, without any secret."""
    folder = make_indexed_project(tmp_path)
    client = make_client(folder, needs_token=True, actions=ACTIONS)
    text = Tokens(folder).add("Ada", "viewer")
    client.post("/sign-in", data={"token": "wrong"})
    client.post("/sign-in", data={"token": text})
    client.post("/say/admin", data={"word": "x"})
    path = folder / ".karat" / "audit.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["event"] for line in lines] == ["sign-in refused", "signed in", "refused"]
    assert lines[1]["user"] == "Ada"
    assert text.split("_", 2)[2] not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [from_plain(line, AuditLine).event for line in lines] == [line["event"] for line in lines]


def test_an_audit_log_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """Nor is one written through a link."""
    (tmp_path / ".karat").mkdir()
    os.mkfifo(tmp_path / ".karat" / "audit.jsonl")
    with pytest.raises(SystemFailed, match="cannot be written: it is a named pipe, not a file"):
        Audit(tmp_path).note("signed in")


def test_nothing_is_changed_that_cannot_be_written_down(tmp_path: Path) -> None:
    """A token that nobody was shown would be good all the same, and no line would say that it was made."""
    folder = make_indexed_project(tmp_path)
    token = add_token(folder, "Ada", "viewer").tokens[0]
    audit = folder / ".karat" / "audit.jsonl"
    audit.unlink()
    os.mkfifo(audit)
    for change in (partial(add_token, folder, "Bob", "admin"), partial(revoke_token, folder, token.id)):
        with pytest.raises(SystemFailed, match="cannot be written"):
            change()
    assert list_tokens(folder).tokens == (token,)


def test_attempts_to_get_around_the_guard_are_written_down(tmp_path: Path) -> None:
    """A wrong origin, a form without its token, and more tries than are allowed."""
    folder = make_indexed_project(tmp_path)
    client = make_client(folder, needs_token=True, actions=ACTIONS)
    text = Tokens(folder).add("Ada", "admin")
    client.post("/say/admin", data={"word": "x"}, headers={"origin": "http://evil.example"})
    client.post("/sign-in", data={"token": text})
    client.post("/say/admin", data={"word": "x", "csrf": "0" * 64})
    client.cookies.clear()
    for _ in range(6):
        client.post("/sign-in", data={"token": "wrong"})
    lines = [json.loads(line) for line in (folder / ".karat" / "audit.jsonl").read_text().splitlines()]
    events = [line["event"] for line in lines]
    assert events == [
        "origin refused", "signed in", "form refused", *["sign-in refused"] * 5, "sign-in too often",
    ]  # fmt: skip
    assert (lines[0]["path"], lines[2]["user"]) == ("/say/admin", "Ada")


def test_a_browser_keeps_nothing_of_what_needs_a_token(tmp_path: Path) -> None:
    """Not while somebody is signed in, nor after; and signing in again ends the session before it."""
    folder = make_indexed_project(tmp_path)
    client = make_client(folder, needs_token=True)
    text = Tokens(folder).add("Ada", "viewer")
    client.post("/sign-in", data={"token": text})
    first = dict(client.cookies)
    assert client.get("/runs").headers["cache-control"] == "no-store"
    client.post("/sign-in", data={"token": text})
    assert dict(client.cookies) != first
    client.cookies.clear()
    old = client.get("/runs", headers={"cookie": "; ".join(f"{name}={value}" for name, value in first.items())})
    assert old.status_code == 401
    client.post("/sign-in", data={"token": text})
    gone = client.post("/sign-out", data={"csrf": _form_token(client)})
    assert gone.headers["clear-site-data"] == '"cache", "storage"'
