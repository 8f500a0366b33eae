"""From a golden set and a system to a run and its scores."""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from karat.config import Settings
from karat.core import GoldenSet, InputError, Provenance, Run, SystemFailed, Trace, UsageError, __version__, shorten
from karat.golden import fingerprint, identify, sample
from karat.net import Unreachable
from karat.runs._ask import Answer, ask_all
from karat.runs._runfile import RunWriter
from karat.systems import System, TenantMixed, adapt

_PACKAGES = ("numpy", "bm25s", "tokenizers", "onnxruntime", "hnswlib")
_READY_POLL = 0.2
_FATAL = TenantMixed | UsageError
"""Errors that end the run: a hit of another tenant voids it, and a configuration mistake fails every question."""


@dataclass(frozen=True, slots=True)
class _Question:
    query: str
    text: str
    paraphrase: int
    repeat: int


def make_run(
    golden: GoldenSet,
    system: object,
    settings: Settings = Settings(),  # noqa: B008 (a frozen value)
    *,
    name: str = "",
    output: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    """Ask a system every question of a golden set, and keep what it answers.

    With ``output`` the run is written as it grows; one that was begun and not finished is taken up again, and nothing
    is asked twice. ``progress`` is told how many answers there are, and how many there will be.
    """
    asked = adapt(system, name=name)
    chosen = golden if settings.sample is None else sample(golden, settings.sample, seed=settings.seed)
    provenance = describe_run(golden, asked, settings)
    questions = list(_questions(chosen, settings))
    if not questions:
        raise InputError(f"golden set {shorten(golden.name)} has no queries")
    # The file first: that it cannot be written is better known before the documents are taken in than after.
    with _closing(asked), nullcontext() if output is None else RunWriter(output, provenance) as writer:
        done = _matching(writer.done, questions) if writer else []
        traces = list(done)
        if len(done) < len(questions):
            _prepare(asked, golden, settings)
            _warm_up(asked, questions, settings)
        for trace in _ask(asked, questions[len(done) :], settings):
            traces.append(trace)
            if writer:
                writer.write(trace)
            if progress:
                progress(len(traces), len(questions))
        if all(trace.error for trace in traces):
            if writer:
                writer.forget()
            words = "; ".join(dict.fromkeys(trace.error for trace in traces[:3]))
            raise SystemFailed(f"every one of {len(traces):,} queries failed: {words}")
    return Run(provenance=provenance, traces=tuple(traces))


@contextmanager
def _closing(system: System) -> Iterator[None]:
    """Close the system at the end, whatever the end is."""
    try:
        yield
    finally:
        if system.close is not None:
            system.close()


def _prepare(system: System, golden: GoldenSet, settings: Settings) -> None:
    """Let the system take in the documents, and wait until it says that it is ready."""
    if system.ingest is not None:
        system.ingest(golden.documents)
    deadline = time.monotonic() + settings.ready_timeout
    while system.ready is not None and not system.ready():
        if time.monotonic() > deadline:
            raise SystemFailed(f"{system.name} is not ready after {settings.ready_timeout:g} s")
        time.sleep(_READY_POLL)
    if system.document_ids is not None:
        _check_ids(golden, set(system.document_ids()))


def _check_ids(golden: GoldenSet, held: set[str]) -> None:
    """Refuse gold that the index does not hold: it would be scored as missed."""
    judged = {target.document for (_, target), grade in golden.decided.items() if grade >= golden.relevant}
    absent = sorted(judged - held)
    if absent:
        shown = ", ".join(map(shorten, absent[:3]))
        have = ", ".join(map(shorten, sorted(held)[:3])) or "nothing"
        raise InputError(
            f"the index lacks {len(absent):,} of {len(judged):,} relevant documents, such as {shown}",
            source=golden.name,
            hint=f"it has {have}; ingest what is missing, or correct the ids",
        )


def describe_run(golden: GoldenSet, system: System, settings: Settings) -> Provenance:
    """Return where a run comes from, before its first question is asked."""
    described = json.dumps(system.description, sort_keys=True, default=str)
    return Provenance(
        name=system.name,
        golden=identify(golden),
        system=json.loads(described),
        fingerprint=f"sha256:{hashlib.sha256(described.encode()).hexdigest()}",
        settings=settings.identity(),
        versions=_versions(),
    )


def _versions() -> dict[str, str]:
    found = {"karat": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # it took no part
            continue
    return found


def _questions(golden: GoldenSet, settings: Settings) -> Iterator[_Question]:
    """Give the questions in the order of the set: each query, then its paraphrases, then all again."""
    for repeat in range(settings.repeat):
        for query in golden.queries:
            texts = (query.text, *query.paraphrases) if settings.paraphrases else (query.text,)
            for i, text in enumerate(texts):
                yield _Question(query.id, text, i, repeat)


def _matching(done: Sequence[Trace], questions: Sequence[_Question]) -> list[Trace]:
    """Take the answers that are there already, as far as they are those to these questions."""
    kept = []
    for trace, question in zip(done, questions, strict=False):
        if (trace.query, trace.text, trace.paraphrase, trace.repeat) != (
            question.query, question.text, question.paraphrase, question.repeat,
        ):  # fmt: skip
            raise InputError("the run that was begun asks other questions", hint="remove its .part file to begin anew")
        kept.append(trace)
    return kept


def _warm_up(system: System, questions: Sequence[_Question], settings: Settings) -> None:
    """Ask the first questions without counting them, and stop if no later question can be answered either."""
    texts = [question.text for question in questions[: settings.warm_up]]
    for answer in ask_all(system, texts, settings.k, timeout=settings.timeout):
        if isinstance(answer.failure, _FATAL | Unreachable):
            raise answer.failure


def _ask(system: System, questions: Sequence[_Question], settings: Settings) -> Iterator[Trace]:
    texts = (question.text for question in questions)
    answers = ask_all(
        system, texts, settings.k, concurrency=settings.concurrency, timeout=settings.timeout, batch=settings.batch
    )
    for number, (question, answer) in enumerate(zip(questions, answers, strict=True)):
        if isinstance(answer.failure, _FATAL) or (number == 0 and isinstance(answer.failure, Unreachable)):
            raise answer.failure
        if answer.error and settings.fail_fast:
            raise SystemFailed(f"query {shorten(question.query)}: {answer.error}") from answer.failure
        yield _traced(question, answer)


def _traced(question: _Question, answer: Answer) -> Trace:
    return Trace(
        query=question.query,
        text=question.text,
        hits=answer.hits,
        timings={**answer.stages, "total": answer.milliseconds},
        error=answer.error,
        paraphrase=question.paraphrase,
        repeat=question.repeat,
    )


def require_golden(golden: GoldenSet, provenance: Provenance) -> None:
    """Refuse a run that was made on another golden set: its scores would mean something else."""
    if provenance.golden.get("fingerprint") != fingerprint(golden):
        raise InputError(
            f"run {provenance.name} was made on another golden set than {golden.name} is now",
            hint="run it again, or score it with the set that it was made on",
        )
