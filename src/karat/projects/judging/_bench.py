"""What the judges of a project need: the model, the prompts, the budget, the replies kept, and the embedder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karat.config import JudgesConfig
from karat.core import UsageError
from karat.judges import Asker, Bench, Budget, Chat, Judge, Model, Pace, Prompt, Replies, Spending, load_prompts
from karat.projects._project import Project
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


def open_bench(project: Project, judges: Sequence[Judge], stack: ExitStack, *, cache: bool = True) -> Setup:
    """Return what the judges of a project need, which is closed with the stack."""
    config = project.config.judges
    embed = _make_embed(project, cache) if any(judge.embeds for judge in judges) else None
    if not any(judge.prompts for judge in judges):
        return Setup(bench=Bench(embed=embed))
    if not config.url or not config.model:
        named = ", ".join(judge.name for judge in judges if judge.prompts)
        raise UsageError(f"{named}: [judges] in karat.toml has no url and model; lexical_support needs neither")
    model = make_model(config)
    replies = stack.enter_context(Replies(project.config.folder / REPLIES)) if cache else None
    budget = Budget(model, most_calls=config.calls, most_money=config.budget)
    asker = Asker(Chat(model), budget, replies, Pace(config.requests_per_minute))
    prompts = load_prompts(config.prompts, config.language)
    return Setup(bench=Bench(asker=asker, prompts=prompts, embed=embed), asker=asker)


def _make_embed(project: Project, cache: bool) -> Callable[[Sequence[str]], Any]:
    from karat.systems.embed import find_cache, make_embedder, with_cache

    embedder = make_embedder(Stages.from_table(project.config.pipeline).embedder)
    place = find_cache() if cache else None
    return embedder if place is None else with_cache(embedder, place)


def make_model(config: JudgesConfig) -> Model:
    """Return the model that a project names."""
    return Model(
        url=config.url,
        model=config.model,
        key_variable=config.key_variable,
        headers=config.headers,
        temperature=config.temperature,
        seed=config.seed,
        max_tokens=config.max_tokens,
        timeout=config.timeout,
        retries=config.retries,
        input_price=config.input_price,
        output_price=config.output_price,
    )


def fingerprint_judges(project: Project, setup: Setup, judges: Sequence[Judge], votes: int) -> str:
    """Return what decides about opinions: the judges with their prompts, the model and how it is asked, in one line."""
    parts = [_fingerprint(judge, setup.bench.prompts) for judge in sorted(judges, key=lambda judge: judge.name)]
    if setup.asker is not None:
        model = setup.asker.chat.model
        settings = {**model.parameters, "url": model.endpoint.name, "rung": setup.asker.chat.rung}
        parts.append(json.dumps(settings, sort_keys=True))
    if votes > 1:
        parts.append(f"votes={votes}")
    if any(judge.embeds for judge in judges):
        parts.append(f"embedder={json.dumps(Stages.from_table(project.config.pipeline).embedder, sort_keys=True)}")
    if (texts := project.config.judges.texts) is not None:
        parts.append(f"texts={texts}")
    text = "; ".join(parts)
    names = ",".join(sorted(judge.name for judge in judges))
    model_name = setup.model.model if setup.model is not None else "offline"
    return f"{names}:{model_name}@{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _fingerprint(judge: Judge, prompts: Any) -> str:
    used: list[Prompt] = [prompts[name] for name in judge.prompts]
    return f"{judge.name}:{'+'.join(f'{prompt.name}-{prompt.version}-{prompt.digest}' for prompt in used)}"


def write_spending(spending: Spending) -> JudgeSpending:
    """Return what judging took as a document."""
    return JudgeSpending(
        calls=spending.calls,
        cached=spending.cached,
        input_tokens=spending.usage.sent,
        output_tokens=spending.usage.received,
        money=spending.money,
    )
