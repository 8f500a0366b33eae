"""Making a run: ask a system every question of a golden set."""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any

from karat.config import Settings
from karat.core import (
    Context,
    GoldenSet,
    InputError,
    Origin,
    Provenance,
    Run,
    SystemFailed,
    Trace,
    UsageError,
    __version__,
    make_trace,
    shorten,
)
from karat.golden import identify, sample
from karat.net import NotAService, Unreachable, find_version, hide_settings
from karat.runs._ask import Wording, ask_all, prepare_all
from karat.runs._patience import Patience
from karat.runs._plan import Question, plan_questions, resume_plan, split_rounds
from karat.runs._runfile import RunWriter, timestamp
from karat.runs._workers import Response
from karat.systems import System, TenantMixed, adapt

if TYPE_CHECKING:
    from karat.chat import Listener

_PACKAGES = ("numpy", "bm25s", "tokenizers", "onnxruntime", "hnswlib")
_READY_POLL = 0.2
_FATAL = TenantMixed | UsageError
"""Errors that end the run: a hit of another tenant voids it, and a configuration mistake fails every question."""
_HOPELESS = NotAService | Unreachable
"""Errors that end the run if the first question gets one, because every other question would get it too."""


def make_run(
    golden: GoldenSet,
    system: object,
    settings: Settings = Settings(),  # noqa: B008 (a frozen value)
    *,
    name: str = "",
    output: Path | None = None,
    origin: Origin = Origin(),  # noqa: B008 (a frozen value)
    resume: bool = True,
    say: Callable[[str], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
    listener: Listener | None = None,
) -> Run:
    """Ask a system every question of a golden set, and return the run.

    With ``output`` the run is written to that file as it grows. If the file has an unfinished run of the same kind, it
    is continued, and no question is asked twice; ``say`` is called with a note on how many answers are old. Without
    ``resume`` it begins anew. ``origin`` is recorded in the run. ``progress`` is called with the number of questions
    that were asked and the number of all questions. ``listener`` is called with each call of a model by which the
    built-in pipeline answers, also while it is warming up.

    >>> from karat.core import Query
    >>> golden = GoldenSet(queries=(Query(id="q", text="When does the pool open?"),))
    >>> run = make_run(golden, lambda query, k: ["pool", "wifi"], Settings(k=1))
    >>> [hit.id for hit in run.traces[0].hits]
    ['pool']
    """
    subject = adapt(system, name=name)
    sampled = golden if settings.sample is None else sample(golden, settings.sample, seed=settings.seed)
    origin = replace(origin, begun=origin.begun or timestamp())
    provenance = replace(describe_run(golden, subject, settings), origin=origin)
    names = {query.id for query in sampled.queries}
    questions = plan_questions(golden, names, settings, tenant=subject.tenant, sessions=subject.has_sessions)
    if not questions:
        raise InputError(f"golden set {shorten(golden.name)} has no queries")
    total = sum(question.counted for question in questions)
    # The file is opened first, so that an unwritable one is reported before the documents are ingested.
    # A system that recalls its answers would take a repeat that is left for the first time, and return a copy of it.
    # From the beginning, all that was asked is recalled in its order, and costs nothing.
    resume = resume and not (subject.recalls and settings.repeat > 1)
    with _closing(subject), nullcontext() if output is None else RunWriter(output, provenance, resume=resume) as writer:
        traces = list(writer.done[:total]) if writer else []
        remaining = resume_plan(questions, traces)
        if writer:
            provenance = replace(provenance, origin=writer.origin)
            if traces and say:
                say(_describe_resumption(len(traces), total, writer.origin, origin))
        if remaining:
            prepare_system(subject, golden, settings, say)
            _check_ids(golden, subject)
            _warm_up(subject, questions, settings, listener)
        patience = Patience(0 if any(not trace.error for trace in traces) else settings.patience)
        with closing(_ask(subject, remaining, settings, listener)) as responses:
            for trace in responses:
                traces.append(trace)
                if writer:
                    writer.write(trace)
                if progress:
                    progress(len(traces), total)
                if patience.ends_with(trace):
                    break
        if all(trace.error for trace in traces):
            if writer:
                writer.forget()
            raise SystemFailed(_describe_failures(traces, total))
    return Run(provenance=provenance, traces=tuple(traces))


def _describe_failures(traces: Sequence[Trace], total: int) -> str:
    errors = "; ".join(dict.fromkeys(trace.error for trace in traces[:3]))
    if len(traces) == total:
        return f"every one of {total:,} queries failed: {errors}"
    return (
        f"the first {len(traces):,} questions failed in the same way, and the other {total - len(traces):,} were not "
        f"asked: {errors}; patience = 0 in [eval] asks them all"
    )


def _describe_resumption(old: int, total: int, then: Origin, now: Origin) -> str:
    """Return how many answers of a continued run are old, from when, and from which code."""
    code = f", of code {then.code}" if then.code else ""
    today = f"; the code is now {now.code}" if now.code and now.code != then.code else ""
    return f"continues an unfinished run: {old:,} of {total:,} answers are from {then.begun or 'before'}{code}{today}"


@contextmanager
def _closing(system: System) -> Iterator[None]:
    """Close the system at the end, also after an error."""
    try:
        yield
    finally:
        if system.close is not None:
            system.close()


def prepare_system(
    system: System, golden: GoldenSet, settings: Settings, say: Callable[[str], None] | None = None
) -> None:
    """Let the system ingest the documents, except those that sessions store later, and wait until it is ready.

    A set without documents is refused if the system ingests them, because it would have nothing to search: every score
    would be 0. A system that has its documents already says so with ``document_ids()``.
    """
    if system.ingest is not None and system.document_ids is None and not golden.documents:
        raise InputError(
            f"there is no document for {system.name} to ingest; the golden set holds none",
            source=golden.name,
            hint="name them in [golden] documents and open the folder of that karat.toml, or read the set with "
            "documents=PATH; a system that has its documents already needs document_ids(), or no ingest()",
        )
    memories = golden.memories
    if memories and system.remember is None:
        if say:
            known = "it gets them with the others, before the first question" if system.ingest else "it may lack them"
            say(
                f"sessions store {len(memories):,} of the documents between their turns, but {system.name} has no "
                f"remember(documents, context): {known}"
            )
        memories = frozenset()
    if system.ingest is not None:
        system.ingest(tuple(document for document in golden.documents if document.id not in memories))
    deadline = time.monotonic() + settings.ready_timeout
    while system.ready is not None and not system.ready():
        if time.monotonic() > deadline:
            raise SystemFailed(f"{system.name} is not ready after {settings.ready_timeout:g} s")
        time.sleep(_READY_POLL)


def _check_ids(golden: GoldenSet, system: System) -> None:
    """Refuse an index that lacks relevant documents: they would be scored as missed."""
    if system.document_ids is None:
        return
    indexed = {*system.document_ids(), *(golden.memories if system.remember else ())}
    relevant = {target.document for _, targets in golden.relevant_targets() for target in targets}
    missing = sorted(relevant - indexed)
    if missing:
        examples = ", ".join(map(shorten, missing[:3]))
        present = ", ".join(map(shorten, sorted(indexed)[:3])) or "nothing"
        raise InputError(
            f"the index lacks {len(missing):,} of {len(relevant):,} relevant documents, such as {examples}",
            source=golden.name,
            hint=f"it has {present}; ingest what is missing, or correct the ids",
        )


def describe_run(golden: GoldenSet, system: System, settings: Settings) -> Provenance:
    """Return the provenance of a run before any question is asked."""
    description = json.dumps(hide_settings(system.description), sort_keys=True, default=str)
    return Provenance(
        name=system.name,
        golden=identify(golden),
        system=json.loads(description),
        fingerprint=f"sha256:{hashlib.sha256(description.encode()).hexdigest()}",
        settings=settings.identity(),
        versions=_list_versions(),
    )


def _list_versions() -> dict[str, str]:
    versions = {package: find_version(package) for package in _PACKAGES}
    return {"karat": __version__, "python": platform.python_version()} | {
        package: number for package, number in versions.items() if number
    }


def _warm_up(system: System, questions: Sequence[Question], settings: Settings, listener: Listener | None) -> None:
    """Ask the first questions without counting them, and stop if no later question can be answered either.

    They are asked outside their session, which would otherwise remember them.
    """
    first = (
        _with_listener((question.text, _leave_session(question.context)), None, listener)
        for question in questions[: settings.warm_up]
    )
    for number, response in enumerate(ask_all(system, first, settings.k, timeout=settings.timeout)):
        _raise_if_fatal(response, _HOPELESS if number == 0 else Unreachable)


def _raise_if_fatal(response: Response, hopeless: type | UnionType | tuple[()]) -> None:
    """Raise the failure of a question if it ends the run, or is of a hopeless kind."""
    failure = response.failure
    if isinstance(failure, _FATAL):
        raise failure
    if isinstance(failure, SystemFailed) and isinstance(failure, hopeless):
        advice = "no other question was asked; check the address and the key of the service"
        raise type(failure)(f"{failure}; {advice}") from None


def _with_listener(wording: tuple[str, Context], question: Question | None, listener: Listener | None) -> Wording:
    """Return a question whose calls of a model a listener is told of; as it is if nobody listens."""
    if listener is None:
        return wording
    from karat.chat import Subject, asking_about  # a client of models, which few systems need

    if question is None:
        return *wording, asking_about(None, listener)
    subject = Subject(query=question.query, paraphrase=question.paraphrase, repeat=question.repeat)
    return *wording, asking_about(subject, listener)


def _ask(
    system: System, questions: Sequence[Question], settings: Settings, listener: Listener | None
) -> Generator[Trace]:
    if settings.without_sessions:
        shown = [replace(question, context=_leave_session(question.context)) for question in questions]
    else:
        shown = list(questions)
    at_first = Unreachable if settings.warm_up else _HOPELESS  # the warm-up has shown that it is the service
    failures: dict[str, str] = {}
    number, in_context = 0, system.has_sessions
    for group in split_rounds(questions):
        failures |= _prepare_sessions(system, group, settings, failures)
        asking = shown[number : number + len(group)]
        for question, response in _ask_group(system, group, asking, settings, failures, listener):
            _raise_if_fatal(response, () if number else at_first)
            number += 1
            if response.error and settings.fail_fast:
                raise SystemFailed(f"query {shorten(question.query)}: {response.error}") from response.failure
            if question.counted:
                yield _make_trace(question, response, timed=system.timed, in_context=in_context)


def _prepare_sessions(
    system: System, group: Sequence[Question], settings: Settings, failures: Mapping[str, str]
) -> dict[str, str]:
    """Start the sessions of a group, store the memories before its questions, and return what failed, by session."""
    if system.start_session is None:
        return {}
    turns = [
        question
        for question in group
        if question.context.session
        and question.context.session not in failures
        and (question.memories or question.position == 0)
    ]
    failed = {}
    preparations = ((turn.context, turn.memories, turn.position == 0) for turn in turns)
    responses = prepare_all(system, preparations, concurrency=settings.concurrency, timeout=settings.timeout)
    for question, response in zip(turns, responses, strict=True):
        _raise_if_fatal(response, ())
        if response.error:
            before = f"before turn {question.context.turn} of session {shorten(question.context.session)}"
            failed[question.context.session] = f"{before}: {response.error}"
    return failed


def _ask_group(
    system: System,
    group: Sequence[Question],
    shown: Sequence[Question],
    settings: Settings,
    failures: Mapping[str, str],
    listener: Listener | None,
) -> Iterator[tuple[Question, Response]]:
    """Yield each question, as the system was told of it, with its response; one of a failed session is not asked."""
    sound = [question.context.session not in failures for question in group]
    responses = ask_all(
        system,
        (
            _with_listener((question.text, question.context), question if question.counted else None, listener)
            for question, is_sound in zip(shown, sound, strict=True)
            if is_sound
        ),
        settings.k,
        concurrency=settings.concurrency,
        timeout=settings.timeout,
        batch=settings.batch,
    )
    for original, question, is_sound in zip(group, shown, sound, strict=True):
        yield question, next(responses) if is_sound else Response(error=failures[original.context.session])


def _leave_session(context: Context) -> Context:
    return replace(context, session="", turn=0, documents=())


def _make_trace(question: Question, response: Response, *, timed: bool, in_context: bool) -> Trace:
    timings = {**response.timings, "total": response.milliseconds} if timed else {}
    hits: Any = response.hits  # a list of hits is taken as it is, and makes its objects when they are needed
    if not (
        in_context or question.paraphrase or question.repeat or response.stages or response.telemetry or response.answer
    ):
        return make_trace(question.query, question.text, hits, timings, response.error, question.judged)
    answer = response.answer
    said: dict[str, Any] = (
        {} if answer is None else {"answer": answer.text, "citations": answer.citations, "refused": answer.refused}
    )
    # The golden set has the metadata and the working memory; every run would repeat them.
    context = replace(question.context, documents=(), metadata={}) if in_context else Context()
    return Trace(
        query=question.query,
        text=question.text,
        hits=hits,
        timings=timings,
        error=response.error,
        paraphrase=question.paraphrase,
        repeat=question.repeat,
        judged=question.judged,
        context=context,
        stages=response.stages,
        telemetry={**response.telemetry, **(answer.telemetry if answer else {})},
        **said,
    )
