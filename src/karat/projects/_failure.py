"""What the gate found wrong with a run, as the message of a failed test or an exception."""

from __future__ import annotations

from collections.abc import Iterable

from karat.gate import Check, lower_is_better
from karat.projects._gating import GateResult
from karat.projects._report import check_row, report_document
from karat.reports import explain_checks, is_observed_drop, render_refusal, summarise_check


def explain(result: GateResult, checks: Iterable[Check]) -> str:
    """Return what checks ask for, why they hold or not, their numbers, and the queries that they rest on."""
    return explain_checks(report_document(result), map(check_row, checks))


def summarise(check: Check) -> str:
    """Return what a check asks for, and why it holds or not, in one line."""
    return summarise_check(check_row(check))


def find_drops(checks: Iterable[Check]) -> list[Check]:
    """Return the checks that did not fail although the mean got worse by more than is tolerated."""
    tests = (check for check in checks if check.kind in ("non_inferior", "significant_drop"))
    return [
        check for check in tests if is_observed_drop(check_row(check), lower_is_better=lower_is_better(check.metric))
    ]


def describe_failure(result: GateResult) -> str:
    """Return the outcome, and an explanation of the checks that did not pass."""
    return render_refusal(report_document(result))
