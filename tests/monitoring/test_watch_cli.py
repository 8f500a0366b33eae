"""``karat online watch``: exit codes for cron, JSON by its schema, pages, and a process that goes on."""

from __future__ import annotations

import json
import os
import signal
import threading
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from in_process import run_karat
from karat.cli import _online_watch
from karat.config import ALERTS
from karat.monitoring import open_watched
from karat.schema import from_plain, json_schema
from karat.schema.watch import WatchReport
from monitoring.logs import make_window, write

AT = ["--at", "2023-11-15T00:06:00Z"]
HOSTILE = "<script>alert(1)</script>\x1b[31m::error::x"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Limits for small windows, and two alerts."""
    folder = tmp_path / "limits"
    folder.mkdir()
    off = "\n".join(f"{name} = false" for name in ALERTS if name not in ("errors", "nothing_found"))
    (folder / "karat.toml").write_text(f"[online]\nsamples = 20\nleast = 5\n[online.alerts]\n{off}\n")
    return folder


def test_exit_codes_for_cron(path: Path, folder: Path) -> None:
    """0 fine, 1 an alert, 4 not measurable, 2 no such log."""
    arguments = ["online", "watch", path, "--project", folder, *AT]
    assert run_karat(*arguments).returncode == 2
    write(path, make_window(0, 19))
    assert run_karat(*arguments).returncode == 4
    write(path, make_window(0))
    fine = run_karat(*arguments)
    assert fine.returncode == 0
    first = fine.stdout.decode().splitlines()[0]
    assert first.endswith("2023-11-15T00:06:00Z: 2 of 2 alerts are fine. The newest query is 6 minutes old.")
    assert b"golden set" not in fine.stderr, "no alert that is on needs one"
    write(path, make_window(1, error="down"))
    alert = run_karat(*arguments[:-1], "2023-11-15T00:11:00Z")
    assert alert.returncode == 1
    first = alert.stdout.decode().splitlines()[0]
    assert first.endswith("errors fires; 1 of 2 alerts is fine. The newest query is 6 minutes old.")


def test_json_is_the_report(path: Path, folder: Path) -> None:
    """It has the published schema."""
    write(path, make_window(0))
    done = run_karat("online", "watch", path, "--project", folder, *AT, "--json")
    report = from_plain(json.loads(done.stdout), WatchReport)
    assert (report.status, [alert.name for alert in report.alerts]) == ("fine", ["errors", "nothing_found"])
    assert set(report.off) == ALERTS.keys() - {"errors", "nothing_found"}
    assert "WatchAlert" in json.dumps(json_schema("online-watch"))


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)


def test_a_page_with_hostile_text(path: Path, tmp_path: Path) -> None:
    """Nothing that hosts log is markup on the page, or a command in the terminal."""
    write(path, make_window(0, 200, build=HOSTILE, index="i1", normaliser="n"))
    write(path, make_window(1, 200, build=HOSTILE, index=HOSTILE, normaliser=HOSTILE))
    page = tmp_path / "page.html"
    done = run_karat("online", "watch", path, "--at", "2023-11-15T00:11:00Z", "--html", page)
    assert done.returncode == 1
    assert b"\x1b" not in done.stdout
    assert b"\n::" not in done.stdout
    text = page.read_text()
    parser = _Tags()
    parser.feed(text)
    assert "script" not in parser.tags
    assert "&lt;script&gt;" in text
    assert page.stat().st_mode & 0o077 == 0


def test_states_look_as_on_the_pages_of_the_server(path: Path, folder: Path, tmp_path: Path) -> None:
    """A sign and a word with a colour; the table takes the focus, so that it scrolls by keyboard."""
    write(path, make_window(0, error="down"))
    page = tmp_path / "page.html"
    run_karat("online", "watch", path, "--project", folder, *AT, "--html", page)
    text = page.read_text()
    assert '<span class="badge fail"><span aria-hidden="true">✗</span> ALERT</span>' in text
    assert '<span class="badge pass"><span aria-hidden="true">✓</span> fine</span>' in text
    assert '<div class="scroll panel" tabindex="0" role="group" aria-label="Alerts">' in text


def test_a_page_says_what_alerts_are_about(path: Path, tmp_path: Path) -> None:
    """In words beside the key of karat.toml; those that nobody can measure are apart, once for each reason."""
    write(path, make_window(0, error="down"))
    page = tmp_path / "page.html"
    report = json.loads(run_karat("online", "watch", path, *AT, "--html", page, "--json").stdout)
    text = page.read_text()
    unknown = [alert for alert in report["alerts"] if alert["state"] == "not measurable"]
    reasons = {alert["reason"] for alert in unknown}
    assert text.count("<h2>Not measurable</h2>") == len(reasons) > 0
    for reason in reasons:
        assert text.count(escape(reason)) == 1
    for alert in report["alerts"]:
        known = f">{alert['name']}: {alert['title']}</td>"
        apart = f">{alert['name']}</td><td>{alert['title']}</td>"
        assert (apart if alert in unknown else known) in text


def test_a_process_goes_on_until_it_is_told_to_end(
    path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A look that fails is told, and the next one tries again."""
    looks: list[str] = []
    real = _online_watch._look

    def look(store: str, *arguments: object) -> object:
        looks.append(store)
        if len(looks) == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return real(store if len(looks) != 1 else "no-such.db", *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(_online_watch, "_look", look)
    write(path, make_window(0))
    before = signal.getsignal(signal.SIGTERM)
    done = run_karat("online", "watch", path, "--project", folder, "--every", "0.01", "--json")
    assert (done.returncode, len(looks), signal.getsignal(signal.SIGTERM)) == (0, 3, before)
    assert b"no-such.db" in done.stderr
    assert done.stdout.decode().count('"status"') == 2
    assert threading.active_count() >= 1


def test_options_that_exclude_each_other(path: Path) -> None:
    """And a time that is none."""
    assert run_karat("online", "watch", path, *AT, "--every", "1").returncode == 2
    assert run_karat("online", "watch", path, "--at", "soon").returncode == 2


def test_what_waits_is_brought_in_first(path: Path, folder: Path) -> None:
    """With --ingest; without it, the report says that records wait."""
    from karat import online

    with online.open(path) as log:
        for query in make_window(0):
            log.record(query.text, ["a"], time=query.time, latency=1.0)
    waiting = run_karat("online", "watch", path, "--project", folder, *AT)
    assert (waiting.returncode, b"20 records wait" in waiting.stderr) == (4, True)
    assert run_karat("online", "watch", path, "--project", folder, *AT, "--ingest").returncode == 0


def test_a_project_without_a_golden_set_is_told_if_an_alert_needs_one(path: Path, tmp_path: Path) -> None:
    """In a sentence, and not when nothing that is on would be measured by it."""
    write(path, make_window(0))
    notes = []
    for coverage in ("true", "false"):
        off = "\n".join(f"{name} = false" for name in ALERTS if name not in ("errors", "coverage"))
        (tmp_path / "karat.toml").write_text(f"[online]\n[online.alerts]\n{off}\ncoverage = {coverage}\n")
        notes.append(open_watched(tmp_path).note)
    assert notes[0].startswith(f"{tmp_path} has no golden set that karat can read (")
    assert (notes[0].endswith("): what needs one is not measured"), notes[1]) == (True, "")
