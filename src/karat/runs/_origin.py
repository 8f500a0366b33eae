"""Where a run is made: the commit of the project, the class of the machine, and the CI job."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from karat.core import Origin, UsageError, shorten
from karat.net import strip_logins
from karat.runs._git import Checkout, read_checkout

_LONGEST = 80  # characters of a label
_MOST = 200  # characters of a value that a CI names


@dataclass(frozen=True, slots=True, kw_only=True)
class _Provider:
    """The variables of a CI: one that says that it is running, and those that name its job; the first set one counts.

    Only these are read, none of which is secret.
    """

    name: str
    mark: str
    job: Sequence[str] = ()
    run: Sequence[str] = ()
    url: Sequence[str] = ()
    commit: Sequence[str] = ()
    branch: Sequence[str] = ()


_PROVIDERS = (
    _Provider(
        name="GitHub Actions",
        mark="GITHUB_ACTIONS",
        job=("GITHUB_JOB",),
        run=("GITHUB_RUN_ID",),
        commit=("GITHUB_SHA",),
        branch=("GITHUB_HEAD_REF", "GITHUB_REF_NAME"),
    ),
    _Provider(
        name="GitLab CI",
        mark="GITLAB_CI",
        job=("CI_JOB_NAME",),
        run=("CI_JOB_ID", "CI_PIPELINE_ID"),
        url=("CI_JOB_URL", "CI_PIPELINE_URL"),
        commit=("CI_COMMIT_SHA",),
        branch=("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_REF_NAME"),
    ),
    _Provider(
        name="Buildkite",
        mark="BUILDKITE",
        job=("BUILDKITE_LABEL", "BUILDKITE_PIPELINE_SLUG"),
        run=("BUILDKITE_BUILD_NUMBER", "BUILDKITE_JOB_ID"),
        url=("BUILDKITE_BUILD_URL",),
        commit=("BUILDKITE_COMMIT",),
        branch=("BUILDKITE_BRANCH",),
    ),
    _Provider(
        name="Azure Pipelines",
        mark="TF_BUILD",
        job=("SYSTEM_JOBDISPLAYNAME", "BUILD_DEFINITIONNAME"),
        run=("BUILD_BUILDNUMBER", "BUILD_BUILDID"),
        commit=("BUILD_SOURCEVERSION",),
        branch=("SYSTEM_PULLREQUEST_SOURCEBRANCH", "BUILD_SOURCEBRANCHNAME"),
    ),
    _Provider(
        name="CircleCI",
        mark="CIRCLECI",
        job=("CIRCLE_JOB",),
        run=("CIRCLE_BUILD_NUM",),
        url=("CIRCLE_BUILD_URL",),
        commit=("CIRCLE_SHA1",),
        branch=("CIRCLE_BRANCH",),
    ),
    _Provider(
        name="Jenkins",
        mark="JENKINS_URL",
        job=("JOB_NAME",),
        run=("BUILD_NUMBER",),
        url=("BUILD_URL",),
        commit=("GIT_COMMIT",),
        branch=("CHANGE_BRANCH", "BRANCH_NAME"),
    ),
    _Provider(name="CI", mark="CI"),
)


def find_origin(folder: Path, *, label: str = "", variables: Mapping[str, str] | None = None) -> Origin:
    """Return the origin of a run that is about to be made in a folder.

    Commit and branch are those of the folder's repository, or else those that the CI names. ``variables`` are by
    default those of the environment.
    """
    variables = os.environ if variables is None else variables
    provider = next((provider for provider in _PROVIDERS if _is_set(variables.get(provider.mark, ""))), None)
    checkout = read_checkout(folder)
    if provider is not None:
        checkout = Checkout(
            commit=checkout.commit or _read(variables, provider.commit).lower(),
            branch=checkout.branch or _read(variables, provider.branch),
            dirty=checkout.dirty,
        )
    return Origin(
        label=check_label(label),
        commit=checkout.commit,
        branch=checkout.branch,
        dirty=checkout.dirty,
        machine=describe_machine(),
        ci={} if provider is None else _describe_job(provider, variables),
    )


def check_label(label: str) -> str:
    """Return a label without blanks around it; a label that cannot stand in a table is an error."""
    label = label.strip()
    if len(label) > _LONGEST or not label.isprintable():
        raise UsageError(f"label {shorten(label)}; write at most {_LONGEST} printable characters")
    return label


def describe_machine() -> dict[str, int | str]:
    """Return the class of this machine: runs of different classes have different latencies."""
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "platform": f"{platform.system()} {platform.machine()}".strip(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def _is_set(value: str) -> bool:
    return value.lower() not in ("", "0", "false")


def _describe_job(provider: _Provider, variables: Mapping[str, str]) -> dict[str, str]:
    facts = {
        "provider": provider.name,
        "job": _read(variables, provider.job),
        "run": _read(variables, provider.run),
        "url": strip_logins(_read(variables, provider.url)),
    }
    parts = [variables.get(f"GITHUB_{name}", "") for name in ("SERVER_URL", "REPOSITORY")]
    if provider.mark == "GITHUB_ACTIONS" and all(parts) and facts["run"]:
        facts["url"] = strip_logins("/".join((*parts, "actions/runs", facts["run"])))
    return {name: value for name, value in facts.items() if value}


def _read(variables: Mapping[str, str], names: Sequence[str]) -> str:
    value = next((value for name in names if (value := variables.get(name, "").strip())), "")
    return "".join(character for character in value if character.isprintable())[:_MOST]
