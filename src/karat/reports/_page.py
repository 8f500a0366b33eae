"""One HTML page of facts, notes and tables, in the style of all reports; it needs no script."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from karat.reports._html import escape_text, hash_source, read_asset

_SIGNS = {"pass": "✓", "fail": "✗", "none": "?"}
_LONG = 120
"""Of texts that are longer a cell shows the beginning."""


def render_page(
    title: str,
    heading: str,
    lead: str,
    facts: Iterable[tuple[str, str]],
    notes: Sequence[str],
    sections: Iterable[str],
    *,
    state: str = "none",
) -> str:
    """Return one HTML page that opens offline. Nothing in it can act as markup, and no script may run.

    ``sections`` are those of :func:`render_section`; all else is text. ``state`` is pass, fail, inconclusive or none.
    """
    style = read_asset("report.css")
    policy = f"default-src 'none'; style-src {hash_source(style)}; img-src data:; base-uri 'none'; form-action 'none'"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape_text(title)}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<header class="bar"><p class="brand">karat</p></header>
<main>
<section class="verdict {state}" aria-labelledby="title">
<div class="said"><h1 id="title">{escape_text(heading)}</h1>
<p class="lead">{_keep_dates(escape_text(lead))}</p></div>
<dl class="facts">{_facts(facts)}</dl>
</section>
{_notes(notes)}
{"".join(sections)}
</main>
</body>
</html>
"""


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    return "".join(f"<div><dt>{escape_text(name)}</dt><dd>{escape_text(fact)}</dd></div>" for name, fact in facts)


def _notes(notes: Sequence[str]) -> str:
    items = "".join(f"<li>{escape_text(note)}</li>" for note in notes)
    return f'<section class="callout"><h2>Read with care</h2><ul>{items}</ul></section>' if items else ""


def render_section(
    title: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    words: Sequence[str] = (),
    wide: Sequence[str] = (),
    tones: Mapping[str, str] = MappingProxyType({}),
    caption: str = "",
) -> str:
    """Return a section with a table; nothing if that has no rows.

    ``words`` are the names of columns that hold no numbers; without them no column is set as numbers. ``wide`` are
    those with sentences, which take several lines. ``tones`` says which state (pass, fail or none) a word in the column
    "state" stands for, at the beginning of a cell: it is shown as the pages of the server show it.
    ``caption`` says what the columns mean.
    """
    kinds = [
        ' class="wide"' if name in wide else "" if not words or name in words else ' class="number"' for name in head
    ]
    shown = [tones if name == "state" else {} for name in head]
    body = "".join(f"<tr>{''.join(map(_cell, kinds, row, shown))}</tr>" for row in rows)
    if not body:
        return ""
    names = "".join(f'<th scope="col"{kind}>{escape_text(name)}</th>' for kind, name in zip(kinds, head, strict=True))
    style = ' class="traffic"' if words else ""
    table = f"<table{style}><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"
    name = escape_text(title)
    about = f'<p class="caption">{escape_text(caption)}</p>' if caption else ""
    return (
        f"<section><h2>{name}</h2>{about}"
        f'<div class="scroll panel" tabindex="0" role="group" aria-label="{name}">{table}</div></section>'
    )


def _cell(kind: str, text: str, tones: Mapping[str, str]) -> str:
    """Return a cell; of a long text it shows the beginning, which opens."""
    for word, tone in tones.items():
        if re.match(rf"{re.escape(word)}\b", text):
            sign, rest = _SIGNS[tone], escape_text(text[len(word) :])
            return (
                f'<td{kind}><span class="badge {tone}"><span aria-hidden="true">{sign}</span> {word}</span>{rest}</td>'
            )
    if len(text) <= _LONG:
        return f"<td{kind}>{escape_text(text)}</td>"
    return f"<td{kind}><details><summary>{escape_text(text[:_LONG])} ...</summary>{escape_text(text)}</details></td>"


def _keep_dates(markup: str) -> str:
    """Return markup in which no line ends within a date."""
    return re.sub(r"\d{4}-\d\d-\d\d", r'<span class="whole">\g<0></span>', markup)
