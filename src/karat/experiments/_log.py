"""experiments.json: what was tried, what came of it, and whether it was accepted. Nothing in it is ever lost."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from karat.config import ALIASES
from karat.core import InputError, did_you_mean, shorten
from karat.files import decode, lock_folder, parse_json, read_bytes, write_file
from karat.schema import ExperimentDiff, ResultDifference, ValueDifference

LOG = "experiments.json"
_KINDS: Mapping[str, type] = {
    "id": str,
    "date": str,
    "description": str,
    "config_changes": dict,
    "results": dict,
    "verdict": str,
}
_NUMBERED = re.compile(r"exp-(\d{1,9})")
_FIT_MEASURE = re.compile(r"(recall|precision|ndcg|mrr)(?:_at_(\d+))?")
_NAMES = {"recall": "R", "precision": "P", "ndcg": "nDCG", "mrr": "RR"}
_HINT = "repair it, or restore it from git; nothing was written"


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One entry of the log."""

    id: str
    date: str = ""
    description: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Dotted keys of the configuration, under karat's names, with the values that were tried."""
    results: Mapping[str, Any] = field(default_factory=dict)
    """Means by measure, under karat's names; ``latency.p95`` in milliseconds."""
    verdict: str = ""
    """ACCEPTED or REJECTED."""
    reason: str = ""
    record: Mapping[str, Any] = field(default_factory=dict)
    """The entry as it stands in the file, with whatever else it holds."""


def measure_name(name: str) -> str:
    """Return karat's name of a result; ``fit`` names some of them otherwise.

    >>> measure_name("recall_at_5"), measure_name("mrr"), measure_name("latency.p95")
    ('R@5', 'RR', 'latency.p95')
    """
    match = _FIT_MEASURE.fullmatch(name)
    if match is None:
        return name
    return _NAMES[match[1]] + (f"@{match[2]}" if match[2] else "")


def split_verdict(text: str) -> tuple[str, str]:
    """Return the word and the reason of a verdict as the log has it.

    >>> split_verdict("REJECTED (worse (p = 0.5))")
    ('REJECTED', 'worse (p = 0.5)')
    """
    word, _, reason = text.partition(" (")
    return word.strip(), reason.removesuffix(")")


def log_path(path: str | Path) -> Path:
    """Return the log that a path names: a file, or a folder with an experiments.json in it."""
    return Path(path) / LOG if Path(path).is_dir() else Path(path)


def read_log(path: str | Path) -> tuple[Experiment, ...]:
    """Read a log of karat or ``fit``; a damaged one is refused and left alone."""
    return tuple(_experiment(entry, str(path), place) for place, entry in enumerate(_read(path)["experiments"]))


def find_experiment(log: Sequence[Experiment], name: str, source: str = LOG) -> Experiment:
    """Return the experiment with an id."""
    experiments = [experiment for experiment in log if experiment.id == name]
    if len(experiments) == 1:
        return experiments[0]
    if experiments:
        raise InputError(
            f"{len(experiments)} experiments are called {shorten(name)}", source=source, hint="rename all but one"
        )
    ids = [experiment.id for experiment in log]
    last = f"; the last ones are {', '.join(map(shorten, ids[-3:]))}" if ids else "; the log is empty"
    raise InputError(f"no experiment is called {shorten(name)}{did_you_mean(name, ids) or last}", source=source)


def diff_experiments(first: Experiment, second: Experiment) -> ExperimentDiff:
    """Return the keys of the configuration and the results in which two experiments differ."""
    before, after = first.changes, second.changes
    return ExperimentDiff(
        experiments=(first.id, second.id),
        config_changes={
            key: ValueDifference(first=before.get(key), second=after.get(key))
            for key in {**before, **after}
            if before.get(key) != after.get(key)
        },
        results={
            name: _result_difference(first.results.get(name), second.results.get(name))
            for name in {**first.results, **second.results}
        },
        verdicts=(first.record.get("verdict"), second.record.get("verdict")),
    )


def _result_difference(first: Any, second: Any) -> ResultDifference:
    difference = None
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in (first, second)):
        with suppress(OverflowError):  # JSON has whole numbers that no float can hold
            difference = second - first
    finite = difference is not None and (isinstance(difference, int) or math.isfinite(difference))
    return ResultDifference(first=first, second=second, difference=difference if finite else None)


def append_log(path: str | Path, entries: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Add entries, each with the next free id, and return the ids; everything else in the file stays as it is.

    An entry that the log already has, apart from its id and date, is not added again and keeps its id. Processes that
    add at the same time wait for each other, and the file is replaced as a whole.
    """
    target = Path(path)
    with lock_folder(target.parent):
        record: dict[str, Any] = _read(target) if target.exists() else {"experiments": []}
        log, ids = list(record["experiments"]), []
        numbers = (_NUMBERED.fullmatch(str(entry.get("id"))) for entry in log)
        number = max((int(match[1]) for match in numbers if match), default=0)
        id_of = {_identity(entry): str(entry["id"]) for entry in log}
        for entry in entries:
            if (identity := _identity(entry)) not in id_of:
                number += 1
                id_of[identity] = f"exp-{number:03}"
                log.append({"id": id_of[identity], **entry})
            ids.append(id_of[identity])
        if len(log) > len(record["experiments"]):
            text = json.dumps({**record, "experiments": log}, indent=2, ensure_ascii=False, allow_nan=False)
            write_file(target, text + "\n")
    return tuple(ids)


def _identity(entry: Mapping[str, Any]) -> str:
    return json.dumps({key: value for key, value in entry.items() if key not in ("id", "date")}, sort_keys=True)


def _read(path: str | Path) -> dict[str, Any]:
    name = str(path)
    record = parse_json(decode(read_bytes(path), name), name, None, strict=True)
    if not isinstance(record, dict) or not isinstance(record.get("experiments"), list):
        raise InputError('is not a log of experiments: it has no list "experiments"', source=name, hint=_HINT)
    for place, entry in enumerate(record["experiments"]):
        _experiment(entry, name, place)
    return record


def _experiment(entry: Any, source: str, place: int) -> Experiment:
    if not isinstance(entry, dict) or not isinstance(entry.get("id"), str) or not entry["id"]:
        raise InputError(f"experiments[{place}] is {shorten(entry)} and has no id", source=source, hint=_HINT)
    for key, kind in _KINDS.items():
        if not isinstance(entry.get(key, kind()), kind):
            message = f"{key} of {shorten(entry['id'])} is {shorten(entry[key])}"
            raise InputError(message, source=source, hint=f"it should be {'an object' if kind is dict else 'a text'}")
    word, reason = split_verdict(entry.get("verdict", ""))
    return Experiment(
        id=entry["id"],
        date=entry.get("date", ""),
        description=entry.get("description", ""),
        changes={ALIASES.get(key, key): value for key, value in entry.get("config_changes", {}).items()},
        results={measure_name(key): value for key, value in entry.get("results", {}).items()},
        verdict=word,
        reason=reason,
        record=entry,
    )
