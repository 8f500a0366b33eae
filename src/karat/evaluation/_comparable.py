"""Whether two evaluations may be compared, and how their systems differ."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from karat.config import SCORING
from karat.core import InputError, Provenance, Scores, is_digest, shorten, shorten_digest
from karat.evaluation._evaluation import Evaluation
from karat.measures import name_judge
from karat.schema import SystemChange

_SAME: Mapping[str, Any] = {
    "k": None, **SCORING, "paraphrases": False, "sample": None, "seed": 0, "normaliser": None, "judge": None,
}  # fmt: skip
"""Settings that must be the same for two scores to be comparable, with the default for runs that do not record them."""

FIT_PARTS: Mapping[str, str] = {
    "embedding_model": "embedder",
    "chunking_strategy": "chunk",
    "reranking_model": "rerank",
}
"""The parts of a system: their names in fit's baseline-metrics.json, and in the description of karat's pipeline."""


def require_comparable(
    candidate: Evaluation,
    baseline: Evaluation,
    *,
    apart_from: Collection[str] = (),
    names: tuple[str, str] | None = None,
) -> None:
    """Raise an error that lists the differences if the scores of two evaluations do not mean the same.

    They have to agree in the golden set, in k, unit, paraphrases, sample and normaliser, in the definition of each
    measure, and in the judge of each judged one. Measures ``apart_from`` which nothing is compared are left to the
    caller. A baseline of means alone, which does not record these, is only checked as far as it goes. ``names`` is what
    an error calls both, if none of them is the baseline of a gate.
    """
    now, then = names or ("run", "baseline")
    both = f"{now} {shorten(candidate.name)} and {then} {shorten(baseline.name)}"
    others = find_other_judges(candidate, baseline, names)
    judges = {name: text for name, text in others.items() if name not in apart_from}
    differences = list(_differences(candidate, baseline))
    if differences:
        way = _match_depth(candidate, baseline) if len(differences) == 1 else ""
        raise InputError(
            f"{both} cannot be compared: they differ in {'; '.join(differences)}",
            hint=(way or "evaluate both on the same golden set in the same way")
            + ("" if names else ", or record a new baseline"),
        )
    if judges:
        reasons = "; ".join(dict.fromkeys(judges.values()))
        raise InputError(f"{both} cannot be compared in {', '.join(judges)}: {reasons}")


def assume_depth(candidate: Evaluation, baseline: Evaluation) -> tuple[Evaluation, str]:
    """Return the run of another program as if it had been asked for the baseline's number of hits, and a note on that.

    Such a run does not record its k, which is taken as the length of its longest list: 998 if 1,000 were asked for.
    Longer lists than those of the baseline, and runs of karat, which record how they were asked, stay as they are.
    """
    ours, theirs = (evaluation.provenance.settings.get("k") for evaluation in (candidate, baseline))
    is_own = "seed" in candidate.provenance.settings
    if is_own or not (isinstance(ours, int) and isinstance(theirs, int) and ours < theirs):
        return candidate, ""
    settings = {**candidate.provenance.settings, "k": theirs}
    changed = replace(candidate, provenance=replace(candidate.provenance, settings=settings))
    note = f"the run has at most {ours:,} hits for a query, and the baseline was asked for {theirs:,}"
    return changed, f"{note}: it is taken as complete"


def _match_depth(candidate: Evaluation, baseline: Evaluation) -> str:
    """Return what to do about two evaluations that differ in k, or nothing if they do not."""
    ours, theirs = candidate.provenance.settings, baseline.provenance.settings
    now, then = ours.get("k"), theirs.get("k")
    if now == then or not (isinstance(now, int) and isinstance(then, int)):
        return ""
    least = min(now, then)
    foreign = [settings for settings in (ours, theirs) if "seed" not in settings]  # karat records how it asked
    if any(settings["k"] > least for settings in foreign):
        return (
            "a file of another program does not say its k, so the length of its longest list counts: "
            f"cut its lists to the first {least:,} hits of each query"
        )
    return f"set k = {then} in [eval] of karat.toml and run 'karat eval' again"


def _differences(candidate: Evaluation, baseline: Evaluation) -> Iterable[str]:
    ours, theirs = candidate.provenance, baseline.provenance
    now, then = ours.golden.get("fingerprint"), theirs.golden.get("fingerprint")
    if now != then and (then is not None or baseline.has_queries):  # a baseline of means may not name its golden set
        yield f"golden set ({_name_golden(ours.golden)}, was {_name_golden(theirs.golden)})"
    if not baseline.has_queries:
        return
    sampled = ours.settings.get("sample") or theirs.settings.get("sample")
    for name, default in _SAME.items():
        now, then = ours.settings.get(name, default), theirs.settings.get(name, default)
        if now != then and (name != "seed" or sampled):  # the seed only chooses the sample
            yield f"{name} ({shorten(now)}, was {shorten(then)})"
    for measure, (now, then) in _find_redefined(candidate, baseline).items():
        if not name_judge(measure):
            yield f"{measure} ({now}, was {then})"


def _find_redefined(candidate: Evaluation, baseline: Evaluation) -> dict[str, tuple[str, str]]:
    """Return the definitions of each measure that both have, now and in the baseline, if they are not the same."""
    shared = [measure for measure in candidate.means if measure in baseline.means]
    both = {
        measure: (candidate.scores.definitions.get(measure, measure), baseline.scores.definitions.get(measure, measure))
        for measure in shared
    }
    return {measure: (now, then) for measure, (now, then) in both.items() if now != then}


def find_other_judges(
    candidate: Evaluation, baseline: Evaluation, names: tuple[str, str] | None = None
) -> dict[str, str]:
    """Return the measures that different judges scored in two evaluations, each with the reason and what to type.

    Which other judges have judged a run does not matter. ``names`` is what the reason calls both, if none of them is
    the baseline of a gate.
    """
    if not baseline.has_queries:
        return {}
    redefined = _find_redefined(candidate, baseline)
    return {
        measure: _explain_judge(measure, *both, names) for measure, both in redefined.items() if name_judge(measure)
    }


def _explain_judge(measure: str, now: str, then: str, names: tuple[str, str] | None) -> str:
    judge = name_judge(measure)
    after, before = (definition.removeprefix(measure).removeprefix(" by ") for definition in (now, then))
    if names is not None:
        unjudged = next((name for name, judged in zip(names, (after, before), strict=True) if not judged), "")
        if unjudged:
            return f"{unjudged} is not judged by {judge}; type 'karat judge RUN -j {judge}' for it"
        return (
            f"another judge scored it in {names[0]} ({shorten(after)[1:-1]}) than in {names[1]} "
            f"({shorten(before)[1:-1]}); judge both by one"
        )
    if not after:
        return _ask_judge(judge)
    if not before:
        return (
            f"the baseline is not judged by {judge}; type 'karat judge RUN -j {judge}' for its run, "
            "and 'karat baseline update RUN'"
        )
    return (
        f"another judge scored it ({shorten(after)[1:-1]}, was {shorten(before)[1:-1]}); judge both by one, "
        "or move the baseline with 'karat judge bridge OLD NEW RUN'"
    )


def find_unjudged(evaluation: Evaluation) -> dict[str, str]:
    """Return the measures of judges that have not judged a run, each with what to type."""
    definitions = evaluation.scores.definitions
    return {
        measure: _ask_judge(judge)
        for measure in evaluation.scores.measures
        if (judge := name_judge(measure)) and definitions.get(measure, measure) == measure
    }


def _ask_judge(judge: str) -> str:
    return f"the run is not judged by {judge}; type 'karat judge RUN -j {judge}' and then 'karat gate RUN'"


def withhold_scores(evaluation: Evaluation, other: Evaluation, reasons: Mapping[str, str]) -> Evaluation:
    """Return an evaluation in which some measures have no value for any query, each with its reason.

    They are then defined as in another evaluation, so that both can be compared in all that is left.
    """
    names = [name for name in evaluation.scores.measures if name in reasons]
    if not names:
        return evaluation
    definitions = {name: other.scores.definitions.get(name, name) for name in names}

    def withhold(scores: Scores) -> Scores:
        values, codes, known = scores.values.copy(), scores.codes.copy(), list(scores.reasons)
        for name in names:
            known.append(reasons[name])
            values[:, scores.columns[name]] = math.nan
            codes[:, scores.columns[name]] = len(known)
        named = {**scores.definitions, **definitions}
        return replace(scores, values=values, codes=codes, reasons=tuple(known), definitions=named)

    return replace(
        evaluation,
        scores=withhold(evaluation.scores),
        repeats=tuple(map(withhold, evaluation.repeats)),
        wordings=tuple(map(withhold, evaluation.wordings)),
        variants={variant: withhold(scores) for variant, scores in evaluation.variants.items()},
        means={**evaluation.means, **dict.fromkeys(names, math.nan)},
    )


def comparison_key(evaluation: Evaluation) -> str:
    """Return a text that is equal for two runs of the same measures if and only if they can be compared.

    It sorts runs into groups that :func:`require_comparable` allows, without comparing all pairs.
    """
    provenance = evaluation.provenance
    settings = {name: provenance.settings.get(name, default) for name, default in _SAME.items()}
    if not settings["sample"]:
        settings["seed"] = None  # the seed only chooses the sample
    definitions = {name: evaluation.scores.definitions.get(name, name) for name in evaluation.means}
    return json.dumps([provenance.golden.get("fingerprint"), settings, definitions], sort_keys=True, default=repr)


def _name_golden(golden: Mapping[str, Any]) -> str:
    return " ".join(str(golden[key])[:19] for key in ("name", "version", "fingerprint") if golden.get(key)) or "unknown"


def system_changes(now: Mapping[str, Any], then: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return the differences between two descriptions of a system as (dotted key, value now, value then).

    >>> system_changes({"chunk": {"size": 384}, "k1": 1.2}, {"chunk": {"size": 512}, "k1": 1.2})
    [('chunk.size', 384, 512)]
    """
    after, before = flatten(now), flatten(then)
    if before and before.keys() <= FIT_PARTS.keys():  # a baseline of fit has no other parts
        after = {name: part for name, part in name_parts(now).items() if name in before}
    keys = {**before, **after}
    return [(key, after.get(key), before.get(key)) for key in keys if after.get(key) != before.get(key)]


def list_changes(new: Provenance, old: Provenance) -> tuple[SystemChange, ...]:
    """Return in what the systems of two runs differ, as :func:`word_changes` does."""
    return word_changes(system_changes(new.system, old.system), new, old)


def word_changes(
    changes: Iterable[tuple[str, Any, Any]], new: Provenance, old: Provenance, *, answers: bool = False
) -> tuple[SystemChange, ...]:
    """Return changes with digests replaced by what tells people more.

    Code is named by the commit of its run, or also by the time of the run if both have the same commit. Other digests
    are shortened; that of a file with answers says only that two files differ, and is left out without ``answers``.

    >>> from karat.core import Origin
    >>> old = Provenance(name="find", system={"source": "sha256:" + "a" * 64}, origin=Origin(commit="0" * 40))
    >>> new = Provenance(name="find", system={"source": "sha256:" + "b" * 64}, origin=Origin(commit="1" * 40))
    >>> list_changes(new, old)
    (SystemChange(key='source', now='1111111', was='0000000'),)
    """
    code = _name_code(new, old)
    worded = []
    for key, now, was in changes:
        if key == "answers" and not answers:
            continue
        if key.split(".")[-1] == "source" and code and is_digest(now) and is_digest(was):
            now, was = code
        worded.append(SystemChange(key=key, now=_shorten(now), was=_shorten(was)))
    return tuple(worded)


def _name_code(new: Provenance, old: Provenance) -> tuple[str, str] | None:
    """Return what tells the code of two runs apart: their commits, or also the minutes in which they began."""
    commits = new.origin.code, old.origin.code
    if not all(commits):
        return None
    if commits[0] != commits[1]:
        return commits
    now, was = (f"{run.origin.code}, {run.origin.begun[:16].replace('T', ' ')}" for run in (new, old))
    return (now, was) if now != was and new.origin.begun and old.origin.begun else None


def _shorten(value: Any) -> Any:
    return shorten_digest(value) if isinstance(value, str) else value


def flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return a nested table as a flat one with dotted keys.

    >>> flatten({"chunk": {"size": 384}, "k": 10})
    {'chunk.size': 384, 'k': 10}
    """
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def name_parts(system: Mapping[str, Any]) -> dict[str, str]:
    """Return the parts of a system under their names in fit's baseline-metrics.json.

    >>> name_parts({"chunk": {"chunker": "sentence", "size": 256, "overlap": 32}, "embedder": {"model": "granite"}})
    {'embedding_model': 'granite', 'chunking_strategy': 'sentence_256_overlap_32', 'reranking_model': 'none'}
    """
    return {
        name: str(system[name]) if name in system else _name_part(system.get(key), key)
        for name, key in FIT_PARTS.items()
    }


def _name_part(part: Any, key: str) -> str:
    if not isinstance(part, Mapping):
        return "none" if part is None else str(part)
    if key != "chunk":
        return str(part.get("model", part.get("kind", "unknown")))
    size = f"_{part['size']}" if "size" in part else ""
    overlap = f"_overlap_{part['overlap']}" if part.get("overlap") else ""
    return f"{part.get('chunker', 'unknown')}{size}{overlap}"
