"""Sparklines: a series of numbers as a small line, in one SVG file or in a terminal."""

from __future__ import annotations

import html
import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TypeGuard
from unicodedata import east_asian_width

_BARS = "▁▂▃▄▅▆▇█"
_NONE = "·"
_WIDTH, _LEFT, _RIGHT, _ROW, _HEAD = 720, 200, 570, 64, 40
_MARGIN, _PLOT, _APART = 16, 32, 16
_HUGE = 1e8  # from here on numbers are printed with an exponent
_DOTS = 40  # more dots would run into each other
_STYLE = """\
text{font:13px system-ui,sans-serif;fill:#1f2328}.small{font-size:11px}.small,.note{fill:#59636e}
.strong{font-weight:600}.number{font-variant-numeric:tabular-nums}.ground{fill:#fff}.rule{stroke:#d1d9e0}
.mark{stroke:#9a6700;stroke-dasharray:3 3}
.line{fill:none;stroke:#0969da;stroke-width:1.5;stroke-linejoin:round}.dot{fill:#0969da}.last{fill:#1f2328}
.run{fill:transparent}.run:hover{fill:#0969da;fill-opacity:.2}
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.small,.note{fill:#9198a1}.ground{fill:#0d1117}
.rule{stroke:#3d444d}.mark{stroke:#d29922}.line{stroke:#58a6ff}.dot{fill:#58a6ff}.last{fill:#f0f6fc}
.run:hover{fill:#58a6ff}}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sparkline:
    """One metric over time."""

    name: str
    values: Sequence[float | None]
    """At least one value, the oldest first; None or NaN where a run has none."""
    digits: int = 4
    tiny: bool = False
    """Whether a number too small for these digits is printed with an exponent; otherwise it is printed as 0."""

    @property
    def drawn(self) -> list[float | None]:
        """The values rounded as they are printed, so that the line shows no difference that the numbers do not."""
        return [self._printed(value) if _is_number(value) else None for value in self.values]

    @property
    def present(self) -> list[float]:
        """The values that are not missing, rounded as they are printed."""
        return [value for value in self.drawn if value is not None]

    @property
    def change(self) -> float | None:
        """The newest value minus the first, before either is rounded; None if one is missing.

        >>> Sparkline(name="RR", values=[0.5, None, 0.75]).change
        0.25
        """
        first, newest = self.values[0], self.values[-1]
        if first is None or newest is None or len(self.values) < 2:
            return None
        return newest - first if _is_number(newest - first) else None

    def format(self, value: float, *, signed: bool = False) -> str:
        """Return a value as it is printed, in few characters; a change has its sign, and no change is 0, not -0.

        >>> line = Sparkline(name="p95 ms", values=(), digits=2, tiny=True)
        >>> line.format(12.345), line.format(-0.0, signed=True), line.format(3e-5), line.format(123456789012.3)
        ('12.35', '+0.00', '3e-05', '1.23e+11')
        """
        sign = "+" if signed else ""
        if abs(value) >= _HUGE or (self.tiny and 0 < abs(value) < 0.5 * 10**-self.digits):
            return f"{value:{sign}.3g}"
        return f"{round(value, self.digits) + 0.0:{sign}.{self.digits}f}"

    def _printed(self, value: float) -> float:
        printed = float(self.format(value))
        return printed if math.isfinite(printed) else value  # the largest floats become infinite when they are rounded


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Metrics of the same runs, drawn below each other."""

    title: str
    labels: Sequence[str]
    """A label for each run; a browser shows it under the mouse."""
    marks: Mapping[int, str] = field(default_factory=dict)
    """Places before which something happened, such as a change of the golden set, with the words for it."""
    lines: Sequence[Sparkline] = field(default_factory=tuple)


def bars(values: Sequence[float | None]) -> str:
    """Return values as bars of one character each, the smallest the lowest; a dot stands for a missing value.

    >>> bars([0.1, 0.2, None, 0.8])
    '▁▂·█'
    """
    present = [value for value in values if _is_number(value)]
    if not present:
        return _NONE * len(values)
    low, high = min(present), max(present)
    return "".join(_BARS[round(_share(value, low, high) * 7)] if _is_number(value) else _NONE for value in values)


def render_sparklines(title: str, charts: Sequence[Chart]) -> str:
    """Return one SVG file with a sparkline for each metric; it loads nothing and follows light and dark mode.

    Every line has a title and a description, so that a screen reader says what the line shows.
    """
    height = _HEAD + sum(_HEAD + _ROW * len(chart.lines) + _APART for chart in charts)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}" '
        'role="group" aria-labelledby="trend-title" aria-describedby="trend-about">',
        f'<title id="trend-title">{_text(title)}</title>',
        '<desc id="trend-about">One line for each metric; runs stand at equal distances, the oldest on the left, and '
        "each line reaches from its own lowest to its own highest value.</desc>",
        f"<style>{_STYLE}</style>",
        f'<rect class="ground" width="{_WIDTH}" height="{height}"/>',
        _words(_MARGIN, 28, title, "strong"),
    ]
    top = _HEAD
    for number, chart in enumerate(charts):
        parts += [
            _words(_MARGIN, top + 22, chart.title, "note"),
            f'<path class="rule" d="M{_MARGIN} {top + 32}H{_WIDTH - _MARGIN}"/>',
        ]
        top += _HEAD
        for line in chart.lines:
            parts.append(_draw(line, chart, top, f"trend-{number}-{len(parts)}"))
            top += _ROW
        top += _APART
    return "\n".join([*parts, "</svg>", ""])


def _draw(line: Sparkline, chart: Chart, top: float, name: str) -> str:
    """Return one metric in its row: its name and range, the line, and the newest value with the change."""
    return "\n".join(
        [
            f'<g role="img" aria-labelledby="{name}-t" aria-describedby="{name}-d">',
            f'<title id="{name}-t">{_text(line.name)}</title>',
            f'<desc id="{name}-d">{_text(describe(line))}</desc>',
            *_pair(_MARGIN, top, line.name, _spread(line)),
            *_draw_marks(chart, top + (_ROW - _PLOT) / 2),
            *_plot(line, chart.labels, top + (_ROW - _PLOT) / 2),
            *_pair(_RIGHT + _MARGIN, top, *_newest(line)),
            "</g>",
        ]
    )


def _draw_marks(chart: Chart, top: float) -> Iterator[str]:
    """Yield a dashed line between two runs for each mark, with its words under the mouse."""
    step = (_RIGHT - _LEFT) / max(len(chart.labels) - 1, 1)
    for place, words in chart.marks.items():
        x = _LEFT + step * (place - 0.5)
        yield (f'<path class="mark" d="M{x:.1f} {top - 8:g}V{top + _PLOT + 8:g}"><title>{_text(words)}</title></path>')


def _spread(line: Sparkline) -> str:
    present = line.present
    if not present or len(line.values) == 1:
        return "" if present else "no value"
    low, high = line.format(min(present)), line.format(max(present))
    return f"{low} to {high}" if low != high else "always the same" if len(present) > 1 else ""


def _newest(line: Sparkline) -> tuple[str, str]:
    newest, change = line.drawn[-1], line.change
    return (
        "-" if newest is None else line.format(newest),
        "" if change is None else f"{line.format(change, signed=True)} since first",
    )


def _pair(x: float, top: float, strong: str, small: str) -> list[str]:
    """Return a text and a smaller one below it; if there is only one, it stands beside the middle of the line."""
    if not small:
        return [_words(x, top + 37, strong, "strong number", 22)]
    return [_words(x, top + 27, strong, "strong number", 22), _words(x, top + 45, small, "small number")]


def describe(line: Sparkline) -> str:
    """Return in words what a line shows.

    >>> describe(Sparkline(name="RR", values=[0.5, None, 0.75], digits=2))
    '0.75 in the newest of 3 runs, +0.25 since the first; lowest 0.50, highest 0.75; 1 without a value.'
    """
    present, runs = line.present, f"{len(line.values):,} run{'' if len(line.values) == 1 else 's'}"
    if not present:
        return f"no value in {runs}."
    newest = line.drawn[-1]
    now = f"{'no value' if newest is None else line.format(newest)} in the newest of {runs}"
    since = "" if line.change is None else f", {line.format(line.change, signed=True)} since the first"
    missing = f"; {len(line.values) - len(present):,} without a value" if len(present) < len(line.values) else ""
    return f"{now}{since}; lowest {line.format(min(present))}, highest {line.format(max(present))}{missing}."


def _plot(line: Sparkline, labels: Sequence[str], top: float) -> Iterator[str]:
    """Yield lines between neighbours that both have a value, so that a gap shows as one, and a dot for each run.

    If there are too many runs for dots, only the newest has one, and each value without a neighbour. A field as high as
    the plot carries the label of each run, because a dot is hard to hit with the mouse.
    """
    drawn, count = line.drawn, len(line.values)
    low, high = min(line.present, default=0.0), max(line.present, default=0.0)
    step = (_RIGHT - _LEFT) / max(count - 1, 1)
    path, dots, fields = "", list[str](), list[str]()
    for i, (value, label) in enumerate(zip(drawn, labels, strict=True)):
        if value is None:
            continue
        x = (_LEFT + _RIGHT) / 2 if count == 1 else _LEFT + step * i
        y = top + _PLOT * (1 - _share(value, low, high))
        before, after = (0 <= k < count and drawn[k] is not None for k in (i - 1, i + 1))
        path += f"{'L' if before else 'M'}{x:.1f} {y:.1f}"
        newest = i == count - 1
        if newest or count <= _DOTS or not (before or after):
            kind, radius = ("dot last", 3.5) if newest else ("dot", 2.5)
            dots.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>')
        fields.append(
            f'<rect class="run" x="{x - min(step, 24) / 2:.1f}" y="{top - 8:g}" width="{min(step, 24):.1f}" '
            f'height="{_PLOT + 16}"><title>{_text(label)}: {line.format(value)}</title></rect>'
        )
    if path:
        yield f'<path class="line" d="{path}"/>'
    yield from (*dots, *fields)


def _is_number(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def _share(value: float, low: float, high: float) -> float:
    """Return where a value lies between the lowest and the highest, from 0 to 1; 0.5 if all are the same."""
    span = high - low
    return (value - low) / span if span > 0 and math.isfinite(span) else 0.5


def _words(x: float, y: float, text: str, kind: str, most: int = 90) -> str:
    """Return text at a place, shortened if it would run into what stands beside it."""
    widths = list(accumulate(2 if east_asian_width(c) in "WF" else 1 for c in text))
    short = text if not text or widths[-1] <= most else f"{text[: bisect_right(widths, most - 1)]}…"
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{_text(short)}</text>'


def _text(text: str) -> str:
    """Return text that is valid in XML: a character that cannot be printed becomes U+FFFD."""
    return html.escape("".join(c if c.isprintable() else "\ufffd" for c in text))
