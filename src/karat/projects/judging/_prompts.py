"""What a judge is sent."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn

from karat.chat import make_probes
from karat.core import InputError, shorten
from karat.judges import (
    PREFERENCE,
    Bench,
    Item,
    Judge,
    Model,
    NotMeasurable,
    PlannedRequest,
    Rehearsal,
    Replies,
    Rung,
    load_prompts,
    make_item,
)
from karat.projects._project import Project
from karat.projects.judging._bench import REPLIES, load_judge_prompts
from karat.projects.judging._judge import choose_judge
from karat.runs import read_any_run
from karat.schema.judging import JudgeRequest, JudgeRequests

_EXAMPLE = Item(
    query="example",
    question="Is Wi-Fi free?",
    answer="Yes, in all rooms.",
    reference="Wi-Fi is free in all rooms.",
    texts=("Wi-Fi is free in all rooms and in the lobby.",),
)
_ANY_MODEL = Model(url="http://localhost/v1", model="the model of [judges]")


def show_requests(
    project: Project | None, name: str, *, path: Path | None = None, query: str = "", rung: Rung = "json_schema"
) -> JudgeRequests:
    """Return every request that a judge makes about the answer to a query of a run file, or about an example.

    What is sent before the first request, to find out how a server can be asked for JSON, is among them.

    Nothing is asked. What a request takes from an earlier reply is taken from the project's replies, if they have it.
    """
    judge = PREFERENCE if name == PREFERENCE.name else choose_judge(project, name)
    item = _EXAMPLE if project is None or path is None else _find_item(project, path, query)
    requests, reason = _rehearse(project, judge, item, rung)
    return JudgeRequests(
        judge=judge.name,
        query=item.query,
        describes=(getattr(judge.function, "__doc__", None) or "").partition("\n\n")[0],
        requests=[_write_request(request) for request in requests],
        reason="" if requests else reason,
        probes=list(make_probes(_choose_model(project)).values()) if requests else [],
    )


def _find_item(project: Project, path: Path, query: str) -> Item:
    run = read_any_run(path, project.golden)
    trace = next((trace for trace in run.traces if trace.query == query), None)
    if trace is None:
        hint = "'karat show RUN' lists the queries"
        raise InputError(f"the run has no query {shorten(query)}", source=str(path), hint=hint)
    return make_item(project.golden, trace, project.config.judges.texts)


def _rehearse(project: Project | None, judge: Judge, item: Item, rung: Rung) -> tuple[list[PlannedRequest], str]:
    """Return what is asked about an item, and why nothing more is."""
    if not judge.prompts:
        return [], ""
    config = None if project is None else project.config.judges
    model = _choose_model(project)
    prompts = load_prompts() if config is None else load_judge_prompts(config, [judge])
    with ExitStack() as stack:
        file = None if project is None else project.config.folder / REPLIES
        replies = stack.enter_context(Replies(file)) if file is not None and file.is_file() else None
        rehearsal = Rehearsal(model, rung, replies)
        reason = "what it is can be told without the model"
        try:
            judge.function(Bench(asker=rehearsal, prompts=prompts, embed=_embed_nothing), item)
        except NotMeasurable as error:  # an answer that cannot be judged: what was sent until then is shown
            reason = str(error)
        return rehearsal.requests, reason


def _choose_model(project: Project | None) -> Model:
    """Return the model of a project, or one that stands for any."""
    config = None if project is None else project.config.judges
    return Model.from_options(config) if config is not None and config.url and config.model else _ANY_MODEL


def _embed_nothing(_: Sequence[str]) -> NoReturn:
    raise NotMeasurable("nothing is embedded here")


def _write_request(request: PlannedRequest) -> JudgeRequest:
    prompt = request.prompt
    return JudgeRequest(
        prompt=prompt.name,
        version=prompt.version,
        digest=prompt.digest,
        body=request.body,
        reply_schema=request.schema,
        known=request.known,
    )
