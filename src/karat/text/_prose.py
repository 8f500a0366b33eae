"""The prose of a document: what a person reads, without markup, so that a sentence of it can be a query."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from karat.core import Document

_READ = 200_000
"""Characters of a document that are read: only its first sentences are needed, and a file may have millions."""
_DEEPEST = 20
"""Levels of a JSON document that are searched."""

# A search for an end never runs past the next beginning: a text of nothing but beginnings would take forever.
_FRONT = re.compile(
    r"\A---[ \t]*\n(?:#[^\n]*\n)*[\w\"'][^\n:]*:.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)"
    r"|\A\+\+\+[ \t]*\n.*?\n\+\+\+[ \t]*(?:\n|\Z)",
    re.DOTALL,
)
_HIDDEN = re.compile(
    r"<!--(?:(?!<!--).)*?-->"
    r"|<(script|style|pre|table|svg|head|template|h[1-6])\b[^<>]*>(?:(?!<\1\b).)*?</\1\s*>"
    r"|\{%(?:(?!\{%).)*?%\}|\{\{(?:(?!\{\{).)*?\}\}",
    re.DOTALL | re.IGNORECASE,
)
_TAG = re.compile(r"</?(?P<name>[A-Za-z][\w.:-]*)(?:\s[^<>]*)?/?>|<![A-Za-z][^<>]*>|<\?[^<>]*\?>|</?>")
_ADDRESS = re.compile(r"<((?:[a-z][a-z0-9+.-]*:|[^\s<>@]+@)[^\s<>]+)>", re.IGNORECASE)
_INLINE = re.compile(
    r"a|abbr|b|bdi|bdo|cite|code|data|del|dfn|em|font|i|img|ins|kbd|label|mark|q|s|samp|small|span|strike|strong|sub|"
    r"sup|time|tt|u|var|wbr",
    re.IGNORECASE,
)
_LEFT_OUT = re.compile(
    r"\s*+(?:!!!|\?\?\?|:::|\.\. )"  # admonitions and directives
    r"|\s{0,3}\[[^\[\]]+\]:\s"  # where links and footnotes lead
    r"|\s*+\[!\w+\]\s*$|\s*+\[\[?_?(?:toc|TOC)_?\]\]?\s*$"
    r"|import\s[^.]*[\"'][^\"']*[\"'];?\s*$|export\s+(?:default|const|function)\s"
)
_QUOTED = re.compile(r"\A[ \t]*+(?:>[ \t]?)+")
_TASK = re.compile(r"\A\[[ xX]\][ \t]+")
_TARGET = r"(?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])"
_SPOKEN = (
    (re.compile(rf"!\[\[[^\[\]]*\]\]|!\[[^\[\]]*\]{_TARGET}?"), ""),
    (re.compile(r"\[\^[^\[\]]+\]"), ""),
    (re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]"), r"\1"),
    (re.compile(rf"\[([^\[\]]*)\]{_TARGET}"), r"\1"),
    (re.compile(r"\{[:#.][^{}]*\}"), ""),
    (re.compile(r"(?<!\w):[a-z][a-z0-9_+-]*:(?!\w)"), ""),
)
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_EMPHASIS = (
    re.compile(r"(?<!\\)(\*{1,3}|~~|==)(?=\S)((?:(?!\1).)+?)(?<=\S)(?<!\\)\1"),
    re.compile(r"(?<![\w\\])(_{1,3})(?=\S)((?:(?!\1).)+?)(?<=\S)(?<!\\)\1(?!\w)"),
)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_UNPAIRED = re.compile(r"\*{2,}|~~|`+|\s+(?=[.,;!?](?:\s|$))")
_MARKS = "<>{}[]()*_~=`\\!:&"
_KEPT = str.maketrans({mark: chr(0xE000 + i) for i, mark in enumerate(_MARKS)})
_SHOWN = str.maketrans({chr(0xE000 + i): mark for i, mark in enumerate(_MARKS)})


class Paragraph(NamedTuple):
    """A paragraph or an item of a list, on one line."""

    text: str
    item: bool = False
    """Whether it is an item of a list."""


def prose(document: Document) -> Iterator[Paragraph]:
    r"""Yield the paragraphs and list items, each on one line, without headings, code, tables, links and other markup.

    A JSON document has its strings of more than one word. Only the beginning of a very long document is read.

    >>> text = "---\ntitle: Pool\n---\n# The *pool*\n\nIt **opens** at [six](hours.md).\n\n| a | b |\n|---|---|\n"
    >>> list(prose(Document(id="pool", text=text, format="markdown")))
    [Paragraph(text='It opens at six.', item=False)]
    """
    # JSON is read whole: cut off, it would not be JSON.
    paragraphs = _values(document.text) if document.format == "json" else _paragraphs(document.text[:_READ])
    for raw, item in paragraphs:
        line = _spoken(raw)
        if any(map(str.isalpha, line)):
            yield Paragraph(line, item)


def _values(text: str) -> Iterator[Paragraph]:
    """Yield the texts of a JSON document, in order; nothing if it is not JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return
    waiting = [(value, _DEEPEST)]
    while waiting:
        value, left = waiting.pop()
        if isinstance(value, str) and " " in value.strip():
            yield from _paragraphs(value[:_READ])
        elif left and isinstance(value, dict | list):
            inner = list(value.values()) if isinstance(value, dict) else value
            waiting.extend((child, left - 1) for child in reversed(inner))


def _paragraphs(text: str) -> Iterator[Paragraph]:
    """Yield paragraphs and list items, with the markup within their lines."""
    from karat.text._canonical import canonical
    from karat.text._lines import MARKER
    from karat.text._pieces import pieces

    text = canonical(_FRONT.sub("", canonical(text), count=1))
    parts = [text[piece.start : piece.end] for piece in pieces(text) if piece.kind == "prose"]
    paragraph: list[str] = []
    item = False
    for whole in (*_untagged("\n\n".join(parts)).split("\n"), ""):
        line = _QUOTED.sub("", whole)
        marker, left_out = MARKER.match(line), _LEFT_OUT.match(line) is not None
        if paragraph and (marker or left_out or not line.strip()):
            yield Paragraph(" ".join(paragraph), item)
            paragraph = []
        if line.strip() and not left_out:
            item = marker is not None or (item and bool(paragraph))
            paragraph.append(_TASK.sub("", line[marker.end() :] if marker else line.strip()).rstrip(" \\"))


def _untagged(text: str) -> str:
    """Return a text without HTML and templates; block elements become paragraphs, and code within a line stays."""

    def gap(tag: re.Match[str]) -> str:
        return "" if _INLINE.fullmatch(tag["name"] or "") else "\n\n"

    text = _CODE.sub(lambda code: code[2].strip().translate(_KEPT), text)
    return _TAG.sub(gap, _ADDRESS.sub(r"\1", _HIDDEN.sub("\n\n", text)))


def _spoken(line: str) -> str:
    """Return a line without the markup in it."""
    for pattern, replacement in _SPOKEN:
        line = pattern.sub(replacement, line)
    for _ in range(2):  # ***both***, and **one in _another_**
        for pattern in _EMPHASIS:
            line = pattern.sub(r"\2", line)
    line = html.unescape(_ESCAPED.sub(r"\1", _UNPAIRED.sub("", line)))
    return " ".join(line.translate(_SHOWN).split())
