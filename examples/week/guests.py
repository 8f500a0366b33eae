"""A week of traffic: simulated guests ask the agent, and what they do is logged. The same seed gives the same week.

.venv/bin/python examples/week/guests.py live.db
"""

import random
import sys
from datetime import UTC, datetime

from agent import Agent
from needs import NEEDS, PRIVATE, UNANSWERED

from karat import golden, online

MONDAY = datetime(2026, 11, 9, tzinfo=UTC).timestamp()
DAY = 86_400
SESSIONS = 200  # a day
READ = {3: 0.75, 2: 0.45, 1: 0.12, 0: 0.04}
"""How likely somebody who looks at a document reads it, by its grade: titles tell a lot, but not everything."""


class Guest:
    """Somebody with a need. The golden set knows what helps; the agent does not."""

    def __init__(self, agent, log, draw):
        self.agent, self.log, self.draw = agent, log, draw

    def visit(self, session, user, moment, wordings, intent, grades):
        """Ask in one wording after the other until something helps, or patience ends."""
        helped, before = False, None
        for wording in wordings[: self.draw.choice([1, 2, 2])]:
            if before:
                self.log.feedback("re_search", session, query=before, time=moment)
            latency = self.draw.lognormvariate(3.7, 0.5)
            before, shown = self.agent.ask(
                wording, session=session, user=user, intent=intent, time=moment, latency=latency
            )
            helped, moment = self.read(session, before, shown, grades, moment)
            if helped:
                break
            moment += self.draw.uniform(20, 90)
        self.log.feedback("task_outcome", session, value=float(helped), time=moment)

    def read(self, session, query, shown, grades, moment):
        """Look down the list, read what seems to help, and say now and then whether it did."""
        helped = False
        for rank, document in enumerate(shown, 1):
            grade = grades.get(document, 0)
            if self.draw.random() > rank**-0.7 or self.draw.random() > READ[grade]:  # not seen, or seen and left alone
                continue
            moment += self.draw.uniform(5, 60)
            about = {"session": session, "document": document, "query": query, "time": moment}
            self.log.feedback("read_after_search", rank=rank, **about)
            helped = helped or grade == 3
            if self.draw.random() < 0.15:
                self.log.feedback("validate_useful" if grade > 1 else "validate_not_useful", **about)
        return helped, moment


def main(store, seed=17):
    draw = random.Random(seed)  # noqa: S311 (people are no secret)
    hotel = golden.read("examples/hotel")
    intents = {query.id: query.intent for query in hotel.queries}
    texts = {query.id: query.text for query in hotel.queries}
    needs = [(need, wordings, intents[need]) for need, wordings in NEEDS.items()]
    weights = [1 / place for place in range(1, len(needs) + 1)]  # few needs are common, many are rare
    with online.open(store, system="hotel pipeline") as log:
        guest, grades = Guest(Agent(log, draw), log, draw), hotel.qrels()
        for number in range(7 * SESSIONS):
            kind, moment = draw.random(), MONDAY + DAY * (number // SESSIONS) + draw.uniform(7, 23) * 3600
            (need, wordings, intent), user = draw.choices(needs, weights)[0], f"room {draw.randrange(300)}"
            if kind < 0.06:
                need, wordings, intent = "", draw.choice(UNANSWERED), "plan_stay"
            elif kind < 0.10:
                need, wordings, intent = "", draw.choice(PRIVATE), "settle_bill"
            elif kind < 0.20:
                wordings = (texts[need], *wordings)  # as somebody of the golden set asked it
            guest.visit(f"visit {number}", user, moment, wordings, intent, grades.get(need, {}))


if __name__ == "__main__":
    main(sys.argv[1])
