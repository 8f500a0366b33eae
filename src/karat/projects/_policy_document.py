"""The policy of a project as a document."""

from __future__ import annotations

from karat.evaluation import MEASURES
from karat.gate import LIMITS, TESTS, Policy, describe_rule, named_policy
from karat.projects._gating import project_policy
from karat.projects._project import Project
from karat.schema import PolicyDocument, PolicyOperations, PolicyRule, PolicyTolerance


def show_policy(project: Project | None, chosen: str | None = None) -> PolicyDocument:
    """Return the rules of a policy in a project; without a project those of a built-in policy for usual measures."""
    if project is not None:
        return policy_document(project_policy(project, chosen))
    return policy_document(named_policy(chosen or "default", [name for name in MEASURES if name != "Judged@10"]))


def policy_document(policy: Policy) -> PolicyDocument:
    """Return a policy as a document."""
    operations, drop = policy.operations, policy.drop
    tested = any(rule.significant_drop or rule.non_inferior for rule in policy.rules)
    return PolicyDocument(
        name=policy.name,
        purpose=policy.purpose,
        extends=policy.extends,
        changes=policy.changes,
        operations=PolicyOperations(
            failed=operations.failed, empty=operations.empty, latency=operations.latency, texts=operations.texts
        ),
        rules=tuple(
            PolicyRule(
                metric=rule.metric,
                where=None if rule.where is None else dict([rule.where]),
                asks=describe_rule(rule),
                limits={
                    name: value
                    for name in (*LIMITS, *TESTS)
                    if (value := getattr(rule, name)) is not None and value is not False
                },
            )
            for rule in policy.rules
        ),
        must_pass=tuple(
            {"query": must.query, **({"metric": must.metric, "min": must.min} if must.metric else {})}
            for must in policy.must_pass
        ),
        tolerance=PolicyTolerance(relative=drop.relative, absolute=drop.absolute, alpha=drop.alpha) if tested else None,
        on_inconclusive=policy.on_inconclusive,
        on_changed_questions=policy.on_changed_questions,
        on_unjudged=policy.on_unjudged,
        list_below=dict(policy.list_below),
        documents_may_change=policy.documents_may_change,
        notes=policy.notes,
    )
