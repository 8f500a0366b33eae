"""What the judges of a project need: the model, the prompts, the budget, the replies kept, and the embedder."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karat.config import JudgesConfig
from karat.core import UsageError
from karat.judges import Asker, Bench, Budget, Chat, Judge, Model, Pace, Prompt, Replies, Spending, ask_in, load_prompts
from karat.projects._project import Project
from karat.projects.judging._recording import Recording
from karat.schema import JudgeSpending
from karat.systems import Stages

REPLIES = Path(".karat", "replies.db")
"""Where a project keeps what models have replied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What judges work with, and whom they ask."""

    bench: Bench
    asker: Asker | None = None
    """None if no judge asks a model."""

    @property
    def model(self) -> Model | None:
        """The model that is asked."""
        return None if self.asker is None else self.asker.chat.model

    @property
    def spending(self) -> Spending:
        """What was spent so far."""
        return Spending() if self.asker is None else self.asker.budget.spending


def open_bench(
    project: Project,
    judges: Sequence[Judge],
    stack: ExitStack,
    *,
    cache: bool = True,
    recording: Recording | None = None,
) -> Setup:
    """Return what the judges of a project need, which is closed with the stack."""
    config = project.config.judges
    embed = _make_embed(project, cache) if any(judge.embeds for judge in judges) else None
    entails = _load_entails(config.entails) if any(judge.name == "entailment" for judge in judges) else None
    if not any(judge.prompts for judge in judges):
        return Setup(bench=Bench(embed=embed, entails=entails))
    if not config.url or not config.model:
        named = ", ".join(judge.name for judge in judges if judge.prompts)
        raise UsageError(f"{named}: [judges] in karat.toml has no url and model; lexical_support needs neither")
    model = Model.from_options(config)
    replies = stack.enter_context(Replies(project.config.folder / REPLIES)) if cache else None
    budget = Budget(model, most_calls=config.calls, most_money=config.budget)
    chat = Chat(model) if replies is None else replies.open_chat(model)
    listener = None if recording is None else recording.hear
    asker = Asker(chat, budget, replies, Pace(config.requests_per_minute), listener)
    bench = Bench(asker=asker, prompts=load_judge_prompts(config, judges), embed=embed, entails=entails)
    return Setup(bench=bench, asker=asker)


def load_judge_prompts(config: JudgesConfig, judges: Sequence[Judge]) -> dict[str, Prompt]:
    """Return the prompts of a project, and those that its judges bring along."""
    own = {name: ask_in(prompt, config.language) for judge in judges for name, prompt in judge.own.items()}
    return {**load_prompts(config.prompts, config.language), **own}


def _load_entails(path: str) -> Callable[[list[tuple[str, str]]], Any]:
    """Return the user's function, which is called by one thread at a time: models are seldom made for more."""
    if not path:
        raise UsageError("entailment needs a model of yours; name a function in [judges], as entails = 'mine:entails'")
    from karat.systems import load

    function: Any = load(path)
    if not callable(function):
        raise UsageError(f"[judges] entails: {path} cannot be called")
    lock = threading.Lock()

    def entails(pairs: list[tuple[str, str]]) -> Any:
        with lock:
            return function(pairs)

    return entails


def _make_embed(project: Project, cache: bool) -> Callable[[Sequence[str]], Any]:
    from karat.systems.embed import find_cache, make_embedder, with_cache

    embedder = make_embedder(Stages.from_table(project.config.pipeline).embedder)
    place = find_cache() if cache else None
    return embedder if place is None else with_cache(embedder, place)


def fingerprint_judges(project: Project, setup: Setup, judges: Sequence[Judge], votes: int) -> dict[str, str]:
    """Return what decides about the opinions of each judge, by its name."""
    return {judge.name: fingerprint_judge(project, setup, judge, votes) for judge in judges}


def fingerprint_judge(project: Project, setup: Setup, judge: Judge, votes: int = 1) -> str:
    """Return what decides about a judge's opinions, in one line: its prompts, the model, and how it is asked.

    Which other judges are asked beside it does not matter.
    """
    parts = [_fingerprint(judge, setup.bench.prompts)]
    asker = setup.asker if judge.prompts else None
    if asker is not None:
        model = asker.chat.model
        settings = {**model.parameters, "url": model.endpoint.name, "rung": asker.chat.rung}
        parts.append(json.dumps(settings, sort_keys=True))
    if votes > 1:
        parts.append(f"votes={votes}")
    if judge.embeds:
        parts.append(f"embedder={json.dumps(Stages.from_table(project.config.pipeline).embedder, sort_keys=True)}")
    if judge.name == "entailment":
        parts.append(f"entails={project.config.judges.entails}")
    if (texts := project.config.judges.texts) is not None:
        parts.append(f"texts={texts}")
    digest = hashlib.sha256("; ".join(parts).encode()).hexdigest()[:16]
    return f"{judge.name}:{'offline' if asker is None else asker.chat.model.model}@{digest}"


def _fingerprint(judge: Judge, prompts: Any) -> str:
    used: list[Prompt] = [prompts[name] for name in judge.prompts]
    return f"{judge.name}:{'+'.join(f'{prompt.name}-{prompt.version}-{prompt.digest}' for prompt in used)}"


def describe_failures(reasons: Mapping[str, int]) -> str:
    """Return why a model judged nothing, the most frequent reason first.

    >>> describe_failures({"no JSON": 1, "not asked: the budget is spent": 11})
    '11 not asked: the budget is spent; 1 no JSON'
    """
    return "; ".join(f"{count:,} {reason}" for reason, count in sorted(reasons.items(), key=lambda pair: -pair[1]))


def write_spending(spending: Spending) -> JudgeSpending:
    """Return what judging took as a document."""
    return JudgeSpending(
        calls=spending.calls,
        cached=spending.cached,
        input_tokens=spending.usage.sent,
        output_tokens=spending.usage.received,
        money=spending.money,
        unmetered=spending.unmetered,
    )
