"""A week in which four changes are tried on live guests, and decided every night. The same seed gives the same week.

.venv/bin/python examples/week/trials.py trials.db
"""

import random
import sys

from guests import DAY, MONDAY, READ
from needs import NEEDS

from karat import online
from karat.feedback.trials import collect_trial
from karat.online.flags import LiveFlags, change_flag
from karat.online.interleaving import interleave, log_interleaved
from karat.online.trials import TrialPlan, decide_trial, start_trial
from systems import BAIT, FEATURES, read_grades, search

SESSIONS = 480  # a day, a quarter of them in each trial
NIGHTS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
BY_SESSION = {"source": "sessions", "guardrails": ("Found",), "must_show": ""}
PLANS = (
    TrialPlan(feature="rerank", source="interleaving", measure="choices", corpus_measure="RR@10", must_show=""),
    TrialPlan(feature="refactor", measure="Success", **BY_SESSION),
    TrialPlan(feature="paging", measure="Success", **BY_SESSION),
    TrialPlan(feature="newsletter", measure="ClickRR", **BY_SESSION | {"guardrails": ("Success",)}),
)


def ask(log, draw, feature, arm, text, session, moment):
    """Answer, and log what was answered; return the id of the query, and the documents."""
    latency = draw.lognormvariate(3.7, 0.3)
    with log.session(session):
        query = log.query(text, flags={} if feature == "rerank" else {feature: arm})
    if feature == "rerank" and arm == "treatment":  # both in one list
        rankings = {"control": search(text), "treatment": FEATURES[feature](text)}
        both = interleave(rankings, session=session, query=text, salt=feature)
        latencies = {"control": latency, "treatment": draw.lognormvariate(3.7, 0.3)}
        log_interleaved(query, feature, both, rankings, latencies)
        shown = both.documents
    else:
        shown = FEATURES[feature](text) if arm == "treatment" else search(text)
        query.results(list(shown))
    query.finish(time=moment, latency=latency)
    return query.id, shown


def visit(log, draw, session, moment, need, feature, arm, grades):
    """Ask until something helps, or patience ends; say at the end whether it did."""
    helped = False
    for wording in NEEDS[need][: draw.choice([1, 2, 2])]:
        query, shown = ask(log, draw, feature, arm, wording, session, moment)
        for rank, document in enumerate(shown, 1):
            chance = 0.9 if document == BAIT else READ[grades.get(document, 0)]
            if draw.random() > rank**-0.7 or draw.random() > chance:
                continue
            moment += draw.uniform(5, 60)
            log.feedback("read_after_search", session, document, query=query, rank=rank, time=moment)
            helped = helped or grades.get(document, 0) == 3
            if document == BAIT and draw.random() < 0.5:
                break  # who has read the newsletter has less patience
        moment += draw.uniform(20, 90)
        if helped:
            break
    log.feedback("task_outcome", session, value=float(helped), time=moment)


def decide(store, features, night):
    """Measure and decide what runs; return what is over."""
    over = {}
    for feature in features:
        collect_trial(store, feature, now=night)
        outcome = decide_trial(store, feature, author="nightly job")
        if outcome.transition is not None:
            over[feature] = outcome
    return over


def main(store, seed=5):
    draw, grades, needs = random.Random(seed), read_grades(), list(NEEDS)  # noqa: S311 (people are no secret)
    weights = [1 / place for place in range(1, len(needs) + 1)]
    for plan in PLANS:
        change_flag(store, plan.feature, {"percent": 50}, author="ada", reason="a trial")
        start_trial(store, plan, now=MONDAY)
    names = [plan.feature for plan in PLANS]
    running = list(names)
    with LiveFlags(store, every=1000) as flags, online.open(store, keep_ids=True) as log:
        for day, name in enumerate(NIGHTS):
            for number in range(SESSIONS):
                session, feature = f"{name} {number}", names[number % len(names)]
                need = draw.choices(needs, weights)[0]
                moment = MONDAY + DAY * day + draw.uniform(7, 22) * 3600
                arm = flags.assign(feature, session)
                visit(log, draw, session, moment, need, feature, arm, grades[need])
            for feature, outcome in decide(store, running, MONDAY + DAY * (day + 1)).items():
                running.remove(feature)
                status = outcome.status
                print(f"{name:<10}{feature:<11}{status.status:<10}{status.samples:>4} differences: {status.reason}")
            flags.refresh()
    for feature in running:
        print(f"{'':<10}{feature:<11}running")


if __name__ == "__main__":
    main(sys.argv[1])
