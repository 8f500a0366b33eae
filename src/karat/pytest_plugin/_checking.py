"""Checking the rules of a marked test. The system is asked once, however many rules there are."""

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
    collect_calls,
    explain,
    find_drops,
    gate_run,
    report_document,
    run_path,
    send_telemetry,
    summarise,
)
from karat.pytest_plugin._names import PROPERTY, SENDINGS
from karat.pytest_plugin._rules import (
    Request,
    Rule,
    describe_error,
    find_rule,
    list_names,
    make_id,
    name_rule,
    show_message,
)
from karat.runs import read_any_run
from karat.stats import Outcome
from karat.systems import adapt

_GATE = ("baseline", "policy", "seed")
_RANK = (Outcome.ERROR, Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.PASS)
_RESULTS: pytest.StashKey[dict[str, GateResult | str]] = pytest.StashKey()
"""By the key of the test: the result of the gate, or why there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """A test that returns a system."""

    key: str
    """The unique name of the test."""
    name: str
    """The readable name of the test."""

    @property
    def stem(self) -> str:
        """The name of its files, which every file system accepts; it ends with a hash, so that it is unique."""
        safe = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in self.name)
        short = "-".join(part for part in safe.split("-") if part)[-80:].strip("-.")
        return f"{short}-{_digest(self.key)[:8]}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()  # a path may not be valid UTF-8


def make_check(item: pytest.Function) -> Callable[..., None]:
    """Return the function to call instead of a marked test: it asks the test's system, once, and checks the rule."""
    function, rule = item.obj, find_rule(item)
    assert rule is not None

    @functools.wraps(function)
    def check(*arguments: Any, **fixtures: Any) -> None:
        __tracebackhide__ = True
        results, test = item.config.stash.setdefault(_RESULTS, {}), _name_test(item, rule)
        if test.key not in results:
            results[test.key] = _gate(item.config, test, rule.request, lambda: function(*arguments, **fixtures))
        result = results[test.key]
        if isinstance(result, str):
            pytest.fail(result, pytrace=False)
        _check_rule(item, rule, result)

    return check


def _name_test(item: pytest.Function, rule: Rule) -> Test:
    """Return the test of an item, with its other parameters, which make other systems, but without its rule.

    The names are the same in all workers.
    """
    own = make_id(rule.name)
    # pytest's private list distinguishes a-b and c from a and b-c, which are both a-b-c in the name of an item.
    ids = list(getattr(item.callspec, "_idlist", ())) or [item.callspec.id.removesuffix(own), own]
    others = [id_ for i, id_ in enumerate(ids) if i != len(ids) - 1 - ids[::-1].index(own)]
    name = f"{item.parent.nodeid if item.parent else ''}::{item.originalname}"
    return Test(key=f"{name}{others}", name="-".join([name, *others]))


def _gate(config: pytest.Config, test: Test, request: Request, system: Callable[[], object]) -> GateResult | str:
    """Return the result of the gate, or the message of an error. The system is asked unless another worker did.

    An exception of the test itself is not caught, and has its traceback.
    """
    try:
        folder = _make_shared_folder(config, test.key)
        if folder is None:
            return ask(config, test, request, _require_system(system()))
        with lock_folder(folder):
            return _gate_shared(config, test, request, system, folder)
    except KaratError as error:
        return describe_error(error)


def _make_shared_folder(config: pytest.Config, key: str) -> Path | None:
    """Return the folder in which the workers of xdist share files under a key; None without workers."""
    shared = getattr(config, "workerinput", {}).get("karat_shared")
    if shared is None:
        return None
    folder = Path(shared) / _digest(key)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _gate_shared(
    config: pytest.Config, test: Test, request: Request, system: Callable[[], object], folder: Path
) -> GateResult | str:
    """Gate the run in a shared folder, or make it; an error is written there, too, so that no worker asks again."""
    run, failure = folder / "run.jsonl", folder / "failed.txt"
    if failure.exists():
        return failure.read_text("utf-8")
    if run.exists():
        choices: dict[str, Any] = {name: request.choices[name] for name in _GATE if name in request.choices}
        return gate_run(request.project, read_any_run(run, request.project.golden), **choices)
    try:
        return ask(config, test, request, _require_system(system()), run)
    except KaratError as error:
        failure.write_text(describe_error(error), "utf-8")
        raise


def _require_system(system: object) -> object:
    if inspect.iscoroutine(system):
        system.close()
        raise UsageError("a test marked with karat cannot be async; its retriever can")
    if system is None:
        raise UsageError("the test returned nothing; a test marked with karat returns the retriever that is asked")
    return system


def ask(config: pytest.Config, test: Test, request: Request, system: object, run: Path | None = None) -> GateResult:
    """Ask a system and return the result of the gate; save the run and the reports if pytest's options say so."""
    project, runs, reports = request.project, config.getoption("--karat-runs"), _make_report_folder(config)
    # The system of a test is not closed here: its fixture does that, and the next test may need it.
    subject = project.system() if system is None else replace(adapt(system), close=None)
    calls = collect_calls(project)
    heard: Any = {"listener": None if calls is None else calls.append}
    if runs is None:
        # What a worker that died has asked is from this session, and from the same code.
        result = check_project(project, subject, output=run, resume=run is not None, **heard, **request.choices)
    else:
        with _locking(config, subject.name):
            path = run_path(Path(runs), project.golden, subject, choose_settings(project, **request.choices))
            result = check_project(project, subject, output=path, **heard, **request.choices)
        if run is not None:
            shutil.copy(path, run)
    if reports is not None:
        _write_reports(reports / test.stem, result)
    if (sending := send_telemetry(project, result, test.stem, calls)) is not None:
        config.stash.setdefault(SENDINGS, []).append(sending)
    return result


@contextmanager
def _locking(config: pytest.Config, system: str) -> Iterator[None]:
    """Keep other workers from asking a system of the same name, whose run might have the same file."""
    folder = _make_shared_folder(config, f"\n{system}")
    if folder is None:
        yield
        return
    with lock_folder(folder):
        yield


def _make_report_folder(config: pytest.Config) -> Path | None:
    """Make the folder of the reports before a system is asked, so that an error is reported early."""
    if (folder := config.getoption("--karat-reports")) is None:
        return None
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror}", source=f"--karat-reports {folder}") from None
    return Path(folder)


def _write_reports(stem: Path, result: GateResult) -> None:
    """Write the reports that ``karat check`` writes."""
    from karat.reports import render_html, render_json, render_markdown

    document = report_document(result)
    for suffix, render in (("html", render_html), ("md", render_markdown), ("json", render_json)):
        write_file(f"{stem}.{suffix}", render(document))


def _check_rule(item: pytest.Function, rule: Rule, result: GateResult) -> None:
    """Pass, skip or fail by the checks of the item's rule. Checks that belong to no rule count for the first item."""
    __tracebackhide__ = True
    if result.decision.outcome is Outcome.ERROR:  # no rule can be judged
        errors = [check for check in result.decision.checks if check.outcome is Outcome.ERROR]
        item.user_properties.append((PROPERTY, f"error: {'; '.join(map(summarise, errors))}"))
        pytest.fail(show_message(f"no decision\n{explain(result, errors)}"), pytrace=False)
    names = list_names(result.decision.policy)
    own = [
        check
        for check in result.decision.checks
        if (name_rule(check) if name_rule(check) in names else names[0]) == rule.name
    ]
    if not own:
        pytest.skip("nothing was checked: there is nothing to compare with")
    outcomes = {check.outcome for check in own}
    worst = next((outcome for outcome in _RANK if outcome in outcomes), Outcome.PASS)
    checks = [check for check in own if check.outcome is worst]
    item.user_properties.append((PROPERTY, f"{worst.value}: {'; '.join(map(summarise, checks))}"))
    if worst is Outcome.FAIL:
        pytest.fail(show_message(explain(result, checks)), pytrace=False)
    if worst is Outcome.INCONCLUSIVE and not all(result.decision.policy.lets_pass(check.kind) for check in checks):
        reason = f"inconclusive, which the policy does not let pass\n{explain(result, checks)}"
        pytest.fail(show_message(reason), pytrace=False)
    if drops := find_drops(own):  # a green test would hide them
        reason = f"worse by more than is tolerated, though it may be chance: {'; '.join(map(summarise, drops))}"
        pytest.skip(show_message(reason))
