"""The CI files of a project: what GitHub and GitLab have to do to gate a change."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

GITHUB = ".github/workflows/karat.yml"
GITLAB = ".gitlab-ci.yml"
_REPORTS = (
    "--format html --output karat-report/report.html",
    "--format junit --output karat-report/junit.xml",
    "--comment --output karat-report/comment.md",
)

_GITHUB = """\
# Is retrieval still good? Written by `karat init`, and yours to change.
name: karat

on:
  pull_request:
    paths:
@paths@
  push:
    branches: [main]
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
      - name: Install
        run: |
@install@
      - name: Gate
        run: |
          karat check @folder@
      - name: Report
        if: >-
          ${{ !cancelled() && hashFiles(@runs@) != '' }}
        run: |
          karat report @run@ --format github
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
          # Its own comment is found again by the hidden mark at its beginning.
          mine='.[] | select(.user.login == "github-actions[bot]" and (.body | startswith("<!-- karat"))) | .id'
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
@check@
  after_script: # also when the gate failed, whose exit code stays that of the job
@report@
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
    watched: Sequence[str] = ()
    """What else a change to retrieval changes: documents, code."""
    install: Sequence[str] = ()
    """The commands that install karat and what the retriever needs."""

    def github(self) -> str:
        """Give the workflow for GitHub Actions."""
        watched = (*self._watched, *self.watched, GITHUB)
        return _filled(
            _GITHUB,
            paths=_listed(watched, 6),
            cache=self._inside(".karat"),
            hashed=", ".join(map(_literal, (self._inside("karat.toml"), self._inside("golden/**")))),
            install="\n".join(f"{' ' * 10}{line}" for line in self.install),
            folder=shlex.quote(self.folder),
            runs=_literal(self._inside("runs/*.jsonl")),
            run=self._run,
            report="\n".join(f"{' ' * 10}karat report {self._run} {options}" for options in _REPORTS),
            kept=self._inside("runs"),
        )

    def gitlab(self) -> str:
        """Give the job for GitLab CI."""
        watched = (*self._watched, *self.watched, GITLAB)
        return _filled(
            _GITLAB,
            paths=_listed(watched, 8),
            cache=json.dumps(self._inside(".karat/")),
            install=_listed(self.install, 4),
            check=_listed([f"karat check {shlex.quote(self.folder)}"], 4),
            report=_listed((f"karat report {self._run} {options}" for options in _REPORTS), 4),
            kept=json.dumps(self._inside("runs/")),
        )

    @property
    def _watched(self) -> tuple[str, ...]:
        return tuple(map(self._inside, ("karat.toml", "baseline.json", "golden/**")))

    @property
    def _run(self) -> str:
        """The run that the job made, as a shell finds it: there is no other in a fresh clone."""
        return f"{'' if self.folder == '.' else shlex.quote(self.folder) + '/'}runs/*.jsonl"

    def _inside(self, path: str) -> str:
        return path if self.folder == "." else f"{self.folder}/{path}"


def _listed(values: Iterable[str], depth: int) -> str:
    """Give the lines of a YAML list; JSON's strings are YAML's."""
    return "\n".join(f"{' ' * depth}- {json.dumps(value)}" for value in dict.fromkeys(values))


def _literal(text: str) -> str:
    """Give a string of GitHub's expressions."""
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def _filled(template: str, **values: str) -> str:
    for name, value in values.items():
        template = template.replace(f"@{name}@", value)
    return template
