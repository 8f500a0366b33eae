"""How CI gets karat: never by a name that nobody has chosen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml

from each import each
from karat.core import UsageError
from karat.net import find_requirement
from karat.start import Start, start_project
from karat.start._install import plan_install
from karat.start._repository import Repository

WORKFLOW = ".github/workflows/karat.yml"
HERE = "https://git.example/karat.git"
PIP = "python -m pip install"


@pytest.fixture
def came(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which pip has written down what it knows of karat 9, which came from an index."""
    folder = tmp_path / "site" / "karat-9.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: karat\nVersion: 9\n")
    (folder / "INSTALLER").write_text("pip\n")
    monkeypatch.syspath_prepend(str(folder.parent))
    return folder


def lines(folder: Path, *, spec: str = "", system: bool = False) -> tuple[str, ...]:
    """Return the commands of a repository whose project is in its root."""
    repository = Repository(folder)
    return plan_install(repository, repository.find_requirements(folder), spec=spec, system=system).lines


def test_an_index_is_asked_for_the_version_that_came_from_one(came: Path) -> None:
    """pip leaves no address then."""
    assert (find_requirement(), find_requirement("dense")) == ("karat==9", "karat[dense]==9")


@pytest.mark.parametrize(
    ("line", "installed"),
    [
        ({"url": HERE, "vcs_info": {"vcs": "git", "commit_id": "0a1b"}}, f"karat @ git+{HERE}@0a1b"),
        ({"url": HERE, "subdirectory": "a", "vcs_info": {"vcs": "git", "commit_id": "0a1b"}},
         f"karat @ git+{HERE}@0a1b#subdirectory=a"),
        ({"url": "ssh://git@git.example/k", "vcs_info": {"vcs": "git", "commit_id": "0a"}},
         "karat @ git+ssh://git@git.example/k@0a"),
        ({"url": "https://files.example/karat-9-py3-none-any.whl", "archive_info": {}},
         "karat @ https://files.example/karat-9-py3-none-any.whl"),
        ({"url": "file:///srv/me/karat", "dir_info": {"editable": True}}, ""),
        ({"url": "file:///srv/me/karat", "vcs_info": {"vcs": "git", "commit_id": "0a1b"}}, ""),
        ({"url": "file:///tmp/karat-9-py3-none-any.whl", "archive_info": {}}, ""),
        ({"url": "https://${TOKEN}@git.example/k", "vcs_info": {"vcs": "git", "commit_id": "0a1b"}}, ""),
        ({"url": "https://git.example/${{ secrets.X }}", "vcs_info": {"vcs": "git", "commit_id": "0a1b"}}, ""),
        ({"url": HERE, "vcs_info": 3}, ""), ({"url": 3}, ""), ([], ""), ({}, ""),
    ],
)  # fmt: skip
def test_it_comes_from_where_it_came(came: Path, line: object, installed: str) -> None:
    """The commit that runs here, or the file; nothing where that lies on this computer, or cannot be read."""
    (came / "direct_url.json").write_text(json.dumps(line))
    assert find_requirement() == installed


def test_what_nobody_installed_came_from_nowhere(came: Path) -> None:
    """A folder that is on the path of Python says a version, and not that an index has it."""
    (came / "INSTALLER").unlink()
    assert find_requirement() == ""


def test_where_it_is_not_known_nothing_is_installed(came: Path, tmp_path: Path) -> None:
    """The command says so and fails, and so does what init says; the name karat is asked of no index."""
    (came / "direct_url.json").write_text(json.dumps({"url": "file:///srv/me/karat", "dir_info": {}}))
    (tmp_path / "new").mkdir()
    files = start_project(Start(folder=tmp_path / "new", ci="both"))
    todo = {step for file in files for step in file.todo}
    assert len(todo) == 1
    assert next(iter(todo)).startswith("karat is not on a package index yet. Pass --karat PATH_OR_URL, or edit")
    (line,) = lines(tmp_path / "new")
    job = yaml.safe_load((tmp_path / "new" / ".gitlab-ci.yml").read_text())["karat"]
    assert job["before_script"] == [line]
    process = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
    assert (process.returncode, process.stdout) == (1, "")
    assert "Replace this line, for instance by python -m pip install" in process.stderr


@each(
    ("spec", "system", "installed"),
    [
        ("0.4", False, "'karat[dense]==0.4'"),
        ("1.0rc1", True, "karat==1.0rc1"),
        ("karat>=0.4,<1", False, "'karat[dense]>=0.4,<1'"),
        ("karat[hnsw]", False, "'karat[hnsw,dense]'"),
        ("karat[dense]~=0.4", False, "'karat[dense]~=0.4'"),
        (f"git+{HERE}@v1", False, f"'karat[dense] @ git+{HERE}@v1'"),
        ("karat @ https://files.example/karat-1-py3-none-any.whl", True,
         "'karat @ https://files.example/karat-1-py3-none-any.whl'"),
        ("wheels/karat-1-py3-none-any.whl", False, "'wheels/karat-1-py3-none-any.whl[dense]'"),
        ("karat-1.tar.gz", True, "karat-1.tar.gz"),
        ("../karat[hnsw]", False, "'../karat[hnsw]'"),
    ],
)  # fmt: skip
def test_what_is_told_is_installed(tmp_path: Path, spec: str, system: bool, installed: str) -> None:
    """A version, a requirement, an address or a file, with the extra that the pipeline needs; before all else."""
    assert lines(tmp_path, spec=spec, system=system) == (f"{PIP} {installed}",)
    (tmp_path / "requirements.txt").write_text("karat==0.3\n")
    assert lines(tmp_path, spec=spec, system=system)[0] == f"{PIP} {installed}"


@each(
    "spec",
    ["-e .", "--index-url=x", "karat-tools", "later", "a\nb", "0.1; rm", "${{ secrets.X }}",
     "git+https://${TOKEN}@git.example/karat"],
)  # fmt: skip
def test_what_is_not_installed(tmp_path: Path, spec: str) -> None:
    """An option of pip, another package, more than one line, an expression of the CI, a variable in quotes."""
    with pytest.raises(UsageError, match="--karat"):
        lines(tmp_path, spec=spec)


@pytest.mark.parametrize(
    ("text", "extra"),
    [
        ("httpx\nKarat[hnsw] == 0.3 ; python_version > '3' # gate\n", True),
        ("karat[dense]==0.3\n", False),
        ("karat[dense]==0.3 \\\n    --hash=sha256:0\n", False),
        (f"karat @ git+{HERE}@v1#subdirectory=x  # ours\n", True),
        (f"-e git+{HERE}@v1#egg=karat\n", True),
        ("-e git+https://git.example/fork.git#subdirectory=x&egg=karat[dense]\n", False),
        (f"git+{HERE}\n", True),
        ("karat @ git+https://${TOKEN}@git.example/x\n", True),
        ("karat @ git+https://git.example/${{ secrets.X }}\n", True),
        ("./vendor/karat-1.0-py3-none-any.whl\n", True),
        ("-e ../karat\n", True),
        ("--requirement other.txt\n", True),
    ],
)  # fmt: skip
def test_a_list_that_names_karat_is_installed(came: Path, tmp_path: Path, text: str, extra: bool) -> None:
    """pip reads it itself, with hashes, variables and addresses; none of it is copied into the workflow."""
    names = "-r requirements.txt"
    (tmp_path / "other.txt").write_text("karat\n")
    (tmp_path / "requirements.txt").write_text(text)
    assert lines(tmp_path) == ((f"echo 'karat[dense]' | {PIP} {names} -r /dev/stdin") if extra else f"{PIP} {names}",)
    assert lines(tmp_path, system=True) == (f"{PIP} -r requirements.txt",)


def test_a_list_with_hashes_takes_nothing_beside_it(tmp_path: Path) -> None:
    """pip would refuse what has no hash; what is missing in the list is said."""
    (tmp_path / "requirements.txt").write_text("karat==0.3 \\\n    --hash=sha256:0\n")
    result = plan_install(Repository(tmp_path), ["requirements.txt"])
    assert result.lines == (f"{PIP} -r requirements.txt",)
    assert result.notes == ("requirements.txt is locked by hashes; the pipeline needs karat[dense] there",)


@pytest.mark.parametrize(
    "text", ["# karat==0.3\nkarat-tools==1\nkarats\n-r other.txt\nhttps://h.example/karat-x/y\n", b"\xff\xfe"]
)
def test_a_list_of_other_things_says_nothing(came: Path, tmp_path: Path, text: str | bytes) -> None:
    """Names that begin the same, comments, and what cannot be read."""
    (tmp_path / "requirements.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert lines(tmp_path) == (f"{PIP} 'karat[dense]==9'",)
    assert lines(tmp_path, system=True) == (f"{PIP} karat==9", f"{PIP} -r requirements.txt")


@pytest.mark.parametrize(
    ("text", "installed"),
    [
        ('[project]\ndependencies = ["httpx", "karat>=0.3"]\n', "karat[dense]>=0.3"),
        ('[project.optional-dependencies]\ndev = ["karat~=0.3"]\n', "karat[dense]~=0.3"),
        ('[dependency-groups]\nall = [{include-group = "ci"}]\nci = ["karat==0.3"]\n', "karat[dense]==0.3"),
        ('[project]\ndependencies = ["karat"]\n[tool.uv.sources]\nkarat = { path = "../karat" }\n', None),
        ('[project]\ndependencies = ["karat @ git+https://h.example/${{ secrets.X }}"]\n', None),
        ('[tool.poetry.dependencies]\nkarat = "^0.1"\n', None),
        ("[project]\ndependencies = 3\n", None),
        ("project = 3\ndependency-groups = []\n", None),
        ("[project\n", None),
    ],
)  # fmt: skip
def test_what_a_project_requires_is_installed(came: Path, tmp_path: Path, text: str, installed: str | None) -> None:
    """Who has chosen a version gets that one; where pip would not understand it, what runs here has been chosen."""
    (tmp_path / "pyproject.toml").write_text(text)
    assert lines(tmp_path) == (f"{PIP} '{installed or 'karat[dense]==9'}'",)


def test_the_code_of_a_folder_needs_what_is_there(came: Path, tmp_path: Path) -> None:
    """The nearest list or package is installed; a pyproject.toml that is no package is none."""
    inner = tmp_path / "it's" / "-x"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[dependency-groups]\nci = ["karat==0.3"]\n')
    repository = Repository(tmp_path)

    def more() -> tuple[str, ...]:
        return plan_install(repository, repository.find_requirements(inner), system=True).lines[1:]

    assert more() == ()
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "shop"\n')
    assert more() == (f"{PIP} ./",)
    (inner / "pyproject.toml").write_text('[project]\nname = "search"\n')
    assert more() == (PIP + """ './it'"'"'s/-x'""",)
    (inner / "requirements.txt").write_text("httpx\n")
    assert more() == (PIP + """ -r 'it'"'"'s/-x/requirements.txt'""",)


def wheel(folder: Path) -> Path:
    """Make a wheel of something that is called karat."""
    folder.mkdir()
    path = folder / "karat-9-py3-none-any.whl"
    with ZipFile(path, "w") as file:
        head = "Metadata-Version: 2.1\nName: karat\nVersion: 9\nProvides-Extra: dense\n"
        file.writestr("karat-9.dist-info/METADATA", head)
        file.writestr("karat-9.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr("karat-9.dist-info/RECORD", "")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("listed", [False, True])
def test_pip_takes_what_is_written(tmp_path: Path, environment: dict[str, str], listed: bool) -> None:
    """A wheel of the repository and its extra, told or in the list: pip reads the line as it is meant."""
    wheel(tmp_path / "it's wheels")
    spec = "it's wheels/karat-9-py3-none-any.whl"
    if listed:
        (tmp_path / "requirements.txt").write_text(f"./{spec}\n")
    start_project(Start(folder=tmp_path, karat="" if listed else spec, ci="both"))
    steps = yaml.safe_load((tmp_path / WORKFLOW).read_text())["jobs"]["gate"]["steps"]
    (line,) = [step["run"].strip() for step in steps if step.get("name") == "Install"]
    job = yaml.safe_load((tmp_path / ".gitlab-ci.yml").read_text())["karat"]
    assert job["before_script"] == [line]
    command = f"{line} --dry-run --no-index --no-deps --ignore-installed --disable-pip-version-check"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    process = subprocess.run(
        ["bash", "-e", "-c", command], cwd=tmp_path, env=environment | {"PATH": path}, capture_output=True, text=True
    )
    assert "Would install karat-9" in process.stdout, process.stderr
