"""The canonical form of a text, whose UTF-8 bytes every span counts.

An offset means nothing without the text in which it counts, so a golden set freezes that text: the same document always
becomes the same bytes, whichever editor, platform or converter it came through. This is the specification of
``karat-1``. It has no options and never changes; other rules would get another name. In this order:

1. **Characters.** Byte-order marks are removed everywhere. Half of a surrogate pair, which UTF-8 cannot hold, becomes
   U+FFFD. CRLF, CR, NEL, VT and U+2028 become LF, and U+2029 becomes two. All other control characters are removed,
   except tab and form feed.
2. **Soft hyphens** are removed. At the end of a line the line break and the next line's indentation are removed too, if
   a lower-case letter stands before and a lower-case letter or digit after it.
3. **NFC.** What looks the same should be the same bytes: an extractor writes é as two characters, a keyboard as one,
   and a quotation typed by hand has to be found. Not NFKC, which changes what is read: it makes 10² into 102. Python's
   Unicode tables decide; for characters that Unicode has had since 2021 (version 14) they never change.
4. **Pages.** Form feeds separate pages. With at least three pages that are not blank, running heads and feet are
   removed: a line that is the first one, or the last, on at least 60 % of them, up to three times at either end. A page
   number differs from page to page, and stays. Then page breaks become paragraph breaks.
5. **Ends.** Blank lines at the beginning and the end are removed. The text ends with one line feed, unless it is empty.
6. **Code**, as :func:`_lines.runs` finds it: each tab becomes four blanks, and nothing else is touched.
7. **Tables**: runs of blanks within a row become one, and trailing white space is removed. Tabs stay, as they may
   separate cells.
8. **Hyphens** at the end of a line of prose: where a lower-case letter stands before the hyphen, and the next line
   begins with a lower-case letter or a digit, hyphen, line break and indentation are removed. ``check-`` and ``out``
   become ``checkout``: letters alone do not show whether a hyphen belongs to the word. A line with a pipe or a tab, a
   heading, and a line that begins a list item are left alone.
9. **Everything else**: trailing white space is removed, and of more than two blank lines two remain.

Canonical text is its own canonical form. Pages that were set in columns have to be put in reading order by whatever
extracts them: plain text no longer shows where on the page a line stood.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from karat.core import NORMALISER
from karat.text._lines import CODE_INDENT, MARKER, runs
from karat.text._memory import Memory

__all__ = ["NORMALISER", "canonical"]

_PAGES = 3  # fewer pages do not show what repeats
_REPEATED = 0.6
_BAND = 3  # lines at either end of a page

_CONTROLS = [chr(c) for c in range(0x20) if chr(c) not in "\t\n"] + ["\x7f"]
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u2028\u2029\ufeff\ud800-\udfff]|[^\\S\n]\n")
_DROPPED = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff]")
_LINE_ENDS = re.compile("\r\n?|[\x0b\x85\u2028]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_SOFT_BREAK = re.compile("(?<=\\w)\xad+[^\\S\n]*\n[^\\S\n]*(?=\\w)")
_SPACES = re.compile(" {2,}")
_LETTERED = re.compile(r"\s*[a-z][.)]\s")

_KEPT = Memory[str](limit=32_000_000)  # characters; a text that is canonical already is kept only once


def canonical(text: str) -> str:
    r"""Return the canonical form of a text. It is made once for texts of up to 32 million characters in all.

    >>> canonical("\ufeffLate check-\r\nout costs 20 \u20ac.  \r\n\r\n\r\n\r\n```\r\n\tkeep-\r\nthis\r\n```")
    'Late checkout costs 20 €.\n\n\n```\n    keep-\nthis\n```\n'
    >>> canonical(canonical("cafe\u0301")) == canonical("caf\u00e9")
    True
    """
    return _KEPT.get(text, _canonical)


def _canonical(text: str) -> str:
    if _is_canonical(text):
        return text if not text or text[-1] == "\n" else text + "\n"
    text = _pages(unicodedata.normalize("NFC", _soft_hyphens(_characters(text))))
    lines = _trim(text.split("\n"))
    return "\n".join([*_rewrite(lines), ""]) if lines else ""


def _is_canonical(text: str) -> bool:
    """Return whether a quick look shows that only the last line feed can be missing, as in most texts."""
    if "\t" in text or "|" in text or "-\n" in text or "\n\n\n\n" in text:
        return False
    body = text.removesuffix("\n")
    if not body or body[0].isspace() or body[-1].isspace():
        return not text
    if text.isascii():
        return " \n" not in text and not any(control in text for control in _CONTROLS)
    return not _ODD.search(text) and unicodedata.is_normalized("NFC", text)


def _characters(text: str) -> str:
    text = _SURROGATES.sub("\ufffd", _DROPPED.sub("", text))
    return _LINE_ENDS.sub("\n", text).replace("\u2029", "\n\n")


def _soft_hyphens(text: str) -> str:
    if "\xad" not in text:
        return text

    def join(hyphen: re.Match[str]) -> str:
        whole = hyphen.string
        return "" if _continues(whole[hyphen.start() - 1], whole[hyphen.end()]) else "\n"

    return _SOFT_BREAK.sub(join, text).replace("\xad", "")


def _continues(before: str, after: str) -> bool:
    """Return whether a word can go on from one character to the next.

    Letters only, although some marks are lower-case too: a mark could combine with what comes before it, and the text
    would not be NFC any more.
    """
    return before.isalpha() and before.islower() and (after.isdecimal() or (after.isalpha() and after.islower()))


def _pages(text: str) -> str:
    if "\f" not in text:
        return text
    pages = [_trim(page.split("\n")) for page in text.split("\f")]
    pages = [page for page in pages if page]
    if len(pages) >= _PAGES:
        needed = _REPEATED * len(pages)
        for _ in range(_BAND):
            pages = _without_repeated(pages, 0, needed)
            pages = _without_repeated(pages, -1, needed)
    return "\n\n".join("\n".join(page) for page in pages if page)


def _without_repeated(pages: Sequence[list[str]], end: int, needed: float) -> list[list[str]]:
    """Remove the first line (0) or the last (-1) from the pages that share it, if enough of them do."""
    counts = Counter(page[end].strip() for page in pages if page)
    repeated = {line for line, count in counts.items() if count >= needed}
    drop = slice(1, None) if end == 0 else slice(None, -1)
    return [_trim(page[drop]) if page and page[end].strip() in repeated else page for page in pages]


def _trim(lines: list[str]) -> list[str]:
    """Return the lines without blank ones at the beginning and the end."""
    start, stop = 0, len(lines)
    while start < stop and not lines[start].strip():
        start += 1
    while stop > start and not lines[stop - 1].strip():
        stop -= 1
    return lines[start:stop]


def _rewrite(lines: Sequence[str]) -> Iterator[str]:
    for run in runs(lines):
        part = lines[run.start : run.stop]
        match run.kind:
            case "blank":
                yield from [""] * min(len(part), 2)
            case "code":
                yield from (line.replace("\t", " " * CODE_INDENT) for line in part)
            case "table":
                yield from map(_row, part)
            case "heading":
                yield part[0].rstrip()
            case "text":
                yield from _joined([line.rstrip() for line in part])


def _row(line: str) -> str:
    cells = line.strip()
    return line[: len(line) - len(line.lstrip())] + _SPACES.sub(" ", cells)


def _joined(lines: Sequence[str]) -> Iterator[str]:
    """Join words that are broken at the end of a line."""
    parts = [lines[0]]
    for before, after in pairwise(lines):
        if _is_broken(before, after):
            parts[-1] = parts[-1][:-1]
            parts.append(after.lstrip())
        else:
            yield "".join(parts)
            parts = [after]
    yield "".join(parts)


def _is_broken(before: str, after: str) -> bool:
    if before[-1] != "-" or len(before) < 2 or not _continues(before[-2], after.lstrip()[0]):
        return False
    # A row of a table has one of the two. So no table begins, ends or changes because lines were joined.
    if any(mark in line for line in (before, after) for mark in "|\t"):
        return False
    return not MARKER.match(after) and not _LETTERED.match(after)
