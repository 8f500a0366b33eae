"""Replies that are no text, the file that keeps them, and options that no model can have."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from each import each
from judges.model_server import Failure, Request, obey, serve
from judges.test_judging import ITEM, judge, make_bench, make_items, opinion_of
from karat.chat import Budget, Completion, Model, Pace, Replies, Usage
from karat.cli._judge_text import describe_spending
from karat.core import InputError, SystemFailed, UsageError
from karat.judges import Item, load_prompt
from karat.projects.judging._bench import write_spending

_CLOSE_EARLY = """
import sys, threading
from pathlib import Path
from karat.chat import Completion, Replies
from karat.core import SystemFailed

def use(replies, name):
    try:
        for number in range(100_000):
            replies.put(f"{name} {number}", Completion("yes" * 100, None))
            replies.get(f"{name} {number}")
    except SystemFailed:
        closed.append(name)

closed = []
for attempt in range(10):
    replies = Replies(Path(sys.argv[1], f"{attempt}.db"))
    threads = [threading.Thread(target=use, args=(replies, name)) for name in range(8)]
    for thread in threads:
        thread.start()
    replies.close()
    for thread in threads:
        thread.join()
print(len(closed))
"""


@pytest.mark.slow
def test_a_file_is_closed_while_threads_use_it(tmp_path: Path) -> None:
    """As when judging ends early: SQLite would crash the process, which therefore is another one."""
    done = subprocess.run(
        [sys.executable, "-c", _CLOSE_EARLY, str(tmp_path)], capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "80", "")


def test_a_closed_file_is_told(tmp_path: Path) -> None:
    """Whoever still asks gets an error, and spends nothing."""
    replies = Replies(tmp_path / "replies.db")
    replies.close()
    replies.close()
    with pytest.raises(SystemFailed, match="is closed"):
        replies.get("a")
    with pytest.raises(SystemFailed, match="is closed"):
        replies.put("a", Completion("yes", None))


@pytest.mark.parametrize("kind", ["folder", "pipe", "parent"])
def test_something_else_in_the_place_of_the_file(tmp_path: Path, kind: str) -> None:
    """One message, with the place."""
    path = tmp_path / ".karat" / "replies.db"
    if kind == "parent":
        path.parent.write_text("x")
    else:
        path.parent.mkdir()
        path.mkdir() if kind == "folder" else os.mkfifo(path)
    with pytest.raises(InputError, match="cannot be used as a cache of replies") as caught:
        Replies(path)
    assert ".karat" in str(caught.value)


@each(
    "options",
    [
        *({name: value} for name in ("input_price", "output_price") for value in (math.nan, math.inf, -1.0, 10**400)),
        *({"timeout": value} for value in (0, -1.0, math.nan, math.inf, 1e300)),
        *({"retries": value} for value in (-1, 10**9)),
        {"max_tokens": 10**400},
        {"temperature": math.nan},
    ],
    ids=lambda options: "".join(options),
)
def test_options_that_no_model_can_have(options: dict[str, Any]) -> None:
    """A price that is not a number would make every budget a large one."""
    (name,) = options
    with pytest.raises(UsageError, match=f"{name} = "):
        Model(url="http://127.0.0.1:9/v1", model="m", **options)


@each("value", [math.nan, math.inf, -1.0, 0, 1e-300])
def test_a_pace_or_budget_that_is_none(value: float) -> None:
    """Nobody waits for ever, and no limit is without effect."""
    with pytest.raises(UsageError, match="requests_per_minute"):
        Pace(value)
    model = Model(url="http://127.0.0.1:9/v1", model="m", input_price=1.0)
    if not 0 <= value < 1:
        with pytest.raises(UsageError, match="a budget of"):
            Budget(model, most_money=value)


@each("name", ["X\nA", "\u00fc", "", "a b"])
def test_a_header_without_a_name(name: str) -> None:
    """It is refused before anything is sent."""
    with pytest.raises(UsageError, match="is not the name of a header"):
        _ = Model(url="http://127.0.0.1:9/v1", model="m", headers={name: "KEY"}).endpoint


def test_half_a_character_is_not_measurable_and_judging_goes_on(tmp_path: Path) -> None:
    """JSON can hold half of a surrogate pair, which no file can."""

    def reply(request: Request) -> Any:
        return '{"claims": ["\ud800"]}' if "Fact 0" in request.message else obey(request)

    with serve(reply) as server:
        spoilt, *others = judge(make_bench(server, tmp_path / "replies.db"), "faithfulness", *make_items(3))
    assert (spoilt.value, "half a character" in spoilt.reason) == (None, True)
    assert [opinion.value for opinion in others] == [1.0, 1.0]


@pytest.mark.parametrize("digits", [19, 400, 5000])
def test_more_tokens_than_any_model_has_are_unknown(tmp_path: Path, digits: int) -> None:
    """Then what could be spent counts as spent, which the spending tells. Python reads no number of 5,000 digits."""
    message = {"message": {"content": '{"refused": false, "reason": ""}'}}
    usage = f'{{"prompt_tokens": {"9" * digits}, "completion_tokens": 1}}'
    body = f'{{"choices": [{json.dumps(message)}], "usage": {usage}}}'.encode()
    with serve(lambda _: Failure(200, body)) as server:
        bench = make_bench(server, tmp_path / "replies.db", input_price=1.0)
        (opinion,) = judge(bench, "refusal", ITEM)
    assert opinion.value == 1.0
    spending = bench.asker.budget.spending
    assert (spending.usage, spending.unmetered) == (Usage(100, 10), 1)  # of the call that finds out how to ask
    assert 0 < spending.money < 0.1
    assert "1 call did not say their tokens" in describe_spending(write_spending(spending))


def test_a_reply_is_on_disk_once_it_was_put(tmp_path: Path) -> None:
    """Also if threads write together: another process finds each reply as soon as its thread goes on."""
    path = tmp_path / "replies.db"
    with Replies(path) as replies, Replies(path) as other, ThreadPoolExecutor(16) as pool:

        def put(number: int) -> bool:
            replies.put(str(number), Completion(f"reply {number}", Usage(number, 1)))
            return other.get(str(number)) == Completion(f"reply {number}", Usage(number, 1))

        assert all(pool.map(put, range(400)))


@each(
    ("quote", "text", "value"),
    [
        (".", "Wi-Fi is free.", 0.0),
        ("e", "Wi-Fi is free.", 0.0),
        ("free", "Wi-Fi is free.", 0.0),
        ("is free", "Wi-Fi is free.", 1.0),
        ("Free", "Free!", 1.0),  # the text has no more
        (".", "...", 0.0),
        ("\u514d\u8d39", "\u65e0\u7ebf\u4e0a\u7f51\u514d\u8d39\u3002", 1.0),  # two words without a space
    ],
)
def test_a_quote_has_two_words_if_the_text_has(quote: str, text: str, value: float) -> None:
    """A full stop is in every text, and supports nothing."""

    def reply(request: Request) -> Any:
        if request.kind == "Claims":
            return {"claims": ["Wi-Fi is free."]}
        return {"verdicts": [{"claim": 1, "supported": True, "chunk": 1, "quote": quote, "reason": ""}]}

    item = Item(query="q", question="?", answer="Wi-Fi is free.", texts=(text,))
    assert opinion_of(reply, item=item).value == value


def test_a_prompt_that_nobody_uses_is_a_mistake(tmp_path: Path) -> None:
    """The known names are listed, although the file is there."""
    (tmp_path / "mine.md").write_text("version: 1\nJudge!")
    with pytest.raises(UsageError, match=r"there is no prompt 'suport', did you mean 'support'.*known: .*claims"):
        load_prompt("suport", {"suport": tmp_path / "mine.md"})
