"""The pictures of live traffic."""

from __future__ import annotations

import math
from collections.abc import Sequence

from karat.core import format_ms
from karat.pages import NotThere
from karat.schema.pages import LivePage, SessionLine, SessionPage, TimelineMark, TrafficBucket
from karat.server._svg import Chart, scale
from karat.server._text import clip, format_time

_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, 552.0, 14.0, 150.0
_SHAPES = {
    "error": ("cross", "fail"), "nothing found": ("cross", "fail"), "not useful": ("diamond", "inconclusive"),
    "asked again": ("diamond", "inconclusive"), "unknown": ("ring", "none"), "used": ("circle", "pass"),
}  # fmt: skip
_ROUNDING = 1e-9  # 0.3 / 0.1 is a little less than 3, and 0.6 / 0.2 a little more than it
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500)


def draw_traffic(page: LivePage, name: str = "") -> Chart:  # noqa: ARG001 (as of all pictures)
    """Draw how many queries were asked, and how many of them failed or found nothing."""
    buckets = _require_buckets(page)
    chart = Chart(width=560, height=184, title="Queries over time")
    largest = max((bucket.queries for bucket in buckets), default=0) or 1
    most = _draw_ticks(chart, [tick for tick in list_ticks(largest) if tick == int(tick)])
    width = (_RIGHT - _LEFT) / max(1, len(buckets))
    for place, bucket in enumerate(buckets):
        x, bad = _LEFT + place * width, bucket.nothing_found + bucket.errors
        tip = (
            f"{format_time(bucket.start)} UTC: {bucket.queries:,} queries, {bucket.nothing_found:,} found nothing, "
            f"{bucket.errors:,} failed"
        )
        top, worst = (scale(0, most, _BOTTOM, _TOP, value) for value in (bucket.queries, bad))
        chart.rect(x + 1, top, width - 2, _BOTTOM - top, "bar", tip)
        if bad:
            chart.rect(x + 1, worst, width - 2, _BOTTOM - worst, "bar bad", tip)
    _write_times(chart, buckets)
    return chart


def draw_latency(page: LivePage, name: str = "") -> Chart:  # noqa: ARG001 (as of all pictures)
    """Draw the p95 of the latency."""
    buckets = _require_buckets(page)
    chart = Chart(width=560, height=184, title="p95 of the latency over time")
    values = [bucket.p95 for bucket in buckets]
    largest = max((value for value in values if value is not None), default=0.0) or 1.0
    most = _draw_ticks(chart, list_ticks(largest))
    width = (_RIGHT - _LEFT) / max(1, len(buckets))
    piece: list[tuple[float, float]] = []
    for place, value in enumerate((*values, None)):
        if value is None:  # a gap: what nobody measured is no line
            if len(piece) > 1:
                chart.path(piece, "path")
            piece = []
            continue
        piece.append((_LEFT + (place + 0.5) * width, scale(0, most, _BOTTOM, _TOP, value)))
        tip = f"{format_time(buckets[place].start)} UTC: p95 {format_ms(value)}"
        chart.circle(*piece[-1], 3.5, "now", tip)
    _write_times(chart, buckets)
    return chart


def draw_timeline(page: SessionPage, name: str = "") -> Chart:  # noqa: ARG001 (as of all pictures)
    """Draw a session from its beginning to its end."""
    chart = Chart(width=920, height=70, title="The session over time")
    _draw_marks(chart, page.line, 24.0, 896.0, 30.0)
    chart.text(24, 64, "0 s")
    chart.text(896, 64, _format_length(page.line.seconds), anchor="end")
    return chart


def draw_session(line: SessionLine) -> Chart:
    """Draw a session small, for a list."""
    chart = Chart(width=240, height=26, title=f"{line.queries:,} queries in {_format_length(line.seconds)}")
    _draw_marks(chart, line, 10.0, 230.0, 13.0)
    return chart


def _draw_marks(chart: Chart, line: SessionLine, left: float, right: float, y: float) -> None:
    """Draw what people did as strokes, and queries as signs over them, whose form tells what became of them."""
    chart.line(left, y, right, y, "grid")
    own = sorted(line.marks, key=lambda mark: mark.kind in _SHAPES)
    for mark in own:
        x = scale(0, line.seconds, left, right, mark.after) if line.seconds else (left + right) / 2
        tip = f"{_format_length(mark.after)}: {_describe(mark)}"
        if mark.kind in _SHAPES:
            shape, kind = _SHAPES[mark.kind]
            chart.sign(x, y, shape, kind, tip)
        elif mark.kind == "end":
            chart.rect(x - 0.75, y - 9, 1.5, 18, "end", tip)
        else:
            chart.rect(x - 1.5, y - 9, 3, 18, "stroke", tip)


def _describe(mark: TimelineMark) -> str:
    words = {
        "read": "read",
        "useful": "called useful",
        "rejected": "called not useful",
        "end": "the task ended with",
    }
    return f"{words[mark.kind]} {clip(mark.text, 80)}" if mark.kind in words else f"{clip(mark.text, 80)}: {mark.kind}"


def _format_length(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _write_times(chart: Chart, buckets: Sequence[TrafficBucket]) -> None:
    if buckets:
        chart.text(_LEFT, 174, format_time(buckets[0].start))
        chart.text(_RIGHT, 174, "now", anchor="end")


def _draw_ticks(chart: Chart, ticks: Sequence[float]) -> float:
    """Draw an axis from 0 up, and return what is at its top."""
    for tick in ticks:
        y = scale(0, ticks[-1], _BOTTOM, _TOP, tick)
        chart.line(_LEFT, y, _RIGHT, y, "grid")
        chart.text(_LEFT - 6, y + 4, _format_tick(tick), anchor="end")
    return ticks[-1]


def _format_tick(value: float) -> str:
    """Return a number that fits beside a picture, also on a phone, where letters take more of the room.

    >>> [_format_tick(value) for value in (0, 0.5, 2000, 50_000, 1_500_000)]
    ['0', '0.5', '2k', '50k', '1.5M']
    """
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def list_ticks(most: float) -> list[float]:
    """Return the round numbers of an axis from 0 to the first one that no value is above."""
    size = 10.0 ** (math.floor(math.log10(most)) - 1)
    step = next(step * size for step in (*_STEPS, 1000) if most / (step * size) <= 4)
    return [place * step for place in range(math.ceil(most / step - _ROUNDING) + 1)]


def _require_buckets(page: LivePage) -> Sequence[TrafficBucket]:
    if page.traffic is None:
        raise NotThere("there is no live traffic, and no picture")
    return page.traffic.buckets
