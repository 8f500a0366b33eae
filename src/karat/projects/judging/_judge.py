"""Judging a run: who judges, what that may cost, and what is written and reported."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from karat.core import InputError, Run, Trace, UsageError
from karat.files import read_bytes, refuse_input
from karat.judges import (
    Asker,
    Bench,
    Budget,
    Chat,
    Item,
    Judge,
    Model,
    Opinion,
    Pace,
    Prompt,
    Replies,
    Spending,
    Usage,
    find_judge,
    judge_items,
    load_prompts,
    make_item,
    summarise,
)
from karat.projects._project import Project
from karat.runs import digest_run, opinions_path, read_any_run, write_opinions
from karat.schema import JudgedMeasure, JudgeFinding, JudgeReport, JudgeSpending, OpinionDocument
from karat.systems import Stages

OFFLINE = ("lexical_support",)
"""The judges of a project that names none: those that need no model."""
_REPLY_TOKENS = 200  # of a reply, for an estimate
_BYTES_PER_TOKEN = 4


def choose_judges(project: Project, names: Sequence[str] = ()) -> list[Judge]:
    """Return the judges with these names, or else those of the project, or else those that need no model."""
    return [find_judge(name) for name in dict.fromkeys(names or project.config.judges.names or OFFLINE)]


def judge_run(
    project: Project,
    path: Path,
    judges: Sequence[Judge],
    *,
    votes: int | None = None,
    dry_run: bool = False,
    cache: bool = True,
    say: Callable[[str], None] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> JudgeReport:
    """Let judges judge every answer of a run file, write what they say beside it, and return the report.

    Replies are kept in the project's folder ``.karat``: a run that was killed goes on where it was, and the second one
    makes no call. Without ``cache`` everything is asked anew.
    """
    target = opinions_path(path)
    refuse_input(target)
    data = read_bytes(path)
    items = _list_items(project, read_any_run(path, project.golden, say=say), path)
    votes = project.config.judges.votes if votes is None else votes
    with ExitStack() as stack:
        bench = _open_bench(project, judges, stack, cache=cache)
        if dry_run:
            return _estimate(bench, path, items, judges, votes)
        judge = fingerprint_judges(project, bench, judges, votes)
        opinions = _judge(project, bench, items, judges, votes, progress)
        write_opinions(target, digest_run(data), judge, map(_write_opinion, opinions))
        spending = bench.asker.budget.spending if bench.asker is not None else Spending()
        return JudgeReport(
            run=str(path),
            opinions=str(target),
            judge=judge,
            measures=[_summarise(own, opinions) for own in judges],
            spending=_write_spending(spending),
            dry_run=False,
        )


def _list_items(project: Project, run: Run, path: Path) -> list[Item]:
    if not any(_is_answer(trace) for trace in run.traces):
        hint = "judges need a system with answer(query, k), or a log with answers"
        raise InputError("no question of the run has an answer", source=str(path), hint=hint)
    return [make_item(project.golden, trace, project.config.judges.texts) for trace in run.traces]


def _is_answer(trace: Trace) -> bool:
    return bool(trace.answer or trace.refused)


def _open_bench(project: Project, judges: Sequence[Judge], stack: ExitStack, *, cache: bool) -> Bench:
    config = project.config.judges
    embed = _make_embed(project, cache) if any(judge.embeds for judge in judges) else None
    if not any(judge.prompts for judge in judges):
        return Bench(embed=embed)
    if not config.url or not config.model:
        named = ", ".join(judge.name for judge in judges if judge.prompts)
        raise UsageError(f"{named}: [judges] in karat.toml has no url and model; lexical_support needs neither")
    model = Model(
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
    replies = stack.enter_context(Replies(project.config.folder / ".karat" / "replies.db")) if cache else None
    budget = Budget(model, most_calls=config.calls, most_money=config.budget)
    asker = Asker(Chat(model), budget, replies, Pace(config.requests_per_minute))
    return Bench(asker=asker, prompts=load_prompts(config.prompts), embed=embed)


def _make_embed(project: Project, cache: bool) -> Callable[[Sequence[str]], Any]:
    from karat.systems.embed import find_cache, make_embedder, with_cache

    embedder = make_embedder(Stages.from_table(project.config.pipeline).embedder)
    place = find_cache() if cache else None
    return embedder if place is None else with_cache(embedder, place)


def _judge(
    project: Project,
    bench: Bench,
    items: Sequence[Item],
    judges: Sequence[Judge],
    votes: int,
    progress: Callable[[str, int, int], None] | None,
) -> list[Opinion]:
    done, total = 0, len(items) * len(judges) * votes

    def count(_: Opinion) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress("judging", done, total)

    return judge_items(
        bench, items, judges, votes=votes, concurrency=project.config.judges.concurrency, progress=count
    )  # fmt: skip


def fingerprint_judges(project: Project, bench: Bench, judges: Sequence[Judge], votes: int) -> str:
    """Return what decides about opinions: the judges with their prompts, the model and how it is asked, in one line."""
    parts = [_fingerprint(judge, bench.prompts) for judge in sorted(judges, key=lambda judge: judge.name)]
    if bench.asker is not None:
        model = bench.asker.chat.model
        settings = {**model.parameters, "url": model.endpoint.name, "rung": bench.asker.chat.rung}
        parts.append(json.dumps(settings, sort_keys=True))
    if votes > 1:
        parts.append(f"votes={votes}")
    if any(judge.embeds for judge in judges):
        parts.append(f"embedder={json.dumps(Stages.from_table(project.config.pipeline).embedder, sort_keys=True)}")
    if (texts := project.config.judges.texts) is not None:
        parts.append(f"texts={texts}")
    text = "; ".join(parts)
    names = ",".join(sorted(judge.name for judge in judges))
    model_name = bench.asker.chat.model.model if bench.asker is not None else "offline"
    return f"{names}:{model_name}@{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _fingerprint(judge: Judge, prompts: Any) -> str:
    used: list[Prompt] = [prompts[name] for name in judge.prompts]
    return f"{judge.name}:{'+'.join(f'{prompt.name}-{prompt.version}-{prompt.digest}' for prompt in used)}"


def _estimate(bench: Bench, path: Path, items: Sequence[Item], judges: Sequence[Judge], votes: int) -> JudgeReport:
    """Return what judging would take, if nothing is in the cache and no reply has to be repaired; nothing is asked."""
    answered = [item for item in items if item.answer and not item.error]
    calls = sum(judge.calls for judge in judges) * len(answered) * votes
    per_call = [
        sum(map(len, (item.question, item.answer, item.reference, *item.texts))) // _BYTES_PER_TOKEN
        for item in answered
    ]
    prompt = max((len(text.text) for text in bench.prompts.values()), default=0) // _BYTES_PER_TOKEN
    tokens = sum(size + prompt for size in per_call) * sum(judge.calls for judge in judges) * votes
    usage = Usage(tokens, calls * _REPLY_TOKENS)
    money = bench.asker.chat.model.price(usage) if bench.asker is not None else 0.0
    return JudgeReport(
        run=str(path),
        opinions=None,
        judge="",
        measures=[_summarise(judge, []) for judge in judges],
        spending=_write_spending(Spending(calls=calls, usage=usage, money=money)),
        dry_run=True,
    )


def _summarise(judge: Judge, opinions: Sequence[Opinion]) -> JudgedMeasure:
    own = [opinion for opinion in opinions if opinion.judge == judge.name]
    summary = summarise(own, lower_is_better=judge.lower_is_better)
    return JudgedMeasure(
        judge=judge.name,
        measure=judge.measure,
        mean=_write_number(summary.mean),
        scored=summary.scored,
        total=summary.total,
        low=_write_number(summary.low),
        high=_write_number(summary.high),
        reasons=dict(Counter(opinion.reason for opinion in own if opinion.value is None).most_common()),
    )


def _write_number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _write_spending(spending: Spending) -> JudgeSpending:
    return JudgeSpending(
        calls=spending.calls,
        cached=spending.cached,
        input_tokens=spending.usage.sent,
        output_tokens=spending.usage.received,
        money=spending.money,
    )


def _write_opinion(opinion: Opinion) -> OpinionDocument:
    optional: dict[str, Any] = {
        "reason": opinion.reason,
        "paraphrase": opinion.paraphrase,
        "repeat": opinion.repeat,
        "vote": opinion.vote,
        "findings": [
            JudgeFinding(
                subject=finding.subject,
                verdict=finding.verdict,
                **{name: value for name in ("text", "quote", "reason") if (value := getattr(finding, name))},
            )
            for finding in opinion.findings
        ],
    }
    present = {name: value for name, value in optional.items() if value}
    return OpinionDocument(query=opinion.query, judge=opinion.judge, value=opinion.value, **present)
