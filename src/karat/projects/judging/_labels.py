"""What people say of answers: rows to fill in, drawn at random, and the labels that come back."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from karat.core import InputError, Run, Trace, UsageError, is_blank, shorten
from karat.files import Reading, Row, refuse_input, write_file
from karat.golden import pool_text
from karat.judges import make_item
from karat.measures import LAPSED
from karat.projects._project import Project
from karat.runs import read_any_run
from karat.schema.judging import LabelSample

Key = tuple[str, str, int, int]
"""A query, a document if a passage is labelled, a wording and a repeat."""
_SHOWN_ONLY = ("question", "texts", "reference", "query_text", "title", "text", "passage", "date")
_FIELDS = ("label", "grade", "query", "document", "annotator", "judge", "answer", "paraphrase", "repeat")


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What one person says of one answer or passage."""

    key: Key
    value: float
    """From 0 to 1."""
    annotator: str = ""
    judge: str = ""
    """The judge whose question it answers; empty for any."""
    answer: str | None = None
    """The answer that it is about; None if the row does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """The labels of a file."""

    labels: tuple[Label, ...]
    empty: int = 0
    """Rows that nobody has filled in."""

    def of_judge(self, judge: str) -> list[Label]:
        """Return the labels that a judge can be held against."""
        return [label for label in self.labels if label.judge in ("", judge)]

    @property
    def annotators(self) -> list[str]:
        """Who labelled, in order."""
        return sorted({label.annotator for label in self.labels})


def read_labels(path: Path, highest: float = 1.0, *, machine: bool = False) -> Labels:
    """Return the labels of a file with one JSON record per line; ``highest`` is the best label that people could give.

    Rows whose source is bootstrapped are the work of a machine, and left out; with ``machine`` all others are.

    A row has ``query`` and ``label`` (or ``grade``, and ``document``), perhaps ``annotator``, ``judge``, ``answer``,
    ``paraphrase`` and ``repeat``. What annotators read is not looked at.
    """
    reading = Reading()
    labels: list[Label] = []
    empty = 0
    for row in reading.jsonl(path):
        with row:
            row.ignore(*_SHOWN_ONLY)
            if (row.text("source", default="") == "bootstrapped") != machine:
                row.ignore(*_FIELDS)
            elif row.has("label", "grade"):
                labels.append(_read_label(row, highest))
            else:
                row.ignore(*_FIELDS)
                empty += 1
    reading.finish()
    seen: set[tuple[Key, str, str, str | None]] = set()
    for label in labels:
        mark = label.key, label.annotator, label.judge, label.answer
        if mark in seen:
            who = shorten(label.annotator) if label.annotator else "somebody"
            raise InputError(
                f"query {shorten(label.key[0])} has two labels of {who}", source=str(path), hint="keep one"
            )
        seen.add(mark)
    return Labels(labels=tuple(labels), empty=empty)


def _read_label(row: Row, highest: float) -> Label:
    value = row.value("label", "grade")
    if not isinstance(value, bool | int | float) or not 0 <= value <= highest:
        hint = "if people gave grades, name the best one with --highest" if highest == 1 else ""
        raise row.error(f"label {shorten(value)} is not a number from 0 to {highest:g}", hint)
    row.ignore("answer", "document")
    answer = row.text("answer") if row.has("answer") else None
    document = row.id("document") if row.has("document") else ""
    places = [int(row.number(name, default=0)) for name in ("paraphrase", "repeat")]
    return Label(
        key=(row.id("query"), document, places[0], places[1]),
        value=value / highest,
        annotator=row.text("annotator", default=""),
        judge=row.text("judge", default=""),
        answer=answer,
    )


def settle(labels: Iterable[Label]) -> dict[Key, float]:
    """Return the label of each item: the lower median, if several people gave one."""
    votes: dict[Key, list[float]] = {}
    for label in labels:
        votes.setdefault(label.key, []).append(label.value)
    return {key: sorted(own)[(len(own) - 1) // 2] for key, own in votes.items()}


def keep_current(labels: Sequence[Label], answers: Mapping[Key, str]) -> tuple[list[Label], int, int]:
    """Return the labels of answers that a run has, and how many are of other answers, and of none of its questions."""
    known = [label for label in labels if label.key in answers]
    current = [label for label in known if label.answer is None or label.answer == answers[label.key]]
    return current, len(known) - len(current), len(labels) - len(known)


def identify(trace: Trace) -> Key:
    """Return the key of an answer."""
    return trace.query, "", trace.paraphrase, trace.repeat


def sample_labels(
    project: Project, path: Path, output: Path, *, count: int, seed: int = 0, refusals: bool = False
) -> LabelSample:
    """Write answers of a run file, drawn at random, for people to label; every answer is as likely as any other.

    The order of the rows is random, too: whoever stops early has labelled a random sample. Refused answers, and
    answers to questions that have none, are left out unless ``refusals`` is set: most judges give them no score that
    counts, so that a label of them corrects nothing. The judge ``refusal`` does.
    """
    if count < 1:
        raise UsageError(f"count={count}; draw at least one answer")
    run = read_any_run(path, project.golden)
    every = [trace for trace in run.traces if not is_blank(trace.answer) and not trace.error]
    unanswerable = project.golden.unanswerable
    answered = [trace for trace in every if refusals or not (trace.refused or trace.query in unanswerable)]
    if not answered:
        hint = "every answer was refused, or is to a question that has none: --refusals draws these" if every else ""
        raise InputError("no question of the run has an answer to label", source=str(path), hint=hint)
    refuse_input(output)
    if output.exists():
        raise InputError("exists already", source=str(output), hint="choose a new name")
    drawn = random.Random(seed).sample(answered, min(count, len(answered)))  # noqa: S311 (no secret)
    write_file(output, pool_text(_write_row(project, trace) for trace in drawn))
    return LabelSample(
        run=str(path), output=str(output), drawn=len(drawn), answers=len(answered), seed=seed,
        refused=len(every) - len(answered),
    )  # fmt: skip


def _write_row(project: Project, trace: Trace) -> dict[str, Any]:
    item = make_item(project.golden, trace, project.config.judges.texts)
    places = {"paraphrase": trace.paraphrase, "repeat": trace.repeat, "reference": item.reference}
    return {
        "query": item.query,
        **{name: value for name, value in places.items() if value},
        "question": item.question,
        "answer": item.answer,
        "texts": list(item.texts),
        "label": None,
    }


def attach_labels(run: Run, labels: Mapping[str, Path]) -> Run:
    """Return a run whose answers have people's labels, by judge and file.

    An answer that is not the one that was labelled says so. Of a query that was asked in several wordings or repeats,
    all answers have to be labelled. A labelled question that failed has the label 0.
    """
    for judge, path in labels.items():
        run = _attach(run, judge, read_labels(path).of_judge(judge))
    return run


def _attach(run: Run, judge: str, labels: Sequence[Label]) -> Run:
    known = {label.key[0] for label in labels}
    settled: dict[tuple[Key, str], list[Label]] = {}
    for label in labels:
        if label.answer is not None:  # a row that does not say which answer it is about says nothing about this one
            settled.setdefault((label.key, label.answer), []).append(label)
    opinions: dict[Key, float | str] = {}
    for trace in run.traces:
        key = identify(trace)
        if trace.query not in known:
            continue
        own = settled.get((key, trace.answer))
        opinions[key] = 0.0 if trace.error else LAPSED if own is None else settle(own)[key]
    lapsed = {key[0] for key, value in opinions.items() if isinstance(value, str)}
    name = f"people:{judge}"
    traces = tuple(
        replace(trace, opinions={**trace.opinions, name: LAPSED if trace.query in lapsed else opinions[key]})
        if (key := identify(trace)) in opinions
        else trace
        for trace in run.traces
    )
    return replace(run, traces=traces)
