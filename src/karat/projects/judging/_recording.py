"""What judging does as telemetry, where an OTLP endpoint is configured: the calls of models, and what judges say."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from karat.chat import Call
from karat.core import Run
from karat.judges import Judge, Opinion
from karat.net import describe_error
from karat.projects._calls import describe_call
from karat.projects._project import Project
from karat.schema import JudgeSpending
from karat.telemetry import Destination, FinishedJudging, JudgedAnswer, ModelCall, find_destination, make_seed

_LONGEST = 4000
"""Characters of an explanation."""


class Recording:
    """Collects what judging does, from any number of threads, and sends it at the end."""

    def __init__(self, verb: str, golden: str, destination: Destination) -> None:
        self._destination = destination
        self._clock = time.perf_counter()
        self._calls: list[ModelCall] = []
        self._answers: list[JudgedAnswer] = []
        self._judging = FinishedJudging(
            verb=verb, run="", golden=golden, begun=time.time(), seconds=0.0, calls=(), answers=()
        )  # fmt: skip
        self._is_finished = False

    def hear(self, call: Call) -> None:
        """Take a call of a model; its messages only if they are sent."""
        self._calls.append(describe_call(call, content=self._destination.content))

    def add(self, answers: Iterable[JudgedAnswer]) -> None:
        """Take what judges said."""
        self._answers.extend(answers)

    def begin(self, path: Path, run: Run | None = None, *, other: Path | None = None) -> None:
        """Set what is judged: ``path`` is the file of the run, or of what is judged instead of one."""
        self._judging = replace(
            self._judging,
            run=path.stem,
            seed="" if run is None else make_seed(path.stem, run.provenance.origin.begun),
            other="" if other is None else other.stem,
        )

    def finish(self, spending: Sequence[JudgeSpending], means: Mapping[str, float | None] | None = None) -> None:
        """End the recording: all is judged."""
        self._judging = replace(
            self._judging,
            seconds=time.perf_counter() - self._clock,
            calls=tuple(self._calls),
            answers=tuple(self._answers),
            means={name: value for name, value in (means or {}).items() if value is not None},
            cached=sum(own.cached for own in spending),
            money=sum(own.money for own in spending),
        )
        self._is_finished = True

    def fail(self, error: BaseException) -> None:
        """End the recording of judging that failed, or was interrupted, with the calls that are over."""
        if self._is_finished or not self._calls:
            return
        self.finish([])
        self._judging = replace(
            self._judging, answers=(), error=describe_error(error), kind=type(error).__name__
        )  # fmt: skip

    def send(self) -> str:
        """Send what was judged, and return a note on what was not taken; nothing is sent if it never ended.

        So it is with a dry run, and where judging failed before a model was asked.
        """
        if not self._is_finished:
            return ""
        from karat.telemetry import send_judging

        return send_judging(self._judging, self._destination).finish()


@contextmanager
def recording_judging(project: Project, verb: str, say: Callable[[str], None]) -> Iterator[Recording | None]:
    """Yield what collects the calls and judgments of a verb, and send them at the end; None without a collector.

    If judging fails, or is interrupted, its calls are sent with the error. ``say`` gets a note on what was not taken.
    """
    destination = find_destination(project.config.telemetry)
    if destination is None:
        yield None
        return
    recording = Recording(verb, project.golden.name, destination)
    try:
        yield recording
    except BaseException as error:
        recording.fail(error)
        raise
    finally:
        if note := recording.send():
            say(note)


def list_judged(
    opinions: Iterable[Opinion], judges: Sequence[Judge], fingerprints: Mapping[str, str]
) -> list[JudgedAnswer]:
    """Return opinions as telemetry sees them."""
    by_name = {judge.name: judge for judge in judges}
    return [
        JudgedAnswer(
            query=opinion.query,
            measure=by_name[opinion.judge].measure,
            value=opinion.value,
            reason=opinion.reason,
            judge=fingerprints[opinion.judge],
            is_model=bool(by_name[opinion.judge].prompts),
            explanation=_explain(opinion),
            paraphrase=opinion.paraphrase,
            repeat=opinion.repeat,
            vote=opinion.vote,
        )
        for opinion in opinions
    ]


def _explain(opinion: Opinion) -> str:
    lines = (f"{finding.subject}: {finding.verdict} {finding.reason}".rstrip() for finding in opinion.findings)
    return "; ".join(lines)[:_LONGEST]
