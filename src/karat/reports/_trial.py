"""A trial over time: a picture of its confidence sequence and its evidence, as SVG and in one HTML page."""

from __future__ import annotations

import base64
import html
import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import structs

from karat.core import count_things
from karat.reports._page import render_page, render_section
from karat.schema.trials import TrialMeasure, TrialPoint, TrialReadOut, TrialReport, TrialStatus

_WIDTH, _LEFT, _RIGHT = 480, 64, 464
_FIRST, _SECOND, _HEIGHT = (56, 196), (262, 402), 450
"""The tops and bottoms of both plots, and the height of the picture."""
_HEAD = 28
"""The height of the title, which a page has beside the picture."""
_LEAST = -math.log(100)
"""Evidence of one to a hundred and less is drawn at the lower edge."""
_STATES = {"graduated": "pass", "rejected": "fail", "paused": "inconclusive"}
_EMPTY_HEIGHT = 80
"""The height of a picture on which nothing was measured yet."""
_STYLE = """\
text{font:12px system-ui,sans-serif;fill:#1b1d21}.strong{font-weight:600;font-size:13px}.quiet{fill:#5b606a}
.ground{fill:#fff}.rule{stroke:#dfdfda;fill:none}.limit{stroke:#805300;stroke-dasharray:4 3;fill:none}
.band{fill:#1d5bc4;fill-opacity:.16}.mean,.better{stroke:#1d5bc4}.worse{stroke:#b3261e}.below{stroke:#805300}
.line{fill:none;stroke-width:1.8;stroke-linejoin:round}.t-better{fill:#1d5bc4}.t-worse{fill:#b3261e}.t-below{fill:#805300}
@media(prefers-color-scheme:dark){text{fill:#e9eaec}.quiet{fill:#a3aab5}.ground{fill:#181b20}.rule{stroke:#2f343c}
.limit{stroke:#efc06b}.band{fill:#8ab4f8;fill-opacity:.2}.mean,.better{stroke:#8ab4f8}.worse{stroke:#ff9e94}
.below{stroke:#efc06b}.t-better{fill:#8ab4f8}.t-worse{fill:#ff9e94}.t-below{fill:#efc06b}}"""
_CAP = math.log(1e6)
"""Evidence of a million to one and more is drawn at the upper edge."""

_TONES = {"met": "pass", "not met": "fail"}
"""How the words of the column "state" look on a page."""

Scale = Callable[[float], float]


def render_trial_html(report: TrialReport) -> str:
    """Return a trial as one HTML page that opens offline. Nothing in it can act as markup, and no script may run."""
    status = report.status
    return render_page(
        f"Trial {status.number} of {status.feature}",
        f"{status.feature}, trial {status.number}: {status.status}",
        f"{status.decision}: {status.reason}.",
        _list_facts(status),
        _list_notes(status),
        _list_sections(report),
        state=_STATES.get(status.status, "none"),
    )


def render_trial_svg(report: TrialReport, *, styled: bool = True, guardrail: str = "") -> str:
    """Return the picture of a trial: the mean difference with its confidence sequence, and the evidence, over time.

    It loads nothing, follows light and dark mode, and says in words what it shows. If it is not ``styled`` it is for a
    page whose own style says how its parts look. With a ``guardrail`` the picture is of that measure.
    """
    status = report.status
    guardrails = list(report.guardrails)
    if guardrail:
        report = structs.replace(report, measure=guardrail, points=report.guardrails[guardrail])
    key = f"guardrail-{guardrails.index(guardrail) + 1}" if guardrail else "trial"
    title = f"{status.feature}, trial {status.number}: {report.measure}"
    height = _HEIGHT if report.points else _EMPTY_HEIGHT
    above = 0 if styled else _HEAD
    own = f'xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}"' if styled else 'class="trial"'
    parts = [
        f"<svg {own} "
        f'viewBox="0 {above} {_WIDTH} {height - above}" role="img" '
        f'aria-labelledby="{key}-title" aria-describedby="{key}-about">',
        f'<title id="{key}-title">{_text(title)}</title>',
        f'<desc id="{key}-about">{_text(describe_trial(report))}</desc>',
        f"<style>{_STYLE}</style>" if styled else "",
        f'<rect class="ground" width="{_WIDTH}" height="{height}"/>',
        _words(16, 24, title, "strong", 60) if styled else "",
    ]
    if report.points:
        decides = not guardrail
        parts += [*_draw_means(report, decides=decides), *_draw_evidence(report, decides=decides)]
    else:
        parts.append(_words(16, 60, "Nothing was measured yet.", "quiet"))
    return "\n".join([*parts, "</svg>", ""])


def list_harmed(report: TrialReport) -> list[str]:
    """Return the guardrails that are worse by the evidence, and were measured over time."""
    harmed = {own.measure for own in report.status.measures if own.guardrail and own.decision == "harm-stop"}
    return [name for name, points in report.guardrails.items() if points and name in harmed]


def describe_trial(report: TrialReport) -> str:
    """Return in words what the picture shows."""
    if not report.points:
        return "Nothing was measured yet."
    last = report.points[-1]
    return (
        f"After {last.n:,} differences the mean is {last.mean:+.4f}, between {last.low:+.4f} and {last.high:+.4f} at "
        f"any number of looks. The evidence that the treatment is better is {format_odds(last.log_better)}, that it is "
        f"worse {format_odds(last.log_worse)}; {format_odds(report.enough)} is enough.{_describe_below(report, last)}"
    )


def _describe_below(report: TrialReport, last: TrialPoint) -> str:
    """Return the evidence that gives a treatment up, in a sentence; empty for a guardrail, which has no such effect."""
    if report.measure in report.guardrails:
        return ""
    return (
        f" That it is not better by {report.effect:g} is {format_odds(last.log_below_effect)}; there "
        f"{format_odds(report.futile)} is enough."
    )


def explain_futility(status: TrialStatus) -> Iterator[str]:
    """Yield the evidence that treatments are not better by the smallest effect, and how often that is wrong.

    It needs less evidence than the interval does, which may therefore hold the effect all the same.
    """
    for own in status.measures:
        if own.guardrail or own.decision not in ("futile", "below-smallest-effect"):
            continue
        if own.alpha is None or own.beta is None or own.effect is None:
            continue
        which = f"{own.measure} of {own.treatment}" if own.treatment else own.measure
        yield (
            f"Not better by {own.effect:g} in {which}: the evidence is {format_odds(own.log_below_effect)}, and "
            f"{format_odds(-math.log(own.beta))} is enough. This is wrong for up to {100 * own.beta:g} % of treatments "
            f"that are better by {own.effect:g}. The interval is one of {100 * (1 - own.alpha):g} %, so it may still "
            f"hold {own.effect:g}."
        )


def format_odds(log_evidence: float) -> str:
    """Return evidence as odds.

    >>> format_odds(0.0), format_odds(3.0), format_odds(7.1), format_odds(50.0)
    ('1:1', '20.1:1', '1,212:1', 'over 1,000,000:1')
    >>> format_odds(-3.0), format_odds(-50.0)
    ('1:20.1', 'under 1:1,000,000')
    """
    if abs(log_evidence) > _CAP:
        return "over 1,000,000:1" if log_evidence > 0 else "under 1:1,000,000"
    odds = math.exp(abs(log_evidence))
    number = f"{odds:,.0f}" if odds >= 100 else f"{odds:.3g}"
    return f"{number}:1" if log_evidence >= 0 else f"1:{number}"


def _draw_means(report: TrialReport, *, decides: bool) -> Iterator[str]:
    """Yield the upper plot; only the measure that decides has a smallest effect."""
    points = report.points
    reach = max(0.02, report.effect, *(abs(end) for point in points[-1:] for end in (point.low, point.high))) * 1.6
    x, y = _across(points), _scale(-reach, reach, _FIRST)
    upper = [(x(place), y(point.high)) for place, point in enumerate(points)]
    lower = [(x(place), y(point.low)) for place, point in enumerate(points)]
    yield _words(16, 44, "mean difference, and where it can be at any number of looks", "quiet", 66)
    yield f'<path class="band" d="{_path([*upper, *reversed(lower)])}Z"/>'
    for value in (-reach, 0.0, reach):
        yield f'<path class="rule" d="M{_LEFT} {y(value):.1f}H{_RIGHT}"/>'
        yield _words(16, y(value) + 4, f"{value:+.2f}" if value else "0", "quiet")
    if decides:
        yield f'<path class="limit" d="M{_LEFT} {y(report.effect):.1f}H{_RIGHT}"/>'
        yield _words(_LEFT + 4, y(report.effect) - 4, f"smallest effect {report.effect:g}", "t-below")
    yield f'<path class="line mean" d="{_path([(x(i), y(point.mean)) for i, point in enumerate(points)])}"/>'
    yield f'<path class="mean" d="{_path([upper[-1], lower[-1]])}"/>'
    yield _dot(x(len(points) - 1), y(points[-1].mean), "better")
    yield from _draw_times(points, _FIRST[1])


def _draw_evidence(report: TrialReport, *, decides: bool) -> Iterator[str]:
    """Yield the lower plot; whether it is better by the smallest effect matters only for the measure that decides."""
    points = report.points
    series = {
        "better": [point.log_better for point in points],
        "worse": [point.log_worse for point in points],
    } | ({"below": [point.log_below_effect for point in points]} if decides else {})
    top = min(
        max(report.enough, report.futile if decides else 0.0, *(value for own in series.values() for value in own))
        * 1.1,
        _CAP,
    )
    x, y = _across(points), _scale(_LEAST, top, _SECOND)
    yield _words(16, _SECOND[0] - 14, "evidence, as odds on a scale of logarithms", "quiet")
    if decides:
        yield f'<path class="limit" d="M{_LEFT} {y(report.futile):.1f}H{_RIGHT}"/>'
        needed = f"{format_odds(report.futile)} is enough for not better by {report.effect:g}"
        yield _words(_LEFT + 4, y(report.futile) - 4, needed, "t-below")
    for value in (0.0, report.enough):
        kind = "limit" if value else "rule"
        yield f'<path class="{kind}" d="M{_LEFT} {y(value):.1f}H{_RIGHT}"/>'
        yield _words(16, y(value) + 4, format_odds(value), "quiet")
    yield _words(16, y(_LEAST) + 4, format_odds(_LEAST), "quiet")
    if top == _CAP:
        yield _words(_RIGHT, y(top) - 6, format_odds(math.inf), "quiet", anchor="end")
    for name, values in series.items():
        line = _path([(x(place), y(value)) for place, value in enumerate(values)])
        yield f'<path class="line {name}" d="{line}"/>'
        yield _dot(x(len(points) - 1), y(values[-1]), name)
    yield from _draw_times(points, _SECOND[1])
    for place, name in enumerate(series):
        label = f"not better by {report.effect:g}" if name == "below" else name
        yield _words(_LEFT + place * 80, _HEIGHT - 10, f"— {label}", f"t-{name}")


def _draw_times(points: Sequence[TrialPoint], bottom: float) -> Iterator[str]:
    """Yield when the first and the last point are, and after how many differences."""
    first, last = points[0], points[-1]
    yield f'<path class="rule" d="M{_LEFT} {bottom}H{_RIGHT}"/>'
    yield _words(_LEFT, bottom + 16, f"{first.time[:10]}, n = {first.n:,}", "quiet")
    if len(points) > 1:
        yield _words(_RIGHT, bottom + 16, f"{last.time[:10]}, n = {last.n:,}", "quiet", anchor="end")


def _across(points: Sequence[TrialPoint]) -> Callable[[int], float]:
    """Return the place of a point, by how many differences there were."""
    first, last = points[0].n, points[-1].n
    if first == last:
        return lambda _: (_LEFT + _RIGHT) / 2
    span = last - first
    return lambda place: _LEFT + (_RIGHT - _LEFT) * (points[place].n - first) / span


def _scale(low: float, high: float, ends: tuple[int, int]) -> Scale:
    """Return the height of a value; what is beyond the scale stands at its edge."""
    top, bottom = ends
    return lambda value: bottom - (bottom - top) * (min(max(value, low), high) - low) / (high - low)


def _dot(x: float, y: float, kind: str) -> str:
    """Return the end of a line, which is all that there is to see of a trial with one point."""
    return f'<circle class="t-{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'


def _path(places: Iterable[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)


def _words(x: float, y: float, text: str, kind: str, most: int = 70, *, anchor: str = "") -> str:
    short = text if len(text) <= most else f"{text[: most - 1]}…"
    where = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text class="{kind}"{where} x="{x:g}" y="{y:.1f}">{_text(short)}</text>'


def _text(text: str) -> str:
    """Return text that is valid in XML: a character that cannot be printed becomes U+FFFD."""
    return html.escape("".join(c if c.isprintable() else "\ufffd" for c in text))


def describe_wins(shown: TrialReadOut) -> str:
    """Return how many units the treatment won, tied and lost; empty if units are no pairs.

    >>> ends = {"bootstrap_low": None, "bootstrap_high": None}
    >>> describe_wins(TrialReadOut(**ends, probability_better=0.3, wins=1, ties=0, losses=2))
    '1 win, 0 ties, 2 losses; '
    """
    if shown.wins is None or shown.ties is None or shown.losses is None:
        return ""
    wins, ties = count_things(shown.wins, "win"), count_things(shown.ties, "tie")
    return f"{wins}, {ties}, {count_things(shown.losses, 'loss', 'losses')}; "


def _list_facts(status: TrialStatus) -> Iterator[tuple[str, str]]:
    yield "Differences", f"{status.samples:,}"
    if status.units:
        yield "Sessions", ", ".join(f"{variant} {units:,}" for variant, units in status.units.items())
    yield "Looks", f"{status.looks:,}; looking changes nothing"
    if status.read_out is not None:
        shown = status.read_out
        if wins := describe_wins(shown):
            yield "Units", wins.removesuffix("; ")
        yield "P(better)", f"{shown.probability_better:.3f}, which decides nothing"


def _list_notes(status: TrialStatus) -> list[str]:
    notes = list(explain_futility(status))
    notes += [
        f"Log {log.log[:8]}: {log.late:,} sessions went on after they were measured." for log in status.logs if log.late
    ]
    if status.not_from_log:
        share = f"{status.not_from_log:,} of {status.samples:,}"
        notes.append(f"{share} differences are not from the log: nothing has checked them.")
    return notes


def _list_sections(report: TrialReport) -> Iterator[str]:
    status = report.status
    if report.points:
        yield _show_picture(report)
    for name in list_harmed(report):
        picture = base64.b64encode(render_trial_svg(report, guardrail=name).encode()).decode()
        title = html.escape(f"The guardrail {name}, which is worse")
        yield (
            f'<section><h2>{title}</h2><img class="picture" src="data:image/svg+xml;base64,{picture}" alt="{title}">'
            "</section>"
        )
    head = ("measure", "differences", "mean", "interval at any look", "better", "worse")
    yield render_section("Measures", head, map(_row_measure, status.measures), ("measure",))
    rows = [("met" if own.met else "not met", own.name, own.detail) for own in status.conditions]
    yield render_section("Conditions of graduation", ("state", "condition", "why"), rows, tones=_TONES)
    moves = [
        (f"{own.time[:16].replace('T', ' ')} UTC", f"{own.before} to {own.after}", own.author, own.reason)
        for own in report.transitions
    ]
    yield render_section("Decisions", ("time", "change", "by", "why"), moves)


def _show_picture(report: TrialReport) -> str:
    picture = base64.b64encode(render_trial_svg(report).encode()).decode()
    words = html.escape(describe_trial(report))
    return (
        f'<section><h2>Over time</h2><p class="caption">{words}</p>'
        f'<img class="picture" src="data:image/svg+xml;base64,{picture}" alt="{words}"></section>'
    )


def _row_measure(measure: TrialMeasure) -> tuple[str, ...]:
    name = measure.measure + (" (guardrail)" if measure.guardrail else "")
    mean = "-" if measure.mean is None else f"{measure.mean:+.4f}"
    interval = f"{measure.low:+.4f} to {measure.high:+.4f}"
    return name, f"{measure.n:,}", mean, interval, format_odds(measure.log_better), format_odds(measure.log_worse)
