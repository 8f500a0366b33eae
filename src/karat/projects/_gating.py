"""The gate of a project: its policy, its baseline, and the decision on a run."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from karat.core import GoldenSet, InputError, Measure, MeasureError, Run, list_queries, select_detailed, shorten
from karat.evaluation import Evaluation, add_measures, assume_depth, default_measures, revise_evaluation, score_run
from karat.files import read_toml, shorten_path
from karat.gate import (
    VERSION,
    Baseline,
    Decision,
    Policy,
    Uncertainty,
    correct_measures,
    count_failures,
    decide,
    describe_uncertainty,
    find_caveats,
    find_uncertainty,
    hold_at_bounds,
    read_baseline,
    read_policy,
)
from karat.golden import digest_texts, fingerprint, identify, sample
from karat.measures import JUDGED, name_judge
from karat.projects._project import Project, open_project
from karat.schema import LabelCorrection
from karat.schema.judging import UncertaintyRow

BASELINE = "baseline.json"
_Question = tuple[str, int, int]
"""A query, and the numbers of its wording and repeat."""


@dataclass(frozen=True, kw_only=True)
class GateResult:
    """The decision on a run of a project, and everything that it is based on."""

    project: Project
    decision: Decision
    baseline: Baseline | None = None
    caveats: tuple[str, ...] = ()
    """What limits the decision, such as failed queries or too few of them."""
    uncertainty: tuple[UncertaintyRow, ...] = ()
    """Where the uncertainty of tests on a judge's scores comes from."""

    @property
    def evaluation(self) -> Evaluation:
        """The scored run."""
        return self.decision.candidate

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the decision."""
        return self.decision._repr_html_()

    def __repr__(self) -> str:
        """Return the outcome in one line: everything that it is based on would fill screens."""
        return repr(self.decision).replace("<Decision:", "<GateResult:", 1)


def find_project(path: str | Path) -> Path:
    """Return the project of a run: the nearest folder above it that is one, or else the current folder.

    A project is a folder with karat.toml, with golden.toml, or with [tool.karat] in pyproject.toml.
    """
    file = Path(path)
    if not os.path.lexists(file) and str(path) != "-":
        raise InputError("no such file", source=str(path))
    if file.is_file() and not file.stat().st_size:
        raise InputError("the file is empty", source=str(path))
    folder = next(filter(is_project, file.resolve().parents), None)
    if folder is None and not is_project(Path()):
        message = "is not in a project, and the current folder is not one either"
        raise InputError(message, source=str(path), hint="name the project that it belongs to (--golden)")
    return folder or Path()


def is_project(folder: str | Path) -> bool:
    """Return whether a folder is a project: it has karat.toml, golden.toml, or [tool.karat] in pyproject.toml."""
    folder = Path(folder)
    named = any((folder / name).is_file() for name in ("karat.toml", "golden.toml"))
    return named or _configures(folder / "pyproject.toml")


def _configures(path: Path) -> bool:
    try:
        tools = read_toml(path).get("tool", {}) if path.is_file() else {}
    except (OSError, InputError):  # damaged, or its folder may not be entered; other tools report that
        return False
    return isinstance(tools, Mapping) and "karat" in tools


def project_policy(project: Project, chosen: str | None = None) -> Policy:
    """Return the chosen policy, or that of the configuration.

    It is for all measures of the project: those of ``[eval]``, and those with a floor in the golden set.
    """
    config = project.config
    floors = dict(project.golden.gate)
    _require_measures(config.eval.measures, f"{shorten_path(config.folder)}, [eval] measures")
    measures = config.eval.measures or tuple(name for name in default_measures(project.golden) if name != "Judged@10")
    source = f"{shorten_path(config.folder)}, [gate]"
    return read_policy(chosen, config.gate, measures=measures, floors=floors, source=source)


def _require_measures(names: Iterable[str], source: str) -> None:
    """Raise InputError that names the place of a measure that does not exist."""
    for name in names:
        try:
            Measure.parse(name)
        except MeasureError as error:
            raise InputError(str(error), source=source) from None


def baseline_path(project: Project, chosen: str | Path | None = None) -> Path:
    """Return the path of the baseline: the chosen one, the one that ``[gate]`` names, or baseline.json."""
    if chosen is not None:
        return Path(chosen)
    name = project.config.gate.get("baseline", BASELINE)
    if not isinstance(name, str) or not name:
        folder = shorten_path(project.config.folder)
        raise InputError(f"[gate] baseline = {shorten(name)}; name a file", source=str(folder))
    return shorten_path(project.config.folder / name)


def find_baseline(project: Project, chosen: str | Path | None = None) -> Baseline | None:
    """Return the baseline, or None if there is none yet. A baseline that is named and does not exist is an error."""
    path = baseline_path(project, chosen)
    if os.path.lexists(path):  # a broken link exists, and is an error
        return read_baseline(path)
    if chosen is None and "baseline" not in project.config.gate:
        return None
    raise InputError("no such file", source=str(path), hint="'karat baseline update RUN' records a baseline")


def gate_run(
    project: Project | str | Path,
    run: Run,
    *,
    policy: Policy | str | None = None,
    baseline: Baseline | str | Path | None = None,
    alone: bool = False,
    measures: Iterable[str] = (),
    elsewhere: Mapping[str, float] | None = None,
    seed: int = 0,
    cache: bool = True,
) -> GateResult:
    """Return the decision on a run, scored with the measures of the policy, against the baseline.

    Both are looked up in the project unless they are given, or named as for :func:`project_policy` and
    :func:`find_baseline`. With ``alone`` no baseline is used, as when the first one is recorded. ``measures`` are
    scored in addition; ``elsewhere`` has numbers for rules that no run has, such as ``sequential_test``. A run that
    lacks answers to some questions is an error, because it might have failed by them. Without ``cache`` no vectors of
    distances (``DeltaS``) are kept on disk.
    """
    if not isinstance(project, Project):
        project = open_project(project)
    chosen = policy if isinstance(policy, Policy) else project_policy(project, policy)
    recorded = None if alone else baseline if isinstance(baseline, Baseline) else find_baseline(project, baseline)
    named = (*chosen.measures, *project.config.eval.measures, *measures)
    evaluation = replace(evaluate_run(project, run, named, cache=cache), elsewhere=elsewhere or {})
    return gate_evaluation(project, evaluation, chosen, recorded, seed=seed)


def evaluate_run(project: Project, run: Run, measures: Iterable[str] = (), *, cache: bool = True) -> Evaluation:
    """Return the evaluation of a run on the golden set of a project as it is now; a run that lacks answers is an error.

    A run on an earlier version of the set is scored on the questions that both have.
    """
    require_complete(project.golden, run)
    run, trusted = _add_trust(project, run, measures := tuple(dict.fromkeys(measures)))
    return score_run(project.golden, run, (*measures, *trusted) or None, cache=cache, **project.scoring)


def correct_by_labels(project: Project, run: Run, measures: Iterable[str] = ()) -> dict[str, LabelCorrection]:
    """Return what people's labels make of the judged measures of a run, as a gate would see them; {} without labels."""
    judged = [name for name in dict.fromkeys(measures) if name_judge(name) in project.config.judges.labels]
    if not judged:
        return {}
    run, trusted = _add_trust(project, run, judged)
    evaluation = score_run(project.golden, run, (*judged, *trusted), **project.scoring)
    return correct_measures(count_failures(evaluation), None)


def _add_trust(project: Project, run: Run, measures: Iterable[str]) -> tuple[Run, list[str]]:
    """Return a run with people's labels, and the measures that say how far its judges can be trusted."""
    judges = dict.fromkeys(filter(None, map(name_judge, measures)))
    _require_judges(project.config.judges.labels, (*project.config.judges.rubrics, *judges))
    labels = {judge: path for judge, path in project.config.judges.labels.items() if judge in judges}
    if labels:
        from karat.projects.judging import attach_labels  # judges take longer to import than a gate to decide

        run = attach_labels(run, labels)
    noisy = [
        judge for judge in judges if any(f"noise:{judge}" in trace.opinions for trace in select_detailed(run.traces))
    ]
    return run, [f"PeopleLabel(name={judge!r})" for judge in labels] + [f"JudgeNoise(name={name!r})" for name in noisy]


def _require_judges(labels: Iterable[str], others: Iterable[str]) -> None:
    """Raise InputError for labels of a judge that does not exist; ``others`` are judges beside karat's own."""
    known = sorted({*map(name_judge, JUDGED - {"Rubric"}), *others})  # a rubric has a name of its own
    for name in labels:
        if name not in known:
            raise InputError(
                f"there is no judge {shorten(name)}", source="[judges.labels]", hint=f"known: {', '.join(known)}"
            )


def gate_evaluation(
    project: Project, evaluation: Evaluation, policy: Policy, baseline: Baseline | None, *, seed: int = 0
) -> GateResult:
    """Return the decision on a scored run against a baseline, or without one."""
    assumed = ""
    if baseline is not None:
        baseline = revise_baseline(project, baseline, policy.measures)
        evaluation, assumed = assume_depth(evaluation, baseline.evaluation)
    decision = apply_policy(project, evaluation, baseline.evaluation if baseline else None, policy, seed=seed)
    if baseline is not None and decision.baseline is not None:
        baseline = replace(baseline, evaluation=decision.baseline)  # without what another judge scored
    caveats = find_caveats(decision, project.golden, unit=project.scoring["unit"])
    caveats += [assumed] if assumed else []
    rows = []
    for uncertainty in find_uncertainty(decision):
        from karat.projects.judging import estimate_costs  # judges take longer to import than a gate to decide

        costs = estimate_costs(project, uncertainty, decision.candidate.traces)
        caveats.append(describe_uncertainty(uncertainty, costs))
        rows.append(_write_uncertainty(uncertainty, costs))
    return GateResult(
        project=project, decision=decision, baseline=baseline, caveats=tuple(caveats), uncertainty=tuple(rows)
    )


def _write_uncertainty(uncertainty: Uncertainty, costs: Mapping[str, str]) -> UncertaintyRow:
    fields = asdict(uncertainty)
    where = None if uncertainty.where is None else dict([uncertainty.where])
    return UncertaintyRow(**{**fields, "where": where}, costs=dict(costs))


def apply_policy(
    project: Project, candidate: Evaluation, baseline: Evaluation | None, policy: Policy, *, seed: int = 0
) -> Decision:
    """Return the decision on a scored run, which holds whatever unjudged documents are worth if the policy says so."""
    decision = decide(candidate, baseline, policy, seed=seed)
    return hold_at_bounds(decision, project.golden, seed=seed) if policy.on_unjudged == "bounds" else decision


def revise_baseline(project: Project, baseline: Baseline, measures: Iterable[str] = ()) -> Baseline:
    """Return a baseline as it would be on the current golden set of a project.

    ``measures`` that it lacks are computed from its stored lists, where these are long enough.

    A baseline without a digest that names this very set has to have all of its queries: without rows that were cut,
    it would be easier to reach.
    """
    evaluation = baseline.evaluation
    if baseline.format < VERSION and evaluation.has_queries:
        _require_all(project.golden, evaluation)
    revised = revise_evaluation(evaluation, project.golden)
    return replace(baseline, evaluation=add_measures(revised, project.golden, measures))


def _require_all(golden: GoldenSet, evaluation: Evaluation) -> None:
    provenance = evaluation.provenance
    size = provenance.settings.get("sample")
    then, now = provenance.golden, identify(golden)
    if not any(then.get(part) == now[part] for part in ("fingerprint", "questions")):
        return
    total = size if isinstance(size, int) else len(golden.query_by_id)
    if len(evaluation.queries) < total:
        raise InputError(
            f"is a damaged baseline: it holds {len(evaluation.queries):,} of the {total:,} queries of its golden set",
            source=evaluation.name,
            hint="take it from git, or move it away and record it again",
        )


def require_complete(golden: GoldenSet, run: Run) -> None:
    """Refuse a run unless it has exactly one answer to each question that its settings say were asked.

    A run on an earlier version of the golden set is held to what it says itself: the digest of its questions, and the
    number of repeats.
    """
    if _asks_all_once(golden, run):
        return
    counts = Counter((trace.query, trace.paraphrase, trace.repeat) for trace in run.traces)
    questions = dict.fromkeys(_list_questions(golden, run))
    made_on = run.provenance.golden
    if made_on.get("fingerprint") not in (None, fingerprint(golden)):
        texts = ((trace.query, trace.text) for trace in run.traces if not trace.paraphrase)
        whole = run.provenance.settings.get("sample") is not None or "asked" not in made_on
        if not whole and made_on["asked"] != digest_texts(texts):
            raise InputError(
                f"run {shorten(run.provenance.name)} does not have the questions that it was asked",
                hint="the file was changed; take it from where it was made, or run 'karat eval' again",
            )
    if missing := list(dict.fromkeys(question[0] for question in questions if question not in counts)):
        examples = ", ".join(map(shorten, missing[:3])) + (" ..." if len(missing) > 3 else "")
        problem = f"lacks answers to {len(missing):,} of the queries that it should have asked: {examples}"
    elif extra := [question[0] for question in counts.elements() if question not in questions]:
        problem = f"has answers to questions that it should not have asked, on query {shorten(extra[0])}"
    elif repeated := [question[0] for question, times in counts.items() if times > 1]:
        problem = f"has two answers to the same question of query {shorten(repeated[0])}"
    else:
        return
    hint = "the file was changed; run 'karat eval' again"
    raise InputError(f"run {shorten(run.provenance.name)} {problem}", hint=hint)


def _asks_all_once(golden: GoldenSet, run: Run) -> bool:
    """Return whether a run asks each query of this very set once, as its settings say and most runs do."""
    settings, traces = run.provenance.settings, run.traces
    if settings.get("sample", 0) is not None or settings.get("paraphrases") is not False or settings.get("repeat") != 1:
        return False
    if len(traces) != len(golden.query_by_id) or run.provenance.golden.get("fingerprint") != fingerprint(golden):
        return False
    names = set(list_queries(traces))
    if any(trace.paraphrase or trace.repeat for trace in select_detailed(traces)):
        return False
    numbers = all(type(settings.get(name)) is int for name in ("k", "seed"))
    return numbers and len(names) == len(traces) and names == golden.query_by_id.keys()


def _list_questions(golden: GoldenSet, run: Run) -> Iterator[_Question]:
    """Yield the questions that a run should have asked; for a foreign run, those it asked and all other queries."""
    settings = {"k": 0, "seed": 0, "repeat": 1, "paraphrases": False, **run.provenance.settings}
    size, repeats = settings.get("sample"), settings["repeat"]
    earlier = run.provenance.golden.get("fingerprint") not in (None, fingerprint(golden))
    numbers = (settings["k"], settings["seed"], repeats, 0 if size is None else size)
    if not all(isinstance(value, int) for value in numbers) or repeats < 1:
        raise InputError(
            f"run {shorten(run.provenance.name)} has wrong settings: {shorten(dict(run.provenance.settings))}"
        )
    if earlier:
        wordings = dict.fromkeys((trace.query, trace.paraphrase) for trace in run.traces)
        yield from ((*wording, repeat) for wording in wordings for repeat in range(min(repeats, len(run.traces) + 1)))
        return
    if "sample" not in settings:
        queries = dict.fromkeys(trace.query for trace in run.traces)
        yield from ((trace.query, trace.paraphrase, trace.repeat) for trace in run.traces)
        yield from ((query.id, 0, 0) for query in golden.queries if query.id not in queries)
        return
    for query in (golden if size is None else sample(golden, size, seed=settings["seed"])).queries:
        texts = 1 + len(query.paraphrases) if settings["paraphrases"] else 1
        for repeat in range(min(repeats, len(run.traces) + 1)):  # one more than the run can have is enough
            yield from ((query.id, text, repeat) for text in range(texts))
