"""What is given to users: a wheel that is the same each time, few packages under known licences, and releases."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


def run(*command: object, cwd: Path = ROOT, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, timeout=600, **options)  # type: ignore[call-overload,no-any-return]


@pytest.mark.slow
def test_a_wheel_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    """Wherever the clone is, and whatever the times of its files are; it has the typing mark, and no test."""
    wheels = []
    for place in ("here", "elsewhere"):
        copy = tmp_path / place
        copy.mkdir()
        for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"):
            shutil.copyfile(ROOT / name, copy / name)
        shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
        environment = {"PATH": "/usr/bin:/bin", "SOURCE_DATE_EPOCH": "1760000000"}
        build = run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "dist", cwd=copy, env=environment)
        assert build.returncode == 0, build.stderr
        wheels.append(next((copy / "dist").glob("*.whl")))
    assert wheels[0].read_bytes() == wheels[1].read_bytes()
    names = zipfile.ZipFile(wheels[0]).namelist()
    assert "karat/py.typed" in names
    assert [name for name in names if not name.startswith(("karat/", "karat-"))] == []


def test_karat_alone_is_fewer_than_20_packages() -> None:
    """The lock that pip follows for `pip install karat`: what it needs by itself, and no extra."""
    lock = (ROOT / "requirements" / "run.txt").read_text()
    wanted = {}
    for block in re.split(r"\n(?=\S)", lock):
        name = block.partition("==")[0].strip().lower()
        origins = set(re.findall(r"# +(?:via )?([\w.-]+)(?: \([\w./-]+\))?$", block, re.MULTILINE))
        wanted[name] = origins
    needed = {
        re.split(r"[<>=\[]", requirement)[0].lower()
        for requirement in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    }
    while more := {name for name, origins in wanted.items() if origins & needed} - needed:
        needed |= more
    assert {"numpy", "polars-runtime-32", "httpcore2"} <= needed
    assert len(needed) + 1 < 20, sorted(needed)


@pytest.mark.slow
def test_the_licences_of_all_packages_are_allowed(tmp_path: Path) -> None:
    """Of this environment, which has karat with most extras and the tools; and one that is not allowed is found."""
    bill = tmp_path / "bom.json"
    process = run(sys.executable, "packaging/sbom.py", "--check", "--output", bill)
    assert (process.returncode, process.stderr) == (0, "")
    document = json.loads(bill.read_text())
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    numpy = next(part for part in document["components"] if part["name"] == "numpy")
    assert numpy["purl"] == f"pkg:pypi/numpy@{numpy['version']}"
    assert document["metadata"]["component"]["name"] == "karat"
    assert len(document["dependencies"][0]["dependsOn"]) == len(document["components"]) > 50
    again = tmp_path / "again.json"
    run(sys.executable, "packaging/sbom.py", "--output", again)
    assert again.read_bytes() == bill.read_bytes()
    info = tmp_path / "site" / "secretive-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.4\nName: secretive\nVersion: 1.0\nLicense-Expression: AGPL-3.0-only\n"
    )
    process = run(sys.executable, "packaging/sbom.py", "--check", env={"PYTHONPATH": str(tmp_path / "site")})
    assert process.returncode == 1
    assert "secretive 1.0: AGPL-3.0-only" in process.stderr


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A small repository with what a release changes."""
    folder = tmp_path / "clone"
    for name in ("packaging/release.py", "src/karat/core/_version.py", "CHANGELOG.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    run("git", "init", "-q", "-b", "main", cwd=folder)
    for key, value in (("user.name", "a"), ("user.email", "a@example.org")):
        run("git", "config", key, value, cwd=folder)
    run("git", "add", ".", cwd=folder)
    run("git", "commit", "-qm", "all", cwd=folder)
    return folder


def release(clone: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, "packaging/release.py", *arguments, cwd=clone)


@pytest.mark.slow
def test_a_release_is_tried_first_and_then_made(clone: Path) -> None:
    """Without --really nothing changes; with it version, changelog, commit and tag do; and not twice."""
    tried = release(clone, "0.2.0", "--day", "2026-12-01")
    assert tried.returncode == 0
    assert "would commit and tag v0.2.0\nnothing was changed; --really does it\n" in tried.stdout
    assert run("git", "status", "--porcelain", cwd=clone).stdout == ""
    assert release(clone, "0.2.0", "--day", "2026-12-01", "--really").returncode == 0
    assert '__version__ = "0.2.0"' in (clone / "src/karat/core/_version.py").read_text()
    assert "## [0.2.0] - 2026-12-01\n" in (clone / "CHANGELOG.md").read_text()
    assert run("git", "tag", cwd=clone).stdout == "v0.2.0\n"
    assert run("git", "log", "-1", "--format=%s", cwd=clone).stdout == "karat 0.2.0\n"
    assert "the tag v0.2.0 exists" in release(clone, "0.2.0").stderr
    assert "the first section is not unreleased" in release(clone, "0.3.0").stderr


@pytest.mark.slow
def test_a_release_that_cannot_be_made_is_refused(clone: Path) -> None:
    assert "0.0.9 is not newer than 0.1.0" in release(clone, "0.0.9").stderr
    assert "next is no version" in release(clone, "next").stderr
    assert "the branch is main, not stable" in release(clone, "0.2.0", "--branch", "stable").stderr
    (clone / "CHANGELOG.md").write_text("## [0.2.0] - Unreleased\n\n## [0.1.0] - 2026-11-18\n\n- A\n")
    assert "not committed" in release(clone, "0.2.0").stderr
    run("git", "commit", "-qam", "empty", cwd=clone)
    refused = release(clone, "0.2.0", "--really")
    assert (refused.returncode, "has no entry" in refused.stderr) == (1, True)


def test_the_container_is_no_root_and_installs_by_hash() -> None:
    """No engine runs here, so that only the text is checked: user, entry, files that exist, and the lock."""
    text = (ROOT / "Containerfile").read_text().replace("\\\n", " ")
    rows = [line.split(maxsplit=1) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    assert {row[0] for row in rows} <= {
        *("FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"),
    }
    last = {row[0]: row[1] for row in rows}
    assert last["USER"] == "10001"
    assert json.loads(last["ENTRYPOINT"]) == ["karat"]
    assert json.loads(last["CMD"])[0] == "serve"
    assert "--require-hashes" in text
    for kind, rest in rows:
        if kind == "COPY" and "--from" not in rest:
            assert all((ROOT / source).exists() for source in rest.split()[:-1]), rest


def test_the_workflow_covers_systems_and_versions() -> None:
    """Every Python that is locked, and the next one, on Linux, macOS and Windows; none of it can be run here."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "platforms.yml").read_text())
    matrix = workflow["jobs"]["smoke"]["strategy"]["matrix"]
    assert {system.partition("-")[0] for system in matrix["os"]} == {"ubuntu", "macos", "windows"}
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    assert matrix["python"] == [*(row.rpartition(" ")[2] for row in classifiers if " 3." in row), "3.14"]


def test_a_site_lists_its_versions_and_leads_to_the_newest(tmp_path: Path) -> None:
    """By folders with pages alone, in the order of versions and not of letters."""
    for name in ("0.9.0", "0.10.0", "0.10.0rc1", "images"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").write_text("pages")
    (tmp_path / "1.0.0").mkdir()  # without pages
    assert run(sys.executable, "packaging/site.py", tmp_path).returncode == 0
    menu = json.loads((tmp_path / "versions.json").read_text())
    assert [row["version"] for row in menu] == ["0.10.0", "0.10.0rc1", "0.9.0"]
    assert [row["aliases"] for row in menu] == [["latest"], [], []]
    assert "url=0.10.0/index.html" in (tmp_path / "index.html").read_text()
    assert run(sys.executable, "packaging/site.py", "--version").stdout.strip() in (ROOT / "CHANGELOG.md").read_text()
