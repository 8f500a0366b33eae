"""Measures of the tiers of an agent's memory: how precise the results of each are, and in which order."""

from __future__ import annotations

from karat.core import Parameter
from karat.measures._evidence import Case, trace_measure
from karat.measures._measure import REL
from karat.measures._memory import TIER_WEIGHTS

NO_TIER = "no result of this tier"
NO_SUCH_TIER = "no document of this tier in the golden set"
_NAMES = tuple(TIER_WEIGHTS)
_TIER = Parameter(name="tier", kind="str", default="critical", choices=_NAMES, help="the tier of the results")
_BELOW = Parameter(name="below", kind="str", default="important", choices=_NAMES, help="the tier to compare with")


@trace_measure("TierP", REL, _TIER, aliases=("tier_precision",), undefined=NO_TIER, independent=False)
def tier_precision(case: Case, k: int, *, rel: int, tier: str) -> float | str:
    """Tier-stratified precision: the share of the results of one tier that is relevant.

    Formula: TierP(tier=t)@k = |relevant documents of tier t in the top k| / |documents of tier t in the top k|
    Range: 0 to 1
    Convention: undefined if the top k has no document of the tier; agent expects critical above important above
        normal
    Citation: agent, tier stratified precision

    >>> from karat.core import Document, GoldenSet, Hit, Judgment, Query, Target, Trace
    >>> from karat import score_hits
    >>> documents = Document(id="rules", tier="critical"), Document(id="law", tier="critical")
    >>> gold = Judgment(query="q", target=Target(document="rules"), grade=2)
    >>> golden = GoldenSet(documents=documents, queries=(Query(id="q", text="?"),), judgments=(gold,))
    >>> trace = Trace(query="q", text="?", hits=(Hit("law", 1.0), Hit("rules", 0.9)))
    >>> score_hits(golden, {"q": trace.hits}, ["TierP@5"], traces={"q": trace}).mean()
    {'TierP@5': 0.5}
    """
    if tier not in case.evidence.tiers:
        return NO_SUCH_TIER
    of_tier = [name for name in case.documents(k) if case.document(name).tier == tier]
    relevant = set(case.relevant(rel))
    return sum(name in relevant for name in of_tier) / len(of_tier) if of_tier else NO_TIER


@trace_measure("TierGap", REL, _TIER, _BELOW, aliases=("tier_gap",), undefined=NO_TIER, low=-1.0, independent=False)
def tier_gap(case: Case, k: int, *, rel: int, tier: str, below: str) -> float | str:
    """Order of the tiers: how much more precise the results of one tier are than those of a less important one.

    Formula: TierGap(tier=t,below=b)@k = TierP(tier=t)@k - TierP(tier=b)@k
    Range: -1 to 1
    Convention: undefined if the top k does not have documents of both tiers; agent expects critical above important
        above normal, which are two rules with a floor of 0
    Citation: agent, tier stratified precision

    >>> from karat.core import Document, GoldenSet, Hit, Judgment, Query, Target, Trace
    >>> from karat import score_hits
    >>> documents = Document(id="rules", tier="critical"), Document(id="memo", tier="important")
    >>> gold = Judgment(query="q", target=Target(document="rules"), grade=2)
    >>> golden = GoldenSet(documents=documents, queries=(Query(id="q", text="?"),), judgments=(gold,))
    >>> trace = Trace(query="q", text="?", hits=(Hit("memo", 1.0), Hit("rules", 0.9)))
    >>> score_hits(golden, {"q": trace.hits}, ["TierGap@5"], traces={"q": trace}).mean()
    {'TierGap@5': 1.0}
    """
    upper, lower = (tier_precision(case, k, rel=rel, tier=name) for name in (tier, below))
    if isinstance(upper, str) or isinstance(lower, str):
        return NO_SUCH_TIER if NO_SUCH_TIER in (upper, lower) else NO_TIER
    return float(upper - lower)
