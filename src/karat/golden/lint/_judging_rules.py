"""Rules on judging: what the judgments of a set cannot show."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from karat.core import Source, Target
from karat.golden.lint._id_rules import counted
from karat.golden.lint._rule import Finding, Subject, flag, rule

_PEOPLE: tuple[Source, ...] = ("manual", "validated")
_MOSTLY = 0.5
_SAME = 3  # queries of one type; fewer need no variety


@rule("one-annotator", "warning")
def one_annotator(subject: Subject) -> Iterator[Finding]:
    """No pair was judged by two people.

    Judgments from behaviour or from machines do not count.

    Why: nobody knows how far another person would agree, and so how much of a difference between two systems is the
        taste of one annotator. With two, `karat golden merge` reports their agreement.
    Example: 600 judgments, all by `ana`.
    Fix: let a second person judge some fifty pairs without seeing the first grades, and merge them.
    """
    judgments = [judgment for judgment in subject.golden.judgments if judgment.source in _PEOPLE]
    names = {judgment.annotator for judgment in judgments if judgment.annotator}
    if not judgments or (len(names) > 1 and _judged_by_two(subject)):
        return
    if len(names) > 1:
        message = f"{len(names)} annotators, and no pair that two of them judged: their agreement cannot be computed"
    else:
        who = f"one annotator, {next(iter(names))}" if names else "no annotator is named"
        message = f"{who}: agreement cannot be computed"
    yield flag("one-annotator", message)


def _judged_by_two(subject: Subject) -> bool:
    first: dict[tuple[str, Target], str] = {}
    for judgment in subject.golden.judgments:
        if judgment.source in _PEOPLE and judgment.annotator:
            pair = (judgment.query, judgment.target)
            if first.setdefault(pair, judgment.annotator) != judgment.annotator:
                return True
    return False


@rule("unused-grades", "warning")
def unused_grades(subject: Subject) -> Iterator[Finding]:
    """A grade of the scale is never used.

    Grade 0 is left out: what nobody judged counts as 0 anyway.

    Why: a scale of which half is used shows less than it promises, and nDCG is then a count in disguise.
    Example: grades 0 to 3 are declared, and all judgments are 0 or 3.
    Fix: review the judgments next to the missing grade, or declare the scale that is in use.
    """
    golden = subject.golden
    used = golden.used_grades
    lost = [f"{grade} ({golden.grades[grade]})" for grade in range(1, len(golden.grades)) if grade not in used]
    if lost and used:
        message = f"{counted(len(lost), 'grade')} of {len(golden.grades)} never used: {', '.join(lost)}"
        yield flag("unused-grades", message)


@rule("weak-judgments", "warning")
def weak_judgments(subject: Subject) -> Iterator[Finding]:
    """No judgment was made by a person.

    Why: clicks repeat what the old system showed, and machines repeat its mistakes. Such a set measures how similar a
        new system is to the old one.
    Example: every judgment has the source `bootstrapped`.
    Fix: judge the fifty most different queries by hand (source `manual`), or confirm the existing judgments
        (`validated`).
    """
    sources = Counter(judgment.source for judgment in subject.golden.judgments)
    if sources and not any(sources[kind] for kind in _PEOPLE):
        message = " and ".join(f"{count:,} {source}" for source, count in sources.items())
        yield flag("weak-judgments", f"no judgment was made by a person: {message}")


@rule("single-relevant", "warning")
def single_relevant(subject: Subject) -> Iterator[Finding]:
    """Most queries have only one relevant document.

    Documents of one equivalence class count once. Under the profile `structured` parts of documents are counted.

    Why: precision at 5 cannot exceed 0.2 for such a query, recall is 0 or 1, and a system that finds another good
        document, which nobody judged, is punished for it.
    Example: 45 of 50 queries have one relevant document.
    Fix: judge what several systems return (`karat golden pool`), or gate on RR, Success or recall, not on precision.
    """
    golden = subject.golden
    relevant: dict[str, set[str]] = defaultdict(set)
    for (query, target), grade in golden.decided.items():
        if grade >= golden.relevant:
            whole = golden.class_of.get(target.document, target.document)
            relevant[query].add(str(target) if subject.profile == "structured" else whole)
    single = [query for query, documents in relevant.items() if len(documents) == 1]
    if len(single) > _MOSTLY * len(relevant):
        share = f"{len(single):,} of {counted(len(relevant), 'query', 'queries')} with a relevant document"
        yield flag("single-relevant", f"{share} have one only ({100 * len(single) / len(relevant):.0f} %)", single)


@rule("no-hard-negatives", "warning")
def no_hard_negatives(subject: Subject) -> Iterator[Finding]:
    """No query has a hard negative, and nothing was judged not relevant.

    Why: systems differ most on what looks right and is not. Without it, a mistake looks like an unjudged document.
    Example: only relevant documents are listed.
    Fix: name documents near the right one as `negatives`, or judge what systems return wrongly with grade 0.
    """
    golden = subject.golden
    judged = any(judgment.grade < golden.relevant for judgment in golden.judgments)
    if golden.judgments and not judged and not any(query.negatives for query in golden.queries):
        yield flag("no-hard-negatives", "no query has a hard negative, and no document was judged not relevant")


@rule("one-query-type", "warning")
def one_query_type(subject: Subject) -> Iterator[Finding]:
    """All queries are of one type.

    Why: definitions, how-to questions, errors and comparisons fail in different ways, and a set of one kind shows one.
    Example: 30 queries of type `definition`, all of the form "What is X?".
    Fix: add queries of other types, such as definition, how-to, troubleshooting, comparison.
    """
    queries = subject.golden.queries
    types = {query.type.casefold() for query in queries}
    if len(queries) >= _SAME and len(types) == 1 and types != {""}:
        yield flag("one-query-type", f"all {len(queries):,} queries are of type {queries[0].type}")
