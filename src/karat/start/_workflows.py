"""The CI files of a project, with which GitHub and GitLab gate a change."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from karat.core import UsageError

GITLAB = ".gitlab-ci.yml"
HEAD = "# Is retrieval still good? Written by `karat init`, and yours to change.\n"
# A shell pattern: in a fresh clone there is one decision, or none if karat could not decide.
_DECISION = "karat-report/rag-eval-*.json"
_REPORTS = (
    "--format junit --output karat-report/junit.xml",
    "--comment --output karat-report/comment.md",
)
# Characters with a special meaning in a path filter, an expression or a variable of either CI.
_SPECIAL = re.compile(r"[*?+!\[\]{}$\\]|\A[~#]")

_PYTHON = "3.12"
# A retriever that ends the process would otherwise look like a gate that passed.
_UNDECIDED = "echo '::error title=karat::karat check ended without a decision'; exit 3"
# The exit code of the decision: code of the system may have ended the process with another one.
_DECIDED = f'cat {_DECISION} | python -c \'import json, sys; sys.exit(json.load(sys.stdin)["verdict"]["exit_code"])\''

_GITHUB = """\
@head@name: @name@

on:
  pull_request:
    paths:
@paths@
  push:
    branches: [@branch@]
    paths:
@paths@
  merge_group:
  workflow_dispatch:

permissions:
  contents: read
  pull-requests: write # for the comment

concurrency:
  group: ${{ github.workflow }}-${{ github.ref }}
  cancel-in-progress: ${{ github.event_name == 'pull_request' }}

jobs:
  gate:
    runs-on: ubuntu-latest
    timeout-minutes: 30
    steps:
      - uses: actions/checkout@v4
        with:
          persist-credentials: false
      - uses: actions/setup-python@v5
        with:
          python-version: "@python@"
      - name: Models and embeddings of earlier runs
        uses: actions/cache@v4
        with:
          path: |
            ~/.cache/pip
            ~/.cache/huggingface
            ~/.cache/karat
            @cache@
          key: >-
            @job@-${{ runner.os }}-py@python@-${{ hashFiles(@hashed@) }}
          restore-keys: "@job@-${{ runner.os }}-py@python@-"
      - name: Install # karat too: `karat init --karat` says from where
        run: |
@install@
      - name: Gate
        run: |
          rm -rf karat-report @runs@ # no decision and no answers of an earlier run
          @check@
          ls @decision@ >/dev/null || { @undecided@; }
          @decided@ # the job ends with the code of the decision
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
        if: ${{ !cancelled() && github.event.pull_request.head.repo.full_name == github.repository }}
        continue-on-error: true # a comment that cannot be posted must not fail the job
        shell: bash
        env:
          GH_TOKEN: ${{ github.token }}
          COMMENTS: repos/${{ github.repository }}/issues/${{ github.event.pull_request.number }}/comments
          COMMENT: repos/${{ github.repository }}/issues/comments
          COMMIT: ${{ github.event.pull_request.head.sha }}
          RUN: ${{ github.server_url }}/${{ github.repository }}/actions/runs/${{ github.run_id }}
        run: |
          # The first line of the comment is hidden; the next run finds the comment by it.
          export MARK="<!-- karat: $GITHUB_WORKFLOW -->"
          body=$RUNNER_TEMP/karat-comment.md
          {
            echo "$MARK"
            if [ -f karat-report/comment.md ]; then
              cat karat-report/comment.md
            else
              echo "❌ No decision: karat could not evaluate this change; the job says why."
            fi
            printf '\\n\\nCommit %s, [this run](%s)\\n' "${COMMIT:0:7}" "$RUN"
          } >"$body"
          mine='.[] | select(.user.login == "github-actions[bot]" and (.body | startswith(env.MARK))) | .id'
          id=$(gh api --paginate "$COMMENTS" --jq "$mine" | tail -n 1)
          if [ -n "$id" ]; then
            gh api --silent --method PATCH "$COMMENT/$id" --field body=@"$body"
          else
            gh api --silent --method POST "$COMMENTS" --field body=@"$body"
          fi
"""

_GITLAB = """\
@head@@job@:
  image: python:@python@
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
    KARAT_CACHE: $CI_PROJECT_DIR/.cache/karat
  cache: # models and embeddings of earlier runs
    key: @job@-py@python@
    paths:
      - .cache/
      - @cache@
  before_script:
@install@
  script:
    - @clear@ # no decision and no answers of an earlier run
    - @check@
    - ls @decision@ # fails if karat ended without a decision
    - @decided@ # the job ends with the code of the decision
  after_script: # also after a failed gate, whose exit code stays that of the job
    - |
      for decision in @decision@; do
        if [ -f "$decision" ]; then # there is none if karat could not decide
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
    """The parameters of the CI files; all paths are relative to the repository."""

    folder: str = "."
    """The folder of karat.toml."""
    golden: str = "golden/"
    """The folder of the golden set, with a slash at its end, or the file; empty if it is outside."""
    documents: str = ""
    """The documents, likewise."""
    watched: Sequence[str] = ()
    """Other files that change retrieval, as patterns of GitHub."""
    unwatched: Sequence[str] = ()
    """Patterns that are commented out, for a retriever of the user's own later."""
    needs: Sequence[str] = ()
    """The files with requirements."""
    install: Sequence[str] = ()
    """The commands that install karat and what the retriever needs."""
    branch: str = "main"
    """The branch into which changes are merged."""

    def __post_init__(self) -> None:
        for path in (self.folder, self.golden, self.documents):
            special = _SPECIAL.search(path)
            if special or not path.isprintable():
                why = (
                    f"where {special[0]} has a special meaning" if special else "which needs printable text on one line"
                )
                raise UsageError(f"{path!r} cannot stand in a workflow, {why}; rename the folder, or choose --ci none")

    @property
    def job(self) -> str:
        """The name of the job and of its file; each project of a repository has its own.

        >>> Workflow().job, Workflow(folder="services/my search").job
        ('karat', 'karat-services-my-search')
        """
        if self.folder == ".":
            return "karat"
        words = "-".join(re.findall(r"\w+", self.folder))
        return f"karat-{words or 'project'}"

    @property
    def place(self) -> str:
        """The path at which GitHub looks for the workflow."""
        return f".github/workflows/{self.job}.yml"

    @property
    def included(self) -> str:
        """The path of the job for GitLab in a repository that has a pipeline already."""
        return f".gitlab/{self.job}.yml"

    def github(self) -> str:
        """Return the workflow for GitHub Actions."""
        hashed = (self._inside("karat.toml"), *self._data, *self.needs, self.place)
        return _fill(
            _GITHUB,
            head=HEAD,
            name=_quote("karat" if self.folder == "." else f"karat {self.folder}"),
            job=self.job,
            python=_PYTHON,
            paths=_list((*self._paths, self.place), 6, self.unwatched),
            branch=_quote(re.sub(r"[+!]", r"\\\g<0>", self.branch)),
            cache=self._inside(".karat"),
            hashed=", ".join(map(_literal, dict.fromkeys(hashed))),
            install="\n".join(f"{' ' * 10}{line}" for line in self.install),
            check=self._check,
            undecided=_UNDECIDED,
            decided=_DECIDED,
            runs=shlex.quote(self._runs),
            decision=_DECISION,
            report="\n".join(f"{' ' * 10}karat report {_DECISION} {options}" for options in _REPORTS),
            kept=self._inside("runs"),
        )

    def gitlab(self, place: str = GITLAB) -> str:
        """Return the job for GitLab CI, in the file ``place``.

        GitLab's patterns are those of Ruby, where ``docs/**`` does not match what is in the folders of docs.
        """
        return _fill(
            _GITLAB,
            head=HEAD,
            job=self.job,
            python=_PYTHON,
            paths=_list((re.sub(r"(^|/)\*\*$", r"\1**/*", path) for path in (*self._paths, place)), 8, self.unwatched),
            cache=_quote(self._inside(".karat/")),
            install=_list(self.install, 4),
            clear=_quote(f"rm -rf karat-report {shlex.quote(self._runs)}"),
            check=_quote(self._check),
            decided=_quote(_DECIDED),
            decision=_DECISION,
            report="\n".join(f'{" " * 10}karat report "$decision" {options}' for options in _REPORTS),
            kept=_quote(self._inside("runs/")),
        )

    @property
    def _runs(self) -> str:
        path = self._inside("runs")
        return f"./{path}" if path.startswith("-") else path

    @property
    def _check(self) -> str:
        folder = f"./{self.folder}" if self.folder.startswith("-") else self.folder
        return f"karat check {shlex.quote(folder)} --reports karat-report"

    @property
    def _paths(self) -> tuple[str, ...]:
        return (self._inside("karat.toml"), self._inside("baseline.json"), *self._data, *self.watched, *self.needs)

    @property
    def _data(self) -> tuple[str, ...]:
        """The patterns of the golden set and the documents."""
        patterns = (f"{path}**" if path.endswith("/") else path for path in (self.golden, self.documents) if path)
        return tuple(pattern.removeprefix("./") for pattern in patterns)

    def _inside(self, path: str) -> str:
        return path if self.folder == "." else f"{self.folder}/{path}"


def _list(values: Iterable[str], depth: int, comments: Iterable[str] = ()) -> str:
    """Return the lines of a YAML list, with further values as comments."""
    lines = [f"{' ' * depth}- {_quote(value)}" for value in dict.fromkeys(values)]
    lines += [f"{' ' * depth}# - {_quote(value)} # for a retriever of your own" for value in comments]
    return "\n".join(lines)


def _quote(text: str) -> str:
    """Return a string of YAML: one of JSON, not escaped to ASCII, since YAML has no surrogates."""
    return json.dumps(text, ensure_ascii=False)


def _literal(text: str) -> str:
    """Return a string of GitHub's expressions."""
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def _fill(template: str, **values: str) -> str:
    """Return a template with its values, all at once: a value that looks like a placeholder is not replaced."""
    return re.sub(r"@(\w+)@", lambda place: values[place[1]], template)
