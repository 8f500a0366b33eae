"""Whether two evaluations may be compared, and how their systems differ."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from karat.config import SCORING
from karat.core import InputError, shorten
from karat.evaluation._evaluation import Evaluation

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


def require_comparable(candidate: Evaluation, baseline: Evaluation) -> None:
    """Raise an error that lists the differences if the scores of two evaluations do not mean the same.

    They have to agree in the golden set, in k, unit, paraphrases, sample, normaliser and judge, and in the definition
    of each measure. A baseline of means alone, which does not record these, is only checked as far as it goes.
    """
    differences = list(_differences(candidate, baseline))
    if differences:
        both = f"run {shorten(candidate.name)} and baseline {shorten(baseline.name)}"
        raise InputError(
            f"{both} cannot be compared: they differ in {'; '.join(differences)}",
            hint="evaluate both on the same golden set in the same way, or record a new baseline",
        )


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
    for measure in candidate.means:
        now, then = (evaluation.scores.definitions.get(measure, measure) for evaluation in (candidate, baseline))
        if measure in baseline.means and now != then:
            yield f"{measure} ({now}, was {then})"


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
