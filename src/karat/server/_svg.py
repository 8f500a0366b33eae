"""Pictures as SVG, drawn by the server: styled by classes, so that no style stands in a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Protocol

from karat.server._text import defuse

_STYLE = """
svg{background:#fff;font-family:system-ui,sans-serif}
text{fill:#5b606a;font-size:12px}.name{fill:#1b1d21}.grid{stroke:#ececea}.axis{stroke:#dfdfda;stroke-width:2}
.now{fill:#1d5bc4;stroke:#fff;stroke-width:1.5}.interval{stroke:#1d5bc4;stroke-width:9;opacity:.35}
.before{stroke:#1b1d21;stroke-width:3}.floor{stroke:#b3261e;stroke-width:2}.ceiling{stroke:#5b606a;stroke-dasharray:2 3}
.path{fill:none;stroke:#1d5bc4;stroke-width:2}.band{fill:#1d5bc4;opacity:.14}
.pass{fill:#14713d}.fail{fill:#b3261e}.inconclusive{fill:#805300}.none{fill:#5b606a}
.better{fill:#14713d;stroke:#14713d}.worse{fill:#b3261e;stroke:#b3261e}.same{fill:#5b606a;stroke:#5b606a}
.bar{fill:#1d5bc4;opacity:.55}.bar.bad{fill:#b3261e;opacity:.9}.stroke{fill:#1d5bc4;opacity:.7}.end{fill:#1b1d21}
.dot{opacity:.7}.diagonal{stroke:#5b606a;stroke-dasharray:4 4}
.zero{stroke:#1b1d21;stroke-width:1}.change{stroke-width:5;opacity:.5}
.rank{fill:none;stroke-width:2}.way-0{stroke:#1d5bc4}.way-1{stroke:#14713d}.way-2{stroke:#805300}.way-3{stroke:#b3261e}.way-4{stroke:#6b3fa0}.way-5{stroke:#5b606a}
.rank-dot{fill:#fff;stroke-width:2}.way{fill:none;stroke:#5b606a;stroke-width:1.25;opacity:.75}.way.accepted{stroke:#14713d;stroke-width:2.75;opacity:1}
.way.rejected{stroke-dasharray:6 4}.way.failed{stroke:#b3261e;stroke-dasharray:1 4;stroke-width:2}
.tick{paint-order:stroke;stroke:#fff;stroke-width:3px}.accepted.sign{fill:#14713d}.rejected.sign,.none.sign{fill:#5b606a}.failed.sign{fill:#b3261e}
"""
"""For a picture of its own, in the colours of a light page."""


class Picture(Protocol):
    """What a page shows and exports as SVG."""

    def render(self) -> str:
        """Return it as it stands in a page, whose style says how its parts look."""
        ...

    def export(self) -> str:
        """Return it as a file of its own."""
        ...


@dataclass(kw_only=True)
class Chart:
    """A picture that is being drawn."""

    width: int
    height: int
    title: str
    """What it shows, for people who do not see it."""
    stretches: bool = False
    """Whether it fills its place whatever the shape of that."""
    parts: list[str] = field(default_factory=list)

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        """Draw a line."""
        self._add("line", kind, x1=x1, y1=y1, x2=x2, y2=y2)

    def circle(self, x: float, y: float, r: float, kind: str, tip: str = "", address: str = "") -> None:
        """Draw a dot; with an address it is a link."""
        self._add("circle", kind, tip, address, cx=x, cy=y, r=r)

    def rect(self, x: float, y: float, width: float, height: float, kind: str, tip: str = "") -> None:
        """Draw a rectangle."""
        self._add("rect", kind, tip, x=x, y=y, width=max(0.0, width), height=max(0.0, height))

    def path(
        self, points: list[tuple[float, float]], kind: str, *, closed: bool = False, tip: str = "", address: str = ""
    ) -> None:
        """Draw a line through points, or an area; with an address it is a link."""
        steps = " ".join(f"{'L' if place else 'M'}{_short(x)} {_short(y)}" for place, (x, y) in enumerate(points))
        body = f'<path class="{kind}" d="{steps}{" Z" if closed else ""}">{_tip(tip)}</path>'
        self.parts.append(_wrap(body, address))

    def sign(self, x: float, y: float, shape: str, kind: str, tip: str = "", address: str = "") -> None:
        """Draw a sign whose form tells an outcome, so that its colour need not: circle, cross, diamond or ring."""
        if shape == "circle":
            self.circle(x, y, 5, kind, tip, address)
            return
        forms = {
            "cross": "M-5 -3 L-3 -5 L0 -2 L3 -5 L5 -3 L2 0 L5 3 L3 5 L0 2 L-3 5 L-5 3 L-2 0 Z",
            "diamond": "M0 -6 L6 0 L0 6 L-6 0 Z",
            "ring": "M-4 -4 L4 -4 L4 4 L-4 4 Z",
        }
        body = (
            f'<path class="{kind}" d="{forms[shape]}" transform="translate({_short(x)} {_short(y)})">{_tip(tip)}</path>'
        )
        self.parts.append(_wrap(body, address))

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> None:
        """Write a text."""
        style = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text{style} x="{_short(x)}" y="{_short(y)}" text-anchor="{anchor}">{_clean(text)}</text>')

    def render(self) -> str:
        """Return the picture as it stands in a page."""
        return self._render(f' height="{self.height}"' if self.stretches else "")

    def export(self) -> str:
        """Return the picture as a file of its own."""
        return self._render(f' xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}"', _STYLE)

    def _render(self, attributes: str, style: str = "") -> str:
        role = "group" if any(part.startswith("<a ") for part in self.parts) else "img"
        ratio = ' preserveAspectRatio="none"' if self.stretches else ""
        head = f'<svg{attributes} viewBox="0 0 {self.width} {self.height}"{ratio} role="{role}" class="chart">'
        inner = f"<style>{style}</style>" if style else ""
        return f"{head}<title>{_clean(self.title)}</title>{inner}{''.join(self.parts)}</svg>"

    def _add(self, tag: str, kind: str, tip: str = "", address: str = "", **numbers: float) -> None:
        attributes = " ".join(f'{name}="{_short(number)}"' for name, number in numbers.items())
        self.parts.append(_wrap(f'<{tag} class="{kind}" {attributes}>{_tip(tip)}</{tag}>', address))


def scale(low: float, high: float, start: float, end: float, value: float) -> float:
    """Return where a value stands between two places."""
    return start if high == low else start + (value - low) / (high - low) * (end - start)


def spread(wanted: Mapping[str, float], top: float, bottom: float, step: float) -> dict[str, float]:
    """Return where names stand: near where they are wanted, and far enough from each other to be read.

    >>> spread({"a": 10, "b": 12}, 0, 100, 15)
    {'a': 10, 'b': 25}
    """
    heights: dict[str, float] = {}
    lowest = top
    for name, y in sorted(wanted.items(), key=lambda item: item[1]):
        heights[name] = lowest = max(y, lowest)
        lowest += step
    limit = bottom
    for name in reversed(heights):  # what was pushed below the picture moves up again
        heights[name] = limit = min(heights[name], limit)
        limit -= step
    return heights


def _tip(text: str) -> str:
    return f"<title>{_clean(text)}</title>" if text else ""


def _wrap(body: str, address: str) -> str:
    return f'<a href="{escape(address)}">{body}</a>' if address else body


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _clean(text: str) -> str:
    return escape(defuse(text))
