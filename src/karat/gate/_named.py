"""What a policy names: the queries and segments have to be in the golden set."""

from __future__ import annotations

from karat.core import GoldenSet, InputError, did_you_mean, shorten
from karat.evaluation import segment_queries
from karat.gate._limits import select_queries
from karat.gate._policy import Policy


def require_named(policy: Policy, golden: GoldenSet) -> None:
    """Raise InputError if a policy names a query or a segment that the golden set does not have.

    A decision finds that out, too, but only after every question was asked.
    """
    for rule in policy.rules:
        if rule.where is not None:
            select_queries(rule, segment_queries(golden, [rule.where[0]]))
    for must in policy.must_pass:
        if must.query not in golden.query_by_id:
            near = did_you_mean(must.query, golden.query_by_id)
            raise InputError(
                f"must_pass names query {shorten(must.query)}, which the golden set does not have{near}",
                source="[gate]",
            )
