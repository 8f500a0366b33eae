"""Judging a run: who judges, what that may cost, and what is written and reported."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import stdev
from typing import Any

from karat.chat import make_probes
from karat.core import InputError, Measure, Run, Trace, is_blank, shorten
from karat.evaluation import describe_altered, score_run
from karat.files import read_bytes, refuse_input
from karat.judges import (
    MISQUOTED,
    Item,
    Judge,
    Opinion,
    Spending,
    Usage,
    bound_mean,
    find_judge,
    judge_items,
    load_prompt,
    make_item,
    make_rubric_judge,
)
from karat.measures import ANSWERABLE, NO_OPINION, UNANSWERABLE, run_scores
from karat.net import encode_json
from karat.projects._project import Project
from karat.projects.judging._bench import Setup, fingerprint_judges, open_bench, write_spending
from karat.projects.judging._population import select_counted
from karat.projects.judging._recording import Recording, list_judged
from karat.runs import digest_run, merge_opinions, opinions_path, read_any_run
from karat.schema import JudgedMeasure, JudgeFinding, JudgeReport, OpinionDocument

OFFLINE = ("lexical_support",)
"""The judges of a project that names none: those that need no model."""
_REPLY_TOKENS = 200  # of a reply, for an estimate
_BYTES_PER_TOKEN = 4
_TIE = 1e-9
_NAMED = 5


def choose_judges(project: Project, names: Sequence[str] = ()) -> list[Judge]:
    """Return the judges with these names, or else those of the project, or else those that need no model."""
    chosen = dict.fromkeys(names or project.config.judges.names or OFFLINE)
    return [choose_judge(project, name) for name in chosen]


def choose_judge(project: Project | None, name: str) -> Judge:
    """Return a judge by its name: one of karat, or a rubric of the project."""
    rubrics = {} if project is None else project.config.judges.rubrics
    if project is not None and name in rubrics:
        frame = load_prompt("rubric", project.config.judges.prompts)
        return make_rubric_judge(name, rubrics[name], frame)
    return find_judge(name, rubrics)


def judge_run(
    project: Project,
    path: Path,
    judges: Sequence[Judge],
    *,
    votes: int | None = None,
    dry_run: bool = False,
    cache: bool = True,
    say: Callable[[str], None] | None = None,
    progress: Callable[..., None] | None = None,
    recording: Recording | None = None,
) -> JudgeReport:
    """Let judges judge every answer of a run file, write what they say beside it, and return the report.

    What other judges have said of the same run stays, and the report names them.

    Replies are kept in the project's folder ``.karat``: a run that was killed goes on where it was, and the second one
    makes no call. Without ``cache`` everything is asked anew. ``progress`` is called with a stage, how much is
    done, how much there is, and as ``note`` what it has cost so far. ``recording`` collects what is sent to a
    collector.
    """
    target = opinions_path(path)
    refuse_input(target)
    data = read_bytes(path)
    run = read_any_run(path, project.golden, say=say, data=data, opinions=False)
    items = _list_items(project, run, path, judges)
    # What cannot be scored is refused before anything is paid for.
    evaluation = score_run(project.golden, run, ["RR"], **project.scoring)
    votes = project.config.judges.votes if votes is None else votes
    if recording is not None:
        recording.begin(path, run)
    with ExitStack() as stack:
        setup = open_bench(project, judges, stack, cache=cache, recording=recording)
        if dry_run:
            return _estimate(setup, path, items, judges, votes)
        fingerprints = fingerprint_judges(project, setup, judges, votes)
        opinions = _judge(project, setup, items, judges, votes, progress)
        documents = list(map(_write_opinion, opinions))
        kept, changed, replaced = merge_opinions(target, digest_run(data), fingerprints, documents)
        judged = read_any_run(path, project.golden, data=data)
        report = JudgeReport(
            run=str(path),
            run_id=path.stem,
            opinions=str(target),
            judge=", ".join(fingerprints.values()),
            measures=_summarise(project, judged, judges, fingerprints, opinions, items),
            spending=write_spending(setup.spending),
            dry_run=False,
            kept=kept,
            changed=changed,
            replaced=replaced,
            caveats=[*describe_altered(project.golden, evaluation.traces), *_describe_textless(items)],
        )
        if recording is not None:
            recording.add(list_judged(opinions, judges, fingerprints))
            recording.finish([report.spending], {row.measure: row.mean for row in report.measures})
        return report


def _describe_textless(items: Sequence[Item]) -> list[str]:
    """Return a caveat if judges saw nothing of some hits: neither the system nor the golden set has their text."""
    lacking = {item.query: count for item in items if (count := sum(is_blank(text) for text in item.texts))}
    if not lacking:
        return []
    hits = sum(lacking.values())
    names = ", ".join(map(shorten, list(lacking)[:_NAMED])) + (", ..." if len(lacking) > _NAMED else "")
    has, them = ("1 hit has", "it") if hits == 1 else (f"{hits:,} hits have", "them")
    return [
        f"{has} no text that is known, so that judges see nothing of {them} ({names}): let the system return hits with "
        "their content, or add the documents to the golden set"
    ]


def list_mute(report: JudgeReport) -> list[str]:
    """Return the judges that gave no value at all, although there was something to judge."""
    return [
        row.judge
        for row in report.measures
        if not row.scored and any(reason.startswith(NO_OPINION) for reason in row.reasons)
    ]


def _list_items(project: Project, run: Run, path: Path, judges: Sequence[Judge]) -> list[Item]:
    if not all(judge.passages for judge in judges) and not any(_is_answer(trace) for trace in run.traces):
        hint = "judges need a system with answer(query, k), or a log with answers"
        raise InputError("no question of the run has an answer", source=str(path), hint=hint)
    return [make_item(project.golden, trace, project.config.judges.texts) for trace in run.traces]


def _is_answer(trace: Trace) -> bool:
    return bool(trace.answer or trace.refused)


def _judge(
    project: Project,
    setup: Setup,
    items: Sequence[Item],
    judges: Sequence[Judge],
    votes: int,
    progress: Callable[..., None] | None,
) -> list[Opinion]:
    done, total = 0, sum(judge.counts(item) for item in items for judge in judges) * votes

    def count(_: Opinion) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            money = setup.spending.money
            progress("judging", done, total, note=f"{money:.2f} in money" if money else "")

    return judge_items(
        setup.bench, items, judges, votes=votes, concurrency=project.config.judges.concurrency, progress=count
    )  # fmt: skip


def _estimate(setup: Setup, path: Path, items: Sequence[Item], judges: Sequence[Judge], votes: int) -> JudgeReport:
    """Return what judging would take, if nothing is in the cache and no reply has to be repaired; nothing is asked."""
    prompt = max((len(text.text) for text in setup.bench.prompts.values()), default=0) // _BYTES_PER_TOKEN
    calls, tokens = _estimate_probe(setup)
    for item in items:
        own = sum(_count_calls(judge, item) for judge in judges if _is_judged(judge, item)) * votes
        size = sum(map(len, (item.question, item.answer, item.reference, *item.texts))) // _BYTES_PER_TOKEN
        calls, tokens = calls + own, tokens + own * (size + prompt)
    usage = Usage(tokens, calls * _REPLY_TOKENS)
    money = setup.model.price(usage) if setup.model is not None else 0.0
    return JudgeReport(
        run=str(path),
        run_id=path.stem,
        opinions=None,
        judge="",
        measures=[_write_unasked(judge, items) for judge in judges],
        spending=write_spending(Spending(calls=calls, usage=usage, money=money)),
        dry_run=True,
    )


def _estimate_probe(setup: Setup) -> tuple[int, int]:
    """Return the calls and tokens that it takes to find out how the server gives JSON, if that is not known."""
    if setup.asker is None or setup.asker.chat.is_probed:
        return 0, 0
    body = next(iter(make_probes(setup.asker.chat.model).values()))
    return 1, len(encode_json(body)) // _BYTES_PER_TOKEN


def _is_judged(judge: Judge, item: Item) -> bool:
    return judge.counts(item) and not item.error and (judge.passages or _has_words(item))


def _has_words(item: Item) -> bool:
    return not (is_blank(item.answer) or item.refused)


def _count_spared(judge: Judge, items: Sequence[Item]) -> int:
    """Return how many answers a judge is not asked about because the question has none."""
    return sum(_has_words(item) and not item.error and not judge.counts(item) for item in items)


def _write_unasked(judge: Judge, items: Sequence[Item]) -> JudgedMeasure:
    return JudgedMeasure(
        judge=judge.name, measure=judge.measure, mean=None, scored=0, total=0, low=None, high=None, reasons={},
        spared=_count_spared(judge, items),
    )  # fmt: skip


def _count_calls(judge: Judge, item: Item) -> int:
    """Return how many calls an answer takes: one for each text, if texts are judged."""
    return len(item.texts) if judge.passages and judge.prompts else judge.calls


def _summarise(
    project: Project, run: Run, judges: Sequence[Judge], fingerprints: Mapping[str, str],
    opinions: Sequence[Opinion], items: Sequence[Item],
) -> list[JudgedMeasure]:  # fmt: skip
    """Return what each judge says of a run as eval and gate score it: by query, each of which counts once."""
    evaluation = score_run(project.golden, run, [judge.measure for judge in judges], **project.scoring)
    cells = run_scores(evaluation.scores).measures
    rows = []
    for judge in judges:
        cell = cells[str(Measure.parse(judge.measure))]
        lost = sum(count for reason, count in cell.missing.items() if reason not in (ANSWERABLE, UNANSWERABLE))
        ends = bound_mean(cell.mean, cell.n, lost, lower_is_better=judge.lower_is_better)
        counted = select_counted(project, judge.name, evaluation.queries)
        own = [opinion for opinion in opinions if opinion.judge == judge.name and opinion.query in counted]
        spreads = _list_spreads(own)
        rows.append(
            JudgedMeasure(
                judge=judge.name,
                measure=judge.measure,
                fingerprint=fingerprints[judge.name],
                mean=cell.mean,
                scored=cell.n,
                total=cell.total,
                low=ends[0],
                high=ends[1],
                reasons=dict(cell.missing),
                voted=len(spreads),
                disputed=sum(spread > _TIE for spread in spreads),
                spread=math.fsum(spreads) / len(spreads) if spreads else None,
                misquoted=sum(f.reason.startswith(MISQUOTED) for opinion in own for f in opinion.findings),
                spared=_count_spared(judge, items),
            )
        )
    return rows


def _list_spreads(opinions: Sequence[Opinion]) -> list[float]:
    """Return the standard deviation of the votes on each answer that has several."""
    votes: dict[tuple[str, int, int], list[float]] = {}
    for opinion in opinions:
        if opinion.value is not None:
            votes.setdefault((opinion.query, opinion.paraphrase, opinion.repeat), []).append(opinion.value)
    return [stdev(own) for own in votes.values() if len(own) > 1]


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
