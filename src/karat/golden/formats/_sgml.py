"""The SGML of TREC's topics and documents, in which tags are rarely closed and text may hold anything."""

from __future__ import annotations

import re

_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_BLANKS = re.compile(r"\s+")
# Characters that parsing would change: white space other than one blank between words, and control characters.
_FRAGILE_INLINE = re.compile(r"^\s+|\s+$|\s{2,}|[^\S ]|[\x00-\x1f\x7f]")
_FRAGILE_BLOCK = re.compile(r"\A\s+|\s+\Z|[\x00-\x08\x0b-\x1f\x7f]")


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
