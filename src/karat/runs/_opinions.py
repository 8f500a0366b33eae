"""What judges say of a run, in a file beside it: ``NAME.opinions`` beside ``NAME.jsonl``.

The first line says which run file the opinions are of, by its hash. A run that was made again has no opinions until it
is judged again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import variance

import msgspec

from karat.core import InputError, Run, Trace, shorten
from karat.files import decode, lock_folder, read_bytes, write_file
from karat.schema import OpinionDocument, OpinionHeader

Key = tuple[str, int, int]
"""A query, a wording and a repeat."""
_NO_VALUE = "not judged"
_AGAIN = "judge the run again with 'karat judge'"
NOISE = "noise:"
"""What an opinion's name begins with that says how far a judge contradicts itself."""


def opinions_path(run: str | Path) -> Path:
    """Return the path of the opinions about a run file.

    >>> opinions_path("runs/hotel-1a2b.jsonl").as_posix()
    'runs/hotel-1a2b.opinions'
    """
    return Path(run).with_suffix(".opinions")


def digest_run(data: bytes) -> str:
    """Return the hash by which opinions name their run."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinions:
    """What judges say of a run file."""

    run: str
    """The hash of the run file."""
    judges: Mapping[str, str]
    """What decides about the opinions of each judge, by its name."""
    opinions: Sequence[OpinionDocument]


def write_opinions(path: Path, run: str, judges: Mapping[str, str], opinions: Iterable[OpinionDocument]) -> None:
    """Write the opinions about the run file with a hash, completely or not at all; ``judges`` identifies each judge."""
    header = OpinionHeader(karat="opinions", format=2, run=run, judges=dict(judges))
    lines = [msgspec.json.encode(header), *map(msgspec.json.encode, opinions), b""]
    write_file(path, b"\n".join(lines).decode())


def merge_opinions(
    path: Path, run: str, judges: Mapping[str, str], opinions: Sequence[OpinionDocument]
) -> tuple[dict[str, str], dict[str, str], str]:
    """Write the opinions of some judges about a run file, beside those of others which are there already.

    Return the judges whose opinions were kept and those whose opinions were replaced because they have changed, each
    with what decides, or decided, about them; and why opinions are gone: those about another run do not count any
    more, and a file that cannot be read is written anew.
    """
    with lock_folder(path.parent):  # of two processes with different judges, the second keeps what the first wrote
        before, problem = _read_earlier(path, run)
        kept = {judge: own for judge, own in before.judges.items() if judge not in judges}
        others = [opinion for opinion in before.opinions if opinion.judge in kept]
        write_opinions(path, run, {**kept, **judges}, [*others, *opinions])
    changed = {judge: own for judge, own in before.judges.items() if judges.get(judge, own) != own}
    return kept, changed, problem


def _read_earlier(path: Path, run: str) -> tuple[Opinions, str]:
    nothing = Opinions(run=run, judges={}, opinions=())
    if not path.is_file():
        return nothing, ""
    try:
        before = read_opinions(path)
    except InputError as error:
        return nothing, f"what was there cannot be read: {error.what}"
    return (before, "") if before.run == run else (nothing, "what was there is about an earlier run of this name")


def attach_opinions(run: Run, file: str | Path, data: bytes, say: Callable[[str], None] | None = None) -> Run:
    """Return the run of a file with what judges say of it; as it is without opinions, or with those of another run."""
    path = opinions_path(file)
    if not path.is_file():
        return run
    judged = read_opinions(path)
    if judged.run != digest_run(data):
        if say is not None:
            say(f"{path.name} has opinions about another run, which do not count; judge this one with 'karat judge'")
        return run
    values = _average(judged.opinions)
    judges = dict.fromkeys((judge for own in values.values() for judge in own), _NO_VALUE)
    noise = _measure_noise(judged.opinions)
    traces = tuple(
        replace(trace, opinions={**judges, **values.get(key, {}), **noise.get(key, {})})
        for trace in run.traces
        for key in (_identify(trace),)
    )
    settings = {**run.provenance.settings, "judged_by": dict(judged.judges)}
    return replace(run, traces=traces, provenance=replace(run.provenance, settings=settings))


def _identify(trace: Trace) -> Key:
    return trace.query, trace.paraphrase, trace.repeat


def read_opinions(path: Path) -> Opinions:
    """Return what judges say of a run, from a file."""
    first, *lines = decode(read_bytes(path), str(path)).split("\n")
    number = 1
    try:
        header = msgspec.json.decode(first, type=OpinionHeader)
        opinions = []
        for line in filter(None, lines):
            number += 1
            opinions.append(msgspec.json.decode(line, type=OpinionDocument))
    except (msgspec.DecodeError, RecursionError) as error:
        problem = f"is not an opinion: {shorten(str(error))}"
        raise InputError(problem, source=str(path), line=number, hint=_AGAIN) from None
    _refuse_repetition(opinions, path)
    return Opinions(run=header.run, judges=_read_judges(header, opinions, path), opinions=opinions)


def _read_judges(header: OpinionHeader, opinions: Iterable[OpinionDocument], path: Path) -> dict[str, str]:
    """Return what decides about each judge. An earlier format names all of them together."""
    names = dict.fromkeys(opinion.judge for opinion in opinions)
    if header.format == 1 and header.judge is not msgspec.UNSET:
        return dict.fromkeys(names, header.judge)
    judges = {} if header.judges is msgspec.UNSET else header.judges
    if unknown := [name for name in names if name not in judges]:
        problem = f"does not say what decides about the opinions of {shorten(unknown[0])}"
        raise InputError(problem, source=str(path), line=1, hint=_AGAIN)
    return dict(judges)


def _refuse_repetition(opinions: Iterable[OpinionDocument], path: Path) -> None:
    """Refuse a vote that is there twice: it would count twice in the mean, and as agreement."""
    seen = set()
    for number, own in enumerate(opinions, 2):
        vote = (own.query, own.judge, own.paraphrase or 0, own.repeat or 0, own.vote or 0)
        if vote in seen:
            problem = f"has a second opinion of {shorten(own.judge)} on query {shorten(own.query)} with the same vote"
            raise InputError(problem, source=str(path), line=number, hint=_AGAIN)
        seen.add(vote)


def _average(opinions: Iterable[OpinionDocument]) -> dict[Key, dict[str, float | str]]:
    """Return the mean of the votes of each judge, or why there is none.

    A vote without a value has no part in the mean; where most have none, there is no value.
    """
    return {
        key: {judge: _decide(own) for judge, own in judges.items()} for key, judges in group_votes(opinions).items()
    }


def group_votes(opinions: Iterable[OpinionDocument]) -> dict[Key, dict[str, list[OpinionDocument]]]:
    """Return the votes of each judge on each answer."""
    votes: dict[Key, dict[str, list[OpinionDocument]]] = {}
    for opinion in opinions:
        key = (opinion.query, opinion.paraphrase or 0, opinion.repeat or 0)
        votes.setdefault(key, {}).setdefault(opinion.judge, []).append(opinion)
    return votes


def _measure_noise(opinions: Iterable[OpinionDocument]) -> dict[Key, dict[str, float | str]]:
    """Return the variance of the mean of each judge's votes on each answer, where there are several."""
    noise: dict[Key, dict[str, float | str]] = {}
    for key, judges in group_votes(opinions).items():
        for judge, votes in judges.items():
            values = [vote.value for vote in votes if vote.value is not None]
            if len(values) > 1:
                own = noise.setdefault(key, {})
                own[f"{NOISE}{judge}"], own[f"votes:{judge}"] = variance(values) / len(values), float(len(values))
    return noise


def _decide(votes: list[OpinionDocument]) -> float | str:
    values = [vote.value for vote in votes if vote.value is not None]
    if 2 * len(values) > len(votes):
        return sum(values) / len(values)
    return next((vote.reason for vote in votes if vote.reason), _NO_VALUE)
