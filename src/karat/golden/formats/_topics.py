"""TREC's topics, whose tags differ from track to track.

- ``<top>`` with ``<num>``, ``<title>``, ``<desc>`` and ``<narr>``, whose tags are rarely closed.
- ``<topic number="51" type="faceted">`` with ``<query>`` and ``<description>``, as the Web track writes them, in any
  root element and after any prolog. The type becomes the query's type.
- ``<topic number="1">`` with nothing but text, as the Clinical Trials track writes them.
- ``<top>`` with ``<docid>`` and ``<url>`` and without a title: background linking, in which an article is the query.

The title is the query; description and narrative are metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from karat.core import Document, InputError, Query, shorten
from karat.files import Reading
from karat.golden.formats._sgml import Lines, blank_comments, escape_all, escape_inline, parse_inline

_START = re.compile(r"<top(?:ic)?(?:\s[^<>]*)?>", re.I)
_TOPIC = re.compile(r"<top(?:ic)?\b([^<>]*)>(.*?)(?=</?top(?:ic)?\b|\Z)", re.S | re.I)
_FIELD = re.compile(r"<(\w+)\b[^<>]*>([^<]*(?:<(?![A-Za-z/])[^<]*)*)")
_NUMBER = re.compile(r"""\bnumber\s*=\s*["']?([^"'\s>]+)""", re.I)
_TYPE = re.compile(r"""\btype\s*=\s*["']([^"']*)""", re.I)
_LABELS = {
    "num": re.compile(r"\s*number\s*:", re.I),
    "title": re.compile(r"\s*topic\s*:", re.I),
    "desc": re.compile(r"\s*description\s*:", re.I),
    "narr": re.compile(r"\s*narrative\s*:", re.I),
}
"""Labels that some topics have after a tag, such as ``<num> Number: 301``."""
_TITLES = ("title", "query", "desc", "question", "description", "summary")
"""The tags that may hold the query, the first that is there."""
_ARTICLE = ("docid", "url")


def find_topic(text: str) -> int | None:
    """Return where the first topic of a text begins, or None."""
    topic = _START.search(blank_comments(text))
    return topic.start() if topic else None


def read_topics(path: Path, reading: Reading) -> Iterator[Query]:
    """Yield the queries of a file of topics."""
    text = blank_comments("\n".join(reading.lines(path)))
    lines = Lines(text)
    for topic in _TOPIC.finditer(text):
        fields = {tag.lower(): _parse_field(tag.lower(), value) for tag, value in _FIELD.findall(topic[2])}
        number, kind = _NUMBER.search(topic[1]), _TYPE.search(topic[1])
        name = fields.get("num") or (parse_inline(number[1]) if number else "")
        title = next((fields[tag] for tag in _TITLES if tag in fields), None)
        article = {tag: fields[tag] for tag in _ARTICLE if fields.get(tag)}
        if title is None and not fields:
            title = parse_inline(topic[2]) or None
        if title is None and article:
            title = ""
        if not name or title is None:
            problem = "a topic has no <num>" if not name else f"topic {shorten(name)} has no <title>"
            reading.errors.append(InputError(problem, source=str(path), line=lines.number(topic.start())))
            continue
        more = {
            "description": fields.get("desc") or fields.get("description") or fields.get("question"),
            "narrative": fields.get("narr") or fields.get("narrative"),
        }
        metadata = {key: value for key, value in more.items() if value} | article
        yield Query(id=name, text=title, type=parse_inline(kind[1]) if kind else "", metadata=metadata)


def _parse_field(tag: str, value: str) -> str:
    label = _LABELS[tag].match(value) if tag in _LABELS else None
    return parse_inline(value[label.end() :] if label else value)


def name_articles(queries: Iterable[Query], documents: Iterable[Document], reading: Reading) -> list[Query]:
    """Return the queries, with a text for those that only name an article: its title, else its URL or id."""
    named = list(queries)
    places = [at for at, query in enumerate(named) if not query.text and any(map(query.metadata.get, _ARTICLE))]
    if not places:
        return named
    titles = {document.id: document.title or document.text for document in documents}
    untitled = 0
    for at in places:
        metadata = named[at].metadata
        title = titles.get(metadata.get("docid", ""), "")
        untitled += not title
        named[at] = replace(named[at], text=title or metadata.get("url") or metadata["docid"])
    known = len(places) - untitled
    note = f"{len(places):,} topics name an article and no question (background linking): "
    note += f"the text of {known:,} is the article's title" if known else ""
    note += " and " if known and untitled else ""
    note += f"the text of {untitled:,} is its URL or id; add the articles to the documents" if untitled else ""
    reading.note(note)
    return named


def encode_topic(name: str, text: str) -> str:
    """Return a topic as SGML."""
    title = escape_inline(text)
    if _LABELS["title"].match(title):
        title = escape_all(title[0]) + title[1:]
    return f"<top>\n<num> Number: {escape_inline(name)}\n<title> {title}\n</top>\n\n"
