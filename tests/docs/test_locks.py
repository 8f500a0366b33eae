"""requirements/: whatever is installed is pinned with hashes, and fits what the project asks for."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from each import each

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ROOT / "requirements"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = {"run": ["dense", "server"], "dev": ["dev"], "bench": ["bench"], "mlflow": ["mlflow"], "systems": ["systems"]}
LEFT_OUT = {"systems": {"polars"}}
"""What a lock leaves out on purpose, of all that the project asks for; scripts/lock says why."""
NAMES = sorted(path.stem for path in LOCKS.glob("*.txt"))
MACHINES = [
    {"python_version": f"3.{minor}", "python_full_version": f"3.{minor}.4", "sys_platform": system,
     "platform_system": system.capitalize(), "platform_machine": machine, "os_name": "posix", "extra": ""}
    for minor in (11, 12, 13) for system, machine in (("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"))
]  # fmt: skip


def read_lock(name: str) -> list[str]:
    """Return the lines of a lock file, with what they continue on."""
    text = (LOCKS / f"{name}.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    return [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def read_versions(name: str, machine: dict[str, str]) -> dict[str, str]:
    """Return the version of each package that a lock file installs on a machine."""
    requirements = [Requirement(re.sub(r"\s*--hash.*", "", line)) for line in read_lock(name)]
    applicable = [r for r in requirements if r.marker is None or r.marker.evaluate(machine)]
    assert len({r.name for r in applicable}) == len(applicable), "two versions for one machine"
    return {canonicalize_name(r.name): next(iter(r.specifier)).version for r in applicable}


def list_asked(extras: list[str]) -> list[Requirement]:
    """Return what the project and some of its extras ask for, with the extras that these name."""
    project = PROJECT["project"]
    lines = [*project["dependencies"], *(line for extra in extras for line in project["optional-dependencies"][extra])]
    requirements = [Requirement(line) for line in lines]
    inner = [extra for r in requirements if r.name == "karat" for extra in sorted(r.extras)]
    return [r for r in requirements if r.name != "karat"] + (list_asked(inner) if inner else [])


@each("name", NAMES)
def test_every_locked_requirement_has_a_version_and_hashes(name: str) -> None:
    """Each line pins a package to one version, with at least one hash."""
    lines = read_lock(name)
    assert lines
    for line in lines:
        assert re.match(r"[a-z0-9-]+==\S+ .*--hash=sha256:[0-9a-f]{64}(?:\s|$)", line), line[:80]


@pytest.mark.parametrize("name", EXTRAS)
def test_the_lock_has_all_that_the_project_asks_for(name: str) -> None:
    """On Linux and macOS, with Python 3.11 to 3.13, each requirement is locked to a version in its range."""
    requirements = [r for r in list_asked(EXTRAS[name]) if r.name not in LEFT_OUT.get(name, ())]
    for machine in MACHINES:
        locked = read_versions(name, machine)
        wrong = [str(r) for r in requirements if not r.specifier.contains(locked.get(canonicalize_name(r.name), ""))]
        assert wrong == [], f"run ./scripts/lock; {machine}"


@pytest.mark.parametrize("name", ["run", "dev", "build"])
def test_the_lock_has_all_that_its_packages_need(name: str) -> None:
    """pip is called with --no-deps: what a package of the lock requires, as its metadata says, is in the lock too."""
    locked = read_versions(name, {"extra": ""})
    missing = []
    for package in locked:
        try:
            needs = distribution(package).requires or []
        except PackageNotFoundError:  # the lock is of this environment: scripts/setup dev has installed it
            needs = [f"{package} is not installed"]
        for need in map(Requirement, needs):
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                version = locked.get(canonicalize_name(need.name))
                missing += (
                    [] if version and need.specifier.contains(version, prereleases=True) else [f"{package}: {need}"]
                )
    assert missing == []


def test_users_get_the_versions_that_the_tests_ran_with() -> None:
    """requirements/run.txt and build.txt are parts of dev.txt, to the last hash."""
    dev, run, build = (
        {re.sub(r" ;.*?(?=  )", "", line) for line in read_lock(name)} for name in ("dev", "run", "build")
    )
    assert run | build <= dev


def test_what_builds_karat_is_locked() -> None:
    """action.yml builds karat without an environment of its own, so that hatchling must be there as asked."""
    for line in PROJECT["build-system"]["requires"]:
        requirement = Requirement(line)
        assert requirement.specifier.contains(read_versions("build", {"extra": ""})[requirement.name])


def test_only_torch_has_no_hash() -> None:
    """requirements/torch.in says why; all else that it asks for is locked."""
    lines = (LOCKS / "torch.in").read_text(encoding="utf-8").splitlines()
    requirements = [Requirement(line) for line in lines if not line.startswith("#")]
    locked = read_versions("torch", {"extra": ""})
    assert {r.name for r in requirements} - set(locked) == {"torch"}
    assert all(r.specifier.contains(locked[r.name]) for r in requirements if r.name != "torch")
    assert {str(r.specifier)[:10] for r in requirements if r.name == "torch"} == {"==2.13.0+c", "==2.13.0"}


def test_every_lock_is_written_by_the_script() -> None:
    """A lock that scripts/lock does not write would grow old."""
    script = (ROOT / "scripts" / "lock").read_text(encoding="utf-8")
    assert sorted(re.findall(r"(?:^|\| )lock ([\w-]+)", script, re.MULTILINE)) == NAMES


def test_the_lock_without_the_model_has_all_else() -> None:
    """What scripts/setup takes out of the lock where the model cannot be had is the model, and nothing more."""
    script = (ROOT / "scripts" / "setup").read_text(encoding="utf-8")
    (expression,) = re.findall(r"sed '(/\^holographic[^']+)' requirements/run.txt", script)
    lock = LOCKS / "run.txt"
    left = subprocess.run(["sed", expression, lock], capture_output=True, text=True, check=True).stdout
    gone = set(lock.read_text().splitlines()) - set(left.splitlines())
    assert sum("==" in line for line in gone) == 1
    assert left.count("==") == lock.read_text().count("==") - 1
    assert left.count("--hash") == lock.read_text().count("--hash") - 1


def test_python_is_one_of_those_that_are_locked() -> None:
    """The tests above evaluate the markers for the versions that pyproject.toml names, and this is one of them."""
    named = [c.rpartition(" ")[2] for c in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d", c)]
    assert named == sorted({machine["python_version"] for machine in MACHINES})
    assert f"3.{sys.version_info.minor}" in named
