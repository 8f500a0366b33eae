"""Markdown that people of a project wrote, such as guidelines, as HTML that is safe on a page.

Everything is escaped first, HTML in the text included. What is understood is what such a page needs: headings,
paragraphs, lists, tables, quotes, code, emphasis and links.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from markupsafe import Markup, escape

from karat.server._text import defuse

_DEEPEST = 6
"""Lists and quotes inside each other; what is deeper is shown as text."""
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})(?: |$)")
_QUOTE = re.compile(r" {0,3}> ?")
_ITEM = re.compile(r" {0,3}(?:[-*+]|(\d{1,6})[.)])(?: {1,4}|$)")
_DIVIDER = re.compile(r":?-+:?")
_CELL = re.compile(r"(?<!\\)\|")
_WORDS = re.compile(
    r"""\\(?P<plain>[!-/:-@\[-`{-~])
    |(?P<ticks>`{1,2})(?P<code>[^`\n]{1,1000})(?P=ticks)
    |!\[(?P<picture>[^\[\]\n]{0,300})\]\([^()\s]{1,1000}\)
    |\[(?P<label>[^\[\]\n]{1,300})\]\((?P<address>(?:https?://|mailto:)[^()\s"<>]{1,1000})\)
    |<(?P<angled>https?://[^\s<>"]{1,1000})>
    |(?<![\w/])(?P<bare>https?://[^\s<>"()\[\]*`]{0,1000}[\w/])
    |(?P<two>\*\*|__)(?=\S)(?P<strong>.{1,1000}?)(?<=\S)(?P=two)
    |\*(?=[^\s*])(?P<star>[^*]{1,1000})(?<=\S)\*
    |(?<!\w)_(?=[^\s_])(?P<line>[^_]{1,1000})(?<=\S)_(?!\w)
    """,
    re.VERBOSE | re.DOTALL,
)
_Lines = Sequence[str]
_Piece = tuple[Markup, int] | None
"""What a block is on the page, and the number of the line after it; None if it is no such block."""


def show_markdown(text: str) -> Markup:
    r"""Return a text in Markdown as HTML.

    >>> print(show_markdown("# Grades\n\n3. *all* of it\n2. a part"))
    <h2>Grades</h2>
    <ol><li value="3"><em>all</em> of it</li><li value="2">a part</li></ol>
    >>> print(show_markdown("<b>a</b> [x](javascript:alert) [y](https://y.example)"))
    <p>&lt;b&gt;a&lt;/b&gt; [x](javascript:alert) <a href="https://y.example" rel="noreferrer" target="_blank">y</a></p>
    """
    return _show_blocks(defuse(text).expandtabs(4).splitlines(), 0)


def _show_blocks(lines: _Lines, depth: int, *, is_tight: bool = False) -> Markup:
    return Markup("\n").join(_list_blocks(lines, depth, is_tight=is_tight))


def _list_blocks(lines: _Lines, depth: int, *, is_tight: bool) -> Iterator[Markup]:
    place = 0
    while place < len(lines):
        if not lines[place].strip():
            place += 1
            continue
        piece = next(filter(None, (read(lines, place, depth) for read in _READERS)), None)
        if piece is None:
            words, place = _read_paragraph(lines, place)
            yield words if is_tight else _wrap("p", words)
        else:
            block, place = piece
            yield block


def _read_fence(lines: _Lines, place: int, _: int) -> _Piece:
    opening = _FENCE.match(lines[place])
    if opening is None:
        return None
    end = place + 1
    while end < len(lines) and not lines[end].strip().startswith(opening[1]):
        end += 1
    return _wrap("pre", _wrap("code", escape("\n".join(lines[place + 1 : end])))), end + 1


def _read_heading(lines: _Lines, place: int, _: int) -> _Piece:
    opening = _HEADING.match(lines[place])
    if opening is None:
        return None
    words = lines[place][opening.end() :].strip()
    closing = words.rstrip("#")
    words = closing if closing.endswith(" ") else words
    return _wrap(f"h{min(6, len(opening[1]) + 1)}", _show_words(words.strip())), place + 1  # h1 is the page's own


def _read_rule(lines: _Lines, place: int, _: int) -> _Piece:
    signs = lines[place].replace(" ", "")
    is_rule = len(signs) >= 3 and signs[0] in "-*_" and not signs.strip(signs[0])
    return (Markup("<hr>"), place + 1) if is_rule else None


def _read_table(lines: _Lines, place: int, _: int) -> _Piece:
    if not _is_table(lines, place):
        return None
    head, end = _split_row(lines[place]), place + 2
    while end < len(lines) and "|" in lines[end]:
        end += 1
    rows = [[*_split_row(line), *[""] * len(head)][: len(head)] for line in lines[place + 2 : end]]
    top = _wrap("thead", _show_row("th", head))
    body = _wrap("tbody", Markup("").join(_show_row("td", row) for row in rows))
    return _wrap("table", top + body), end


def _is_table(lines: _Lines, place: int) -> bool:
    if "|" not in lines[place] or place + 1 == len(lines) or "-" not in lines[place + 1]:
        return False
    divider = _split_row(lines[place + 1])
    return len(_split_row(lines[place])) == len(divider) and all(map(_DIVIDER.fullmatch, divider))


def _split_row(line: str) -> list[str]:
    line = line.strip().removeprefix("|")
    line = line if line.endswith("\\|") else line.removesuffix("|")
    return [cell.strip() for cell in _CELL.split(line)]


def _show_row(tag: str, cells: Sequence[str]) -> Markup:
    return _wrap("tr", Markup("").join(_wrap(tag, _show_words(cell)) for cell in cells))


def _read_quote(lines: _Lines, place: int, depth: int) -> _Piece:
    if depth == _DEEPEST or not _QUOTE.match(lines[place]):
        return None
    end = place
    while end < len(lines) and _QUOTE.match(lines[end]):
        end += 1
    return _wrap("blockquote", _show_blocks([_QUOTE.sub("", line, 1) for line in lines[place:end]], depth + 1)), end


def _read_list(lines: _Lines, place: int, depth: int) -> _Piece:
    """Read a list. Numbers are shown as they were written: a list of grades may begin with 0, or count down.

    A number that is repeated, as some write it, is counted on.
    """
    opening = _ITEM.match(lines[place])
    if depth == _DEEPEST or opening is None:
        return None
    is_numbered, items, last = opening[1] is not None, [], ""
    while place < len(lines) and (opening := _ITEM.match(lines[place])) and (opening[1] is not None) == is_numbered:
        if _read_rule(lines, place, depth):
            break
        end = _find_end(lines, place + 1, opening.end())
        inner = [lines[place][opening.end() :], *(_outdent(line, opening.end()) for line in lines[place + 1 : end])]
        content = _show_blocks(inner, depth + 1, is_tight="" not in map(str.strip, inner[:-1]))
        is_counted_on = not is_numbered or opening[1] == last
        number = Markup("") if is_counted_on else Markup(' value="{}"').format(int(opening[1]))
        items.append(Markup("<li{}>{}</li>").format(number, content))
        place, last = end, opening[1]
        while place < len(lines) and not lines[place].strip():
            place += 1
    return _wrap("ol" if is_numbered else "ul", Markup("").join(items)), place


def _find_end(lines: _Lines, place: int, indent: int) -> int:
    """Return the number of the line after an item of a list; blank lines at its end are not a part of it."""
    end = place
    while place < len(lines):
        line = lines[place]
        if line.strip():
            is_inside = not line[:indent].strip()
            goes_on = end == place and not _ITEM.match(line) and not _begins_block(lines, place)
            if not is_inside and not goes_on:
                break
            end = place + 1
        place += 1
    return end


def _outdent(line: str, indent: int) -> str:
    return line[indent:] if not line[:indent].strip() else line.lstrip()


def _read_paragraph(lines: _Lines, place: int) -> tuple[Markup, int]:
    end = place + 1
    while end < len(lines) and lines[end].strip() and not _begins_block(lines, end):
        end += 1
    return _show_words("\n".join(line.strip() for line in lines[place:end])), end


def _begins_block(lines: _Lines, place: int) -> bool:
    is_begun = any(sign.match(lines[place]) for sign in (_FENCE, _HEADING, _QUOTE, _ITEM))
    return is_begun or _is_table(lines, place) or _read_rule(lines, place, 0) is not None


def _show_words(text: str, depth: int = 0) -> Markup:
    """Return a run of words with emphasis, code and links."""
    if depth == _DEEPEST:
        return escape(text)
    pieces, place = [], 0
    for match in _WORDS.finditer(text):
        pieces += [escape(text[place : match.start()]), _show_match(match, depth + 1)]
        place = match.end()
    return Markup("").join([*pieces, escape(text[place:])])


def _show_match(match: re.Match[str], depth: int) -> Markup:
    parts = match.groupdict()
    if (plain := parts["plain"] or parts["picture"]) is not None:
        return escape(plain)
    if parts["code"] is not None:
        return _wrap("code", escape(parts["code"]))
    if (address := parts["address"] or parts["angled"] or parts["bare"]) is not None:
        words = escape(address) if parts["label"] is None else _show_words(parts["label"], depth)
        return Markup('<a href="{}" rel="noreferrer" target="_blank">{}</a>').format(address, words)
    if parts["strong"] is not None:
        return _wrap("strong", _show_words(parts["strong"], depth))
    return _wrap("em", _show_words(parts["star"] or parts["line"], depth))


def _wrap(tag: str, content: Markup) -> Markup:
    return Markup("<{0}>{1}</{0}>").format(Markup(tag), content)  # noqa: S704 (a tag is one of ours)


_READERS: tuple[Callable[[_Lines, int, int], _Piece], ...] = (
    _read_fence,
    _read_heading,
    _read_rule,
    _read_table,
    _read_quote,
    _read_list,
)
