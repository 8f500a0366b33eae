"""Markdown of a project becomes HTML that says the same, and does nothing."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from each import each
from karat.server._markdown import show_markdown

HEADINGS, LISTS, TABLES = (
    {"h2", "h3", "h4", "h5", "h6"},
    {"ol", "ul", "li"},
    {"table", "thead", "tbody", "tr", "th", "td"},
)
TAGS = HEADINGS | LISTS | TABLES | {"p", "blockquote", "pre", "code", "hr", "strong", "em", "a"}
ORACLE = MarkdownIt("commonmark", {"html": False}).enable("table")
PLAIN = """# How to grade

Read the **question** first,
then the *text*. A `code`, and __more__ of _it_.

| grade | means |
|---|:-:|
| 3 | the text *alone* is `enough` |
| 2 | a part |

- one
- two

  with a second paragraph

  - and below
    more of it
- three

> Prices change.
> Every year.

## See

[the handbook](https://handbook.example/x?a=1&b=2) \\*as it is\\*

```
karat label next <first>

* no list
```

---

snake_case_name, 2 * 3 and a < b
"""


def flatten(html: str) -> str:
    """HTML without what two writers do differently: space, headings' level, attributes, and paragraphs in lists."""
    html = re.sub(r"(</?h)(\d)", lambda own: f"{own[1]}{min(6, int(own[2]) + 1)}", html) if "<h1>" in html else html
    html = re.sub(r"</?p>", " ", html)
    html = re.sub(r"<(\w+) [^>]*?/?>", r"<\1>", html).replace("<hr />", "<hr>").replace("&quot;", "&#34;")
    return re.sub(r"\s+", " ", re.sub(r"\s*(</?(?!code|em|strong|a\b)[^>]*>)\s*", r"\1", html)).strip()


def test_what_people_write_is_what_another_reader_makes_of_it():
    assert flatten(show_markdown(PLAIN)) == flatten(ORACLE.render(PLAIN))


@each(
    "text, html",
    [
        ("3. all\n2. part\n0. no", '<ol><li value="3">all</li><li value="2">part</li><li value="0">no</li></ol>'),
        ("1. a\n1. b\n", '<ol><li value="1">a</li><li>b</li></ol>'),
        ("text\n- a\n- b", "<p>text</p>\n<ul><li>a</li><li>b</li></ul>"),
        ("a:\n|b|\n|-|\n", "<p>a:</p>\n<table><thead><tr><th>b</th></tr></thead><tbody></tbody></table>"),
        ("see https://x.y.", '<p>see <a href="https://x.y" rel="noreferrer" target="_blank">https://x.y</a>.</p>'),
        ("```\nnever closed", "<pre><code>never closed</code></pre>"),
        ("![a photo](https://x.example/p.png)", "<p>a photo</p>"),
        ("**open", "<p>**open</p>"),
        ("", ""),
    ],
)  # fmt: skip
def test_cases_by_hand(text, html):
    """A list of grades keeps its numbers, and a picture from elsewhere is only its words."""
    assert show_markdown(text) == html


class Reader(HTMLParser):
    """What a browser would make of it."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag != "hr":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check_harmless(text: str) -> None:
    reader = Reader()
    reader.feed(show_markdown(text))
    reader.close()
    assert reader.open == []
    for tag, attributes in reader.found:
        assert tag in TAGS
        assert set(attributes) <= {"href", "rel", "target", "value"}
        assert attributes.get("href", "https://").startswith(("https://", "http://", "mailto:"))


@each(
    "text",
    [
        '<script>alert(1)</script><img src=x onerror="alert(1)">',
        "[a](javascript:alert(1)) [b](JAVASCRIPT:alert) [c](data:text/html,x) ![d](x)",
        '[a](https://x"onmouseover="alert(1)) <https://x"y> https://x"z',
        "`<b>` **<i>** | <u> |\n|--|\n```<s>\n<s>\n```",
        "# <h1>\n> <q>\n- <li>\n1. <ol>\n",
        "\u202egnp.exe \x1b[31m \x00",
    ],
)
def test_what_attacks_is_text(text):
    check_harmless(text)
    assert "\u202e" not in show_markdown(text)


SIGNS = [*"#*_`~>|-+.:()[]<>!\\ \n\t&\"'1a", "http://x", "](https://x)", "\n\n", "\n- ", "**", "</p>"]
TEXTS = st.lists(st.sampled_from(SIGNS), max_size=60).map("".join)


@given(TEXTS)
def test_any_text_is_well_formed(text):
    check_harmless(text)


OPENINGS = ["**a ", "*a", "_a ", "[a", "> ", "- ", "`", "- a\n\n", "```\n", "|", "a\n", "-\n", "<http://", "![[", " "]


@each("piece", OPENINGS)
def test_time_is_in_proportion(piece):
    """What is begun a thousand times and never closed takes no longer than what is written well."""
    start = time.process_time()
    show_markdown(piece * (30_000 // len(piece)))
    assert time.process_time() - start < 3
