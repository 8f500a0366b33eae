"""Measures of an agent's memory: what must be shown, how important it is, chains, sessions and intents."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from karat.core import InputError, Parameter, shorten
from karat.measures._evidence import Case, Evidence, trace_measure
from karat.measures._measure import REL

NO_MUST_SHOW = "no must-show documents"
NO_CHAIN = "no chain of documents"
NO_TIERS = "no relevant document has a tier"
NOT_COLD = "not the first query of a session"
NOT_WARM = "not a later query of a session"
NO_WARM = "no later query of a session finds anything"
NO_DEDUP = "no saved tokens recorded"
NO_INTENT = "no intent, or nothing with a gain"
NOTHING_NEW = "no relevant document was new, or times are unknown"
TIER_WEIGHTS = {"constitutional": 4.0, "critical": 3.0, "important": 2.0, "normal": 1.0, "temporary": 0.5}
_TIERS = tuple(
    Parameter(name=tier, kind="float", default=weight, low=0, help=f"weight of a {tier} document")
    for tier, weight in TIER_WEIGHTS.items()
)
_HOURS = Parameter(name="hours", kind="float", default=48.0, low=0, help="age up to which a document is new")
_INTENTS = {
    "add_feature": (0, 1.0, 2.0, 3.0),
    "fix_bug": (0, 0.5, 2.0, 4.0),
    "refactor": (0, 1.0, 1.5, 2.5),
    "security_audit": (0, 0.0, 2.0, 5.0),
    "understand": (0, 1.0, 2.0, 3.0),
    "find_spec": (0, 1.5, 2.0, 3.0),
    "find_decision": (0, 1.2, 2.0, 3.2),
}
"""What the grades 0 to 3 are worth for each intent; a grade of another intent is worth itself."""
_CREATED = ("created", "created_at", "createdAt", "effective_timestamp")


def _shown(case: Case, k: int) -> tuple[int, int] | str:
    """Return how many must-show documents are in the top k, and how many there are, or why there are none."""
    wanted = set(case.gold.must_show)
    if len(wanted) > k:
        raise InputError(
            f"query {shorten(case.query)} has {len(wanted)} must-show documents, which no top {k} can hold",
            hint=f"choose a cut-off of at least {len(wanted)}",
        )
    return (len(wanted & set(case.documents(k))), len(wanted)) if wanted else NO_MUST_SHOW


@trace_measure("MustShow", aliases=("surfacing",), undefined=NO_MUST_SHOW)
def must_show(case: Case, k: int) -> float | str:
    """Must-show surfacing: the share of the documents that must be shown which are in the top k.

    Formula: MustShow@k = |must-show documents of the query in the top k| / |must-show documents of the query|
    Range: 0 to 1
    Convention: undefined for a query without must-show documents; more of them than k is an error
    Citation: agent, constitutional surfacing rate, as a fraction

    >>> from karat.core import GoldenSet, Hit, Query, Trace
    >>> from karat import score_hits
    >>> golden, hits = GoldenSet(queries=(Query(id="q", text="?", must_show=("rules", "law")),)), (Hit("rules", 1.0),)
    >>> trace = Trace(query="q", text="?", hits=hits)
    >>> score_hits(golden, {"q": hits}, ["MustShow@5", "MustShowAll@5"], traces={"q": trace}).mean()
    {'MustShow@5': 0.5, 'MustShowAll@5': 0.0}
    """
    shown = _shown(case, k)
    return shown if isinstance(shown, str) else shown[0] / shown[1]


@trace_measure("MustShowAll", aliases=("all_shown", "surfacing_rate"), undefined=NO_MUST_SHOW)
def must_show_all(case: Case, k: int) -> float | str:
    """Must-show surfacing rate: whether all documents that must be shown are in the top k.

    Formula: MustShowAll@k = 1 if the top k has every must-show document of the query, else 0
    Range: 0 or 1
    Convention: as for MustShow; the rule ``must_show@k`` of a gate is the mean of this
    Citation: agent, constitutional surfacing rate

    >>> from karat.core import GoldenSet, Hit, Query, Trace
    >>> from karat import score_hits
    >>> golden, hits = GoldenSet(queries=(Query(id="q", text="?", must_show=("rules",)),)), (Hit("rules", 1.0),)
    >>> trace = Trace(query="q", text="?", hits=hits)
    >>> score_hits(golden, {"q": hits}, ["MustShowAll@5"], traces={"q": trace}).mean()
    {'MustShowAll@5': 1.0}
    """
    shown = _shown(case, k)
    return shown if isinstance(shown, str) else float(shown[0] == shown[1])


@trace_measure(
    "ImportanceR", REL, *_TIERS, aliases=("importance_weighted_recall",), undefined=NO_TIERS, independent=False
)
def importance_recall(case: Case, k: int, *, rel: int, **weights: float) -> float | str:
    """Importance-weighted recall: recall in which a relevant document counts as much as its tier is worth.

    Formula: ImportanceR@k = sum of the weights of relevant documents in the top k / sum of the weights of all of
        them
    Range: 0 to 1
    Convention: the weights are those of agent, and can be chosen: with (important=0, normal=0, temporary=0) only
        critical and constitutional documents count; a document without a tier counts as normal; undefined if no
        relevant document has a tier, or all weigh nothing
    Citation: agent, importance-weighted recall

    >>> from karat.core import Document, GoldenSet, Hit, Judgment, Query, Target, Trace
    >>> from karat import score_hits
    >>> documents = Document(id="rules", tier="critical"), Document(id="note", tier="normal")
    >>> gold = [Judgment(query="q", target=Target(document=document.id), grade=2) for document in documents]
    >>> golden = GoldenSet(documents=documents, queries=(Query(id="q", text="?"),), judgments=tuple(gold))
    >>> trace = Trace(query="q", text="?", hits=(Hit("rules", 1.0),))
    >>> score_hits(golden, {"q": trace.hits}, ["ImportanceR@5"], traces={"q": trace}).mean()
    {'ImportanceR@5': 0.75}
    """
    tiers = {name: case.document(name).tier for name in case.relevant(rel)}
    if not any(tiers.values()):
        return NO_TIERS
    worth = {name: weights.get(tier, weights["normal"]) for name, tier in tiers.items()}
    total = math.fsum(worth.values())
    return math.fsum(worth.get(name, 0.0) for name in case.documents(k)) / total if total else NO_TIERS


@trace_measure("Chain", aliases=("causal_chain_completeness", "chain_completeness"), undefined=NO_CHAIN)
def chain(case: Case, k: int) -> float | str:
    """Causal-chain completeness: the share of the documents that answer a query only together which are in the top k.

    Formula: Chain@k = |documents of the query's chain in the top k| / |documents of the query's chain|
    Range: 0 to 1
    Convention: undefined for a query without a chain
    Citation: agent, causal chain completeness

    >>> from karat.core import GoldenSet, Hit, Query, Trace
    >>> from karat import score_hits
    >>> golden = GoldenSet(queries=(Query(id="q", text="Why?", chain=("incident", "decision")),))
    >>> trace = Trace(query="q", text="Why?", hits=(Hit("decision", 1.0),))
    >>> score_hits(golden, {"q": trace.hits}, ["Chain@5"], traces={"q": trace}).mean()
    {'Chain@5': 0.5}
    """
    wanted = set(case.gold.chain)
    return len(wanted & set(case.documents(k))) / len(wanted) if wanted else NO_CHAIN


@trace_measure("ColdRR", REL, aliases=("cold_start_mrr", "cold_start_rr"), undefined=NOT_COLD, independent=False)
def cold_reciprocal_rank(case: Case, k: int, *, rel: int) -> float | str:
    """Cold-start reciprocal rank: that of the first query of each session, when the system knows nothing of it yet.

    Formula: ColdRR@k = RR@k of the queries with turn 1
    Range: 0 to 1
    Convention: undefined for all other queries; the turn is that of the golden set, or of the trace
    Citation: agent, cold-start MRR

    >>> from karat.core import GoldenSet, Hit, Judgment, Query, Session, Target, Trace
    >>> from karat import score_hits
    >>> queries = tuple(Query(id=f"q{turn}", text="?", session=Session(id="ana", turn=turn)) for turn in (1, 2))
    >>> gold = tuple(Judgment(query=query.id, target=Target(document="wifi"), grade=2) for query in queries)
    >>> golden = GoldenSet(queries=queries, judgments=gold)
    >>> hits = {"q1": (Hit("spa", 1.0), Hit("wifi", 0.9)), "q2": (Hit("wifi", 1.0),)}
    >>> traces = {query: Trace(query=query, text="?", hits=own) for query, own in hits.items()}
    >>> score_hits(golden, hits, ["ColdRR@5", "WarmRR@5"], traces=traces).mean()
    {'ColdRR@5': 0.5, 'WarmRR@5': 1.0}
    """
    return case.reciprocal_rank(k, rel) if case.turn == 1 and case.relevant(rel) else NOT_COLD


@trace_measure("WarmRR", REL, aliases=("warm_mrr", "warm_rr"), undefined=NOT_WARM, independent=False)
def warm_reciprocal_rank(case: Case, k: int, *, rel: int) -> float | str:
    """Warm reciprocal rank: that of the later queries of each session.

    Formula: WarmRR@k = RR@k of the queries with a turn above 1
    Range: 0 to 1
    Convention: undefined for all other queries; the difference between a run with and a run without what the system
        knows of the session (``karat compare``) is the personalisation lift
    Citation: agent, cold-start MRR and session personalisation lift

    >>> from karat.core import GoldenSet, Hit, Judgment, Query, Session, Target, Trace
    >>> from karat import score_hits
    >>> query = Query(id="q", text="?", session=Session(id="ana", turn=2))
    >>> golden = GoldenSet(queries=(query,), judgments=(Judgment(query="q", target=Target(document="wifi"), grade=2),))
    >>> trace = Trace(query="q", text="?", hits=(Hit("spa", 1.0), Hit("wifi", 0.9)))
    >>> score_hits(golden, {"q": trace.hits}, ["WarmRR@5"], traces={"q": trace}).mean()
    {'WarmRR@5': 0.5}
    """
    return case.reciprocal_rank(k, rel) if case.turn > 1 and case.relevant(rel) else NOT_WARM


@trace_measure("ColdStart", REL, aliases=("cold_start_ratio",), undefined=NOT_COLD, high=math.inf, independent=False)
def cold_start(case: Case, k: int, *, rel: int) -> float | str:
    """Cold start against warm: the reciprocal rank of first queries, as a multiple of that of later ones.

    Formula: ColdStart@k = RR@k of a query with turn 1 / the mean of WarmRR@k over the run, so that its mean is mean
        ColdRR@k / mean WarmRR@k
    Range: 0 and up; at most 1 / the mean of WarmRR@k
    Convention: undefined for all other queries, and where no later query finds anything; a later query without hits
        counts as 1 in the mean of WarmRR, so that losing its answer does not make the start look better; an interval
        counts that mean as known. It rises when later queries get worse: read it beside WarmRR@k. agent asks for at
        least 0.70
    Citation: agent, cold-start MRR

    >>> from karat.core import GoldenSet, Hit, Judgment, Query, Session, Target, Trace
    >>> from karat import score_hits
    >>> queries = tuple(Query(id=f"q{turn}", text="?", session=Session(id="ana", turn=turn)) for turn in (1, 2))
    >>> gold = tuple(Judgment(query=query.id, target=Target(document="wifi"), grade=2) for query in queries)
    >>> golden = GoldenSet(queries=queries, judgments=gold)
    >>> hits = {"q1": (Hit("spa", 1.0), Hit("wifi", 0.9)), "q2": (Hit("wifi", 1.0),)}
    >>> traces = {query: Trace(query=query, text="?", hits=own) for query, own in hits.items()}
    >>> score_hits(golden, hits, ["ColdStart@5"], traces=traces).mean()
    {'ColdStart@5': 0.5}
    """
    own = cold_reciprocal_rank(case, k, rel=rel)
    if isinstance(own, str):
        return own
    warm = case.evidence.cache("WarmRR", k, rel, lambda: _average_warm(case.evidence, k, rel))
    return own / warm if warm else NO_WARM


def _average_warm(evidence: Evidence, k: int, rel: int) -> float:
    """Return the mean of WarmRR, in which a query without hits counts as 1; 0 if no later query finds anything."""
    values = ((case, warm_reciprocal_rank(case, k, rel=rel)) for case in evidence)
    known = [(bool(case.hits(k)), value) for case, value in values if not isinstance(value, str)]
    if not any(value for _, value in known):
        return 0.0
    return math.fsum(value if has_hits else 1.0 for has_hits, value in known) / len(known)


@trace_measure(
    "DedupTokens",
    aliases=("dedup_token_savings",),
    cutoff="none",
    undefined=NO_DEDUP,
    higher_is_better=None,
    high=math.inf,
)
def dedup_tokens(case: Case, k: None) -> float | str:
    """Session-dedup token savings: the tokens of results that were left out because the session had seen them.

    Formula: DedupTokens = the sum of ``tokens_saved`` in ``dedup`` of the telemetry, over the queries of a session
    Range: 0 and up, neither better nor worse
    Convention: the value of a session stands at its first query, so that the mean is that of a session; a query
        without a session stands for itself; undefined for later queries, and where no trace of the session records
        it
    Citation: agent, dedup token savings

    >>> from karat.core import Context, GoldenSet, Query, Trace
    >>> from karat import score_hits
    >>> golden = GoldenSet(queries=(Query(id="a", text="?"), Query(id="b", text="?")))
    >>> traces = {query: Trace(query=query, text="?", context=Context(session="s", turn=turn),
    ...                        telemetry={"dedup": {"tokens_saved": saved}})
    ...           for query, turn, saved in (("a", 1, 0), ("b", 2, 340))}
    >>> score_hits(golden, {"a": (), "b": ()}, ["DedupTokens"], traces=traces).mean()
    {'DedupTokens': 340.0}
    """
    queries = case.evidence.sessions.get(case.session, (case.query,)) if case.session else (case.query,)
    if case.query != queries[0]:
        return NO_DEDUP
    saved = [_saved_tokens(case.evidence.ask(query)) for query in queries]
    known = [tokens for tokens in saved if tokens is not None]
    return float(sum(known)) if known else NO_DEDUP


def _saved_tokens(case: Case) -> float | None:
    facts = case.trace.telemetry.get("dedup")
    if not isinstance(facts, dict):
        return None
    tokens = facts.get("tokens_saved", facts.get("tokensSaved"))
    return float(tokens) if isinstance(tokens, int | float) and not isinstance(tokens, bool) and tokens >= 0 else None


@trace_measure("nDCG_intent", aliases=("intent_weighted_ndcg",), undefined=NO_INTENT, independent=False)
def intent_ndcg(case: Case, k: int) -> float | str:
    """Intent-weighted nDCG: nDCG in which a grade is worth what it is worth for the intent of the query.

    Formula: nDCG@k with gain 2^w - 1, where w is the worth of the grade for the intent: grades 1, 2 and 3 are worth
        0.5, 2 and 4 for fix_bug, 0, 2 and 5 for security_audit, 1, 1.5 and 2.5 for refactor, 1.5, 2 and 3 for
        find_spec, 1.2, 2 and 3.2 for find_decision, and 1, 2 and 3 for add_feature, understand and all others
    Range: 0 to 1
    Convention: documents as units; undefined for a query without an intent, or without a document that is worth
        anything
    Citation: agent, as shipped

    >>> from karat.core import GoldenSet, Hit, Judgment, Query, Target, Trace
    >>> from karat import score_hits
    >>> gold = [Judgment(query="q", target=Target(document=name), grade=grade) for name, grade in (("a", 3), ("b", 2))]
    >>> golden = GoldenSet(queries=(Query(id="q", text="?", intent="security_audit"),), judgments=tuple(gold))
    >>> trace = Trace(query="q", text="?", hits=(Hit("b", 1.0), Hit("a", 0.9)))
    >>> score_hits(golden, {"q": trace.hits}, ["nDCG_intent@5", "nDCG_intent@1"], traces={"q": trace}).mean()
    {'nDCG_intent@5': 0.6858288052712634, 'nDCG_intent@1': 0.0967741935483871}
    """
    if not case.gold.intent:
        return NO_INTENT
    worth = _INTENTS.get(case.gold.intent, ())
    gains = {
        name: 2 ** (worth[grade] if grade < len(worth) else float(grade)) - 1
        for name, grade in case.evidence.grades.get(case.query, {}).items()
        if grade > 0
    }
    ideal = _discounted(sorted(gains.values(), reverse=True)[:k])
    return _discounted([gains.get(name, 0.0) for name in case.documents(k)]) / ideal if ideal else NO_INTENT


def _discounted(gains: list[float]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


@trace_measure("NewFound", REL, _HOURS, aliases=("cold_start_detection",), undefined=NOTHING_NEW, independent=False)
def new_found(case: Case, k: int, *, rel: int, hours: float) -> float | str:
    """Cold-start detection: whether a relevant document that was new when the question was asked is in the top k.

    Formula: NewFound(hours=h)@k = 1 if the top k has a relevant document that was at most h hours old, else 0
    Range: 0 or 1
    Convention: the time of the question is that of the trace's context, or when the query was harvested; the time
        of a document is ``created``, ``created_at``, ``createdAt`` or ``effective_timestamp`` of its metadata;
        undefined if no relevant document was new, or the times are not known
    Citation: agent, as shipped

    >>> from karat.core import Context, Document, GoldenSet, Hit, Judgment, Query, Target, Trace
    >>> from karat import score_hits
    >>> document = Document(id="news", metadata={"created": "2026-11-16T09:00:00Z"})
    >>> gold = Judgment(query="q", target=Target(document="news"), grade=2)
    >>> golden = GoldenSet(documents=(document,), queries=(Query(id="q", text="?"),), judgments=(gold,))
    >>> trace = Trace(query="q", text="?", hits=(Hit("news", 1.0),), context=Context(time="2026-11-17T09:00:00Z"))
    >>> score_hits(golden, {"q": trace.hits}, ["NewFound@10"], traces={"q": trace}).mean()
    {'NewFound@10': 1.0}
    """
    now = _parse_time(case.trace.context.time or case.gold.harvested)
    if now is None:
        return NOTHING_NEW
    created = {name: _created(case, name) for name in case.relevant(rel)}
    new = {
        name for name, time in created.items() if time is not None and 0 <= (now - time).total_seconds() <= hours * 3600
    }
    return float(not new.isdisjoint(case.documents(k))) if new else NOTHING_NEW


def _created(case: Case, document: str) -> datetime | None:
    metadata = case.document(document).metadata
    return next((time for name in _CREATED if (time := _parse_time(metadata.get(name))) is not None), None)


def _parse_time(text: object) -> datetime | None:
    try:
        time = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return time.replace(tzinfo=UTC) if time is not None and time.tzinfo is None else time
