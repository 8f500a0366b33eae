"""Checking a project: lint the golden set, ask the system, score its answers, and apply the gate."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from karat.config import Settings, setting_types
from karat.core import GateFailed, Run, UsageError, count_things, did_you_mean, shorten
from karat.files import refuse_input
from karat.gate import Baseline, Policy, require_named
from karat.golden.lint import check_configured
from karat.projects._attempts import record_attempt
from karat.projects._failure import describe_failure
from karat.projects._gating import GateResult, find_baseline, gate_run, project_policy
from karat.projects._project import Project, open_project, run_path
from karat.projects._soundness import refuse_golden
from karat.projects._telemetry import collect_calls, send_telemetry
from karat.runs import find_origin, make_run
from karat.systems import System

if TYPE_CHECKING:
    from karat.chat import Call, Listener
    from karat.telemetry import Sending

CHOICES = tuple(name for name in setting_types() if name != "seed")
"""The settings of a call, without the seed, which the gate uses as well."""
_KINDS = {int: "a whole number", float: "a number of seconds", bool: "True or False"}


def check(
    golden: str | Path = ".",
    system: object = None,
    *,
    baseline: str | Path | None = None,
    policy: str | Path | None = None,
    output: str | Path | None = None,
    seed: int = 0,
    scoring: Mapping[str, Any] | None = None,
    **settings: Any,
) -> GateResult:
    """Ask a system every question of a project, and return the decision; raise GateFailed if it may not ship.

    The ``result`` of the error is what would have been returned.

    ``golden`` is a folder with karat.toml, or a golden set. ``system`` is an object with ``retrieve(query, k)`` or such
    a function; by default it is the project's own. ``baseline`` and ``policy`` override those of the project. With
    ``output`` the run is saved as that file. ``seed`` is used for the sample, if there is one, and for the tests.
    ``scoring`` overrides how the project scores: ``unit``, ``undefined``, ``ids`` and ``min_score``, as for
    :func:`karat.evaluate`. The other ``settings`` are those of :class:`karat.config.Settings`.

    >>> import tempfile
    >>> from karat.core import Document, GoldenSet, Judgment, Query, Target
    >>> from karat.golden import write
    >>> golden = GoldenSet(documents=(Document(id="pool", text="The pool opens at six."),),
    ...                    queries=(Query(id="q", text="When does the pool open?"),),
    ...                    judgments=(Judgment(query="q", target=Target(document="pool"), grade=3),),
    ...                    gate={"RR@10": 0.5})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write(golden, folder)
    ...     check(folder, lambda query, k: ["pool"]).evaluation.means["RR@10"]
    1.0
    """
    __tracebackhide__ = True  # pytest shows the line of the test, not ours
    project = open_sound_project(parse_path("golden", golden), **(scoring or {}))
    policy = parse_policy(Path(), policy)
    result = check_project(project, system, baseline=baseline, policy=policy, output=output, seed=seed, **settings)
    if result.decision.exit_code:
        refusal = GateFailed(describe_failure(result))
        refusal.exit_code, refusal.result = result.decision.exit_code, result
        raise refusal
    return result


def open_sound_project(folder: str | Path, **scoring: Any) -> Project:
    """Return a project whose golden set has no errors; raise an error that lists them otherwise."""
    project = open_project(folder, **scoring)
    if errors := check_configured(project.golden, project.config).errors:
        raise refuse_golden(errors, str(folder))
    return project


def check_project(
    project: Project,
    system: object = None,
    *,
    baseline: str | Path | None = None,
    policy: str | None = None,
    output: str | Path | None = None,
    label: str = "",
    seed: int = 0,
    resume: bool = False,
    listener: Listener | None = None,
    **settings: Any,
) -> GateResult:
    """Ask a system every question of a project, and return the decision, whether it passes or not.

    It begins anew unless it is told to ``resume``: answers of an interrupted run may be those of other code.
    ``listener`` is called with each call of a model by which the built-in pipeline answers.
    """
    chosen = _choose_settings(project, seed, settings)
    rules, recorded = read_gate(project, policy=policy, baseline=baseline)
    path = None if output is None else parse_path("output", output).absolute()
    subject = project.system() if system is None else system
    run = make_run(
        project.golden,
        subject,
        chosen,
        output=path,
        origin=find_origin(project.config.folder, label=label),
        resume=resume,
        listener=listener,
    )
    # What the system did to files and to the current folder does not change what it is compared with.
    return gate_run(project, run, policy=rules, baseline=recorded, alone=recorded is None, seed=seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRun:
    """A run, and the file that it was saved as."""

    run: Run
    path: Path
    calls: Sequence[Call] | None = None
    """Calls of a model by which it was answered, if they are sent to a collector."""


def ask_project(
    project: Project,
    settings: Settings,
    *,
    make_system: Callable[[], System] | None = None,
    folder: str | Path | None = None,
    label: str = "",
    resume: bool = True,
    say: Callable[[str], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> AskedRun:
    """Ask a project's system every question, and return the run and its file.

    The file is in ``folder``, or in the folder ``runs`` of the project. An interrupted run of the same code is
    continued, and ``say`` called with a note on that; without ``resume`` it begins anew. ``label`` names the run.
    ``make_system`` returns another system than the project's. If it or a question fails, the folder records that: the
    newest run is older, then, and decides nothing.
    """
    calls = collect_calls(project)
    origin = find_origin(project.config.folder, label=label)
    runs = Path(folder or project.config.folder / "runs").absolute()  # the system may change the current folder
    refuse_input(runs, folder=True)
    with record_attempt(runs):
        subject = (make_system or project.system)()
        path = run_path(runs, project.golden, subject, settings)
        run = make_run(
            project.golden,
            subject,
            settings,
            output=path,
            origin=origin,
            resume=resume,
            say=say,
            progress=progress,
            listener=None if calls is None else calls.append,
        )
    return AskedRun(run=run, path=path, calls=calls)


def decide_asked(
    project: Project, asked: AskedRun, *, policy: Policy, baseline: Baseline | None, seed: int = 0
) -> tuple[GateResult, Sending | None]:
    """Return the decision on a run that was just asked, and begin to send it to a collector, if one is configured.

    ``policy`` and ``baseline`` were read before anything was asked: a mistake in them costs no question, and what the
    system did to files does not change the decision. Without a baseline the rules that need one are passed over.
    """
    result = gate_run(project, asked.run, policy=policy, baseline=baseline, alone=baseline is None, seed=seed)
    return result, send_telemetry(project, result, asked.path.stem, asked.calls)


def parse_path(name: str, value: object) -> Path:
    """Return a value as a path. A value of another type is an error that names the argument."""
    if not isinstance(value, str | os.PathLike):
        raise UsageError(f"{name}={shorten(value)}; name a file or folder")
    return Path(value)


def parse_policy(root: Path, value: object) -> str | None:
    """Return the name of a policy unchanged, and the path of a policy file with ``root`` as its base."""
    if value is None or (isinstance(value, str) and not value.endswith(".toml") and "/" not in value):
        return value
    if not isinstance(value, str | os.PathLike):
        raise UsageError(f"policy={shorten(value)}; name a policy, or a file")
    return os.path.join(root, value)  # noqa: PTH118 (pathlib would turn the file ./strict into the name strict)


def choose_settings(
    project: Project,
    *,
    baseline: str | Path | None = None,
    policy: str | None = None,
    seed: int = 0,
    **settings: Any,
) -> Settings:
    """Return the settings of a call, after checking all of its arguments, before anything is asked."""
    chosen = _choose_settings(project, seed, settings)
    read_gate(project, policy=policy, baseline=baseline)
    return chosen


def read_gate(
    project: Project, *, policy: str | None = None, baseline: str | Path | None = None
) -> tuple[Policy, Baseline | None]:
    """Return the policy and the baseline for a run that is not asked yet: a mistake in them costs no question."""
    rules = project_policy(project, policy)
    require_named(rules, project.golden)
    return rules, find_baseline(project, None if baseline is None else parse_path("baseline", baseline))


def _choose_settings(project: Project, seed: int, settings: Mapping[str, Any]) -> Settings:
    kinds = setting_types()
    _require_kind("seed", seed, int)
    for name, value in settings.items():
        if name not in kinds:
            raise UsageError(
                f"there is no setting {name!r}{did_you_mean(name, CHOICES) or '; known: ' + ', '.join(CHOICES)}"
            )
        if value is not None:  # None means the setting of the project
            _require_kind(name, value, kinds[name])
    size = settings.get("sample")
    if size is not None and not 1 <= size <= len(project.golden.queries):
        raise UsageError(
            f"sample={size}; the golden set has {count_things(len(project.golden.queries), 'query', 'queries')}"
        )
    return project.settings(**settings, seed=None if size is None else seed)


def _require_kind(name: str, value: object, kind: type) -> None:
    if not isinstance(value, (int, float) if kind is float else kind) or isinstance(value, bool) != (kind is bool):
        raise UsageError(f"{name}={shorten(value)}; choose {_KINDS[kind]}")
