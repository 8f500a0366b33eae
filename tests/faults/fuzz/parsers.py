"""Every text that karat parses: it is parsed, or refused with one message, and what is parsed fits the text."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from faults.fuzz.cases import Case
from faults.fuzz.checking import expect_karat_errors
from karat import text as texts
from karat.config import Config, override
from karat.core import SCHEMES, Document, InputError, Measure, Span, check_id, document_of
from karat.experiments._log import split_verdict
from karat.files import parse_csv, parse_json, parse_size, parse_toml
from karat.golden.formats._head import Head
from karat.golden.formats._qrels import split_fields
from karat.golden.formats._sgml import (
    blank_comments,
    escape_block,
    escape_inline,
    find_elements,
    parse_block,
    parse_inline,
)
from karat.golden.lint import read_gate
from karat.measures import _trec_eval, _trec_parameters
from karat.net import Endpoint, Secrets, hide_secrets
from karat.net._body import BadEncoding, read_blocks
from karat.net._client import find_message, parse_retry_after
from karat.net._secrets import show_url, strip_logins, strip_secrets
from karat.runs import check_label
from karat.start._install import _parse_requirement, _parse_spec
from karat.systems import read_hits
from karat.systems.adapters._paths import HitReader
from karat.systems.chunk import make_chunker
from karat.systems.embed._response import read_vectors
from karat.systems.rerank._http import HttpReranker

KEY = "sk-7Hq2mZ0xW9"
CHUNKERS = ("whole", "fixed", "sentence", "recursive", "heading", "blocks")
CONFIG = Config(folder=Path(), golden=Path(), pipeline={"chunk": {"name": "fixed", "size": 512}, "lexical": True})
RERANKER = HttpReranker(Endpoint(url="http://localhost:1/rerank"))
DOCUMENT = """# Desk

The café opens at 7. It closes at 14:00, e.g. on Sundays!

## 1.1 Late check-out

- one
- two

| a | b |
|---|---|
| 1 | 2 |

```python
print("x")
```

![A pool](pool.png)

Figure 1: the pool
"""
PARAGRAPH = "The lift is slow. " * 60
REPEATED = "".join(f"Page {i}\nHotel Rules\nText of page {i} with a soft-\nhyphen.\n\f" for i in range(4))


def run(case: Case) -> None:
    """Parse the texts of a case."""
    text, more = (case.files.get(name, b"").decode(errors="replace") for name in ("text", "more"))
    KINDS[case.kind](text, more)


def parse_measure(text: str, _: str) -> None:
    """A measure is written as it is read."""
    measure = Measure.parse(text)
    assert Measure.parse(str(measure)) == measure, f"{text!r} becomes another measure when it is written"
    measure.bounds, measure.written(text), measure.arguments()


def parse_document(text: str, _: str) -> None:
    """Canonical text stays as it is, and every part lies inside of it, in order."""
    canonical = texts.canonical(text)
    assert texts.canonical(canonical) == canonical, "canonical text changes again"
    outline = texts.outline(canonical)
    size = len(canonical.encode("utf-8", "surrogatepass"))
    assert outline.size == size
    for block in outline.blocks:
        assert 0 <= block.span.start < block.span.end <= size, f"{block} is not inside {size} bytes"
        assert texts.resolve(outline, block=block.id) == block.span
        assert outline.at(block.span), f"{block} is not where it is"
    assert all(before.span.end <= after.span.start for before, after in pairwise(outline.blocks)), "blocks overlap"
    for section in outline.sections:
        assert texts.resolve(outline, section=section.id) == section.whole
        assert 0 <= section.whole.start <= section.whole.end <= size
        texts.section_path(section.id)
    outline.section_of(size), outline.document("a")
    places = list(texts.sentence_places(canonical, 0, len(canonical)))
    assert places == sorted(places)
    texts.sentences(text), texts.words(text), texts.content(text), texts.numbers(text), texts.letters(text)
    list(texts.prose(Document(id="a", text=text))), list(texts.prose(Document(id="a", text=text, format="json")))


def chunk_document(text: str, size: str) -> None:
    """Every chunk lies inside of the canonical text, whatever the chunker."""
    document = Document(id="a", text=text, title="A")
    length = len(texts.canonical(text).encode("utf-8", "surrogatepass"))
    for name in CHUNKERS:
        options = {} if name in ("whole", "heading", "blocks") else {"size": 8 + len(size) % 64, "overlap": 0}
        for chunk in make_chunker({"name": name, **options})(replace(document)):
            span = chunk.span or Span(0, length)
            assert 0 <= span.start <= span.end <= length, f"{name}: {chunk} is not inside {length} bytes"


def parse_ids(text: str, more: str) -> None:
    for scheme in SCHEMES:
        assert document_of(text, scheme) or not text
    for parse in (texts.section_path, texts.section_of_block, lambda block: texts.distance(block, more), check_label):
        with expect_karat_errors():
            parse(text)
    check_id(text, "")


def parse_json_text(text: str, _: str) -> None:
    """What is accepted is what Python's own decoder reads."""
    value = parse_json(text, "a", strict=True)
    assert repr(value) == repr(json.loads(text)), "read as something else"


def parse_answer(text: str, paths: str) -> None:
    """Hits of an HTTP answer, at paths that somebody wrote."""
    names = ("hits", "id", "score")
    places = dict(zip(names, names, strict=True)) | dict(zip(names, paths.split("\n"), strict=False))
    hits = places.pop("hits")
    read_hits(HitReader(places, hits=hits).read(_json(text)), 5)


def parse_hits(text: str, tenant: str) -> None:
    hits = read_hits(_json(text), 5, tenant)
    assert len(hits) <= 5
    assert all(hit.id and isinstance(hit.score, float) for hit in hits)


def _json(text: str) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    raise InputError("is not JSON")


def parse_option(text: str, key: str) -> None:
    """A dotted key of karat.toml with a value, as a sweep sets it."""
    value = parse_toml(f"value = {text}", "--parameter").get("value")
    override(CONFIG, {key: value})


def parse_trec_request(text: str, _: str) -> None:
    requests: dict[str, str | None] = {}
    with expect_karat_errors(_quoting(text)):
        requests = _trec_eval._requests(text.split())
    for name, parameters in requests.items():
        for read in (_trec_parameters.read_ranks, _trec_parameters.read_numbers, _trec_parameters.read_gains):
            with expect_karat_errors(_quoting(text)):
                read(name, parameters or "")


def _quoting(text: str) -> int:
    """Return how long a message may be that repeats what somebody wrote on the command line."""
    return 2000 + 20 * len(text)


def hide(text: str, more: str) -> None:
    """A key is hidden wherever it stands."""
    for url in (text, f"https://{text}@host/{more}?api_key={text}"):
        show_url(url), strip_logins(url)
        with expect_karat_errors():
            strip_secrets(Endpoint(url=url).url), Endpoint(url=url).name
    shown = Secrets([KEY]).redact(f"{text}{KEY}{more}")
    assert KEY not in shown, "a key is shown"
    hide_secrets(text)


def unpack(text: str, encoding: str) -> None:
    with suppress(BadEncoding):
        list(read_blocks([text.encode("latin-1", "replace")], encoding))


def parse_markup(text: str, _: str) -> None:
    """What is escaped reads back, and comments keep their length."""
    assert len(blank_comments(text)) == len(text)
    for element in find_elements(text, "DOC|TEXT|P"):
        assert text[element.start : element.end].endswith(">")
    assert parse_inline(escape_inline(parse_inline(text))) == parse_inline(text)
    parse_block(escape_block(text)), split_fields(text)


def recognise(text: str, _: str) -> None:
    head = Head(text=text)
    head.keys, head.columns, head.lines  # noqa: B018 (they are computed when they are read)


def parse_words(text: str, more: str) -> None:
    """Short texts of options, files and headers."""
    for parse in (
        lambda: parse_size(text, "--max-bytes"),
        lambda: read_gate([text]),
        lambda: split_verdict(text),
        lambda: _parse_requirement(text, more),
        lambda: _parse_spec(text, "dense"),
        lambda: parse_retry_after(text),
        lambda: find_message({"error": text}),
    ):
        with expect_karat_errors(_quoting(text)):
            parse()


KINDS: dict[str, Callable[[str, str], object]] = {
    "measure": parse_measure,
    "document": parse_document,
    "chunks": chunk_document,
    "ids": parse_ids,
    "json": parse_json_text,
    "csv": lambda text, _: list(parse_csv(text, "a")),
    "toml": lambda text, _: parse_toml(text, "a"),
    "answer": parse_answer,
    "hits": parse_hits,
    "vectors": lambda text, _: read_vectors(_json(text), 2, None),
    "scores": lambda text, _: RERANKER._scores(_json(text), 2),
    "option": parse_option,
    "trec-request": parse_trec_request,
    "secrets": hide,
    "body": unpack,
    "markup": parse_markup,
    "head": recognise,
    "words": parse_words,
}
SEEDS: dict[str, list[tuple[str, str]]] = {
    "measure": [("nDCG(gain='exp')@10", ""), ("R(rel=2)@5", ""), ("IPrec@0.5", ""), ("nDCG(gains={1: 0.5})", "")],
    "document": [(DOCUMENT, ""), (PARAGRAPH, ""), (REPEATED, ""), ('{"a": {"b": ["c. D", 1]}}', "")],
    "chunks": [(DOCUMENT, "x"), (PARAGRAPH, ""), (REPEATED, ""), ("\u65e5\u672c\u3002\u8a9e\u3002" * 30, "")],
    "ids": [("S.4.2.p.Bk011a", "S.4.1.p.Bk010"), ("S.1.2", "S.1"), ("w:chunk:3", ""), ("a|r=1|s=4.2", ""), ("a#b", "")],
    "json": [('{"a": [1, -2.5e3, "b\\u0041", null, true]}', ""), ('"a"', "")],
    "csv": [('a,b\n"c ""d"", e",f\r\n', "")],
    "toml": [("a = 1\n[b.c]\nd = ['e']\n", ""), ('[[a]]\nb = 2026-11-17\nc = """x"""\n', "")],
    "answer": [
        ('{"data": {"hits": [{"id": "a", "score": 1.5}, {"id": 7}]}}', "data.hits\nid\nscore"),
        ('[{"chunk": [{"id": "a"}]}]', "\nchunk.0.id\n"),
    ],
    "hits": [
        ('["a", ["b", 0.5], {"document": {"id": "c"}, "span": [0, 9], "channels": {"x": [1, 2]}}]', ""),
        ('[{"chunk_id": "a", "rerank_score": 1, "offsets": [0, 9]}]', ""),
        ('[{"id": "a", "tenant": "t", "locator": {"page": 1}, "stages": {"fusion": 1}}]', "t"),
    ],
    "vectors": [('{"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [2, 0]}]}', "")],
    "scores": [('{"results": [{"index": 0, "relevance_score": 1}, {"index": 1, "score": 0.5}]}', "")],
    "option": [("128", "pipeline.chunk.size"), ("true", "pipeline.lexical"), ("0.5", "eval.min_score"),
               ("{a = 1}", "system.body")],
    "trec-request": [("P.5,10 map ndcg_cut.3 ndcg.1=2.5,2=3 utility.1,0,-1,0", "")],
    "secrets": [("https://me:pw123456@host/x?token=abc&b=c", "more"), ("Bearer abc def", "")],
    "body": [("\x1f\x8b\x08\x00", "gzip"), ("abc", "")],
    "markup": [("<DOC><TEXT>a &lt; b</TEXT><!-- c --></DOC>", "")],
    "head": [('[{"input": "?", "meta": {"a": [1]}}]', ""), ('id,"a b"\n1,2\n', "")],
    "words": [("4G", ""), ("P@5>=0.60", ""), ("KEEP (p = 0.5)", ""), ("karat[dense] >= 0.2 ; python_version > '3'", ""),
              ("git+https://host/karat@v1", ""), ("Wed, 21 Oct 2015 07:28:00 GMT", ""), ("1.5", "")],
}  # fmt: skip


def make_seeds() -> list[Case]:
    """Return a few right texts for each parser."""
    return [
        Case(kind=kind, files={"text": text.encode(), "more": more.encode()})
        for kind, pairs in SEEDS.items()
        for text, more in pairs
    ]
