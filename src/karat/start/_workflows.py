"""The CI files of a project: what GitHub and GitLab have to do to gate a change."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from karat.core import UsageError

GITHUB = ".github/workflows/karat.yml"
GITLAB = ".gitlab-ci.yml"
# A shell finds the decision: there is one in a fresh clone, or none where karat could not decide.
_DECISION = "karat-report/rag-eval-*.json"
_REPORTS = (
    "--format junit --output karat-report/junit.xml",
    "--comment --output karat-report/comment.md",
)
# What means something else in a path filter, an expression or a variable of either CI.
_MEANS = re.compile(r"[*?+!\[\]{}$\\]|\A[~#]")

_GITHUB = """\
# Is retrieval still good? Written by `karat init`, and yours to change.
name: karat

on:
  pull_request:
    paths:
@paths@
  push:
    branches: [@branch@]
    paths:
@paths@
  workflow_dispatch:

permissions:
  contents: read
  pull-requests: write # for the comment

concurrency:
  group: karat-${{ github.ref }}
  cancel-in-progress: true

jobs:
  gate:
    runs-on: ubuntu-latest
    timeout-minutes: 30
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - name: Models and embeddings of earlier runs
        uses: actions/cache@v4
        with:
          path: |
            ~/.cache/pip
            ~/.cache/huggingface
            @cache@
          key: >-
            karat-${{ runner.os }}-${{ hashFiles(@hashed@) }}
          restore-keys: karat-${{ runner.os }}-
      - name: Install # karat comes from pip's package index, unless `karat init --karat` says where else
        run: |
@install@
      - name: Gate
        run: |
          @check@
      - name: Report
        if: ${{ !cancelled() && hashFiles('@decision@') != '' }}
        run: |
          karat report @decision@ --format github
@report@
      - name: Keep the run and its reports
        if: ${{ !cancelled() }}
        uses: actions/upload-artifact@v4
        with:
          name: karat
          path: |
            @kept@
            karat-report
          if-no-files-found: ignore
      - name: Comment on the pull request
        # A pull request from a fork has a token that may not write.
        if: >-
          ${{ !cancelled() && hashFiles('karat-report/comment.md') != '' &&
          github.event.pull_request.head.repo.full_name == github.repository }}
        env:
          GH_TOKEN: ${{ github.token }}
          COMMENTS: repos/${{ github.repository }}/issues/${{ github.event.pull_request.number }}/comments
          COMMENT: repos/${{ github.repository }}/issues/comments
        run: |
          # The comment of this golden set is found again by its first line, which nobody sees.
          MARK=$(head -n 1 karat-report/comment.md)
          export MARK
          mine='.[] | select(.user.login == "github-actions[bot]" and (.body | startswith(env.MARK))) | .id'
          id=$(gh api --paginate "$COMMENTS" --jq "$mine" | tail -n 1)
          if [ -n "$id" ]; then
            gh api --silent --method PATCH "$COMMENT/$id" --field body=@karat-report/comment.md
          else
            gh api --silent --method POST "$COMMENTS" --field body=@karat-report/comment.md
          fi
"""

_GITLAB = """\
# Is retrieval still good? Written by `karat init`, and yours to change.
karat:
  image: python:3.12
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
      changes:
@paths@
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
      changes:
@paths@
  variables:
    PIP_CACHE_DIR: $CI_PROJECT_DIR/.cache/pip
    HF_HOME: $CI_PROJECT_DIR/.cache/huggingface
  cache: # models and embeddings of earlier runs
    key: karat
    paths:
      - .cache/
      - @cache@
  before_script:
@install@
  script:
    - @check@
  after_script: # also when the gate failed, whose exit code stays that of the job
    - |
      for decision in @decision@; do
        if [ -f "$decision" ]; then # there is none where karat could not decide
@report@
        fi
      done
  artifacts:
    when: always
    paths:
      - @kept@
      - karat-report/
    reports:
      junit: karat-report/junit.xml
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """What the CI files depend on; all paths are relative to the repository."""

    folder: str = "."
    """The folder of karat.toml."""
    golden: str = "golden/"
    """The folder of the golden set, with a slash behind it, or the file; empty where it lies outside."""
    documents: str = ""
    """The same of the documents."""
    watched: Sequence[str] = ()
    """What else a change to retrieval changes, as patterns."""
    install: Sequence[str] = ()
    """The commands that install karat and what the retriever needs."""
    branch: str = "main"
    """Where changes are merged."""

    def __post_init__(self) -> None:
        for path in (self.folder, self.golden, self.documents):
            means = _MEANS.search(path)
            if means or not path.isprintable():
                what = f"where {means[0]} means something else" if means else "which is one line of printable text"
                raise UsageError(f"{path!r} cannot stand in a workflow, {what}; rename the folder, or choose --ci none")

    def github(self) -> str:
        """Give the workflow for GitHub Actions."""
        return _filled(
            _GITHUB,
            paths=_listed((*self._paths, GITHUB), 6),
            branch=_quoted(re.sub(r"[+!]", r"\\\g<0>", self.branch)),
            cache=self._inside(".karat"),
            hashed=", ".join(map(_literal, (self._inside("karat.toml"), *self._asked))),
            install="\n".join(f"{' ' * 10}{line}" for line in self.install),
            check=self._check,
            decision=_DECISION,
            report="\n".join(f"{' ' * 10}karat report {_DECISION} {options}" for options in _REPORTS),
            kept=self._inside("runs"),
        )

    def gitlab(self) -> str:
        """Give the job for GitLab CI."""
        return _filled(
            _GITLAB,
            paths=_listed((*self._paths, GITLAB), 8),
            cache=_quoted(self._inside(".karat/")),
            install=_listed(self.install, 4),
            check=_quoted(self._check),
            decision=_DECISION,
            report="\n".join(f'{" " * 10}karat report "$decision" {options}' for options in _REPORTS),
            kept=_quoted(self._inside("runs/")),
        )

    @property
    def _check(self) -> str:
        folder = f"./{self.folder}" if self.folder.startswith("-") else self.folder
        return f"karat check {shlex.quote(folder)} --reports karat-report"

    @property
    def _paths(self) -> tuple[str, ...]:
        return (self._inside("karat.toml"), self._inside("baseline.json"), *self._asked, *self.watched)

    @property
    def _asked(self) -> tuple[str, ...]:
        """The golden set and the documents."""
        found = (f"{path}**" if path.endswith("/") else path for path in (self.golden, self.documents) if path)
        return tuple(path.removeprefix("./") for path in found)

    def _inside(self, path: str) -> str:
        return path if self.folder == "." else f"{self.folder}/{path}"


def _listed(values: Iterable[str], depth: int) -> str:
    """Give the lines of a YAML list."""
    return "\n".join(f"{' ' * depth}- {_quoted(value)}" for value in dict.fromkeys(values))


def _quoted(text: str) -> str:
    """Give a string of YAML: one of JSON that is not escaped to ASCII, as YAML has no halves of a character."""
    return json.dumps(text, ensure_ascii=False)


def _literal(text: str) -> str:
    """Give a string of GitHub's expressions."""
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def _filled(template: str, **values: str) -> str:
    """Put values in their places, all at once: a value that looks like a place stays what it is."""
    return re.sub(r"@(\w+)@", lambda place: values[place[1]], template)
