"""Values as HTML in a notebook: a small table in the notebook's own colours, with every text from outside escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_WIDTH, _HEIGHT = 140, 22
_MOST = 400
"""The most letters of a text in a cell."""


class Markup(str):
    """A text that is HTML already."""

    __slots__ = ()


def show_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str] = ()) -> str:
    """Return a table with a caption above and notes below it. All cells but :class:`Markup` are escaped.

    >>> show_table("a & b", ["measure"], [["<RR>"]]).count("&lt;RR&gt;")
    1
    """
    head = "".join(f'<th scope="col" style="text-align:left">{escape(name)}</th>' for name in heads)
    body = "".join(f"<tr>{''.join(map(_make_cell, row))}</tr>" for row in rows)
    title = f'<caption style="text-align:left;font-weight:600">{_escape(caption)}</caption>'
    below = "".join(f'<div style="opacity:.75">{_escape(note)}</div>' for note in notes)
    return f"<div><table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}</div>"


def _make_cell(text: str) -> str:
    return f'<td style="text-align:left">{text if isinstance(text, Markup) else _escape(text)}</td>'


def _escape(text: str) -> str:
    """Return a text that is only a text: shortened, without control characters, and with a direction of its own."""
    shown = text if len(text) <= _MOST else f"{text[:_MOST]}..."
    return f"<bdi>{escape(''.join(letter if letter.isprintable() else ' ' for letter in shown))}</bdi>"


def draw_bars(counts: Sequence[int], label: str) -> Markup:
    """Return a picture of how many values there are in each of some ranges of equal width.

    >>> draw_bars([0, 2, 1], "three ranges").count("<rect")
    3
    """
    highest, width = max([1, *counts]), _WIDTH / max(1, len(counts))
    bars = "".join(
        f'<rect x="{index * width:.1f}" y="{_HEIGHT - height:.1f}" width="{width - 1:.1f}" height="{height:.1f}"/>'
        for index, height in enumerate(count / highest * _HEIGHT for count in counts)
    )
    return _make_picture(bars, label)


def draw_interval(value: float, low: float, high: float, reach: float) -> Markup:
    """Return a dot with its interval, on a line from ``-reach`` to ``reach`` on which 0 is marked.

    >>> "0.0100 to 0.0300" in draw_interval(0.02, 0.01, 0.03, 0.05)
    True
    """
    left, dot, right = (_place(number, reach) for number in (low, value, high))
    middle, zero = _HEIGHT / 2, _WIDTH / 2
    lines = [
        f'<line x1="{zero}" y1="0" x2="{zero}" y2="{_HEIGHT}" stroke="currentColor" stroke-dasharray="2 2"/>',
        f'<line x1="{left:.1f}" y1="{middle}" x2="{right:.1f}" y2="{middle}" stroke="currentColor" stroke-width="2"/>',
        f'<circle cx="{dot:.1f}" cy="{middle}" r="4"/>',
    ]
    return _make_picture("".join(lines), f"{value:+.4f}, 95 % interval {low:.4f} to {high:.4f}")


def _place(number: float, reach: float) -> float:
    share = number / reach if reach else 0.0
    return _WIDTH / 2 + max(-1.0, min(1.0, share)) * (_WIDTH / 2 - 5)


def _make_picture(parts: str, label: str) -> Markup:
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    words = escape(label, quote=True)
    return Markup(
        f'<svg {size} role="img" aria-label="{words}" fill="currentColor"><title>{words}</title>{parts}</svg>'
    )
