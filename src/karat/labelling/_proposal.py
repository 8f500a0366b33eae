"""Proposals: changes of a golden set that somebody has to accept. Nothing else that people do here changes gold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from karat.core import (
    NORMALISER,
    GoldenSet,
    InputError,
    Judgment,
    KaratError,
    Query,
    Target,
    UsageError,
    is_blank,
    shorten,
)
from karat.files import Reading, Row, append_file, lock_folder, read_bytes, write_file
from karat.golden import change_in_place, diff
from karat.golden.formats import read_judgment, read_query
from karat.labelling._desk import PROPOSALS, Desk
from karat.labelling._pairs import list_pairs
from karat.schema.labelling import (
    LabelProposal,
    LabelProposals,
    ProposalChange,
    ProposalDecision,
    ProposalHead,
    ProposalSummary,
)
from karat.text import canonical, folded, has_quote, resolver

VERSION = 1
_NAME = re.compile(r"\d{4,9}")
_LONGEST_REASON = 2000
_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    "head": msgspec.json.Decoder(ProposalHead),
    "change": msgspec.json.Decoder(ProposalChange),
    "decision": msgspec.json.Decoder(ProposalDecision),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Changes of a golden set, with who proposes them and what was decided."""

    head: ProposalHead
    changes: tuple[ProposalChange, ...]
    decision: ProposalDecision | None = None

    @property
    def state(self) -> str:
        """open, accepted or refused."""
        if self.decision is None:
            return "open"
        return "accepted" if self.decision.accepted else "refused"


def propose(
    desk: Desk, changes: Sequence[ProposalChange], *, by: str, reason: str, left_out: Mapping[str, int] | None = None
) -> Proposal:
    """Write a proposal, after checking that it fits the current golden set, and that it is not open already."""
    desk.check_person(by)
    _check_reason(reason)
    if not changes:
        raise UsageError("there is nothing to propose")
    apply_changes(desk.golden, changes)
    desk.prepare()
    folder = desk.folder / PROPOSALS
    folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder):
        _refuse_twin(desk, changes)
        name = f"{max((int(name) for name in _list_names(folder)), default=0) + 1:04}"
        head = ProposalHead(
            karat="proposal", version=VERSION, name=name, by=by, at=_now(), reason=reason.strip(),
            left_out={reason: count for reason, count in (left_out or {}).items() if count},
        )  # fmt: skip
        lines = map(msgspec.json.encode, [head, *changes])
        write_file(folder / f"{name}.jsonl", (line.decode() + "\n" for line in lines))
    return Proposal(head=head, changes=tuple(changes))


def _refuse_twin(desk: Desk, changes: Sequence[ProposalChange]) -> None:
    """Refuse what an open proposal has already: somebody would have to decide on it twice."""
    folder, wanted = desk.folder / PROPOSALS, {msgspec.json.encode(change) for change in changes}
    for name in _list_names(folder):
        try:
            other = read_proposal(desk, name)
        except InputError:
            continue  # what cannot be read is named where proposals are listed
        if other.state == "open" and wanted <= {msgspec.json.encode(change) for change in other.changes}:
            raise UsageError(f"proposal {name} is open and has all of this already; accept or refuse it first")


def read_proposal(desk: Desk, name: str) -> Proposal:
    """Read a proposal by its number, such as 0007 or 7."""
    number = name.zfill(4) if name.isascii() and name.isdigit() else name
    path = desk.folder / PROPOSALS / f"{number}.jsonl"
    if not _NAME.fullmatch(number) or not path.is_file():
        raise UsageError(f"no proposal {shorten(name)}; 'karat label proposals' lists them")
    return _read(path)


def _read(path: Path) -> Proposal:
    lines = [line for line in read_bytes(path).split(b"\n") if line.strip()]
    decided = len(lines) > 1 and lines[-1].startswith(b'{"accepted"')
    kinds = ["head", *["change"] * (len(lines) - 1 - decided), *["decision"] * decided]
    values = []
    for number, (kind, line) in enumerate(zip(kinds, lines, strict=False), 1):
        try:
            values.append(_DECODERS[kind].decode(line))
        except RecursionError:
            raise InputError("is nested too deep", source=str(path), line=number) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            hint = "remove a last line that was cut off" if number == len(lines) else ""
            raise InputError(
                f"is not a proposal: {shorten(str(error))[1:-1]}", source=str(path), line=number, hint=hint
            ) from None
    if not values:
        raise InputError("is not a proposal: it is empty", source=str(path))
    if values[0].version > VERSION:
        raise InputError(f"has version {values[0].version}", source=str(path), line=1, hint="use a newer karat")
    decision = values.pop() if decided else None
    return Proposal(head=values[0], changes=tuple(values[1:]), decision=decision)


def list_proposals(desk: Desk) -> LabelProposals:
    """Return all proposals, the latest first; those that cannot be read are left out, and named."""
    folder = desk.folder / PROPOSALS
    proposals, problems = [], []
    for name in sorted(_list_names(folder), key=int, reverse=True):
        try:
            proposals.append(read_proposal(desk, name))
        except InputError as error:
            problems.append(desk.name_problem(error))
    return LabelProposals(proposals=tuple(map(_summarise, proposals)), left_out=tuple(problems))


def _list_names(folder: Path) -> list[str]:
    files = folder.glob("*.jsonl") if folder.is_dir() else []
    return [file.stem for file in files if _NAME.fullmatch(file.stem)]


def _summarise(proposal: Proposal) -> ProposalSummary:
    head = proposal.head
    return ProposalSummary(
        proposal=head.name, state=proposal.state, by=head.by, at=head.at, reason=head.reason,  # type: ignore[arg-type]
        changes=len(proposal.changes),
    )  # fmt: skip


def show_proposal(desk: Desk, name: str) -> LabelProposal:
    """Return a proposal with what it would change in the current golden set."""
    return describe_proposal(desk, read_proposal(desk, name))


def describe_proposal(desk: Desk, proposal: Proposal) -> LabelProposal:
    """Return a proposal as a document. While it is open, that has the diff of the golden set."""
    head, changed, difference, problem, golden = proposal.head, None, None, "", desk.golden
    if proposal.decision is None:
        try:
            changed = apply_changes(golden, proposal.changes)
            difference = diff(golden, changed).document()
        except KaratError as error:
            problem = str(error)
    return LabelProposal(
        proposal=head.name,
        state=proposal.state,  # type: ignore[arg-type] # one of the three
        by=head.by,
        at=head.at,
        reason=head.reason,
        changes=proposal.changes,
        diff=difference,
        problem=problem,
        left_out=head.left_out,
        decision=proposal.decision,
        pairs=list_pairs(golden, proposal.changes, changed),
        next=_say_next(golden) if proposal.state == "accepted" else "",
    )


def _say_next(golden: GoldenSet) -> str:
    """Return what becomes of the version of a set that was changed: people raise it when they release the set."""
    version = f"its version is still {golden.version}" if golden.version else "it has no version"
    return (
        f"the golden set was changed, and {version}: before you release it, `karat golden tag .` in the project's "
        "folder says which version comes next"
    )


def accept_proposal(desk: Desk, name: str, *, by: str, reason: str) -> LabelProposal:
    """Write the changes of a proposal into the golden set, and record who accepted it and why.

    Rows of the set that do not change are kept to the byte. If the process is killed in between, the proposal is still
    open, and can be accepted again.
    """
    return _decide(desk, name, by, reason, accepted=True)


def refuse_proposal(desk: Desk, name: str, *, by: str, reason: str) -> LabelProposal:
    """Note that a proposal is refused, by whom and why. It is kept, and the golden set stays as it is."""
    return _decide(desk, name, by, reason, accepted=False)


def _decide(desk: Desk, name: str, by: str, reason: str, *, accepted: bool) -> LabelProposal:
    desk.check_person(by)
    _check_reason(reason)
    if is_blank(reason):
        raise UsageError("say why, so that others can follow")
    proposal = read_proposal(desk, name)
    folder = desk.folder / PROPOSALS
    with lock_folder(folder):
        proposal = read_proposal(desk, name)  # somebody else may have decided meanwhile
        if proposal.decision is not None:
            who = shorten(proposal.decision.by)
            raise UsageError(f"proposal {proposal.head.name} was {proposal.state} by {who}")
        difference = None
        if accepted:
            before, after = change_in_place(
                desk.config.folder, lambda golden: apply_changes(golden, proposal.changes)
            )  # fmt: skip
            difference = diff(before, after).document()
        decision = ProposalDecision(accepted=accepted, by=by, at=_now(), reason=reason.strip())
        append_file(folder / f"{proposal.head.name}.jsonl", msgspec.json.encode(decision) + b"\n")
    described = describe_proposal(desk, replace(proposal, decision=decision))
    return msgspec.structs.replace(described, diff=difference)


def apply_changes(golden: GoldenSet, changes: Iterable[ProposalChange]) -> GoldenSet:
    """Return a golden set with some changes; one that does not fit is an error.

    What the set has already changes nothing, so that changes can be applied again.
    """
    draft = _Draft(golden)
    reading = Reading()
    for number, change in enumerate(changes, 1):
        with Row(reading, {}, f"change {number}"):
            draft.apply(change, reading, f"change {number}")
    reading.finish()
    return draft.finish()


class _Draft:
    """A golden set while it is changed."""

    def __init__(self, golden: GoldenSet) -> None:
        self.golden = golden
        self.queries = dict(golden.query_by_id)
        self.judgments = {
            (own.query, own.target, own.source, own.annotator): own for own in golden.judgments
        }  # fmt: skip
        if len(self.judgments) < len(golden.judgments) or len(self.queries) < len(golden.queries):
            raise UsageError("the set holds queries or judgments twice; run 'karat golden check' on it first")
        self._place = resolver(golden)
        self._paraphrases: dict[str, dict[str, None]] = {}
        """All paraphrases of the queries that get new ones."""
        self._wordings = {
            folded(text): query.id for query in golden.queries for text in (query.text, *query.paraphrases)
        }

    def finish(self) -> GoldenSet:
        for name, paraphrases in self._paraphrases.items():
            self.queries[name] = replace(self.queries[name], paraphrases=tuple(paraphrases))
        return replace(self.golden, queries=tuple(self.queries.values()), judgments=tuple(self.judgments.values()))

    def apply(self, change: ProposalChange, reading: Reading, where: str) -> None:
        parts = [change.judgment is not None, change.query is not None, bool(change.paraphrase), bool(change.wording)]
        if sum(parts) != 1:
            raise InputError(f"{where} is not one of judgment, query, paraphrase and wording")
        if change.judgment is not None:
            self._judge(Row(reading, change.judgment, where))
        elif change.query is not None:
            self._add_query(Row(reading, change.query, where))
        elif change.paraphrase:
            self._add_paraphrase(change, where)
        else:
            self._reword(change, where)

    def _judge(self, row: Row) -> None:
        judgment, golden = read_judgment(row), self.golden
        row.close()
        document = golden.document_by_id.get(judgment.target.document)
        if judgment.query not in self.queries:
            raise row.error(f"the set has no query {shorten(judgment.query)}")
        if golden.documents and document is None:
            raise row.error(f"the set has no document {shorten(judgment.target.document)}")
        if not 0 <= judgment.grade < len(golden.grades):
            raise row.error(f"grade {judgment.grade} is not on the set's scale, 0 to {len(golden.grades) - 1}")
        if document is not None and not judgment.target.whole:
            span = self._place(judgment.target)
            whole = self._place(Target(document=document.id))
            if span is None or whole is None or not 0 <= span.start < span.end <= whole.end:
                raise row.error(f"document {shorten(document.id)} has no {shorten(str(judgment.target))}")
            if not _is_there(golden, judgment):
                words, place = shorten(judgment.quote), shorten(str(judgment.target))
                raise row.error(f"{place} does not have the words {words}: the document was edited; propose it again")
        self.judgments[judgment.query, judgment.target, judgment.source, judgment.annotator] = judgment

    def _add_query(self, row: Row) -> None:
        query = read_query(row)
        row.close()
        if self.queries.setdefault(query.id, query) != query:
            raise row.error(f"the set has another query {shorten(query.id)}")
        self._wordings.setdefault(folded(query.text), query.id)

    def _find(self, change: ProposalChange, where: str) -> Query:
        if change.of not in self.queries:
            raise InputError(f"{where}: the set has no query {shorten(change.of)}")
        return self.queries[change.of]

    def _add_paraphrase(self, change: ProposalChange, where: str) -> None:
        query = self._find(change, where)
        if is_blank(change.paraphrase):
            raise InputError(f"{where}: a paraphrase of {shorten(change.of)} has no words")
        paraphrases = self._paraphrases.setdefault(query.id, dict.fromkeys(query.paraphrases))
        if change.paraphrase in paraphrases:
            return
        if (owner := self._wordings.get(folded(change.paraphrase))) is not None:
            raise InputError(f"{where}: the query {shorten(owner)} asks {shorten(change.paraphrase)} already")
        paraphrases[change.paraphrase] = None
        self._wordings[folded(change.paraphrase)] = query.id

    def _reword(self, change: ProposalChange, where: str) -> None:
        query = self._find(change, where)
        if query.text == change.wording:
            return
        if query.text != change.before:
            raise InputError(f"{where}: the query {shorten(change.of)} was reworded meanwhile; propose it again")
        if is_blank(change.wording):
            raise InputError(f"{where}: the new text of {shorten(change.of)} has no words")
        self.queries[query.id] = replace(query, text=change.wording)


def _is_there(golden: GoldenSet, judgment: Judgment) -> bool:
    """Return whether the words of a judged span stand where the judgment says; one without words is not looked at."""
    span, document = judgment.target.span, golden.document_by_id.get(judgment.target.document)
    if span is None or document is None or not judgment.quote or golden.normaliser != NORMALISER:
        return True
    return has_quote(canonical(document.text), span, judgment.quote)


def _check_reason(reason: str) -> None:
    if len(reason) > _LONGEST_REASON:
        raise UsageError(f"the reason has {len(reason):,} characters; {_LONGEST_REASON:,} are the most")


def _now() -> str:
    return f"{datetime.now(tz=UTC):%Y-%m-%dT%H:%M:%SZ}"
