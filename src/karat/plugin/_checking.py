"""From a marked test to the verdict on one rule; the system is asked once, however many rules there are."""

from __future__ import annotations

import functools
import hashlib
import inspect
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from karat.core import KaratError, UsageError
from karat.experiments import (
    SETTINGS,
    Gated,
    Project,
    check_project,
    checked_project,
    explain,
    folder_lock,
    gate_run,
    policy_of,
    read_answers,
    run_path,
    verdict,
)
from karat.gate import Check, Must, Policy
from karat.plugin._names import PARAMETER, PROPERTY
from karat.stats import Outcome
from karat.systems import adapt

_NAMES = ("golden", "baseline", "policy", "seed")
_RANK = (Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.PASS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a mark says; paths are relative to the root of the test suite, wherever pytest was started."""

    root: Path
    golden: str = "."
    baseline: str | None = None
    policy: str | None = None
    seed: int = 0
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def gate(self) -> dict[str, Any]:
        """The arguments of the gate."""
        policy = self.policy
        if policy is not None and (policy.endswith(".toml") or "/" in policy):
            policy = str(self.root / policy)
        baseline = None if self.baseline is None else self.root / self.baseline
        return {"baseline": baseline, "policy": policy, "seed": self.seed}


@dataclass(slots=True)
class _Session:
    """What this process has read and asked."""

    projects: dict[Path, Project] = field(default_factory=dict)
    gated: dict[str, Gated | str] = field(default_factory=dict)
    """By test: the answers and what the gate says of them, or why there are none."""

    def project(self, asked: Asked) -> Project:
        path = asked.root / asked.golden
        if path not in self.projects:
            self.projects[path] = checked_project(path)
        return self.projects[path]


_SESSION: pytest.StashKey[_Session] = pytest.StashKey()


def _session(config: pytest.Config) -> _Session:
    return config.stash.setdefault(_SESSION, _Session())


def read_mark(config: pytest.Config, mark: pytest.Mark) -> Asked:
    """Read the arguments of a mark; one that is unknown is a mistake."""
    said: dict[str, Any] = {**dict(zip(("golden",), mark.args, strict=False)), **mark.kwargs}
    unknown = [name for name in said if name not in (*_NAMES, *SETTINGS)]
    if unknown or len(mark.args) > 1:
        what = f"has no {unknown[0]!r}" if unknown else f"takes one folder, not {len(mark.args)}"
        raise UsageError(f"pytest.mark.karat {what}; it has {', '.join((*_NAMES, *SETTINGS))}")
    known: dict[str, Any] = {name: said.pop(name) for name in _NAMES if name in said}
    for name in ("golden", "baseline"):
        if known.get(name) is not None:
            known[name] = str(known[name])
    return Asked(root=config.rootpath, settings=said, **known)


def rules(config: pytest.Config, mark: pytest.Mark) -> list[str]:
    """Name what a marked test is made into; what is wrong with the mark or the project is an error of collection."""
    try:
        asked = read_mark(config, mark)
        policy = policy_of(_session(config).project(asked), asked.gate["policy"])
    except KaratError as error:
        raise pytest.Collector.CollectError(f"karat: {error}") from None
    return _names(policy)


def _names(policy: Policy) -> list[str]:
    return list(dict.fromkeys([*(rule.name for rule in policy.rules), *map(_must_name, policy.must_pass)]))


def _must_name(must: Must | Check) -> str:
    return f"must pass: {must.query} {must.metric}".rstrip()


def _name(check: Check) -> str:
    return _must_name(check) if check.query else check.name


def checking(item: pytest.Function, mark: pytest.Mark) -> Callable[..., None]:
    """Give what is called in place of a marked test: it asks the system that the test returns, once, and judges."""
    given = item.obj

    @functools.wraps(given)
    def judge(*arguments: Any, **fixtures: Any) -> None:
        __tracebackhide__ = True
        session, key = _session(item.config), _key(item)
        if key not in session.gated:
            asked = read_mark(item.config, mark)
            session.gated[key] = _evaluated(item.config, key, asked, lambda: given(*arguments, **fixtures))
        found = session.gated[key]
        if isinstance(found, str):
            pytest.fail(found, pytrace=False)
        _judge(item, found)

    return judge


def item_id(name: str) -> str:
    """Give the part of an item's name that stands for a rule, in characters that pytest leaves as they are."""
    return "".join(c if c.isascii() and c.isprintable() and c != "\\" else f"%{ord(c):X}" for c in name)


def _key(item: pytest.Function) -> str:
    """Name a test and its other parameters, which make other systems, but not its rule; all workers name it alike."""
    others = item.callspec.id.removesuffix(item_id(str(item.callspec.params[PARAMETER])))
    return f"{item.nodeid.partition('[')[0]}[{others}"


def _evaluated(config: pytest.Config, key: str, asked: Asked, system: Callable[[], object]) -> Gated | str:
    """Ask the system, or take what another worker has asked; give the reason where it cannot be asked.

    What a test itself raises is its own, with its traceback.
    """
    shared = getattr(config, "workerinput", {}).get("karat_shared")
    try:
        if shared is None:
            return _ask(config, asked, system(), None)
        folder = Path(shared) / hashlib.sha256(key.encode()).hexdigest()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with folder_lock(folder):
            return _shared(config, asked, system, folder)
    except KaratError as error:
        return f"karat: {error}"


def _shared(config: pytest.Config, asked: Asked, system: Callable[[], object], folder: Path) -> Gated | str:
    run, failed = folder / "run.jsonl", folder / "failed.txt"
    if failed.exists():
        return failed.read_text("utf-8")
    if not run.exists():
        try:
            _ask(config, asked, system(), run)
        except KaratError as error:
            failed.write_text(f"karat: {error}", "utf-8")
            raise
    project = _session(config).project(asked)
    return gate_run(project, read_answers(run, project.golden), **asked.gate)


def _ask(config: pytest.Config, asked: Asked, system: object, run: Path | None) -> Gated:
    if inspect.iscoroutine(system):
        system.close()
        raise UsageError("a test marked with karat cannot be async; its retriever can")
    if system is None:
        raise UsageError("the test returned nothing; a test marked with karat returns the retriever that is asked")
    project = _session(config).project(asked)
    kept = config.getoption("--karat-runs")
    if kept is not None:
        path = run_path(config.rootpath / kept, project.golden, adapt(system), project.settings(**asked.settings))
        gated = check_project(project, system, output=path, **asked.gate, **asked.settings)
        if run is not None:
            shutil.copy(path, run)
        return gated
    return check_project(project, system, output=run, **asked.gate, **asked.settings)


def _judge(item: pytest.Function, gated: Gated) -> None:
    """Pass or fail by the checks of the item's rule; those that belong to no rule are the first item's."""
    __tracebackhide__ = True
    wanted = item.callspec.params[PARAMETER]
    names = _names(gated.decision.policy)
    checks = [one for one in gated.decision.checks if (_name(one) if _name(one) in names else names[0]) == wanted]
    worst = next(one for one in _RANK if one is Outcome.PASS or any(check.outcome is one for check in checks))
    told = [check for check in checks if check.outcome is worst]
    reasons = "; ".join(explain(gated, [check]).splitlines()[0] for check in told)
    item.user_properties.append((PROPERTY, f"{worst.value}: {reasons}"))
    if worst is Outcome.FAIL:
        pytest.fail(explain(gated, told), pytrace=False)
    if worst is Outcome.INCONCLUSIVE and gated.decision.policy.on_inconclusive == "fail":
        pytest.fail(f"inconclusive, which the policy does not let pass\n{explain(gated, told)}", pytrace=False)


class Fixture:
    """The ``karat`` fixture."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def check(
        self,
        system: object = None,
        golden: str | Path = ".",
        *,
        baseline: str | Path | None = None,
        policy: str | None = None,
        seed: int = 0,
        **settings: Any,
    ) -> Gated:
        """Ask a system every question and fail the test by the gate; give the scores and the decision if it passes.

        As :func:`karat.check`, with paths relative to the root of the test suite.
        """
        __tracebackhide__ = True
        asked = read_mark(
            self._config,
            pytest.mark.karat(golden=golden, baseline=baseline, policy=policy, seed=seed, **settings).mark,
        )
        try:
            project = _session(self._config).project(asked)
            gated = check_project(project, system, **asked.gate, **asked.settings)
        except KaratError as error:
            pytest.fail(f"karat: {error}", pytrace=False)
        if gated.decision.exit_code:
            pytest.fail(verdict(gated), pytrace=False)
        return gated
