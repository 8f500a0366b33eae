"""The SGML of TREC's topics and documents: tags that are rarely closed, and text that may hold anything."""

from __future__ import annotations

import re

_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_BLANKS = re.compile(r"\s+")
# What would not come back: blanks other than a single one between words, and control characters.
_FRAGILE_INLINE = re.compile(r"^\s+|\s+$|\s{2,}|[^\S ]|[\x00-\x1f\x7f]")
_FRAGILE_BLOCK = re.compile(r"\A\s+|\s+\Z|[\x00-\x08\x0b-\x1f\x7f]")


def inline(text: str) -> str:
    """Give the text of a field: tags away, blanks joined, entities decoded."""
    return _decoded(_BLANKS.sub(" ", _TAG.sub(" ", text)).strip())


def block(text: str) -> str:
    """Give a text of several lines: tags away, entities decoded, lines as they are."""
    return _decoded(_TAG.sub("", text.replace("\r\n", "\n")).strip())


def inline_sgml(text: str) -> str:
    r"""Write a text so that ``inline`` gives it back.

    >>> inline_sgml(" a < b\n"), inline(inline_sgml(" a < b\n"))
    ('&#32;a &lt; b&#10;', ' a < b\n')
    """
    return _FRAGILE_INLINE.sub(_numbered, _escaped(text))


def block_sgml(text: str) -> str:
    """Write a text of several lines so that ``block`` gives it back."""
    return _FRAGILE_BLOCK.sub(_numbered, _escaped(text))


def numbered(text: str) -> str:
    """Write every character as an entity."""
    return "".join(f"&#{ord(character)};" for character in text)


def _numbered(found: re.Match[str]) -> str:
    return numbered(found[0])


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _decoded(text: str) -> str:
    return _ENTITY.sub(_character, text) if "&" in text else text


def _character(found: re.Match[str]) -> str:
    if found[1]:
        return _NAMED[found[1]]
    code = int(found[2]) if found[2] else int(found[3], 16)
    return found[0] if code > 0x10FFFF or 0xD800 <= code < 0xE000 else chr(code)
