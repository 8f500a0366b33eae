"""``karat golden check``: the report as text and JSON, exit codes, and every option."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from karat.cli import main
from karat.core import Document, GoldenSet, Judgment, Query, Target
from karat.golden import write
from karat.golden.lint._check import RULES

ASKED = ["How can I restart the internet?", "When may I swim?", "Is leaving late possible?", "Are pets allowed?"]
TEXTS = [
    "Guests reset the wireless network with the round button behind the desk.",
    "The indoor pool opens at seven and closes when the lifeguard leaves.",
    "Departures until two o'clock are free for members of the club.",
    "Small dogs stay in rooms on the ground floor for twelve euros.",
]


def golden() -> GoldenSet:
    """Build a set without an error: four queries, each with one relevant document."""
    return GoldenSet(
        name="house",
        version="1.0.0",
        documents=tuple(Document(id=f"d{i}", text=text) for i, text in enumerate(TEXTS)),
        queries=tuple(Query(id=f"q{i}", text=text, category=f"c{i // 3}") for i, text in enumerate(ASKED)),
        judgments=tuple(
            Judgment(query=f"q{i}", target=Target(document=f"d{(i + j) % 4}"), grade=grade)
            for i in range(4)
            for j, grade in enumerate((3, 1))
        ),
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write the set."""
    write(golden(), tmp_path / "house")
    return tmp_path / "house"


class Cli:
    """karat's command line in this process."""

    def __init__(self, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> None:
        self._patch = patch
        self._capture = capture

    def __call__(self, *arguments: str | Path, code: int = 0) -> str:
        """Run ``karat golden check`` until it ends with ``code``; give all that it prints."""
        return self.karat("golden", "check", *arguments, code=code)

    def karat(self, *arguments: str | Path, code: int = 0) -> str:
        """Run any verb."""
        self._patch.setattr(sys, "argv", ["karat", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = self._capture.readouterr()
        assert ended.value.code == code, out + err
        assert not (out and err)
        return out or err

    def json(self, *arguments: str | Path, code: int = 0) -> Any:
        """Run a check that prints JSON, without NaN or infinities."""

        def refuse(constant: str) -> None:
            raise AssertionError(constant)

        return json.loads(self(*arguments, "--json", code=code), parse_constant=refuse)


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Call the command line."""
    return Cli(monkeypatch, capsys)


def rules(report: Any) -> set[str]:
    """Return the rules that found something."""
    return {finding["rule"] for finding in report["findings"]}


def test_a_usable_set_prints_warnings_tables_and_a_verdict(cli: Cli, folder: Path) -> None:
    """Exit 0: head, warnings with their fix, the ceilings, the resolution, and the verdict."""
    text = cli(folder)
    assert text.startswith("house 1.0.0: 4 documents, 4 queries, 8 judgments\n\nwarning ")
    assert "error" not in text.split("usable: no errors")[0]
    assert (
        "warning unreachable-floor: P@5 cannot exceed 0.20 on this set because each query has one relevant document; "
        "the usual floor 0.60 is unreachable\n"
        "  fix: use R@5 or Success@5, judge more documents, or declare a floor of at most 0.20\n"
    ) in text
    table = """\
ceiling  best mean  usual floor  queries  below 1, and why
R@5         1.0000         0.80      4/4  none
P@5         0.2000         0.60      4/4  4 fewer than 5 relevant documents
RR@10       1.0000         0.70      4/4  none
nDCG@5      1.0000         0.75      4/4  none
"""
    assert table in text
    rows = """\
resolution   queries  sd 0.15  sd 0.25  sd 0.35  one-sided 0.15  one-sided 0.25  one-sided 0.35
all queries        4    0.319    0.532    0.745           0.247           0.412           0.577
c0                 3    0.490    0.816       >1           0.345           0.574           0.804
c1                 1        -        -        -               -               -               -
the smallest drop that is found with 80 % power at the 5 % level (paired t-test)
"""
    assert rows in text
    assert text.rstrip().split("\n")[-1].startswith("usable: no errors, ")


def test_an_error_ends_with_2_and_comes_first(cli: Cli, tmp_path: Path) -> None:
    """A judgment of an unknown query makes the set unusable."""
    lost = Judgment(query="nobody", target=Target(document="d1"), grade=3)
    write(replace(golden(), judgments=(*golden().judgments, lost)), tmp_path / "bad")
    text = cli(tmp_path / "bad", code=2)
    assert text.split("\n\n")[1] == (
        "error unknown-query: 1 judgment of 1 query that the set does not have\n"
        "  where: nobody\n"
        "  fix: add the query, or remove its judgments"
    )
    assert text.rstrip().split("\n")[-1].startswith("not usable: 1 error, ")


def test_strict_takes_warnings_seriously(cli: Cli, folder: Path) -> None:
    """With --strict a warning ends with 2; without any it is 0."""
    assert "not accepted (--strict): no errors" in cli(folder, "--strict", code=2)
    fired = rules(cli.json(folder))
    ignored = [option for rule in sorted(fired) for option in ("--ignore", rule)]
    text = cli(folder, "--strict", *ignored)
    assert text.rstrip().split("\n")[-1].startswith("usable: no errors, no warnings, ")
    assert "ignored (" in text


def test_json_has_the_whole_report(cli: Cli, folder: Path) -> None:
    """The same in JSON, with the same exit code."""
    report = cli.json(folder)
    assert (report["name"], report["documents"], report["queries"], report["judgments"]) == ("house", 4, 4, 8)
    assert report["ok"] is True
    assert report["ceilings"]["P@5"]["best"] == pytest.approx(0.2)
    assert cli.json(folder, "--gate", "P@5>=0.6", code=2)["ok"] is False


def test_gates_are_declared_on_the_command_line(cli: Cli, folder: Path) -> None:
    """A gate that cannot be reached is an error, one that can is none, and several can be given."""
    report = cli.json(folder, "--gate", "P@5 >= 0.3", "--gate", "R@5>=0.9", code=2)
    assert report["gate"] == {"declared": True, "floors": {"P@5": 0.3, "R@5": 0.9}}
    assert [finding["rule"] for finding in report["findings"] if finding["severity"] == "error"] == ["unreachable-gate"]
    assert "declared floor" in cli(folder, "--gate", "P@5>=0.2")
    assert cli(folder, "--gate", "P@5=0.2", code=2) == (
        "karat: gate 'P@5=0.2' should be a measure and its floor, such as 'P@5>=0.60'\n"
    )


def test_the_profile_asks_for_its_quotas(cli: Cli, folder: Path) -> None:
    """Quotas are those of the profile that is named."""
    assert "category-quotas" in rules(cli.json(folder, "--profile", "agent"))
    assert "category-quotas" not in rules(cli.json(folder, "--profile", "small"))
    assert "'smal' is not one of 'small', 'agent', 'structured'" in cli(folder, "--profile", "smal", code=2)


def test_the_index_is_compared(cli: Cli, folder: Path, tmp_path: Path) -> None:
    """Ids of an index, one a line or as JSONL, have to hold what should be found."""
    index = tmp_path / "ids.txt"
    index.write_text("d0\nd1\nd2\nd3\n")
    assert cli.json(folder, "--index", index)["ok"]
    index.write_text("".join(json.dumps({"id": f"d{i}:chunk:0"}) + "\n" for i in range(4)))
    assert "gold has 'd0', the index 'd0:chunk:0'" in cli(folder, "--index", index, code=2)
    assert cli(folder, "--index", tmp_path / "none", code=2).endswith("none: no such file\n")


def test_the_chunks_are_looked_at(cli: Cli, folder: Path, tmp_path: Path) -> None:
    """A chunk without text is reported; a file of chunks that cannot be read is an error of its own."""
    chunks = tmp_path / "chunks.jsonl"
    chunks.write_text('{"id": "a", "text": ""}\n')
    assert "empty-text" in rules(cli.json(folder, "--chunks", chunks))
    chunks.write_text('{"text": "no id"}\n')
    assert "chunks.jsonl, line 1: 'id' (or '_id') is missing" in cli(folder, "--chunks", chunks, code=2)


def test_a_known_spread_is_used(cli: Cli, folder: Path) -> None:
    """With --sd there is one column, and the rule speaks of that spread."""
    report = cli.json(folder, "--sd", "0.2")
    assert list(report["resolution"]["all"]["two_sided"]) == ["0.2"]
    assert "standard deviation" in cli(folder, "--sd", "0", code=2)


def test_what_cannot_be_read_is_told_line_by_line(cli: Cli, folder: Path, tmp_path: Path) -> None:
    """All mistakes of a file are errors of the report, with their lines, also in JSON."""
    rows = (folder / "queries.jsonl").read_text().splitlines()
    (folder / "queries.jsonl").write_text("\n".join(['{"id": "a"}', *rows, '{"id": "b"}', "[]"]) + "\n")
    report = cli.json(folder, code=2)
    assert [finding["message"].partition(", ")[2] for finding in report["findings"]] == [
        "line 1: 'text' is missing",
        "line 6: 'text' is missing",
        "line 7: [] is not an object",
    ]
    assert rules(report) == {"unparsable"}
    text = cli(folder, code=2)
    assert text.count("error unparsable: ") == 3
    assert text.endswith("not usable: 3 errors, no warnings\n")
    assert "no such file or folder" in cli(tmp_path / "nowhere", code=2)


def test_unknown_keys_are_warnings(cli: Cli, folder: Path) -> None:
    """A misspelt key is reported, and the set stays usable."""
    with (folder / "queries.jsonl").open("a") as file:
        file.write('{"id": "q9", "text": "Where is the gym?", "paraphrase": ["gym?"]}\n')
    text = cli(folder)
    assert "warning unknown-key: " in text
    assert "unknown key 'paraphrase', ignored, did you mean 'paraphrases'?" in text


def test_documents_and_the_format_can_be_named(cli: Cli, folder: Path, tmp_path: Path) -> None:
    """A set without documents says so once; with --documents it has them."""
    texts = tmp_path / "texts"
    texts.mkdir()
    for document in golden().documents:
        (texts / f"{document.id}.md").write_text(document.text)
    (folder / "documents.jsonl").unlink()
    assert "no-documents" in rules(cli.json(folder))
    report = cli.json(folder, "--documents", texts, "--format", "karat")
    assert report["documents"] == 4
    assert "no-documents" not in rules(report)
    assert "unknown format 'kart'" in cli(folder, "--format", "kart", code=2)


@pytest.mark.parametrize("rule", ["unreachable-gate", "unparsable", "low-resolution"])
def test_rules_are_explained(cli: Cli, rule: str) -> None:
    """--explain prints the rule's own text, without a set, and as JSON in parts."""
    assert cli("--explain", rule) == f"{rule} ({RULES[rule].severity})\n\n{RULES[rule].text}\n"
    explanation = json.loads(cli("--explain", rule, "--json"))
    assert {"rule", "severity", "summary", "why", "example", "fix"} <= set(explanation)


def test_what_makes_no_sense_is_refused_before_anything_is_read(cli: Cli, tmp_path: Path) -> None:
    """Unknown rules are refused with near misses, and a set has to be named."""
    assert "did you mean 'unknown-query'" in cli("--explain", "unknown-qury", code=2)
    assert "did you mean 'unknown-query'" in cli(tmp_path / "nowhere", "--ignore", "unknown-qury", code=2)
    assert cli(code=2) == "karat: which golden set? karat golden check SET, or --explain RULE\n"


def test_no_id_can_act_on_the_terminal(cli: Cli, tmp_path: Path) -> None:
    """Control characters in names, ids and messages are escaped."""
    evil = "q\x1b[31m"
    lost = Judgment(query=evil, target=Target(document=f"d{evil}"), grade=3)
    named = replace(golden(), name=f"house{evil}", judgments=(*golden().judgments, lost), gate={f"P@5{evil}": 0.5})
    write(replace(named, queries=tuple(replace(q, category=evil) for q in named.queries)), tmp_path / "evil")
    text = cli(tmp_path / "evil", code=2)
    assert "\x1b" not in text
    assert "\\x1b[31m" in text


@pytest.mark.slow
def test_a_large_set_says_on_a_terminal_that_it_is_being_checked(tmp_path: Path) -> None:
    """The note goes to a terminal's standard error, and to nothing else; a small set has none."""
    notes = {}
    for name, n in (("small", 10), ("large", 100_001)):
        write(
            GoldenSet(
                queries=(Query(id="q", text="When may I swim?"),),
                judgments=tuple(Judgment(query="q", target=Target(document=f"d{i}"), grade=3) for i in range(n)),
            ),
            tmp_path / name,
        )
        main_end, terminal = pty.openpty()
        command = [sys.executable, "-m", "karat", "golden", "check", str(tmp_path / name)]
        process = subprocess.run(command, stdout=subprocess.PIPE, stderr=terminal, check=False)
        os.close(terminal)
        try:
            notes[name] = os.read(main_end, 1000).decode()
        except OSError:  # nothing was written, and nobody can write any more
            notes[name] = ""
        os.close(main_end)
        assert process.returncode == 0
        assert b"checking" not in process.stdout
    assert notes == {"small": "", "large": "karat: checking 0 documents and 100,001 judgments\r\n"}


@pytest.fixture
def project(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Start a project whose golden set lies in a folder of its own, and its documents in another."""
    monkeypatch.chdir(tmp_path)
    texts = tmp_path / "docs"
    texts.mkdir()
    for i, text in enumerate(TEXTS):
        (texts / f"d{i}.md").write_text(text)
    (tmp_path / ".git").mkdir()
    cli.karat("init", "quality", "--documents", "docs", "--ci", "none", "--yes")
    return tmp_path / "quality"


def break_judgment(project: Path) -> None:
    """Judge a document for a query that the set of a project does not have."""
    judgments = project / "golden" / "judgments.jsonl"
    lost = {"query": "nobody", "document": "d1", "grade": 1}
    judgments.write_text(judgments.read_text() + json.dumps(lost) + "\n")


def test_what_karat_check_says_to_run_shows_the_error(cli: Cli, project: Path) -> None:
    """The command that karat check prints checks the set of the project, with its documents, as the set itself."""
    break_judgment(project)
    printed = cli.karat("check", "quality", code=2)
    said = printed.split("; karat ")[1].split(" says")[0]
    assert said == "golden check quality"
    text = cli.karat(*said.split(), code=2)
    assert "error unknown-query: " in text
    assert "\n  where: nobody\n  fix: " in text
    assert "4 documents" in text
    assert text == cli("quality/golden", "--documents", "docs", code=2)


def test_a_project_may_be_configured_in_pyproject(cli: Cli, project: Path) -> None:
    """[tool.karat] is read as karat.toml is; one of other tools makes no project."""
    (project / "karat.toml").unlink()
    (project / "pyproject.toml").write_text("[tool.ruff]\n")
    assert "quality: is not a golden set that karat recognises" in cli("quality", code=2)
    (project / "pyproject.toml").write_text("[tool.karat.golden]\npath = 'golden'\ndocuments = '../docs'\n")
    assert cli("quality") == cli("quality/golden", "--documents", "docs")


def test_a_folder_of_a_project_is_no_set(cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no line to correct, but another folder to name."""
    (project / "notes").mkdir()
    monkeypatch.chdir(project / "notes")
    out = cli(".", code=2)
    assert "there is no karat.toml in it; name the project, " in out
    assert "fix:" not in out


def test_options_win_over_the_project(cli: Cli, project: Path, tmp_path: Path) -> None:
    """Documents and format that are named stand for those of karat.toml."""
    (tmp_path / "more").mkdir()
    for name in ("d0", "d1", "d2", "d3", "d4"):
        (tmp_path / "more" / f"{name}.md").write_text(f"This is the text of {name}.")
    assert cli.json("quality")["documents"] == 4
    assert cli.json("quality", "--documents", "more")["documents"] == 5
    assert "unknown format 'kart'" in cli("quality", "--format", "kart", code=2)


def test_a_project_whose_set_is_missing_or_damaged(cli: Cli, project: Path) -> None:
    """The message has the path of the set, not of the project; a mistake in karat.toml is reported as one."""
    (project / "golden" / "queries.jsonl").write_text("[]\n")
    assert "quality/golden/queries.jsonl, line 1: [] is not an object" in cli("quality", code=2)
    (project / "karat.toml").write_text("[golden]\npath = 'gone'\n")
    assert "quality/gone: no such file or folder" in cli("quality", code=2)
    (project / "karat.toml").write_text("[goldn]\n")
    assert "there is no table 'goldn'" in cli("quality", code=2)
