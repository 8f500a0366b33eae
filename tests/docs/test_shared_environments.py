"""``scripts/setup``: what clones share, and what each has of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from zipfile import ZipFile

import pytest

NO_INDEX = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": os.devnull, "PIP_CONFIG_FILE": os.devnull, "UV_NO_INDEX": "1"}
INSTALLING, WAITING = "karat: installing", "karat: waiting for another set-up to end\n"
SHOW = """
import karat, iniconfig
from importlib.metadata import version
print(karat.__file__, iniconfig.__file__, version("iniconfig"), sep="\\n")
"""


def set_up(root: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Make the environment for benchmarks of a clone."""
    return subprocess.run([root / "scripts" / "setup", "bench"], env=env, capture_output=True, text=True, timeout=600)


def run(root: Path, program: str, *arguments: str, env: dict[str, str]) -> list[str]:
    """Run a program of that environment, and return the lines that it printed."""
    command = [root / ".venv-bench" / "bin" / program, *arguments]
    return subprocess.run(
        command, env=env, cwd=root.parent, capture_output=True, text=True, check=True
    ).stdout.splitlines()


def write_wheel(path: Path) -> Path:
    """Write a wheel with another version of the package that is shared."""
    with ZipFile(path, "w") as wheel:
        wheel.writestr("iniconfig/__init__.py", "")
        wheel.writestr("iniconfig-99.dist-info/METADATA", "Metadata-Version: 2.1\nName: iniconfig\nVersion: 99\n")
        wheel.writestr("iniconfig-99.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("iniconfig-99.dist-info/RECORD", "")
    return path


@pytest.mark.slow
def test_clones_share_packages_and_no_code(
    tmp_path: Path, clone: Callable[[Path], Path], environment: dict[str, str], root: Path
) -> None:
    """Two clones are set up at once, on top of one environment in a cache, which has one small package.

    One installs, and the other waits. karat comes from each clone, and what pip installs into one of them is seen there
    and nowhere else. Environments in the cache that no clone is on top of any more are removed.
    """
    cache = tmp_path / "the cache"
    used, unused = cache / "bench-used", cache / "bench-unused"
    user = tmp_path / "a third clone" / ".venv-bench"
    user.mkdir(parents=True)
    (user / ".shared").symlink_to(used)
    for folder in (used, unused):
        folder.mkdir(parents=True)
        (folder / ".users").write_text(f"{user}\n")
    env = environment | {"KARAT_DEV_CACHE": str(cache)}
    clones = [clone(tmp_path / name) for name in ("a clone", "another clone")]
    (lock,) = re.findall(
        r"^iniconfig==(?:.*\\\n)+.*\n", (root / "requirements" / "dev.txt").read_text("utf-8"), re.MULTILINE
    )
    for path in clones:
        (path / "requirements" / "bench.txt").write_text(lock)
    with ThreadPoolExecutor() as threads:
        made = list(threads.map(lambda path: set_up(path, env), clones))
    assert [process.returncode for process in made] == [0, 0], made
    assert sorted((INSTALLING in process.stderr, WAITING in process.stderr) for process in made) == [
        (False, True),
        (True, False),
    ]

    (shared,) = (path for path in cache.iterdir() if path.is_dir() and path != used)
    assert used.exists()
    wheel = write_wheel(tmp_path / "iniconfig-99-py3-none-any.whl")
    run(clones[1], "pip", "--quiet", "install", "--no-index", "--no-deps", str(wheel), env=env)
    for path, place in zip(clones, (shared, clones[1] / ".venv-bench"), strict=True):
        code, package, version = run(path, "python", "-c", SHOW, env=env)
        assert code == str(path / "src" / "karat" / "__init__.py")
        assert Path(package).is_relative_to(place)
        assert (version == "99") == (place != shared)

    assert set_up(clones[0], env | NO_INDEX).returncode == 0
    (clones[1] / "requirements" / "bench.txt").write_text(f"{lock}# changed\n")
    other = set_up(clones[1], env | NO_INDEX)
    assert (other.returncode, f"making {cache}" in other.stderr, str(shared) in other.stderr) == (3, True, False)
    shutil.rmtree(shared)
    own = set_up(clones[0], env | NO_INDEX | {"KARAT_DEV_CACHE": ""})
    assert (own.returncode, "making .venv-bench with" in own.stderr, str(cache) in own.stderr) == (3, True, False)
