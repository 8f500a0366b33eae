"""Text of unknown origin on a terminal and in the log of a CI."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from each import each
from karat.reports import defuse, show_safely

PIECES = ("#", "##", "[", ":", "::", " ", "\t", "\n", "\r", "\x1b[0K", "\u202e", "\u2028", "a", "vso", "teamcity[")
PIECES += ("section_start:", "section_end:1", "1", "\\", '"', "\x85", "\U000e0001", "\u00a0", "ü")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


def find_commands(text: str) -> list[str]:
    """Return the lines that hold a command, as the runners of GitHub, Azure, GitLab and TeamCity look for them."""
    lines = re.split(r"[\r\n]", text)
    github = [line for line in lines if "##[" in line or line.lstrip().startswith("::")]
    return github + [line for line in lines if re.search(r"##(vso|teamcity)\[|section_(start|end):\d", line)]


@each(
    ("text", "shown"),
    [
        ("##[group]x", r"#\u0023[group]x"),
        ("a ###[b] ####[c]", r"a ##\u0023[b] ###\u0023[c]"),
        ("##vso[a]##teamcity[b]", r"#\u0023vso[a]#\u0023teamcity[b]"),
        ("## Heading [link] # [1] #[2]", "## Heading [link] # [1] #[2]"),
        ("::a::\n \t::b:: c::d", ":\\u003aa::\n \t:\\u003ab:: c::d"),
        (":::a", r":\u003a:a"),
        ("std::vector and ::", "std::vector and ::"),
        ("section_start:12:x, section_end:", r"section_start\u003a12:x, section_end:"),
    ],
)  # fmt: skip
def test_commands_by_hand(text: str, shown: str) -> None:
    """The one character is escaped without which it is no command."""
    assert defuse(text) == shown


@given(TEXTS)
def test_no_text_holds_a_command_or_acts(text: str) -> None:
    """Whatever is put together: no runner finds a command, and every character prints."""
    shown = show_safely(text)
    assert find_commands(shown) == []
    assert shown.replace("\n", "").replace("\t", "").isprintable() or not shown.strip()
    assert show_safely(shown) == shown


@given(TEXTS, st.booleans(), st.sampled_from([None, 1]))
def test_json_still_means_the_same(text: str, ascii_: bool, indent: int | None) -> None:
    """On one line or indented, in ASCII or not."""
    document = {text: [text, {"a": text}]}
    shown = show_safely(json.dumps(document, ensure_ascii=ascii_, indent=indent))
    assert json.loads(shown) == document
    assert find_commands(shown) == []


def test_styles_stay_where_there_are_colours() -> None:
    """Only those that karat itself uses."""
    assert show_safely("\x1b[1mbold\x1b[0m \x1b[8mhidden", styled=True) == "\x1b[1mbold\x1b[0m \\u001b[8mhidden"
    assert show_safely("\x1b[1mbold") == "\\u001b[1mbold"


def test_annotations_may_begin_a_line() -> None:
    """But they hold no other command."""
    assert defuse("::error::a ##[b]", commands=True) == r"::error::a #\u0023[b]"
