"""Rules on ids: what is named has to exist, in the set and in the index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from karat.core import GoldenSet, Query, find_similar, shorten
from karat.golden.lint._rule import Finding, Subject, flag, rule

_SEPARATORS = ":#/|@._- "
_TRIED = 5  # ids for which a likely cause is searched
_COMPARED = 10_000  # ids that are held against a misspelt one, letter by letter


def counted(n: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun.

    >>> counted(1, "query", "queries"), counted(2000, "judgment")
    ('1 query', '2,000 judgments')
    """
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


@rule("unknown-query", "error")
def unknown_query(subject: Subject) -> Iterator[Finding]:
    """A judgment names a query that the set does not have.

    Why: the judgment is never used, and mostly the query was renamed or lost.
    Example: a judgment of query `q17`, and no query `q17`.
    Fix: add the query, or remove its judgments.
    """
    known = subject.golden.query_by_id
    if subject.golden.grades_by_query.rows.keys() <= known.keys():
        return
    lost = [judgment.query for judgment in subject.golden.judgments if judgment.query not in known]
    if lost:
        names = list(dict.fromkeys(lost))
        message = (
            f"{counted(len(lost), 'judgment')} of {counted(len(names), 'query', 'queries')} that the set does not have"
        )
        yield flag("unknown-query", message, names)


@rule("unknown-document", "error")
def unknown_document(subject: Subject) -> Iterator[Finding]:
    """A document is named that the set does not have.

    Named by a judgment, a hard negative, an anchor, a must-show list, a chain, a session, a class, or as the successor
    of another document.

    Why: no system can return it. As a relevant document it lowers every recall, whatever the system does; in all other
        places it is ignored.
    Example: a judgment of `wifi`, while the document is called `wifi-guide`.
    Fix: add the document, or correct the id.
    """
    golden = subject.golden
    if not golden.documents:
        return
    known = golden.document_by_id
    lost: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for place, owner, document in _named(golden):
        if document not in known:
            lost[place].append((owner, document))
    for place, pairs in lost.items():
        message = f"{counted(len(pairs), *_PLACES[place])} that the set does not have"
        message += cause([document for _, document in pairs], known, "set")
        yield flag("unknown-document", message, [f"{owner}: {document}" for owner, document in pairs])


_PLACES = {
    "judgment": ("judgment of a document", "judgments of documents"),
    "negative": ("hard negative",),
    "anchor": ("anchor",),
    "must-show": ("must-show document",),
    "chain": ("document of a chain", "documents of chains"),
    "session": ("document of a session", "documents of sessions"),
    "memory": ("memory of a session", "memories of sessions"),
    "successor": ("successor of a document", "successors of documents"),
    "class": ("member of a class", "members of classes"),
}


def _named(golden: GoldenSet) -> Iterator[tuple[str, str, str]]:
    """Yield the mentions of documents, but not of judgments of documents that the set has.

    A mention is the kind of place, the id of the record that names the document, and the id of the document.
    """
    # Nearly always the set has all of them; then nobody asks for each judgment.
    complete = all(target.document in golden.document_by_id for target in golden.judged_targets)
    for judgment in () if complete else golden.judgments:
        yield "judgment", judgment.query, judgment.target.document
    for query in golden.queries:
        if query.negatives or query.anchors or query.must_show or query.chain or query.session:
            yield from _named_by(query)
    for old in golden.documents:
        if old.superseded_by:
            yield "successor", old.id, old.superseded_by
    for name, members in golden.classes.items():
        yield from (("class", name, document) for document in members)


def _named_by(query: Query) -> Iterator[tuple[str, str, str]]:
    yield from (("negative", query.id, target.document) for target in query.negatives)
    yield from (("anchor", query.id, target.document) for target in query.anchors)
    yield from (("must-show", query.id, document) for document in query.must_show)
    yield from (("chain", query.id, document) for document in query.chain)
    if query.session:
        yield from (("session", query.id, document) for document in query.session.documents)
        yield from (("memory", query.id, document) for document in query.session.remember)


@rule("no-documents", "warning")
def no_documents(subject: Subject) -> Iterator[Finding]:
    """The set holds no documents, so that nothing about them can be checked.

    Why: unknown ids, spans outside the text, near-duplicates and copied queries go unnoticed.
    Example: a file of TREC judgments, and nothing else.
    Fix: name the documents, as in `karat golden check SET --documents FOLDER`.
    """
    if not subject.golden.documents:
        yield flag("no-documents", "the set holds no documents: no rule that needs them was applied")


@rule("not-in-index", "error")
def not_in_index(subject: Subject) -> Iterator[Finding]:
    """A document that should be found is not in the index under test.

    Relevant documents are checked, and those of must-show lists and chains. A document counts as found if another one
    of its class is in the index. Where the chunks are known, the chunk that should come first has to be one of them.

    Why: the score measures the missing document, not the ranking. Mostly the index and the gold spell their ids
        differently, and every score is 0.
    Example: the gold has `d1`, the index `d1:chunk:0`.
    Fix: index the documents, or map the ids of the index to those of the gold.
    """
    if subject.index is not None:
        yield from _not_in_index(subject.golden, subject.index)
    chunks = {chunk.id for chunk in subject.chunks}
    top = dict.fromkeys(query.top_chunk for query in subject.golden.queries if query.top_chunk)
    lost = [chunk for chunk in top if chunk not in chunks] if chunks else []
    if lost:
        message = f"{len(lost):,} of {counted(len(top), 'chunk')} that should come first are not among the chunks"
        yield flag("not-in-index", message + cause(lost, chunks, "list of chunks"), lost)


def _not_in_index(golden: GoldenSet, index: frozenset[str]) -> Iterator[Finding]:
    wanted = {t.document: None for (_, t), grade in golden.decided.items() if grade >= golden.relevant}
    for query in golden.queries:
        wanted.update(dict.fromkeys((*query.must_show, *query.chain)))
    classes = {name for name, members in golden.classes.items() if not index.isdisjoint(members)}
    lost = [document for document in wanted if document not in index]
    lost = [document for document in lost if golden.class_of.get(document) not in classes]
    if lost:
        message = f"{len(lost):,} of {counted(len(wanted), 'document')} that should be found are not in the index"
        yield flag("not-in-index", message + cause(lost, index, "index"), lost)


def cause(lost: Sequence[str], known: Collection[str], place: str) -> str:
    """Return what is probably wrong with some ids, with an example of both sides.

    >>> cause(["d1"], ["d1:chunk:0", "d2:chunk:0"], "index")
    ": gold has 'd1', the index 'd1:chunk:0'; the index holds parts of documents"
    >>> cause(["tax/oss"], ["tax/vat", "taxes/oss"], "set")
    ": gold has 'tax/oss', the set 'taxes/oss'; it may have been moved: write its new id into the gold"
    """
    if not known:
        return f": the {place} is empty"
    for name in lost[:_TRIED]:
        if twin := _twin(name, known):
            other, why = twin
            return f": gold has {shorten(name)}, the {place} {shorten(other)}; {why.format(place=place)}"
    return f": gold has {shorten(lost[0])}, the {place} for example {shorten(min(known))}"


def _twin(name: str, known: Collection[str]) -> tuple[str, str] | None:
    """Return the id that is probably meant, and how the two differ."""
    bare = name.strip()
    if bare != name and bare in known:
        return bare, "the gold has blanks around it"
    if (cells := _split_cell(name)) and all(cell in known for cell in cells):
        return cells[
            0
        ], "the gold has several ids in one: name each in a list, or in CSV with ; between them in a column 'documents'"
    parts = [other for other in known if other.startswith(name) and other[len(name)] in _SEPARATORS]
    if parts:
        return min(parts), "the {place} holds parts of documents"
    wholes = [other for other in known if other and name.startswith(other) and name[len(other)] in _SEPARATORS]
    if wholes:
        return max(wholes, key=len), "the gold names parts of documents, or endings of files"
    within = [other for other in known if other and _is_within(other, name)]
    if within:
        return max(within, key=len), "the gold has a folder before it, or an ending after it"
    folded = _folded(name)
    alike = [other for other in known if _folded(other) == folded]
    if alike:
        return min(alike), "they differ in case or punctuation only"
    last = name.rpartition("/")[2]
    moved = [other for other in known if "/" in name + other and other.rpartition("/")[2] == last]
    if len(moved) == 1:
        return moved[0], "it may have been moved: write its new id into the gold"
    similar = find_similar(name, known) if len(known) <= _COMPARED else []
    return (similar[0], "one of them may be misspelt") if similar else None


def _split_cell(name: str) -> list[str]:
    """Return the ids in a name that seems to list several; [] for others."""
    return next(([cell.strip() for cell in name.split(mark)] for mark in ",;|" if mark in name), [])


def _is_within(id_: str, name: str) -> bool:
    """Return whether an id is a part of a name between separators."""
    before, part, after = name.partition(id_)
    return bool(part) and before[-1:] in _SEPARATORS and after[:1] in _SEPARATORS


def _folded(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum()) or name
