"""From a marked test to the verdict on one rule; the system is asked once, however many rules there are."""

from __future__ import annotations

import functools
import hashlib
import inspect
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from karat.core import InputError, KaratError, UsageError
from karat.files import lock_folder, write_file
from karat.projects import (
    GateResult,
    check_project,
    choose_settings,
    explain,
    gate_run,
    report_document,
    run_path,
    summarise,
)
from karat.pytest_plugin._names import PROPERTY
from karat.pytest_plugin._rules import Asked, Rule, item_id, name_of, names_of, rule_of, told
from karat.runs import read_answers
from karat.stats import Outcome
from karat.systems import adapt

_GATE = ("baseline", "policy", "seed")
_RANK = (Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.PASS)
_GATED: pytest.StashKey[dict[str, GateResult | str]] = pytest.StashKey()
"""By test: the answers and what the gate says of them, or why there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """A test that gives a system."""

    key: str
    """What no other test is called."""
    name: str
    """What people call it."""

    @property
    def stem(self) -> str:
        """What its files are called on any system; a hash tells apart what would be alike."""
        safe = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in self.name)
        short = "-".join(part for part in safe.split("-") if part)[-80:].strip("-.")
        return f"{short}-{_digest(self.key)[:8]}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()  # a path may hold what is no UTF-8


def checking(item: pytest.Function) -> Callable[..., None]:
    """Give what is called in place of a marked test: it asks the system that the test returns, once, and judges."""
    given, rule = item.obj, rule_of(item)
    assert rule is not None

    @functools.wraps(given)
    def judge(*arguments: Any, **fixtures: Any) -> None:
        __tracebackhide__ = True
        known, test = item.config.stash.setdefault(_GATED, {}), _test(item, rule)
        if test.key not in known:
            known[test.key] = _evaluated(item.config, test, rule.asked, lambda: given(*arguments, **fixtures))
        found = known[test.key]
        if isinstance(found, str):
            pytest.fail(found, pytrace=False)
        _judge(item, rule, found)

    return judge


def _test(item: pytest.Function, rule: Rule) -> Test:
    """Name a test and its other parameters, which make other systems, but not its rule; all workers name it alike."""
    own = item_id(rule.name)
    # pytest's private list tells a-b and c from a and b-c, which are both a-b-c in the name of an item.
    ids = list(getattr(item.callspec, "_idlist", ())) or [item.callspec.id.removesuffix(own), own]
    others = [one for place, one in enumerate(ids) if place != len(ids) - 1 - ids[::-1].index(own)]
    name = f"{item.parent.nodeid if item.parent else ''}::{item.originalname}"
    return Test(key=f"{name}{others}", name="-".join([name, *others]))


def _evaluated(config: pytest.Config, test: Test, asked: Asked, system: Callable[[], object]) -> GateResult | str:
    """Ask the system, or take what another worker has asked; give the reason where it cannot be asked.

    What a test itself raises is its own, with its traceback.
    """
    try:
        folder = _shared(config, test.key)
        if folder is None:
            return ask(config, test, asked, _returned(system()))
        with lock_folder(folder):
            return _asked_once(config, test, asked, system, folder)
    except KaratError as error:
        return told(error)


def _shared(config: pytest.Config, key: str) -> Path | None:
    """Give the folder in which xdist's workers share what is known by a key; without workers there is none."""
    shared = getattr(config, "workerinput", {}).get("karat_shared")
    if shared is None:
        return None
    folder = Path(shared) / _digest(key)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _asked_once(
    config: pytest.Config, test: Test, asked: Asked, system: Callable[[], object], folder: Path
) -> GateResult | str:
    run, failed = folder / "run.jsonl", folder / "failed.txt"
    if failed.exists():
        return failed.read_text("utf-8")
    if run.exists():
        choices: dict[str, Any] = {name: asked.choices[name] for name in _GATE if name in asked.choices}
        return gate_run(asked.project, read_answers(run, asked.project.golden), **choices)
    try:
        return ask(config, test, asked, _returned(system()), run)
    except KaratError as error:
        failed.write_text(told(error), "utf-8")
        raise


def _returned(system: object) -> object:
    if inspect.iscoroutine(system):
        system.close()
        raise UsageError("a test marked with karat cannot be async; its retriever can")
    if system is None:
        raise UsageError("the test returned nothing; a test marked with karat returns the retriever that is asked")
    return system


def ask(config: pytest.Config, test: Test, asked: Asked, system: object, run: Path | None = None) -> GateResult:
    """Ask a system and gate its answers; keep the run and write the reports where the command line says so."""
    project, kept, reports = asked.project, config.getoption("--karat-runs"), _reports(config)
    # What a test gives is its own to close: fixtures do that, and the next test may need it.
    own = project.system() if system is None else replace(adapt(system), close=None)
    if kept is None:
        gated = check_project(project, own, output=run, **asked.choices)
    else:
        with _alone(config, own.name):
            path = run_path(Path(kept), project.golden, own, choose_settings(project, **asked.choices))
            gated = check_project(project, own, output=path, **asked.choices)
        if run is not None:
            shutil.copy(path, run)
    if reports is not None:
        _write(reports / test.stem, gated)
    return gated


@contextmanager
def _alone(config: pytest.Config, system: str) -> Iterator[None]:
    """Let no other worker ask a system of that name: two runs of the same system would want the same file."""
    folder = _shared(config, f"\n{system}")
    if folder is None:
        yield
        return
    with lock_folder(folder):
        yield


def _reports(config: pytest.Config) -> Path | None:
    """Give the folder of the reports; that there can be none is better known before a system is asked than after."""
    if (folder := config.getoption("--karat-reports")) is None:
        return None
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror}", source=f"--karat-reports {folder}") from None
    return Path(folder)


def _write(stem: Path, gated: GateResult) -> None:
    """Write the reports that ``karat check`` writes."""
    from karat.reports import render_html, render_json, render_markdown

    document = report_document(gated)
    for suffix, render in (("html", render_html), ("md", render_markdown), ("json", render_json)):
        write_file(f"{stem}.{suffix}", render(document))


def _judge(item: pytest.Function, rule: Rule, gated: GateResult) -> None:
    """Pass or fail by the checks of the item's rule; those that belong to no rule are the first item's."""
    __tracebackhide__ = True
    names = names_of(gated.decision.policy)
    checks = [
        one for one in gated.decision.checks if (name_of(one) if name_of(one) in names else names[0]) == rule.name
    ]
    worst = next(one for one in _RANK if one is Outcome.PASS or any(check.outcome is one for check in checks))
    of_it = [check for check in checks if check.outcome is worst]
    reasons = "; ".join(map(summarise, of_it))
    item.user_properties.append((PROPERTY, f"{worst.value}: {reasons}"))
    if worst is Outcome.FAIL:
        pytest.fail(explain(gated, of_it), pytrace=False)
    if worst is Outcome.INCONCLUSIVE and gated.decision.policy.on_inconclusive == "fail":
        pytest.fail(f"inconclusive, which the policy does not let pass\n{explain(gated, of_it)}", pytrace=False)
