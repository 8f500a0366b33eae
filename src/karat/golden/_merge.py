"""Judgments that come back from annotators, and how far annotators agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from karat.config import read_config
from karat.core import GoldenSet, Judgment, KaratError, Query, Span, Target, UsageError, count_things, shorten
from karat.files import Reading, Row, decode, open_file, read_bytes, shorten_path, write_file
from karat.golden._candidate import read_candidates
from karat.golden._paraphrases import add_paraphrases, read_accepted, write_changed_queries, write_queries
from karat.golden._source import open_set
from karat.golden.formats import encode_judgment, encode_line, read_judgment
from karat.text import folded, resolver

if TYPE_CHECKING:
    from karat.schema import AnnotatorAgreement, GoldenMerge

_SHOWN_ONLY = ("query_text", "title", "text", "passage", "judged")
"""Fields of a pool that annotators read, and that are no part of a judgment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far some annotators agree on the pairs that several of them judged."""

    annotators: tuple[str, ...]
    pairs: int
    """How many pairs at least two of them judged."""
    same: float
    """The share of those on which all gave the same grade."""
    kappa: dict[tuple[str, str], tuple[float, int]]
    """Cohen's kappa with quadratic weights, and the number of pairs, for each two annotators who share some."""
    alpha: float
    """Krippendorff's alpha, ordinal, over all; NaN where it is undefined."""
    disputed: tuple[tuple[str, Target, dict[str, int]], ...]
    """The pairs on which they differ and which nobody settled, the widest apart first."""
    settled: int
    """How many disputes were settled, by a judgment whose source is ``validated``."""

    def document(self) -> AnnotatorAgreement:
        """Return the agreement as a JSON document: null where a number is undefined."""
        from karat.schema import AnnotatorAgreement, AnnotatorKappa, DisputedPair

        return AnnotatorAgreement(
            annotators=self.annotators,
            pairs=self.pairs,
            same=_number(self.same),
            kappa=tuple(
                AnnotatorKappa(annotators=two, kappa=_number(kappa), pairs=pairs)
                for two, (kappa, pairs) in self.kappa.items()
            ),
            alpha=_number(self.alpha),
            settled=self.settled,
            disputed=tuple(
                DisputedPair(query=query, target=str(target), grades=grades) for query, target, grades in self.disputed
            ),
        )


def _number(value: float) -> float | None:
    return None if value != value else value


def agreement(judgments: Iterable[Judgment]) -> Agreement | None:
    """Compare annotators on the pairs that several of them judged; return None where there are no such pairs.

    Judgments without an annotator are left out, and so are those of machines (``bootstrapped``) and from behaviour
    (``implicit``): how far these agree with people says nothing about how far people agree. Those whose source is
    ``validated`` settle disputes.
    """
    votes: dict[tuple[str, Target], dict[str, int]] = {}
    settled = set()
    for judgment in judgments:
        pair = judgment.query, judgment.target
        if judgment.source == "validated":
            settled.add(pair)
        elif judgment.annotator and judgment.source == "manual":
            votes.setdefault(pair, {})[judgment.annotator] = judgment.grade
    shared = {pair: grades for pair, grades in votes.items() if len(grades) > 1}
    if not shared:
        return None
    from karat.stats import krippendorff_alpha

    people = tuple(sorted({name for grades in shared.values() for name in grades}))
    table = [[float(grades.get(name, "nan")) for grades in shared.values()] for name in people]
    differing = [(q, t, g) for (q, t), g in shared.items() if len(set(g.values())) > 1]
    unsettled = [dispute for dispute in differing if dispute[:2] not in settled]
    return Agreement(
        annotators=people,
        pairs=len(shared),
        same=1 - len(differing) / len(shared),
        kappa=_kappas(people, list(shared.values())),
        alpha=krippendorff_alpha(table, level="ordinal"),
        settled=len(differing) - len(unsettled),
        disputed=tuple(sorted(unsettled, key=lambda d: (min(d[2].values()) - max(d[2].values()), d[0], str(d[1])))),
    )


def _kappas(people: Sequence[str], votes: list[dict[str, int]]) -> dict[tuple[str, str], tuple[float, int]]:
    from karat.stats import cohen_kappa

    kappas = {}
    for a, b in combinations(people, 2):
        both = [(grades[a], grades[b]) for grades in votes if a in grades and b in grades]
        if both:
            kappas[a, b] = (cohen_kappa(*zip(*both, strict=True), weights="quadratic"), len(both))
    return kappas


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A set with the judgments that annotators made."""

    golden: GoldenSet
    added: int
    replaced: int
    """Judgments that replace an older one of the same pair by the same annotator."""
    empty: int
    """Rows whose grade nobody filled in."""
    agreement: Agreement | None
    notes: tuple[str, ...]
    new_queries: tuple[Query, ...] = ()
    """Queries of a candidate that a person has judged, which the set now has."""
    unseen: int = 0
    """Queries of a candidate that nobody has judged; they are left out, with what behaviour says of them."""
    paraphrases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Wordings that a person has accepted, by query."""

    def document(self) -> GoldenMerge:
        """Return the counts and the agreement as a JSON document."""
        from karat.schema import GoldenMerge

        return GoldenMerge(
            added=self.added,
            replaced=self.replaced,
            without_grade=self.empty,
            new_queries=len(self.new_queries),
            unseen_queries=self.unseen,
            paraphrases=sum(map(len, self.paraphrases.values())),
            agreement=None if self.agreement is None else self.agreement.document(),
        )


def merge(golden: GoldenSet, files: Sequence[str | Path], *, annotator: str = "", date: str = "") -> Merged:
    """Return a set with the judgments of some files added to it.

    A row without a grade is one that nobody judged yet, and is only counted. ``annotator`` and ``date`` are filled in
    where a row has none. Each annotator's latest grade of a pair counts.

    A folder among the files is a candidate, as ``karat harvest`` makes it. Its queries are added if a person has judged
    a document of theirs, in the candidate or in another of the files, or has marked them as unanswerable in the
    candidate. What behaviour proposes is added beside a person's grade of the same pair, and left out of any other. Its
    paraphrases are added if a person has accepted them; a query with the words of one is left out.
    """
    reading = Reading()
    judgments = {_key(judgment): judgment for judgment in golden.judgments}
    if len(judgments) < len(golden.judgments):
        raise UsageError("the set holds judgments twice; run 'karat golden check' on it first")
    before, keys = set(judgments), set()
    empty = 0
    candidates, pools = read_candidates(files, golden)
    wider = replace(golden, judgments=golden.held_judgments, queries=(*golden.queries, *candidates.queries.values()))
    place = resolver(golden)
    for file in pools:
        for row in reading.jsonl(file):
            with row:
                row.ignore(*_SHOWN_ONLY)
                if not row.has("grade"):
                    empty += 1
                    row.ignore("grade", *Judgment.__slots__, *Target.__slots__)
                    continue
                judgment = _checked(wider, row, annotator, date)
                _check_part(golden, row, judgment.target, place)
                if (key := _key(judgment)) in keys:
                    raise row.error(f"query {shorten(key[0])} and {shorten(str(key[1]))} stand twice", "keep one")
                keys.add(key)
                judgments[key] = judgment
    paraphrases = read_accepted((Path(file) for file in files if Path(file).is_dir()), golden, reading)
    reading.finish()
    people = [judgments[key] for key in keys]
    judged = candidates.find_seen(people)
    candidates, refused = candidates.keep_judged(people)
    seen = _leave_out(judged, paraphrases)
    for judgment in (judgment for query in seen for judgment in candidates.judgments.get(query.id, ())):
        judgments.setdefault(_key(judgment), judgment)
        keys.add(_key(judgment))
    unseen = candidates.queries.keys() - {query.id for query in seen}
    kept = {key: judgment for key, judgment in judgments.items() if key[0] not in unseen}
    return Merged(
        golden=replace(
            golden, queries=(*add_paraphrases(golden.queries, paraphrases), *seen), judgments=tuple(kept.values())
        ),
        added=len((keys & kept.keys()) - before),
        replaced=len(keys & before),
        empty=empty,
        agreement=agreement(kept.values()),
        notes=(
            *reading.notes(),
            *_note_machines(kept[key] for key in keys & kept.keys()),
            *_note_reworded(len(judged) - len(seen)),
            *_note_refused(refused, {query.id for query in seen}),
        ),
        new_queries=seen,
        unseen=len(unseen),
        paraphrases=paraphrases,
    )


def _leave_out(queries: Sequence[Query], paraphrases: Mapping[str, tuple[str, ...]]) -> tuple[Query, ...]:
    """Return queries without those that ask in the words of a paraphrase."""
    wordings = {folded(text) for texts in paraphrases.values() for text in texts}
    return tuple(query for query in queries if not wordings or folded(query.text) not in wordings)


def _note_reworded(count: int) -> Iterator[str]:
    """Yield a note if judged queries were left out because their words are those of a paraphrase."""
    if count:
        which = "1 judged query has" if count == 1 else f"{count:,} judged queries have"
        yield f"{which} the words of an accepted paraphrase, and stays out of the set: judge the golden query instead"


def _note_refused(judgments: Iterable[Judgment], queries: set[str]) -> Iterator[str]:
    """Yield a note if grades of behaviour stay out of queries that come into the set."""
    if count := sum(judgment.query in queries for judgment in judgments):
        which, whose = ("1 grade", "its pair") if count == 1 else (f"{count:,} grades", "their pairs")
        yield f"{which} that behaviour proposes stay{'s' if count == 1 else ''} out: nobody has judged {whose}"


def _note_machines(judgments: Iterable[Judgment]) -> Iterator[str]:
    """Yield a note if a machine made some of the judgments."""
    if machine := sum(judgment.source == "bootstrapped" for judgment in judgments):
        yield (
            f"{count_things(machine, 'judgment is', 'judgments are')} a machine's "
            "(bootstrapped); a person's of the same pair counts for more"
        )


def _key(judgment: Judgment) -> tuple[str, Target, str, str]:
    return judgment.query, judgment.target, judgment.source, judgment.annotator


def _checked(golden: GoldenSet, row: Row, annotator: str, date: str) -> Judgment:
    """Read a judgment, and refuse one that does not fit the set."""
    judgment = read_judgment(row)
    queries, documents = golden.query_by_id, golden.document_by_id
    if judgment.query not in queries:
        raise row.error(f"the set has no query {shorten(judgment.query)}")
    if documents and judgment.target.document not in documents:
        raise row.error(f"the set has no document {shorten(judgment.target.document)}")
    if not 0 <= judgment.grade < len(golden.grades):
        raise row.error(f"grade {judgment.grade} is not on the set's scale, 0 to {len(golden.grades) - 1}")
    return replace(judgment, annotator=judgment.annotator or annotator, date=judgment.date or date)


def _check_part(golden: GoldenSet, row: Row, target: Target, place: Callable[[Target], Span | None]) -> None:
    """Refuse a section, block or span that the document does not have."""
    document = golden.document_by_id.get(target.document)
    if document is None or target.whole:
        return
    try:
        span = place(target)
    except KaratError as error:
        raise row.error(f"document {shorten(document.id)}: {error}") from None
    whole = place(Target(document=document.id))
    if span is not None and not 0 <= span.start < span.end <= (whole.end if whole else 0):
        raise row.error(f"span [{span.start}, {span.end}] is not inside document {shorten(document.id)}")


def merge_in_place(folder: str | Path, files: Sequence[str | Path], *, annotator: str = "", date: str = "") -> Merged:
    """Merge into a set in karat's own format, or that of a project.

    Rows that stay are kept to the byte. Two merges at the same time wait for each other.
    """
    with _open_alone(folder) as (path, golden):
        merged = merge(golden, files, annotator=annotator, date=date)
        write_queries(path / "queries.jsonl", merged.paraphrases, merged.new_queries)
        _write_judgments(path / "judgments.jsonl", golden.judgments, merged.golden.judgments)
    return merged


def change_in_place(folder: str | Path, change: Callable[[GoldenSet], GoldenSet]) -> tuple[GoldenSet, GoldenSet]:
    """Write the queries and judgments that ``change`` returns for a set in karat's own format, or for a project's.

    Queries and judgments keep their places, and new ones come last: rows that stay are kept to the byte. Return the
    set before and after. Two changes at the same time wait for each other.
    """
    with _open_alone(folder) as (path, golden):
        changed = change(golden)
        write_changed_queries(path / "queries.jsonl", golden.queries, changed.queries)
        _write_judgments(path / "judgments.jsonl", golden.judgments, changed.judgments)
    return golden, changed


@contextmanager
def _open_alone(folder: str | Path) -> Iterator[tuple[Path, GoldenSet]]:
    """Open a set in karat's own format while nobody else writes to it; yield its folder and the set."""
    config = read_config(Path(folder))
    path = config.golden if config.golden.is_dir() else config.golden.parent
    if not (path / "golden.toml").is_file():
        source = shorten_path(config.golden)
        raise UsageError(
            f"{source} is not in karat's own format, and no other is changed in place; "
            f"'karat golden convert {source} NEW' makes a copy that is: name it as path in [golden] of karat.toml, "
            "or write to a new folder"
        )
    with _alone(path / "golden.toml"):
        yield path, open_set(replace(config, golden=path))


def _write_judgments(path: Path, before: Sequence[Judgment], after: Sequence[Judgment]) -> None:
    old = decode(read_bytes(path), str(path)).split("\n") if path.exists() else []
    rows = [line for line in old if line.strip(" \t\r")]
    lines = [
        row + "\n" if was == now else encode_line(encode_judgment(now))
        for row, was, now in zip(rows, before, after, strict=False)
    ]
    write_file(path, "".join(lines + [encode_line(encode_judgment(judgment)) for judgment in after[len(rows) :]]))


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold a lock on a file; on a system without such locks hold none."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    with open_file(path) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
