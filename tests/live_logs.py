"""Logs of live traffic for tests, with everything that is odd in them, in a store and exported as Parquet."""

from __future__ import annotations

import random
from pathlib import Path

from karat import online
from karat.core import Document, GoldenSet, Judgment, Query, Target
from karat.online import LoggedEvent, LoggedHit, LoggedQuery
from karat.online._stored import event_row, query_row
from karat.store import open_store

TEXTS = ("wifi", "The WiFi?", "wifi password", "where is pool", "pool hours", "sauna", "spa price", "?!", "Straße")
KINDS = (
    "read_after_search", "validate_useful", "validate_not_useful", "task_outcome", "scroll_past", "reference",
    "re_search", "impression", "opened the menu",
)  # fmt: skip
GOLD = GoldenSet(
    name="set",
    documents=(Document(id="a", text="The wifi password of the lobby is on the card."), Document(id="b", text="Pool.")),
    queries=(Query(id="g1", text="Where is the pool?"), Query(id="g2", text="What is the wifi code?")),
    judgments=(Judgment(query="g1", target=Target(document="b"), grade=3),),
)


def make_log(seed: int, size: int, *, calm: bool = False) -> tuple[list[LoggedQuery], list[LoggedEvent]]:
    """Return a log with everything that is odd: no sessions, events of other sessions, late, early and unknown ones.

    In a calm one most sessions have nothing odd: they are short, and events name the query before them.
    """
    draw = random.Random(seed)
    queries, events = list[LoggedQuery](), list[LoggedEvent]()
    for number in range(size):
        time = 1e9 + draw.choice((number * 50.0, number * 3600.0, draw.random() * 4e5))
        session = draw.choice(("", *(f"s{n}" for n in range(8))))
        if calm:
            time, session = 1e9 + number * 50.0, draw.choice(("", f"s{number // 6}", f"s{number // 12}"))
        names = draw.sample("abcdef", draw.randrange(6))
        hits = tuple(LoggedHit(name, rank, chunk=draw.choice(("", f"{name}#1"))) for rank, name in enumerate(names, 1))
        query = LoggedQuery(
            f"q{number}", time, draw.choice(TEXTS), session, intent=draw.choice(("", "find", "buy")), hits=hits,
            answer=draw.choice((None, "the wifi password of the lobby is on the card")),
            citations=tuple(draw.sample(("a", "b", "c#1"), draw.randrange(3))), error=draw.choice(("", "", "", "down")),
            latency=draw.choice((None, draw.random() * 300 - 9)), system=draw.choice(("old", "new")),
            weight=draw.choice((1.0, 1 / 3)), count=draw.choice((None, len(hits))),
        )  # fmt: skip
        queries.append(query)
        for place in range(draw.randrange(4)):
            later = time + draw.choice((0.0, 20.0, 400.0) if calm else (-3.0, 0.0, 20.0, 4e4, 5e4))
            other, named = draw.choice((session, "", "s1", "zz")), draw.choice((query.id, query.id, "", "unknown"))
            kind, document = draw.choice(KINDS), draw.choice(("", *"abcdef"))
            if calm and draw.random() < 0.95:
                other, named = session, "" if kind == "task_outcome" and session else query.id
            rank, value = draw.choice((None, 1, 2)), draw.choice((None, 0.0, 0.1, 1.0, 7.0))
            events.append(LoggedEvent(f"e{number}-{place}", later, kind, other, "", named, document, rank, value))
    return queries, events


def write_log(folder: Path, seed: int, size: int, *, calm: bool = False) -> tuple[Path, Path]:
    """Write such a log into a store, and export it; return both places."""
    store, exported = folder / "karat.db", folder / "out"
    queries, events = make_log(seed, size, calm=calm)
    with open_store(store, write=True) as opened, opened.transaction():
        opened.add_queries([query_row(query) for query in queries])
        opened.add_events([event_row(event) for event in events])
    online.export_log(store, exported, format="parquet")
    return store, exported
