"""Names of measures as other tools write them: ``ndcg_cut_10``, ``P.10``, ``ndcg_at_10``, ``mrr@10-l2``, ``rbp.95``."""

from __future__ import annotations

import re
from collections.abc import Callable

_OTHER = re.compile(
    r"\s*+(?P<name>[A-Za-z0-9](?:(?:[A-Za-z0-9_]|-(?!l[0-9]))*[A-Za-z])?)"
    r"(?:(?P<sign>_|\.|)(?P<number>[0-9]+(?:\.[0-9]+)?))?(?:@(?P<cutoff>[0-9]+))?(?:-l(?P<rel>[0-9]+))?\s*+"
)
_LONGEST = 100
_EXPONENTIAL = "_burges"
"""What ranx adds to the name of a measure with exponential gains."""


def respell(text: str, is_name: Callable[[str], bool]) -> str:
    """Return a measure of trec_eval, pytrec_eval, ir-measures, ranx or MTEB as karat writes it; any other as it is.

    >>> [respell(text, {"ndcg", "rbp"}.__contains__) for text in ("ndcg_10", "ndcg_at_10", "ndcg@10-l2", "rbp.95")]
    ['ndcg@10', 'ndcg@10', 'ndcg(rel=2)@10', 'rbp(p=0.95)']
    """
    match = _OTHER.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return text
    name, sign, number, cutoff, rel = match.group("name", "sign", "number", "cutoff", "rel")
    name, parameters = name.replace("-", "_"), []
    if number and name.lower().endswith("_at"):
        name = name[: -len("_at")]
    if name.lower().endswith(_EXPONENTIAL):
        name = name[: -len(_EXPONENTIAL)]
        parameters.append("gain='exp'")
    persistence = name.lower() == "rbp" and sign == "."
    if not is_name(name) or (number and cutoff and not persistence):
        return text
    if persistence:
        parameters.append(f"p=0.{number}")  # ranx: the persistence without its zero
    elif number:
        cutoff = number
    if rel:
        parameters.append(f"rel={rel}")
    inside, at = f"({','.join(parameters)})" if parameters else "", f"@{cutoff}" if cutoff else ""
    return f"{name}{inside}{at}"
