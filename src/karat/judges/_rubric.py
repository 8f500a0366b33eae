"""A rubric of the user: a Markdown file that says how an answer is scored, on a scale of whole numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from karat.chat import Prompt, parse_prompt
from karat.core import InputError, UsageError, shorten
from karat.files import decode, read_bytes
from karat.judges._claims import require_answer
from karat.judges._items import Item
from karat.judges._judging import JUDGES, Judge
from karat.judges._measures import Bench, Judged
from karat.judges._opinions import Finding
from karat.judges._replies import Score

_NAME = re.compile(r"[A-Za-z][\w-]{0,39}", re.ASCII)
_SCALE = re.compile(r"^scale:\s*(-?[0-9]{1,3})\s*(?:to|-)\s*(-?[0-9]{1,3})\s*$", re.MULTILINE)
_EXAMPLE = "write 'scale: 1 to 5' in the second line"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubric:
    """How an answer is scored, and on which scale."""

    prompt: Prompt
    low: int
    high: int


def read_rubric(name: str, path: Path, frame: Prompt) -> Rubric:
    """Return the rubric of a file. ``frame`` is the prompt that tells what a rubric is."""
    text, source = decode(read_bytes(path), str(path)), str(path)
    scale = _SCALE.search(text)
    if scale is None:
        raise InputError("has no scale", source=source, hint=_EXAMPLE)
    low, high = int(scale[1]), int(scale[2])
    if not low < high:
        raise InputError(f"has a scale from {low} to {high}, which must rise", source=source, hint=_EXAMPLE)
    own = parse_prompt(name, text[: scale.start()] + text[scale.end() + 1 :], source)
    text = f"{frame.text}\n\n{own.text}\n\nThe scale: whole numbers from {low} to {high}."
    return Rubric(prompt=replace(own, text=text), low=low, high=high)


def make_rubric_judge(name: str, path: Path, frame: Prompt) -> Judge:
    """Return the judge that scores by the rubric of a file. Its measure is ``Rubric(name='...')``."""
    if name in JUDGES or not _NAME.fullmatch(name):
        hint = "a judge is called so" if name in JUDGES else "write letters, digits, - and _"
        raise UsageError(f"a rubric cannot be called {shorten(name)}: {hint}")
    rubric = read_rubric(name, path, frame)
    return Judge(
        name=name,
        measure=f"Rubric(name={name!r})",
        function=partial(_judge_rubric, rubric),
        prompts=(name,),
        own={name: rubric.prompt},
        calls=1,
    )


def _judge_rubric(rubric: Rubric, bench: Bench, item: Item) -> Judged:
    answer = require_answer(item)
    parts = [(f"text {number}", text) for number, text in enumerate(item.texts, 1)]
    parts += [("reference", item.reference)] if item.reference else []
    parts += [("question", item.question), ("answer", answer)]

    def check(reply: Score) -> str:
        wrong = not rubric.low <= reply.score <= rubric.high
        return f"the score should be from {rubric.low} to {rubric.high}" if wrong else ""

    prompt = bench.prompts[rubric.prompt.name]
    reply = bench.model.ask(prompt, parts, Score, vote=bench.vote, check=check)
    finding = Finding(subject=rubric.prompt.name, verdict=float(reply.score), reason=reply.reason)
    return (reply.score - rubric.low) / (rubric.high - rubric.low), (finding,)
