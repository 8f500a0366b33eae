"""experiments.json: what was tried, what came of it, and whether it was accepted; nothing in it is ever lost."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from karat.config import ALIASES
from karat.core import InputError, did_you_mean, shorten
from karat.files import decode, lock_folder, parse_json, read_bytes, write_file

LOG = "experiments.json"
_KEYS = ("id", "date", "description", "config_changes", "results", "verdict")
_NUMBERED = re.compile(r"exp-(\d{1,9})")
_AT = re.compile(r"(recall|precision|ndcg|mrr)(?:_at_(\d+))?")
_NAMES = {"recall": "R", "precision": "P", "ndcg": "nDCG", "mrr": "RR"}
_HINT = "mend it, or take it from git; nothing was written"


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
    """Give karat's name of a number that source 000 calls otherwise.

    >>> measure_name("recall_at_5"), measure_name("mrr"), measure_name("latency.p95")
    ('R@5', 'RR', 'latency.p95')
    """
    match = _AT.fullmatch(name)
    if match is None:
        return name
    return _NAMES[match[1]] + (f"@{match[2]}" if match[2] else "")


def read_log(path: str | Path) -> tuple[Experiment, ...]:
    """Read a log, of karat or of source 000; refuse one that is damaged, and leave it alone."""
    return tuple(_experiment(entry, str(path), i) for i, entry in enumerate(_read(path)["experiments"]))


def find_experiment(log: Sequence[Experiment], name: str, source: str = LOG) -> Experiment:
    """Give the experiment with an id."""
    found = [one for one in log if one.id == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(
            f"{len(found)} experiments are called {shorten(name)}", source=source, hint="rename all but one"
        )
    known = [one.id for one in log]
    last = f"; the last ones are {', '.join(map(shorten, known[-3:]))}" if known else "; there is none yet"
    raise InputError(f"no experiment is called {shorten(name)}{did_you_mean(name, known) or last}", source=source)


def append_log(path: str | Path, entries: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Add entries, each with the next free id, and give the ids; what is in the file stays as it is.

    An entry that is there already, but for its id and date, is not added again: it keeps its id. Two processes that
    add at once wait for each other, and the file is replaced as a whole.
    """
    target = Path(path)
    with lock_folder(target.parent):
        record: dict[str, Any] = _read(target) if target.exists() else {"experiments": []}
        log, ids = list(record["experiments"]), []
        number = max((int(match[1]) for one in log if (match := _NUMBERED.fullmatch(str(one.get("id"))))), default=0)
        known = {_identity(one): str(one["id"]) for one in log}
        for entry in entries:
            if (identity := _identity(entry)) not in known:
                number += 1
                known[identity] = f"exp-{number:03}"
                log.append({"id": known[identity], **entry})
            ids.append(known[identity])
        if len(log) > len(record["experiments"]):
            text = json.dumps({**record, "experiments": log}, indent=2, ensure_ascii=False, allow_nan=False)
            write_file(target, text + "\n")
    return tuple(ids)


def _identity(entry: Mapping[str, Any]) -> str:
    kept = {key: value for key, value in entry.items() if key not in ("id", "date")}
    return json.dumps(kept, sort_keys=True)


def _read(path: str | Path) -> dict[str, Any]:
    name = str(path)
    record = parse_json(decode(read_bytes(path), name), name, None, strict=True)
    if not isinstance(record, dict) or not isinstance(record.get("experiments"), list):
        raise InputError('is no log of experiments: it has no list "experiments"', source=name, hint=_HINT)
    for i, entry in enumerate(record["experiments"]):
        _experiment(entry, name, i)
    return record


def _experiment(entry: Any, source: str, i: int) -> Experiment:
    if not isinstance(entry, dict) or not isinstance(entry.get("id"), str) or not entry["id"]:
        raise InputError(f"experiments[{i}] is {shorten(entry)}, and has no id", source=source, hint=_HINT)
    for key, kind in zip(_KEYS, (str, str, str, dict, dict, str), strict=True):
        if not isinstance(entry.get(key, kind()), kind):
            what = f"{key} of {shorten(entry['id'])} is {shorten(entry[key])}"
            raise InputError(what, source=source, hint=f"it should be {'an object' if kind is dict else 'a text'}")
    word, _, reason = entry.get("verdict", "").partition(" (")
    return Experiment(
        id=entry["id"],
        date=entry.get("date", ""),
        description=entry.get("description", ""),
        changes={ALIASES.get(key, key): value for key, value in entry.get("config_changes", {}).items()},
        results={measure_name(key): value for key, value in entry.get("results", {}).items()},
        verdict=word.strip(),
        reason=reason.removesuffix(")"),
        record=entry,
    )
