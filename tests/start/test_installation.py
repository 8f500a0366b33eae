"""A look at an installation: what is there, what is missing for what, and where files lie."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest

from each import each
from in_process import run_karat
from karat.core import InputError
from karat.net import find_version
from karat.schema import json_schema
from karat.start import _doctor, examine_installation
from karat.start._extras import EXTRAS, OLDEST_PYTHON, REQUIRED

ROOT = Path(__file__).resolve().parents[2]
FOR_DEVELOPERS = {"docs", "systems", "bench", "dev"}


def test_the_tables_are_those_of_pyproject() -> None:
    """What the doctor asks for is what pip installs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = dict(project["optional-dependencies"])
    extras["onnx"] = [*extras["dense"], *(name for name in extras["onnx"] if name != "karat[dense]")]
    assert list(REQUIRED) == project["dependencies"]
    assert {name: list(extra.packages) for name, extra in EXTRAS.items()} == {
        name: packages for name, packages in extras.items() if name not in FOR_DEVELOPERS
    }
    assert project["requires-python"] == ">=" + ".".join(map(str, OLDEST_PYTHON))


def test_the_report_follows_its_schema_and_names_versions() -> None:
    """JSON of the verb is the published document."""
    process = run_karat("doctor", str(ROOT / "examples" / "hotel"), "--json")
    document = json.loads(process.stdout)
    jsonschema.validate(document, json_schema("installation"))
    assert process.returncode == 0
    assert document["ready"]
    versions = {package["name"]: package["version"] for package in document["packages"]}
    assert versions["numpy"] == find_version("numpy")
    assert [extra["name"] for extra in document["extras"] if extra["needed"]] == ["dense"]


@each(
    ("table", "extra"),
    [
        ('[system]\nkind = "qdrant"\ncollection = "c"', "qdrant"),
        ("[pipeline]\ndense = true", "dense"),
        ('[pipeline]\ndense = true\nembedder = {kind = "granite", runtime = "onnx"}', "onnx"),
        ('[pipeline]\ndense = true\nembedder = "sentence-transformers:m"', "sentence-transformers"),
        ('[telemetry]\nendpoint = "http://127.0.0.1:4318"', "otel"),
        ('[pipeline]\ndense = true\nembedder = {kind = "openai", model = "m"}', ""),
        ('[system]\nurl = "http://127.0.0.1:1/"', ""),
        ('[eval]\nsystem = "search:search"', ""),
        ("", ""),
    ],
)
def test_what_a_project_needs_is_told_by_its_configuration(table: str, extra: str, tmp_path: Path) -> None:
    (tmp_path / "karat.toml").write_text(table)
    report = examine_installation(tmp_path)
    assert [row.name for row in report.extras if row.needed] == ([extra] if extra else [])


def test_a_missing_extra_is_a_problem_only_if_it_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 3, the reason and what to type."""
    monkeypatch.setattr(_doctor, "find_version", lambda name: "" if name == "tokenizers" else find_version(name))
    (tmp_path / "karat.toml").write_text("[pipeline]\ndense = false\n")
    assert run_karat("doctor", str(tmp_path)).returncode == 0
    (tmp_path / "karat.toml").write_text("[pipeline]\ndense = true\n")
    process = run_karat("doctor", str(tmp_path))
    assert process.returncode == 3
    text = process.stdout.decode()
    assert "problem: the project needs karat's extra dense" in text
    assert "pip install " in text
    assert text.endswith("karat cannot work here as it is\n")


def test_a_package_that_is_too_old_or_missing_is_a_problem(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    there = {"numpy": "1.26.4", "polars": ""}
    monkeypatch.setattr(_doctor, "find_version", lambda name: there.get(name, find_version(name)))
    report = examine_installation(tmp_path)
    assert not report.ready
    assert report.problems == (
        "numpy is 1.26.4; karat needs numpy>=2.0,<3: install karat again",
        "polars is not installed; karat needs polars>=2.0,<3: install karat again",
    )


def test_a_broken_project_is_told(tmp_path: Path) -> None:
    (tmp_path / "karat.toml").write_text("[pipelin]\n")
    report = examine_installation(tmp_path)
    assert "did you mean 'pipeline'" in report.problems[0]
    (tmp_path / "karat.toml").write_text('[golden]\npath = "gone"\ndocuments = "lost"\n')
    problems = examine_installation(tmp_path).problems
    assert [problem.partition(": ")[2] for problem in problems] == [
        "there is no golden set; correct [golden] in karat.toml",
        "there is no documents; correct [golden] in karat.toml",
    ]
    with pytest.raises(InputError, match="no such folder"):
        examine_installation(tmp_path / "nowhere")


def test_places_have_their_size_and_who_chose_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache is that of KARAT_CACHE; off, and a home that nobody knows, are notes."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "vectors").write_bytes(bytes(1234))
    monkeypatch.setenv("KARAT_CACHE", str(tmp_path / "cache"))
    (place,) = examine_installation(tmp_path).places
    assert (place.path, place.bytes, place.exists, place.writable) == (str(tmp_path / "cache"), 1234, True, True)
    monkeypatch.setenv("KARAT_CACHE", "off")
    report = examine_installation(tmp_path)
    assert (report.places[0].path, report.notes[0]) == (
        "", "KARAT_CACHE turns the cache off: vectors are computed anew"
    )  # fmt: skip
    assert report.ready
    monkeypatch.setenv("KARAT_CACHE", str(tmp_path / "cache" / "vectors" / "below"))
    assert "cannot be written" in examine_installation(tmp_path).notes[0]
    monkeypatch.setenv("KARAT_CACHE", "")
    monkeypatch.setattr(_doctor, "find_cache_folder", _no_home)
    assert "there is no home folder" in examine_installation(tmp_path).notes[0]


def _no_home() -> None:
    raise RuntimeError("no home")


def test_nothing_is_asked_over_the_network(tmp_path: Path) -> None:
    """Python itself reports every connection and every name that is looked up; there is none."""
    program = (
        "import sys, os\n"
        "def watch(event, _):\n"
        "    if event.startswith('socket.'):\n"
        "        os.write(2, event.encode() + b'\\n')\n"
        "sys.addaudithook(watch)\n"
        "sys.argv = ['karat', 'doctor', sys.argv[1]]\n"
        "import karat.cli\n"
        "karat.cli.main()\n"
    )
    command = [sys.executable, "-c", program, str(ROOT / "examples" / "hotel")]
    process = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert (process.returncode, process.stderr) == (0, "")
