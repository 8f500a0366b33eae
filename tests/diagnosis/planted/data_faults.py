"""Faults in the data: ids, versions, what is missing, places, copies, judgments."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from tests.diagnosis.planted.hotel import CHUNK, Hotel, Planted, Wrapped, hotel, keep, whole

from karat.causes._case import make_cases
from karat.causes._corpus import Corpus
from karat.causes._lab import Lab
from karat.causes._ranking_causes import find_answering_block
from karat.core import Document, GoldenSet, Hit, Judgment, Provenance, Query, Run, Span, Target, Trace
from karat.systems import Stages
from karat.text import canonical

# ids


def _renamed(rename: Callable[[Hit], str]) -> Planted:
    class Renamed(Wrapped):
        def change(self, hit: Hit) -> Hit:
            return Hit(rename(hit), hit.score, rename(hit))

    return Planted(golden=hotel(), system=Renamed())


def ids_are_paths() -> Planted:
    """The ids are paths of files."""
    return _renamed(lambda hit: f"docs/{hit.document}.md")


def ids_are_in_capitals() -> Planted:
    """The ids are in capitals, with underscores."""
    return _renamed(lambda hit: hit.document.upper().replace("-", "_"))


def ids_are_hashes() -> Planted:
    """The ids are hashes of the ids."""
    return _renamed(lambda hit: hashlib.sha1(hit.document.encode()).hexdigest()[:12])


def ids_are_of_chunks() -> Planted:
    """The ids are those of chunks, in a scheme that nobody declared."""
    return _renamed(lambda hit: f"chunk-{hit.document}:{hit.id.rsplit(':', 1)[-1]}")


# stale


def _superseding(golden: GoldenSet) -> set[str]:
    return {document.superseded_by for document in golden.documents if document.superseded_by}


def _about(golden: GoldenSet, documents: set[str]) -> GoldenSet:
    """Return the queries of the whole hotel that some documents answer, with the judgments of these and of old ones."""
    relevant = {
        judgment.query for judgment in golden.judgments if judgment.grade == 3 and judgment.target.document in documents
    }
    old = {document.id for document in golden.documents if document.superseded_by}
    kept = keep(golden, sorted(relevant)[:24])
    return replace(kept, judgments=tuple(j for j in kept.judgments if j.target.document in documents | old))


def old_policies_only() -> Planted:
    """The index was built before the new policies came."""
    new = _superseding(hotel())

    class Old(Hotel):
        def ingest(self, documents: Sequence[Document]) -> None:
            super().ingest([document for document in documents if document.id not in new])

    return Planted(golden=_about(whole(), new), system=Old())


def old_policies_first() -> Planted:
    """The ranking prefers what is oldest: superseded documents come first, and their successors last."""
    new = _superseding(hotel())
    old = {document.id for document in hotel().documents if document.superseded_by}

    class OldFirst(Wrapped):
        def retrieve(self, query: str, k: int) -> list[Hit]:
            hits = sorted(
                self.inner.retrieve(query, 60), key=lambda hit: (hit.document not in old, hit.document in new)
            )
            return [replace(hit, score=float(-rank)) for rank, hit in enumerate(hits)][:k]

    return Planted(golden=_about(whole(), new), system=OldFirst())


def texts_of_other_documents() -> Planted:
    """Ids were given anew, and the index has the text that each id had before."""

    class Rotated(Hotel):
        def ingest(self, documents: Sequence[Document]) -> None:
            texts = [document.text for document in documents]
            super().ingest([replace(d, text=text) for d, text in zip(documents, texts[7:] + texts[:7], strict=True)])

    return Planted(golden=hotel(), system=Rotated())


def short_drafts() -> Planted:
    """The index has drafts, of which only the first lines are left, and reports their hash."""

    class Drafts(Wrapped):
        def ingest(self, documents: Sequence[Document]) -> None:
            drafts = [replace(document, text=document.text[:300]) for document in documents]
            self.hashes = {draft.id: draft.source_hash for draft in drafts}
            self.inner.ingest(drafts)

        def change(self, hit: Hit) -> Hit:
            return replace(hit, source_hash=self.hashes[hit.document])

    return Planted(golden=hotel(), system=Drafts())


# outside


def only_markdown() -> Planted:
    """The loader skips everything but Markdown."""

    class Markdown(Hotel):
        def ingest(self, documents: Sequence[Document]) -> None:
            super().ingest([document for document in documents if document.format == "markdown"])

    others = {document.id for document in hotel().documents if document.format != "markdown"}
    return Planted(golden=_with_judged(hotel(), others), system=Markdown())


def _with_judged(golden: GoldenSet, documents: set[str]) -> GoldenSet:
    judged = [judgment for judgment in golden.judgments if judgment.target.document in documents]
    relevant = {judgment.query for judgment in judged if judgment.grade >= golden.relevant}
    return replace(keep(golden, sorted(relevant)), judgments=tuple(j for j in judged if j.query in relevant))


def the_first_forty() -> Planted:
    """The ingest stopped after forty documents."""

    class First(Hotel):
        def ingest(self, documents: Sequence[Document]) -> None:
            super().ingest(documents[:40])

    return Planted(golden=hotel(), system=First())


def documents_deleted() -> Planted:
    """Half of the documents were deleted from the collection, and their judgments were not."""
    golden = hotel()
    return Planted(golden=replace(golden, documents=golden.documents[::2]), system=Hotel())


_FLIGHT = (
    "supersonic laminar boundary layer transition on slender ogive nozzles",
    "thermoelastic buckling of stiffened fuselage panels under aerodynamic flutter",
    "hypersonic shockwave impingement and ablation of blunt leading edges",
    "rarefied plasma sheath attenuation during ballistic reentry trajectories",
    "vortex shedding frequencies behind oscillating airfoil cascades",
)


def questions_of_another_field() -> Planted:
    """The questions and their judgments are about flight, and the documents about a hotel."""
    golden = hotel()
    queries = tuple(
        replace(query, text=_FLIGHT[i % 5], paraphrases=(_FLIGHT[(i + 1) % 5],))
        for i, query in enumerate(golden.queries)
    )
    judgments = tuple(replace(j, target=Target(document=f"flight-{j.target.document}")) for j in golden.judgments)
    return Planted(golden=replace(golden, queries=queries, judgments=judgments), system=Hotel())


# offsets


def _by_sections() -> GoldenSet:
    """Return the hotel judged by the sections that contain the answers."""
    golden = hotel()
    judgments = [
        Judgment(query=query.id, target=target, grade=3)
        for query in golden.queries
        for target in query.anchors
        if target.section
    ]
    kept = {judgment.query for judgment in judgments}
    return replace(keep(golden, sorted(kept)), judgments=tuple(judgments))


def _shifted(shift: Callable[[str, Span], Span]) -> Planted:
    class Shifted(Wrapped):
        def ingest(self, documents: Sequence[Document]) -> None:
            self.texts = {document.id: canonical(document.text) for document in documents}
            super().ingest(documents)

        def change(self, hit: Hit) -> Hit:
            assert hit.span is not None
            text = self.texts[hit.document]
            body = text.encode()[hit.span.start : hit.span.end].decode(errors="ignore")
            return replace(hit, content=body, span=shift(text, hit.span))

    return Planted(golden=_by_sections(), system=Shifted(), unit="target")


def offsets_in_utf16() -> Planted:
    """The places count bytes of UTF-16."""
    return _shifted(lambda _, span: Span(2 * span.start, 2 * span.end))


def offsets_without_a_preamble() -> Planted:
    """The places count from the end of a preamble of 2,000 bytes."""
    return _shifted(lambda _, span: Span(max(0, span.start - 2000), max(1, span.end - 2000)))


def offsets_of_another_layout() -> Planted:
    """The places count a text in which every blank was doubled."""

    def shift(text: str, span: Span) -> Span:
        data = text.encode()
        return Span(span.start + data[: span.start].count(b" "), span.end + data[: span.end].count(b" "))

    return _shifted(shift)


def misread_characters() -> Planted:
    """The texts come from bad character recognition."""
    misread = str.maketrans({"e": "c", "o": "0", "l": "1", "t": "f", "i": "l"})

    class Scanned(Hotel):
        def ingest(self, documents: Sequence[Document]) -> None:
            super().ingest([replace(document, text=document.text.translate(misread)) for document in documents])

    return Planted(golden=_by_sections(), system=Scanned(), unit="target")


# copies


def _copied(make: Callable[[Sequence[Document]], list[Document]]) -> Planted:
    class Copied(Hotel):
        def ingest(self, documents: Sequence[Document]) -> None:
            super().ingest(make(documents))

    return Planted(golden=hotel(), system=Copied())


def ingested_four_times() -> Planted:
    """Every document was ingested four times, each time under a new id."""
    return _copied(
        lambda documents: [d if not n else replace(d, id=f"{d.id}-copy{n}") for d in documents for n in range(4)]
    )


def chunks_of_the_same_document() -> Planted:
    """All chunks of a document are returned, and they overlap."""
    chunk = {"name": "fixed", "size": 64, "overlap": 32, "context": "title"}
    return Planted(golden=hotel(), system=Hotel(Stages(chunk=chunk, dense=True, per_document=0)))


def mirrored_with_small_edits() -> Planted:
    """Two mirrors of every document are in the index, each with another line at the top."""
    return _copied(
        lambda documents: [
            d if not n else replace(d, id=f"mirror-{n}/{d.id}", text=f"Mirrored by server {n}.\n\n{d.text}")
            for d in documents
            for n in range(3)
        ]
    )


# gold


def _judge(golden: GoldenSet, keep_: Callable[[Judgment], bool]) -> GoldenSet:
    return replace(golden, judgments=tuple(judgment for judgment in golden.judgments if keep_(judgment)))


def best_hits_not_judged() -> Planted:
    """What the system finds first was never judged."""
    golden, system = hotel(), Hotel()
    system.ingest(golden.documents)
    first = {query.id: {hit.document for hit in system.retrieve(query.text, 5)} for query in golden.queries}
    return Planted(golden=_judge(golden, lambda j: j.target.document not in first[j.query]), system=Hotel())


def judged_before_half_of_the_documents_came() -> Planted:
    """The judgments are older than half of the documents."""
    new = {document.id for document in hotel().documents[1::2]}  # without judgments of the other half nothing is lost
    return Planted(golden=_judge(hotel(), lambda j: j.target.document not in new), system=Hotel())


def judgments_of_another_query() -> Planted:
    """The judgments slipped by one query."""
    golden = hotel()
    ids = [query.id for query in golden.queries]
    following = dict(zip(ids, [*ids[5:], *ids[:5]], strict=True))
    moved = tuple(replace(judgment, query=following[judgment.query]) for judgment in golden.judgments)
    return Planted(golden=replace(golden, judgments=moved), system=Hotel())


# tables


@cache
def _about_tables() -> GoldenSet:
    """Return the queries of the hotel whose answers are in tables or code, with the judgments of these documents."""
    golden = whole()
    run = Run(provenance=Provenance(name=""), traces=tuple(Trace(query=q.id, text=q.text) for q in golden.queries))
    cases = make_cases(golden, run, cut=10)
    lab = Lab(golden, cases, k=10)
    pairs = {(c.query.id, d) for c in cases for d in c.expected if find_answering_block(c, lab, d) is not None}
    judged = _judge(golden, lambda j: (j.query, j.target.document) in pairs)
    return keep(judged, sorted({query for query, _ in pairs})[:24])


def _reading(change: Callable[[str], str]) -> Planted:
    class Reading(Hotel):
        def ingest(self, documents: Sequence[Document]) -> None:
            super().ingest([replace(document, text=change(document.text)) for document in documents])

    return Planted(golden=_about_tables(), system=Reading())


_ROW = re.compile(r"^\s*\|.*\|\s*$", re.MULTILINE)


def tables_dropped() -> Planted:
    """The loader keeps no tables, and no JSON."""
    return _reading(lambda text: "{}" if text.lstrip().startswith(("{", "[")) else _ROW.sub("", text))


def tables_flattened() -> Planted:
    """The loader makes all of a table, and of a JSON file, one line without marks."""

    def flatten(text: str) -> str:
        if text.lstrip().startswith(("{", "[")):
            return re.sub(r"[\s{}\[\]\",:]+", " ", text)
        return re.sub(r"(?:^\s*\|.*\|\s*$\n?)+", lambda rows: re.sub(r"[|\s-]+", " ", rows[0]) + "\n", text, flags=re.M)

    return _reading(flatten)


def tables_read_by_columns() -> Planted:
    """The loader reads tables column by column, as from a PDF, and JSON by keys first."""

    def turn(rows: re.Match[str]) -> str:
        cells = [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in rows[0].strip().splitlines()]
        width = max(map(len, cells))
        return "\n".join(row[i] for i in range(width) for row in cells if i < len(row)) + "\n"

    def read(text: str) -> str:
        if text.lstrip().startswith(("{", "[")):
            names = re.findall(r'"([^"]+)"\s*:', text)
            return " ".join([*names, *re.findall(r':\s*"?([^",\n]+)', text)])
        return re.sub(r"(?:^\s*\|.*\|\s*$\n?)+", turn, text, flags=re.M)

    return _reading(read)


# wording


def _worded(change: Callable[[Query], str], system: object | None = None) -> Planted:
    golden = hotel()
    queries = tuple(
        replace(query, text=change(query), paraphrases=(query.text, *query.paraphrases)) for query in golden.queries
    )
    return Planted(golden=replace(golden, queries=queries), system=system or Hotel(Stages(chunk=CHUNK, dense=False)))


def misspelt_questions() -> Planted:
    """Every longer word of the questions is misspelt."""

    def misspell(query: Query) -> str:
        return re.sub(
            r"[a-z]{4,}", lambda word: word[0][0] + word[0][2] + word[0][1] + word[0][3:] + "e", query.text.lower()
        )

    return _worded(misspell)


def questions_in_slang() -> Planted:
    """Half of the words of the questions are slang that no document has."""

    def slang(query: Query) -> str:
        words = query.text.split()
        return " ".join(
            f"{word.strip('?.,')[::-1]}o" if i % 4 and len(word) > 3 else word for i, word in enumerate(words)
        )

    return _worded(slang)


def vague_questions() -> Planted:
    """Of each question only two common words are left."""
    corpus = Corpus(hotel())

    def shorten(query: Query) -> str:
        words = sorted(corpus.subject(query.text), key=lambda word: (-corpus.frequencies[word], word))
        return " ".join(words[:2])

    return _worded(shorten)
