"""The targets of fuzzing on a fixed list of cases: right ones, those that once broke a promise, and damaged ones.

``./scripts/fuzz`` looks for new ones with atheris, which has no wheels for every system on which the tests run.
"""

from __future__ import annotations

import random
from contextlib import suppress
from types import ModuleType

import pytest

from each import each
from faults.fuzz import checking, parsers, readers, renderers
from faults.fuzz.cases import Case, read_kept
from faults.fuzz.mutations import mutate
from karat.core import InputError, UsageError

TARGETS = {"readers": (readers, 300), "parsers": (parsers, 600), "renderers": (renderers, 120)}
"""Each with the number of damaged cases."""


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_right_cases_are_accepted(name: str) -> None:
    """Each kind has one that is read, parsed or rendered without an error: damage to them gets past the first check."""
    target, _ = TARGETS[name]
    seeds = target.make_seeds()
    assert {case.kind for case in seeds} == set(target.KINDS)
    for case in seeds:
        assert Case.decode(case.encode()) == case
        target.run(case)


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_no_case_breaks_a_promise(name: str) -> None:
    """Neither one that did before, nor one that is damaged at random, always in the same way."""
    target, count = TARGETS[name]
    kept, rng = read_kept(name), random.Random(name)
    for case in kept:
        checking.check(target, case.encode())
    corpus = [*target.make_seeds(), *kept]
    for _ in range(count):
        case = mutate(rng.choice(corpus), rng, kinds=tuple(target.KINDS))
        try:
            checking.check(target, case.encode())
        except BaseException:
            print(f"python -m faults.fuzz {name} --case FILE, with:\n{case.encode()!r}")
            raise


def planted(error: Exception) -> ModuleType:
    """A target whose only kind raises an error."""
    target = ModuleType("planted")

    def run(case: Case) -> None:
        raise error

    target.__dict__.update(KINDS={"a": run}, run=run)
    return target


@each("error", [KeyError("a"), InputError("two\nlines"), UsageError("x" * 5000), InputError(" ")], ids=repr)
def test_what_is_not_one_message_is_a_finding(error: Exception) -> None:
    """An exception of another kind, and a message that is empty, long, or has several lines."""
    with pytest.raises((KeyError, AssertionError)):
        checking.check(planted(error), b"a")
    checking.check(planted(InputError("a message")), b"a")
    checking.check(planted(error), b"of another kind")


def endless() -> ModuleType:
    """A target that never ends, whatever is raised."""
    target = ModuleType("endless")

    def run(case: Case) -> None:
        while True:
            with suppress(Exception):
                sum(range(100))

    target.__dict__.update(KINDS={"a": run}, run=run)
    return target


def test_what_takes_long_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if karat catches every exception."""
    monkeypatch.setattr(checking, "SECONDS", 0.01)
    with pytest.raises(checking.TooSlow):
        checking.check(endless(), b"a")


@each(
    ("check", "text"),
    [
        (renderers.check_terminal, "a\x1b[2J"),
        (renderers.check_terminal, "  ::error::x"),
        (renderers.check_terminal, "a ##vso[x]"),
        (renderers.check_annotations, "::error title=a::b\nc\n"),
        (renderers.check_html, "<img src=x>"),
        (renderers.check_html, "<p onclick=x>"),
        (renderers.check_markdown, "<b>"),
        (renderers.check_markdown, "@somebody"),
        (renderers.check_markdown, "[a](b)"),
        (lambda text: renderers.check_junit(text, 0), "<testsuites><b/></testsuites>"),
        (lambda text: renderers.check_csv(text, 2), "a,b\nc\n"),
        (lambda text: renderers.check_csv(text, 1), '"=1+1"\n'),
        (lambda text: renderers.check_latex(text, 0), "%\n\\input{x}\n"),
        (lambda text: renderers.check_latex(text, 0), "%\n{\n"),
    ],
)
def test_what_acts_is_a_finding(check: object, text: str) -> None:
    """Each of these texts is refused by what a report is held against."""
    assert callable(check)
    with pytest.raises(AssertionError):
        check(text)
