"""Rules on structure: a set must be complete, without duplicates and contradictions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from karat.core import Query, Target
from karat.golden.lint._id_rules import counted
from karat.golden.lint._negatives import Relevants
from karat.golden.lint._rule import Finding, Subject, flag, rule

MUST_SHOW = 5
"""The cut-off of the must-show rate: more documents than that cannot all surface."""


@rule("unparsable", "error")
def unparsable(subject: Subject) -> Iterator[Finding]:  # noqa: ARG001 (the reader reports it)
    """A file cannot be read: each mistake with its file, line and field.

    Why: nothing else can be checked before the set can be read.
    Example: `queries.jsonl, line 3: 'text' is missing; did you mean it by 'txet'?`
    Fix: correct the line; all mistakes of a file are reported at once.
    """
    yield from ()


@rule("unknown-key", "warning")
def unknown_key(subject: Subject) -> Iterator[Finding]:
    """A record has a key that means nothing in its format.

    Why: a misspelt key is ignored, and with it what it was meant to say.
    Example: `paraphrase` instead of `paraphrases`.
    Fix: correct the key, or put what is yours under `metadata`.
    """
    for note in subject.golden.notes:
        if ": unknown key " in note:
            yield flag("unknown-key", note)


@rule("note", "warning")
def note(subject: Subject) -> Iterator[Finding]:
    """Something was noticed while the set was read.

    Why: what was left out or filled in affects what a score means.
    Example: rows with a grade of 0 or less, which the BEIR format drops.
    Fix: change the file so that nothing has to be guessed, or accept it with `--ignore note`.
    """
    for text in subject.golden.notes:
        if ": unknown key " not in text:
            yield flag("note", text)


@rule("empty-set", "error", voids=True)
def empty_set(subject: Subject) -> Iterator[Finding]:
    """The set has no query.

    Why: nothing can be asked, and a mean over nothing is not a number.
    Example: a file with only its header.
    Fix: add queries; `karat golden synth` makes first ones from documents.
    """
    if not subject.golden.queries:
        yield flag("empty-set", "the set has no query")


@rule("no-judgments", "error", voids=True)
def no_judgments(subject: Subject) -> Iterator[Finding]:
    """No query has a judgment.

    Why: without judgments there is nothing to score against.
    Example: a list of queries with the results of a system, which does not say which results were right.
    Fix: judge what systems return: `karat label queue` asks people, and `karat golden pool` lists it in a file.
    """
    golden = subject.golden
    if golden.queries and not golden.judgment_count and any(query.answerable for query in golden.queries):
        yield flag("no-judgments", f"none of {counted(len(golden.queries), 'query', 'queries')} has a judgment")


@rule("unjudged-query", "warning")
def unjudged_query(subject: Subject) -> Iterator[Finding]:
    """A query has no judgment, while others have.

    Why: it counts as 0 in precision, and is left out of recall and nDCG, whatever the system does.
    Example: 120 queries, and judgments of 118.
    Fix: judge it (`karat golden pool` lists what to judge); if it has no answer, say so with `"answerable": false`; or
        remove it.
    """
    golden = subject.golden
    judged = golden.grades_by_query.rows
    lost = [query.id for query in golden.queries if query.answerable and query.id not in judged]
    if lost and golden.judgment_count:
        message = f"{len(lost):,} of {counted(len(golden.queries), 'query', 'queries')} without a judgment"
        yield flag("unjudged-query", message, lost)


@rule("no-relevant-document", "warning")
def no_relevant_document(subject: Subject) -> Iterator[Finding]:
    """A query is judged, and nothing is relevant to it.

    Queries of the category or type `edge-case` may well have nothing to find, and unanswerable queries should not.

    Why: recall, RR and nDCG have no value for it, and its precision is 0 for every system.
    Example: three judgments of grade 1, in a set in which relevant begins at 2.
    Fix: judge more documents; if the query has no answer, say so with `"answerable": false`; or remove it.
    """
    golden = subject.golden
    judged = golden.grades_by_query.rows
    answered = golden.findable
    lost = [
        query.id
        for query in golden.queries
        if query.answerable and query.id in judged and query.id not in answered and not _is_edge_case(query)
    ]
    if lost:
        message = f"{counted(len(lost), 'judged query', 'judged queries')} without a relevant document"
        yield flag("no-relevant-document", f"{message} (grade {golden.relevant} or more)", lost)


def _is_edge_case(query: Query) -> bool:
    return any(name.casefold().replace("_", "-").startswith("edge-case") for name in (query.category, query.type))


@rule("answered-unanswerable", "error", voids=True)
def answered_unanswerable(subject: Subject) -> Iterator[Finding]:
    """A query is called unanswerable, and has an answer.

    It has a relevant judgment, or names documents that must be found: `must_show`, `chain`, `anchors`, `top_chunk`. A
    reference answer is no contradiction: it may be the refusal.

    Why: returning nothing is right by one entry and wrong by the other.
    Example: `q9` has `"answerable": false`, and `wifi` has grade 3 for it.
    Fix: remove `"answerable": false`, or correct the grade.
    """
    golden = subject.golden
    relevant = golden.findable
    wrong = [
        query.id
        for query in golden.queries
        if not query.answerable
        and (query.id in relevant or query.must_show or query.chain or query.anchors or query.top_chunk)
    ]
    if wrong:
        message = f"{counted(len(wrong), 'unanswerable query', 'unanswerable queries')} with an answer"
        yield flag("answered-unanswerable", message, wrong)


@rule("empty-query", "error")
def empty_query(subject: Subject) -> Iterator[Finding]:
    """A query has no text.

    Why: nobody asks an empty question, and the answer to it is chance.
    Example: `{"id": "q9", "text": " "}`
    Fix: write the query; for TREC judgments name the topics too.
    """
    empty = [query.id for query in subject.golden.queries if not query.text.strip()]
    if empty:
        yield flag("empty-query", f"{counted(len(empty), 'query', 'queries')} without text", empty)


@rule("duplicate-query", "error", voids=True)
def duplicate_query(subject: Subject) -> Iterator[Finding]:
    """Two queries have the same id.

    Why: nobody can know which of them a judgment means.
    Example: `q7` for two questions.
    Fix: give one of them another id, and check its judgments.
    """
    twice = _twice(query.id for query in subject.golden.queries)
    if twice:
        yield flag("duplicate-query", f"{counted(len(twice), 'query id')} used more than once", twice)


@rule("duplicate-document", "error")
def duplicate_document(subject: Subject) -> Iterator[Finding]:
    """Two documents have the same id.

    Why: an index keeps one of them, and nobody can know which of them a judgment means.
    Example: `wifi` for the guide of 2024 and that of 2025.
    Fix: give one of them another id; for a new version set `superseded_by` in the old one.
    """
    twice = _twice(document.id for document in subject.golden.documents)
    if twice:
        yield flag("duplicate-document", f"{counted(len(twice), 'document id')} used more than once", twice)


def _twice(ids: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(ids).items() if count > 1]


@rule("duplicate-judgment", "error", voids=True)
def duplicate_judgment(subject: Subject) -> Iterator[Finding]:
    """One annotator judged one pair twice.

    The same pair from two annotators, or from two sources, is not a duplicate: sources have an order of trust, and
    among annotators the lower median decides.

    Why: a repeated grade counts twice in agreement, and of two different grades one is wrong.
    Example: `ana` gives `wifi` grade 3 for `q1`, and grade 1 some lines below.
    Fix: keep one of the two.
    """
    golden = subject.golden
    if not golden.repeats_pairs:
        return
    grades: dict[tuple[str, Target, str, str], int] = {}
    same: dict[str, None] = {}
    different: dict[str, None] = {}
    for judgment in golden.judgments:
        key = (judgment.query, judgment.target, judgment.source, judgment.annotator)
        if key not in grades:
            grades[key] = judgment.grade
        elif grades[key] == judgment.grade:
            same[f"{judgment.query}: {judgment.target}"] = None
        else:
            different[f"{judgment.query}: {judgment.target}"] = None
    for pairs, how in ((different, "with different grades"), (same, "with the same grade")):
        if pairs:
            message = f"{counted(len(pairs), 'pair')} judged twice by one annotator, {how}"
            yield flag("duplicate-judgment", message, list(pairs), harmless=pairs is same)


@rule("grade-outside-scale", "error", voids=True)
def grade_outside_scale(subject: Subject) -> Iterator[Finding]:
    """A grade is not on the scale that the set declares, or the lowest relevant grade is not.

    Why: a grade without a meaning cannot be compared, a negative one means "not judged" to other tools, and ERR is
        undefined above the top of its scale.
    Example: grade 5, where four grades from 0 to 3 are declared.
    Fix: correct the grade, or declare the scale: `grades = ["no", "partly", "yes"]` in `golden.toml`.
    """
    golden = subject.golden
    top = len(golden.grades) - 1
    outside = []
    if not all(0 <= grade <= top for grade in golden.used_grades):
        outside = [f"{j.query}: {j.target} ({j.grade})" for j in golden.judgments if not 0 <= j.grade <= top]
    if outside:
        message = f"{counted(len(outside), 'judgment')} with a grade outside the declared scale, 0 to {top}"
        yield flag("grade-outside-scale", message, outside)
    if not 1 <= golden.relevant <= top:
        message = f"relevant begins at grade {golden.relevant}, and the declared scale goes from 0 to {top}"
        yield flag("grade-outside-scale", message, fix=f"choose the lowest relevant grade from 1 to {top}")


@rule("relevant-negative", "error")
def relevant_negative(subject: Subject) -> Iterator[Finding]:
    """A hard negative is also relevant.

    It is the same target, or it is the document or the section that holds a relevant part, or its span overlaps a
    relevant one, or it is in one equivalence class with a relevant document. It may be a part of a document in which
    another part is relevant.

    Why: whatever the system does with it is right and wrong at once.
    Example: `wifi` is a hard negative of `q1`, and has grade 3 for it.
    Fix: remove it from the negatives, or correct the grade.
    """
    golden = subject.golden
    wrong = []
    for query in (query for query in golden.queries if query.negatives):
        grades = golden.grades_by_query.pairs(query.id)
        good = Relevants((target for target, grade in grades if grade >= golden.relevant), golden.class_of)
        wrong += [f"{query.id}: {negative}" for negative in query.negatives if good.hold(negative)]
    if wrong:
        yield flag("relevant-negative", f"{counted(len(wrong), 'hard negative')} also relevant", wrong)


@rule("label-contradiction", "error")
def label_contradiction(subject: Subject) -> Iterator[Finding]:
    """The list of relevant documents and the grades disagree.

    Why: formats that hold both compute recall from the list and precision from the grades, and the two numbers then
        measure different things. karat uses the grades.
    Example: `relevant_entities` has `wifi`, and its label is 1, in a set in which relevant begins at 2.
    Fix: decide which is right, and correct the other.
    """
    golden = subject.golden
    listed = {q.id: q.metadata["relevant_entities"] for q in golden.queries if "relevant_entities" in q.metadata}
    graded: dict[str, set[str]] = defaultdict(set)
    for (query, target), grade in golden.decided.items() if listed else ():
        if query in listed and grade >= golden.relevant:
            graded[query].add(target.document)
    only_listed = [f"{q}: {d}" for q, ids in listed.items() for d in map(str, ids) if d not in graded[q]]
    only_graded = [f"{q}: {d}" for q, ids in listed.items() for d in sorted(graded[q].difference(map(str, ids)))]
    if only_listed:
        message = (
            f"{counted(len(only_listed), 'document')} listed as relevant, without a grade of {golden.relevant} or more"
        )
        yield flag("label-contradiction", message, only_listed)
    if only_graded:
        message = f"{counted(len(only_graded), 'document')} graded as relevant, and not listed"
        yield flag("label-contradiction", message, only_graded)


@rule("overlapping-classes", "error", voids=True)
def overlapping_classes(subject: Subject) -> Iterator[Finding]:
    """A document is in two equivalence classes.

    Why: it can count for only one of them.
    Example: `wifi-card` is in the classes `wifi` and `cards`.
    Fix: keep it in one, or make the two classes one.
    """
    twice = _twice(member for members in subject.golden.classes.values() for member in dict.fromkeys(members))
    if twice:
        yield flag("overlapping-classes", f"{counted(len(twice), 'document')} in more than one class", twice)


@rule("must-show-too-many", "error")
def must_show_too_many(subject: Subject) -> Iterator[Finding]:
    """A query has more documents that must be shown than there are ranks.

    Why: all of them have to be in the top 5, and no ranking can do that.
    Example: six constitutional documents for one query.
    Fix: keep the five that matter most, or give the others a tier.
    """
    many = [query.id for query in subject.golden.queries if len(set(query.must_show)) > MUST_SHOW]
    if many:
        message = f"{counted(len(many), 'query', 'queries')} with more than {MUST_SHOW} documents that must be shown"
        yield flag("must-show-too-many", message, many)


@rule("broken-chain", "error")
def broken_chain(subject: Subject) -> Iterator[Finding]:
    """A causal chain has only one document, or one document twice.

    Why: a chain is found when all of its documents are; one document alone is just a relevant document.
    Example: `chain = ["outage-report"]`
    Fix: name the cause and what follows from it, each once, or drop the chain.
    """
    broken = [q.id for q in subject.golden.queries if q.chain and len(set(q.chain)) < max(2, len(q.chain))]
    if broken:
        message = f"{counted(len(broken), 'chain')} of one document, or with one document twice"
        yield flag("broken-chain", message, broken)
