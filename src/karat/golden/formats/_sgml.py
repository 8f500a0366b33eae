"""The SGML of TREC's topics and documents, in which tags are rarely closed and text may hold anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_NOT_BREAK = re.compile(r"[^\n]")
_BLANKS = re.compile(r"\s+")
# Characters that parsing would change: white space other than one blank between words, and control characters.
_FRAGILE_INLINE = re.compile(r"^\s+|\s+$|\s{2,}|[^\S ]|[\x00-\x1f\x7f]")
_FRAGILE_BLOCK = re.compile(r"\A\s+|\s+\Z|[\x00-\x08\x0b-\x1f\x7f]")


class Element(NamedTuple):
    """A tag, what follows it, and the tag that closes it."""

    start: int
    end: int
    tag: str
    """Between < and >."""
    text: str


def find_elements(text: str, tags: str, opening: str = "") -> Iterator[Element]:
    """Yield the elements of some tags, such as ``TITLE|HEADLINE``, each up to the first tag that closes it.

    Tags within an element are part of its text; a tag that is never closed is passed over. ``opening`` is the pattern
    of the opening tag, if it may hold more than a name. Unlike a pattern such as ``<A>(.*?)</A>`` it needs no longer
    for tags that are never closed: once there is no closing tag, there is none for those that come later.
    """
    opens = re.compile(opening or f"<({tags})>", re.IGNORECASE)
    closes = {tag: re.compile(f"</{tag}>", re.IGNORECASE) for tag in tags.lower().split("|")}
    at = 0
    while closes and (start := opens.search(text, at)):
        tag = start[1].lower() if start[1] and start[1].lower() in closes else next(iter(closes))
        end = closes[tag].search(text, start.end())
        if end is None:
            del closes[tag]
            opens = opens if opening else re.compile(f"<({'|'.join(closes)})>", re.IGNORECASE)
            continue
        yield Element(start.start(), end.end(), start[0][1:-1], text[start.end() : end.start()])
        at = end.end()


def remove_elements(text: str, tags: str) -> str:
    """Return a text without the elements of some tags."""
    kept, at = [], 0
    for element in find_elements(text, tags):
        kept.append(text[at : element.start])
        at = element.end
    return "".join([*kept, text[at:]])


def blank_comments(text: str) -> str:
    """Return a text with blanks instead of comments, so that every position and line stays the same."""
    parts, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        parts += [text[at:start], _NOT_BREAK.sub(" ", text[start : end + 3])]
        at = end + 3
    return "".join([*parts, text[at:]])


class Lines:
    """The numbers of the lines at places of a text, asked for in order: each line break is counted once."""

    def __init__(self, text: str) -> None:
        self._text, self._place, self._line = text, 0, 1

    def number(self, place: int) -> int:
        """Return the line of a place, which is not before the last one."""
        self._line += self._text.count("\n", self._place, place)
        self._place = place
        return self._line


def parse_inline(text: str) -> str:
    """Return the text of a field without tags, with single blanks and decoded entities."""
    return _decode_entities(_BLANKS.sub(" ", _TAG.sub(" ", text)).strip())


def parse_block(text: str) -> str:
    """Return a text of several lines without tags and with decoded entities. Line breaks are kept."""
    return _decode_entities(_TAG.sub("", text.replace("\r\n", "\n")).strip())


def escape_inline(text: str) -> str:
    r"""Return a text as SGML from which ``parse_inline`` restores it.

    >>> escape_inline(" a < b\n"), parse_inline(escape_inline(" a < b\n"))
    ('&#32;a &lt; b&#10;', ' a < b\n')
    """
    return _FRAGILE_INLINE.sub(_escape_match, _escape_markup(text))


def escape_block(text: str) -> str:
    """Return a text of several lines as SGML from which ``parse_block`` restores it."""
    return _FRAGILE_BLOCK.sub(_escape_match, _escape_markup(text))


def escape_all(text: str) -> str:
    """Return a text with every character as an entity."""
    return "".join(f"&#{ord(character)};" for character in text)


def _escape_match(match: re.Match[str]) -> str:
    return escape_all(match[0])


def _escape_markup(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _decode_entities(text: str) -> str:
    return _ENTITY.sub(_decode_entity, text) if "&" in text else text


def _decode_entity(entity: re.Match[str]) -> str:
    if entity[1]:
        return _NAMED[entity[1]]
    code = int(entity[2]) if entity[2] else int(entity[3], 16)
    return entity[0] if code > 0x10FFFF or 0xD800 <= code < 0xE000 else chr(code)
