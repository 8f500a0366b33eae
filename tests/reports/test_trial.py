"""A trial over time: the points that are drawn, the picture, and the page in a browser."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from karat.cli._trial_text import status_text
from karat.online.trials import Observations, TrialPlan, record_batch, report_trial, start_trial, stop_trial
from karat.online.trials._points import trace_trial
from karat.reports import explain_futility, list_harmed, render_trial_html, render_trial_svg
from karat.schema.trials import TrialReport
from karat.stats.sequential import StoppingRule, Tally, assess

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NASTY = '<script>alert(1)</script>"&\x1b[31m'
FEATURE = "rerank" + "-and-a-very-long-name" * 4
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.slow
def test_points_are_what_was_known_after_each_hour() -> None:
    """Each is the assessment of all that had been measured by then; of very many hours 200 stand, with the last."""
    rows = [(hour, value, count) for hour in range(1000) for value, count in ((-0.5, 1), (0.5, 2), (0.0, 3))]
    points = trace_trial(rows, StoppingRule())
    assert len(points) == 200
    assert (points[-1].n, points[-1].time) == (6000, "1970-02-11T16:00:00.000000Z")
    for point in points[::50]:
        hours = point.n // 6
        look = assess(Tally.from_counts({-0.5: hours, 0.5: 2 * hours, 0.0: 3 * hours}))
        assert (point.mean, point.low, point.log_better) == (look.mean, look.low, look.log_better)
    assert trace_trial([], StoppingRule()) == ()
    (*_, cut) = trace_trial(rows, StoppingRule(), now=999 * 3600 + 60.0)
    assert cut.time == "1970-02-11T15:01:00.000000Z", "the hour is not over"
    (*_, back) = trace_trial(rows, StoppingRule(), now=0.0)
    assert back.time == "1970-02-11T15:00:00.000000Z", "the clock was set back"


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TrialReport:
    """A trial of 30 hours, stopped by somebody with a nasty name."""
    path = tmp_path / "karat.db"
    start_trial(path, TrialPlan(feature=FEATURE), now=1e9)
    for hour in range(30):
        monkeypatch.setattr("karat.online.trials._trial.time.time", lambda hour=hour: 1e9 + 3600 * hour)
        record_batch(path, FEATURE, f"b{hour}", Observations(differences={"RR@10": Tally.of([0.5, 0, 0, -0.25, 0.5])}))
    stop_trial(path, FEATURE, author=NASTY, reason=NASTY)
    return report_trial(path, FEATURE)


def test_the_picture(report: TrialReport) -> None:
    """Well-formed; its lines end where the last point is, and it says in words what it shows."""
    root = ElementTree.fromstring(render_trial_svg(report))
    lines = {path.get("class"): path.get("d") or "" for path in root.iter(f"{SVG}path")}
    assert {"band", "line mean", "line better", "line worse", "line below", "limit"} <= lines.keys()
    assert lines["line mean"].count("L") == 29
    last, limit = report.points[-1], report.enough
    assert (last.log_better > limit) == (_last_height(lines["line better"]) < _height_of(lines["limit"]))
    assert _last_height(lines["line worse"]) > _height_of(lines["limit"])
    about = root.findtext(f"{SVG}desc") or ""
    assert about.startswith("After 150 differences the mean is +0.1500, between +0.")
    assert "20:1 is enough" in about


def test_the_picture_of_a_guardrail(tmp_path: Path) -> None:
    """What stopped a trial is drawn as well: its last point is what the status says, and nothing about effects."""
    path = tmp_path / "karat.db"
    start_trial(path, TrialPlan(feature="a", measure="RR@10", guardrails=("R@5", "P@5")))
    harm = {"RR@10": Tally.of([0.5] * 40), "R@5": Tally.of([-0.5] * 40), "P@5": Tally.of([0.0] * 40)}
    record_batch(path, "a", "b", Observations(differences=harm))
    report = report_trial(path, "a")
    assert report.status.decision == "harm-stop"
    assert list_harmed(report) == ["R@5"]
    status = next(own for own in report.status.measures if own.measure == "R@5")
    (last,) = report.guardrails["R@5"]
    assert (last.n, last.mean, last.log_worse) == (40, -0.5, status.log_worse)
    drawn = ElementTree.fromstring(render_trial_svg(report, guardrail="R@5"))
    assert (drawn.findtext(f"{SVG}desc") or "").startswith("After 40 differences the mean is -0.5000")
    assert "line below" not in {path.get("class") for path in drawn.iter(f"{SVG}path")}
    titles = [render_trial_svg(report, guardrail=name).count(' id="trial-title"') for name in ("", "R@5")]
    assert titles == [1, 0], "no id stands twice on a page"
    page = render_trial_html(report)
    assert page.count('<img class="picture"') == 2
    assert "The guardrail R@5, which is worse" in page


def test_the_evidence_that_made_a_trial_futile_is_shown(tmp_path: Path) -> None:
    """Its own threshold, 1 / beta, is in the picture and beside the numbers: 20:1 is that of better and worse."""
    path = tmp_path / "karat.db"
    start_trial(path, TrialPlan(feature="a", measure="RR@10"))
    tally = Tally.from_counts({0.5: 12, -0.5: 12, 0.0: 96})
    record_batch(path, "a", "b", Observations(differences={"RR@10": tally}))
    report = report_trial(path, "a")
    assert (report.status.decision, report.status.measures[0].high > 0.05) == ("futile", True)
    odds = math.exp(assess(tally).log_below_effect)
    assert 5 < odds < 20
    sentence = (
        f"Not better by 0.05 in RR@10: the evidence is {odds:.3g}:1, and 5:1 is enough. This is wrong for up to 20 % "
        "of treatments that are better by 0.05. The interval is one of 95 %, so it may still hold 0.05."
    )
    assert list(explain_futility(report.status)) == [sentence]
    assert sentence in status_text(report.status)
    assert sentence in render_trial_html(report)
    drawn = ElementTree.fromstring(render_trial_svg(report))
    about = drawn.findtext(f"{SVG}desc") or ""
    assert about.endswith(f"20:1 is enough. That it is not better by 0.05 is {odds:.3g}:1; there 5:1 is enough.")
    assert "5:1 is enough for not better by 0.05" in [text.text for text in drawn.iter(f"{SVG}text")]
    limits = [_height_of(own.get("d") or "") for own in drawn.iter(f"{SVG}path") if own.get("class") == "limit"]
    (end,) = [float(own.get("cy") or 0) for own in drawn.iter(f"{SVG}circle") if own.get("class") == "t-below"]
    _, futile, enough = limits
    assert enough < end < futile, "above 5:1 and below 20:1"


def _last_height(line: str) -> float:
    return float(line.split()[-1])


def _height_of(line: str) -> float:
    match = re.fullmatch(r"M\d+ ([\d.]+)H\d+", line)
    assert match
    return float(match[1])


def test_a_picture_of_nothing_and_of_one_hour(tmp_path: Path) -> None:
    """Nothing is divided by nothing."""
    path = tmp_path / "karat.db"
    start_trial(path, TrialPlan(feature="a"))
    assert "Nothing was measured yet." in render_trial_svg(report_trial(path, "a"))
    record_batch(path, "a", "b", Observations(differences={"RR@10": Tally.of([1.0])}))
    drawn = render_trial_svg(report_trial(path, "a"))
    assert "nan" not in drawn.lower()
    root = ElementTree.fromstring(drawn)
    assert math.isfinite(_last_height(root.findall(f"{SVG}path")[-2].get("d") or ""))
    dots = [(dot.get("class"), dot.get("cx")) for dot in root.iter(f"{SVG}circle")]
    assert dots == [(f"t-{name}", "264.0") for name in ("better", "better", "worse", "below")], (
        "in the middle, and seen"
    )
    (whisker,) = [path.get("d") or "" for path in root.iter(f"{SVG}path") if path.get("class") == "mean"]
    match = re.fullmatch(r"M264.0 ([\d.]+)L264.0 ([\d.]+)", whisker)
    assert match
    assert float(match[1]) < float(match[2])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_on_a_telephone(report: TrialReport, browser: Browser, tmp_path: Path, scheme: str) -> None:
    """Nothing is wider than 390 pixels, no text acts as markup, nothing is loaded, and the picture is drawn."""
    text = render_trial_html(report)
    assert "<script" not in text
    assert "\x1b" not in text
    (tmp_path / "trial.html").write_text(text)
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(600_000)
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("request", lambda request: request.url.startswith(("file:", "data:")) or problems.append(request.url))
    page.goto((tmp_path / "trial.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("document.querySelector('img.picture').naturalWidth") == 480
    assert page.evaluate("document.querySelector('img.picture').clientWidth") <= 390
    assert "not from the log" in page.inner_text("main")
    assert NASTY[:8] in page.inner_text("main")
    assert problems == []
    context.close()
