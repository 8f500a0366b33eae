"""The variants of a sweep as lines over parallel axes: what was set on the left, what came of it on the right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from karat.pages import link_run, order_values, show_value
from karat.schema.pages import ExperimentLine, ExperimentsPage
from karat.server._svg import Chart, scale, spread
from karat.server._text import clip, format_number

_LINES = 40
"""Variants that are drawn: the first ones of the page."""
_SETTINGS, _RESULTS = 6, 4  # axes
_WIDTH, _LABELS = 122.0, 310.0  # of an axis, and of the names on the right
_LEFT, _TOP = 64.0, 44.0
_SPREAD = 9.0  # how far lines through the same value of a setting are apart, at most, on either side
_STEP = 17.0  # between two names
_LONGEST = 40  # letters of a name
_SHAPES = {"accepted": "circle", "rejected": "diamond", "failed": "cross", "none": "ring"}


@dataclass(frozen=True, kw_only=True)
class _Axis:
    """An axis: its name, its ticks, and where each variant crosses it."""

    name: str
    kind: str
    """What stands under the name."""
    ticks: Sequence[tuple[float, str]]
    places: Mapping[str, float]
    """By the id of a variant; one without a value is not there."""
    mark: float | None = None
    """Where the baseline is."""


def draw_parallel(page: ExperimentsPage, name: str = "") -> Chart:  # noqa: ARG001 (as of all pictures)
    """Draw each variant as a line over its settings and its results; on the axes of results up is better."""
    lines = page.variants[:_LINES]
    bottom = _TOP + max(230.0, _STEP * len(lines))
    axes = [_make_setting(page, key, lines, bottom) for key in page.settings[:_SETTINGS]]
    axes += [_make_result(page, measure, lines, bottom) for measure in _choose_measures(page)]
    right = _LEFT + _WIDTH * max(0, len(axes) - 1)
    chart = Chart(
        width=round(right + _LABELS),
        height=round(bottom + 26),
        title=f"{len(lines)} variants over settings and results",
    )
    xs = [_LEFT + _WIDTH * place for place in range(len(axes))]
    ways = {line.id: _find_points(line, axes, xs) for line in lines}
    ends = {line.id: ways[line.id][-1][1] for line in lines if ways[line.id] and line.results}
    heights = spread(ends, _TOP, bottom, _STEP)
    for line in reversed(lines):  # the first, which are the best, are drawn over the others
        if line.id in heights:
            _draw_line(chart, line, ways[line.id], (right + 34, heights[line.id]))
    for place, line in enumerate(line for line in lines if line.id not in heights and ways[line.id]):
        _draw_failure(chart, line, ways[line.id], 12.0 * (place % 6))
    for axis, x in zip(axes, xs, strict=True):
        _draw_axis(chart, axis, x, bottom)
    return chart


def _choose_measures(page: ExperimentsPage) -> list[str]:
    """Return the results that have an axis: the first ones, and the last, which is the latency where there is one."""
    names = [name for name in page.measures if any(name in line.results for line in page.variants[:_LINES])]
    return names if len(names) <= _RESULTS else [*names[: _RESULTS - 1], names[-1]]


def _make_setting(page: ExperimentsPage, key: str, lines: Sequence[ExperimentLine], bottom: float) -> _Axis:
    """Return the axis of a setting: its values at equal distances, small numbers below large ones."""
    texts = order_values(line.settings.get(key) for line in lines)
    height = {
        text: scale(0, max(1, len(texts) - 1), bottom - 14, _TOP + 14, place) if len(texts) > 1 else (_TOP + bottom) / 2
        for place, text in enumerate(texts)
    }
    places: dict[str, float] = {}
    room = min(_SPREAD, (bottom - _TOP) / max(1, len(texts)) / 4)
    for text in texts:
        own = [line.id for line in lines if show_value(line.settings.get(key)) == text]
        for place, id_ in enumerate(own):
            places[id_] = height[text] + (scale(0, len(own) - 1, -room, room, place) if len(own) > 1 else 0.0)
    ticks = [(height[text], clip(text, 12)) for text in texts] if len(texts) <= 14 else []
    return _Axis(name=clip(page.labels.get(key, key), 18), kind="setting", ticks=ticks, places=places)


def _make_result(page: ExperimentsPage, name: str, lines: Sequence[ExperimentLine], bottom: float) -> _Axis:
    """Return the axis of a result, turned so that up is better."""
    values = {line.id: line.results[name] for line in lines if name in line.results}
    known = [*values.values(), *([page.baseline[name]] if name in page.baseline else [])]
    low, high = min(known), max(known)
    start, end = (_TOP + 14, bottom - 14) if name in page.lower_is_better else (bottom - 14, _TOP + 14)
    place: Callable[[float], float] = lambda value: (  # noqa: E731
        scale(low, high, start, end, value) if high > low else (start + end) / 2
    )
    show = (lambda value: f"{value:.3g} ms") if name.startswith("latency.") else format_number
    kind = "less is better" if name in page.lower_is_better else "objective" if name == page.objective else "result"
    return _Axis(
        name=clip(name.replace("latency.", "latency "), 18),
        kind=kind,
        ticks=[(place(value), show(value)) for value in sorted({low, high})],
        places={id_: place(value) for id_, value in values.items()},
        mark=place(page.baseline[name]) if name in page.baseline else None,
    )


def _draw_axis(chart: Chart, axis: _Axis, x: float, bottom: float) -> None:
    chart.text(x, 16, axis.name, "name", "middle")
    chart.text(x, 31, axis.kind, "", "middle")
    chart.line(x, _TOP, x, bottom, "axis")
    for y, text in axis.ticks:
        chart.line(x - 4, y, x + 4, y, "zero")
        chart.text(x - 7, y + 4, text, "tick", "end")
    if axis.mark is not None:
        chart.line(x - 10, axis.mark, x + 10, axis.mark, "before")


def _find_points(line: ExperimentLine, axes: Sequence[_Axis], xs: Sequence[float]) -> list[tuple[float, float]]:
    return [(x, axis.places[line.id]) for axis, x in zip(axes, xs, strict=True) if line.id in axis.places]


def _draw_line(
    chart: Chart, line: ExperimentLine, points: list[tuple[float, float]], name: tuple[float, float]
) -> None:
    """Draw the line of a variant, which ends at its name."""
    x, y = name
    tip, address = _describe(line), link_run(line.run) if line.run else ""
    chart.path([*points, (x - 8, y)], f"way {line.verdict}", tip=tip)
    chart.sign(x, y, _SHAPES[line.verdict], f"{line.verdict} sign", tip, address)
    chart.text(
        x + 11, y + 4, line.name if len(line.name) <= _LONGEST else clip(f"{line.id} {line.name}", _LONGEST), "name"
    )


def _draw_failure(chart: Chart, line: ExperimentLine, points: list[tuple[float, float]], room: float) -> None:
    """Draw the line of a variant without results, which ends at its last setting."""
    x, y = points[-1]
    tip = _describe(line)
    chart.path([*points, (x + 14 + room, y)], "way failed", tip=tip)
    chart.sign(x + 18 + room, y, _SHAPES["failed"], "failed sign", tip)


def _describe(line: ExperimentLine) -> str:
    return f"{line.id}, {line.name}: {line.verdict}. {clip(line.reason, 200)}"
