"""Text from outside that would act on a terminal or in the log of a CI, through every verb of the command line."""

from __future__ import annotations

import ast
import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import karat.cli
from cli.gate_project import accept, main, make_run
from cli.test_outputs import commands
from karat import golden, online
from karat.cli._main import cli
from karat.core import Document, GoldenSet, Judgment, Query, Target
from karat.online._shadow_records import ShadowDraft
from karat.online.trials import TrialPlan, start_trial

COMMANDS = (
    "##[add-mask]the",
    "::add-mask::the",
    "::stop-commands::t",
    "##vso[task.setvariable variable=A]b",
    "##teamcity[buildStatus status='SUCCESS']",
    "##[stop-commands]",
    "::set-output name=a::b",
    "section_start:1:a[collapsed=true]\r\x1b[0K",
)
ACTING = "\x1b[2J\x1b]0;title\x07\u202eevil\u2066\x9b31m\r::error::carriage"
GITHUB = re.compile(r"##\[|^\s*::")
OTHERS = re.compile(r"##\w*\[|section_(start|end):\d")
NO_TEXT = {"measures", "systems list", "export", "completion"}
"""Verbs that print nothing from outside, or that need MLflow."""


def hostile(number: int, more: str = "") -> str:
    return f"{COMMANDS[number % len(COMMANDS)]} {number}{more}"


def find_actions(printed: str) -> list[str]:
    """Return the lines on which a CI or a terminal would act: how their own parsers look at a line."""
    lines = re.split(r"[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", printed)
    acting = [line for line in lines if GITHUB.search(line) or OTHERS.search(line)]
    return acting + [line for line in printed.split("\n") if not line.replace("\t", " ").isprintable()]


def make_hostile_set() -> GoldenSet:
    """Ids, texts, titles, names, categories, answers and metadata that all begin with a command."""
    ids = range(12)
    documents = tuple(
        Document(id=hostile(i, f"{kind}"), text=hostile(i, f" says {kind}{i}. {ACTING}"), title=hostile(i, ACTING))
        for i in ids
        for kind in "dx"
    )
    queries = tuple(
        Query(
            id=hostile(i, "q"),
            text=hostile(i, f" what of {i}? {ACTING}"),
            category=hostile(i % 2),
            paraphrases=(hostile(i, f" again {i}?"),),
            type=hostile(1),
            intent=hostile(2),
            answer=hostile(3, ACTING),
            metadata={hostile(4): hostile(5, ACTING)},
        )
        for i in ids
    )
    judgments = tuple(
        Judgment(query=hostile(i, "q"), target=Target(document=hostile(i, "d")), grade=1, annotator=hostile(3))
        for i in ids
    )
    head = {"name": hostile(0), "version": "1.0.0", "description": hostile(1, ACTING)}
    return GoldenSet(
        **head, grades=("no", "yes"), relevant=1, documents=documents, queries=queries, judgments=judgments
    )


SYSTEM = """
def find(query, k):
    if "what of 1" in query:
        raise ValueError("##[add-mask]failed\\n::stop-commands::now\\x1b[2J")
    return [f"##[add-mask]the {n}d" for n in range(0, 12, 8)] + ["::add-mask::the 1x"]

def broken(query, k):
    raise ValueError("::stop-commands::now\\n##[add-mask]all")
"""
SWEEP = """
description = "##[add-mask]sweep"
[[variant]]
name = "##[add-mask]variant"
"eval.system" = "unkind:find"
[[variant]]
name = "::stop-commands::variant"
"eval.system" = "unkind:broken"
"""
POLICY = """
[gate]
must_pass = ["##[add-mask]the 0q"]
[[gate.rules]]
metric = "RR@10"
min = 0.99
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in which everything is hostile: set, runs with errors, baseline, log of experiments."""
    folder = tmp_path_factory.mktemp("hostile")
    made = make_hostile_set()
    golden.write(made, folder / "set")
    toml = f'[golden]\npath = "set"\n[pipeline]\ndense = false\n[eval]\nmeasures = ["RR@10"]\n{POLICY}'
    (folder / "karat.toml").write_text(toml)
    (folder / "unkind.py").write_text(SYSTEM)
    (folder / "sweep.toml").write_text(SWEEP)
    errors = {hostile(i, "q"): f"{COMMANDS[i]}\n::error::second line {ACTING}" for i in range(4)}
    was = make_run(folder, made, [1] * 12, "##[add-mask]was", system={"kind": "##[add-mask]kind", "a": ACTING})
    accept(folder, was)
    make_run(folder, made, [2] * 12, "::stop-commands::now", errors=errors, system={"kind": "::add-mask::kind"})
    shutil.copytree(folder / "set", folder / "other")
    queries = folder / "other" / "queries.jsonl"
    queries.write_text(queries.read_text().replace(" what of", " where is"))
    runs = [[f"{hostile(i, 'q')}".replace(" ", "_"), f"{hostile(i, 'd')}".replace(" ", "_")] for i in (0, 5)]
    (folder / "run.txt").write_text("".join(f"{query} Q0 {document} 1 2 ##[tag]\n" for query, document in runs))
    (folder / "qrels.txt").write_text("".join(f"{query} 0 {document} 1\n" for query, document in runs))
    (folder / "pages").mkdir()
    (folder / "pages" / "##[page].md").write_text(
        f"# ##[add-mask]x\n\n{hostile(0)} {ACTING}\n\n## ::stop-commands::x\n\ntext\n"
    )
    with online.open(folder / "##[live].db", keep_ids=True) as log:
        for i in range(8):
            log.record(hostile(i, ACTING), [hostile(i, "d")], session=hostile(i), intent=hostile(i), error=hostile(i))
    (folder / "##[live].db.journal" / "##[add-mask]x.seg").write_bytes(b"::error::broken")
    (folder / "shadowed.py").write_text(
        f"def one(query, k):\n    return [{hostile(1, 'd')!r}, 'a']\n\n\n"
        "def two(query, k):\n    if '0' in query:\n"
        f"        raise ValueError({hostile(2, ACTING)!r})\n    return ['a', query]\n"
    )
    with online.open(folder / "##[kept].db", keep_ids=True) as log:
        for i in range(8):
            draft = ShadowDraft(f"s{i}", 1.5 + i, hostile(1, ACTING), hostile(i))
            draft.control, draft.treatment, draft.systems = (hostile(i, "d"), "a"), ("a", hostile(i)), (hostile(i),) * 2
            log.write(draft)
            log.record(hostile(i, ACTING), [hostile(i, "d")], session=hostile(i), intent=hostile(i))
            log.feedback("validate_useful", session=hostile(i), document=hostile(i, "d"))
    online.ingest(folder / "##[kept].db")
    assert (
        main(["migrate", "blocks", str(folder / "set"), str(folder / "other"), "-o", str(folder / "moves.jsonl")]) == 4
    )
    start_trial(folder / "##[kept].db", TrialPlan(feature="running", shares={hostile(0, ACTING): 1, "control": 1}))
    return folder


@pytest.fixture
def inside(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the project, which is the current folder, on GitHub."""
    folder = tmp_path / "project"
    shutil.copytree(project, folder)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("CI", "true")
    yield folder
    sys.modules.pop("unkind", None)


NOW, WAS = "runs/::stop-commands::now.jsonl", "runs/##[add-mask]was.jsonl"
QUERY = hostile(0, "q")
IN_ORDER = ("sweep", "experiments list", "experiments show", "experiments diff", "golden merge")
"""Verbs that a test of their own tries one after the other."""
LINES = [
    ["golden", "check", "set"],
    ["golden", "convert", "set", "::copy"],
    ["golden", "convert", "set", "::copy", "--to", "beir"],
    ["golden", "diff", "set", "other"],
    ["golden", "outline", "pages/##[page].md"],
    ["golden", "pool", NOW, WAS, "--golden", "set"],
    ["golden", "pool", NOW, WAS, "--golden", "set", "-o", "##[pool].jsonl"],
    ["golden", "sample", "set", "##[sample]", "--n", "4"],
    ["golden", "synth", "pages", "##[synth]"],
    ["golden", "tag", "set"],
    ["eval", ".", "--by", "category"],
    ["eval", ".", "--system", "unkind:find"],
    ["eval", ".", "--system", "unkind:broken"],
    ["eval", ".", "--system", "##[mask]:x"],
    ["check", "."],
    ["check", ".", "--system", "unkind:find"],
    ["check", ".", "--system", "unkind:broken"],
    ["check", ".", "--label", "##[add-mask]label"],
    ["gate", NOW],
    ["gate", ".", "--show-policy"],
    ["baseline", "show", "."],
    ["baseline", "diff", NOW],
    ["baseline", "rebase", ".", "--dry-run"],
    ["baseline", "update", NOW, "--force", "##[add-mask]why"],
    ["compare", NOW, WAS],
    ["explain", NOW],
    ["explain", NOW, "--no-ask", "--query", QUERY],
    ["explain", NOW, "--against", WAS],
    ["ablate", "."],
    ["gain", ".", "--documents", "pages"],
    ["judge", NOW],
    ["judge", NOW, "--judge", "##[add-mask]x"],
    ["judge", "run", NOW],
    ["judge", "flakes", NOW, WAS],
    ["judge", "bridge", "##[old].toml", "##[new].toml", NOW],
    ["judge", "sample", NOW, "-o", "##[labels].jsonl"],
    ["judge", "calibrate", "##[labels].jsonl", NOW],
    ["judge", "prefer", NOW, WAS],
    ["golden", "judge", "##[pool].jsonl", "--by", "overlap", "-o", "##[graded].jsonl"],
    ["label", "queue", "##[add-mask]x", NOW],
    ["label", "queue", "hostile", NOW, "--overlap", "1"],
    ["label", "next", "hostile", "--who", "##[add-mask]x"],
    ["label", "save", "hostile", hostile(0, "q"), hostile(1, "x"), "1", "--who", "##[add-mask]x",
     "--note", hostile(0, ACTING)],
    ["label", "save", "hostile", hostile(1, "q"), hostile(0), "##[add-mask]2", "--who", "##[add-mask]x"],
    ["label", "status"],
    ["label", "agreement"],
    ["label", "undo", "--who", "##[add-mask]x"],
    ["label", "propose", "--query", QUERY, "--text", hostile(0, ACTING), "--who", "##[add-mask]x",
     "--reason", hostile(1, ACTING)],
    ["label", "proposals"],
    ["label", "show", "1"],
    ["label", "show", "##[add-mask]x"],
    ["label", "refuse", "1", "--who", "##[add-mask]x", "--reason", hostile(1, ACTING)],
    ["label", "accept", "##[add-mask]x", "--who", "##[add-mask]x", "--reason", hostile(1, ACTING)],
    ["judge", "show", "##[add-mask]x"],
    ["judge", "show", "faithfulness", NOW, "--query", QUERY],
    ["online", "ingest", "##[live].db"],
    ["online", "acknowledge", "##[live].db", "--reason", hostile(1, ACTING), "--author", hostile(0)],
    ["online", "health", "##[live].db"],
    ["online", "forget", "##[live].db", "--session", hostile(0)],
    ["online", "export", "##[live].db", "##[out]"],
    ["online", "import", "##[new].db", "run.txt"],
    ["online", "receive", "##[new].db", "--host", "##[add-mask]x"],
    ["online", "record", "##[none].json", "##[live].db"],
    ["online", "expire", "##[live].db", "--queries", "0"],
    ["engine", "doctor", "--engine", "##[add-mask]x"],
    ["store", "migrate", "##[kept].db"],
    ["store", "check", "##[kept].db"],
    ["store", "copy", "##[kept].db", "##[copy].db"],
    ["online", "watch", "##[kept].db", "--project", "set", "--html", "##[watch].html"],
    ["online", "canary", "##[kept].db", "##[add-mask]x"],
    ["online", "report", "##[kept].db", "--golden", "set", "--html", "##[traffic].html"],
    ["online", "estimate", "##[kept].db"],
    ["shadow", "replay", "##[kept].db", "--golden", "set", "--control", "shadowed:one", "--treatment", "shadowed:two",
     "--feature", f"{hostile(3)}{ACTING}"],
    ["shadow", "report", "##[kept].db", "--golden", "set", "--html", "##[shadow].html"],
    ["shadow", "gate", "##[kept].db", ".", "--feature", hostile(1, ACTING)],
    ["shadow", "gate", "##[kept].db", "."],
    ["migrate", "blocks", "pages", "pages", "--from", "##[add-mask]v1", "-o", "##[moves].jsonl"],
    ["migrate", "blocks", "set", "pages"],
    ["migrate", "judgments", "set", "moves.jsonl", "--documents", "set", "-o", "##[new]", "--pool", "##[look].jsonl"],
    ["migrate", "shadow", "moves.jsonl", "##[kept].db", "--feature", hostile(1, ACTING)],
    ["harvest", "##[kept].db", "--golden", "set", "-o", "##[candidate]"],
    ["flag", "set", "rerank", "--percent", "5", "--reason", f"{hostile(1)}{ACTING}", "--author", hostile(0),
     "--override", f"{hostile(2)}=treatment", "--store", "##[kept].db"],
    ["flag", "set", "##[add-mask]key", "--reason", "x", "--store", "##[kept].db"],
    ["flag", "list", "--store", "##[kept].db"],
    ["flag", "history", "##[add-mask]x", "--store", "##[kept].db"],
    ["trial", "start", "rerank", "--measure", f"{hostile(1)}{ACTING}", "--guardrail", hostile(2),
     "--store", "##[kept].db"],
    ["trial", "plan", "##[none].json", "--measure", "##[add-mask]x"],
    ["trial", "status", "##[add-mask]x", "--store", "##[kept].db"],
    ["trial", "record", "##[add-mask]x", "##[none].json", "--store", "##[kept].db"],
    ["trial", "list", "--store", "##[kept].db"],
    ["trial", "status", "running", "--store", "##[kept].db"],
    ["trial", "collect", "running", "--store", "##[kept].db"],
    ["trial", "report", "running", "--store", "##[kept].db"],
    ["trial", "holdout", "##[add-mask]x", "--golden", "##[none]", "--store", "##[kept].db"],
    ["trial", "decide", "running", "--reason", hostile(1, ACTING), "--author", hostile(0), "--store", "##[kept].db"],
    ["trial", "stop", "running", "--reason", hostile(1, ACTING), "--author", hostile(0), "--store", "##[kept].db"],
    ["trial", "reopen", "##[add-mask]x", "--reason", hostile(1, ACTING), "--store", "##[kept].db"],
    ["power", "--run", NOW, "--golden", "."],
    ["report", NOW],
    ["report", NOW, "--comment"],
    ["doctor", "."],
    ["doctor", "##[none]"],
    ["report", NOW, "--format", "html"],
    ["report", NOW, "--format", "latex"],
    ["report", NOW, "--format", "blocks"],
    ["runs", "list", "."],
    ["runs", "show", NOW],
    ["runs", "convert", NOW, "##[spans].jsonl", "--to", "openinference"],
    ["runs", "prune", ".", "--keep", "1", "--dry-run"],
    ["serve", "pages", "##[none]"],
    ["serve", "token", "add", hostile(1, ACTING)],
    ["serve", "token", "list", "--project", "##[none]"],
    ["serve", "token", "revoke", "##[add-mask]x"],
    ["show", NOW, QUERY],
    ["stability", NOW],
    ["show", NOW, hostile(1, "q")],
    ["show", NOW, "##[no]such"],
    ["trend", "."],
    ["score", "qrels.txt", "run.txt", "--per-query"],
    ["score", "::none", "##[none]"],
    ["fuse", "run.txt", "##[none]"],
    ["trec-eval", "qrels.txt", "##[none]"],
    ["trec-eval", "qrels.txt", "run.txt"],
    ["mcp", "##[none]"],
    ["init", "##[new]", "--yes", "--documents", "pages"],
    ["sweep", "sweep.toml", "--dry-run"],
    ["##[add-mask]verb"],
    ["eval", "--##[add-mask]option"],
]  # fmt: skip


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    code = main(arguments)
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err, printed.err
    return code, printed.out, printed.err


@pytest.mark.parametrize("line", LINES, ids=lambda line: " ".join(line).replace("##", "").replace("::", ""))
def test_no_verb_prints_what_acts(inside: Path, capsys: pytest.CaptureFixture[str], line: list[str]) -> None:
    """Neither a command for a CI nor a control character is on standard output or standard error."""
    _, out, err = call(capsys, *line)
    assert out + err
    assert find_actions(out) == []
    own = re.compile(r"(?m)^::error title=karat::.*$")  # the annotation of karat itself
    assert find_actions(own.sub("", err)) == []
    assert len(own.findall(err)) <= 1


def test_every_verb_is_tried() -> None:
    """A new verb has to be added here."""
    tried = {" ".join(line[:words]) for line in LINES for words in (2, 3)} | {line[0] for line in LINES} | set(IN_ORDER)
    assert {verb for verb, _ in commands(cli)} - tried == NO_TEXT


def test_a_sweep_and_its_experiments_print_nothing_that_acts(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither while it runs, nor in its table, nor in the log afterwards; nor when judged pools are merged."""
    lines = [["sweep", "sweep.toml"], ["experiments", "list"], ["experiments", "show", "exp-001"]]
    lines += [["experiments", "diff", "exp-001", "exp-002"], ["golden", "merge", "set", "pool.jsonl"]]
    row = {"query": QUERY, "document": hostile(1, "x"), "grade": 1, "annotator": hostile(4)}
    (inside / "pool.jsonl").write_text(json.dumps(row) + "\n")
    for line in lines:
        code, out, err = call(capsys, *line)
        assert (code in (0, 1), bool(out)) == (True, True), err
        assert find_actions(out + err) == []


@pytest.mark.parametrize(
    "line",
    [
        ["golden", "check", "set"], ["golden", "diff", "set", "other"], ["gate", NOW], ["compare", NOW, WAS],
        ["runs", "show", NOW], ["show", NOW, QUERY], ["report", NOW], ["baseline", "show", "."], ["check", "."],
    ],
    ids=" ".join,
)  # fmt: skip
def test_json_has_the_exact_text_and_no_command(
    inside: Path, capsys: pytest.CaptureFixture[str], line: list[str]
) -> None:
    """A parser gets the id as it is; the line of the log does not have it."""
    _, out, _ = call(capsys, *line, "--json")
    assert find_actions(out) == []
    assert any(word in json.dumps(json.loads(out)) for word in ("##[add-mask]", "##vso["))


def test_annotations_are_still_commands(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each line is one of karat's own; whatever it quotes cannot begin another."""
    code, out, _ = call(capsys, "report", NOW, "--format", "github")
    lines = out.splitlines()
    assert code == 0
    assert lines
    assert all(re.match(r"::(error|warning|notice) title=karat ", line) for line in lines)
    assert not OTHERS.search(out)


def test_an_error_of_check_is_one_annotation(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message of a broken retriever has a command at the start of its second line."""
    code, _, err = call(capsys, "check", ".", "--system", "unkind:broken")
    assert code == 3
    (line,) = [line for line in err.splitlines() if line.startswith("::")]
    assert line.startswith(
        "::error title=karat::the first 5 questions failed in the same way, and the other 7 were not asked: "
    )
    assert "##[" not in err


@pytest.mark.parametrize("format", ["csv", "junit"])
def test_data_for_a_program_is_exact_or_refused(
    inside: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    """In the log of a CI it is refused, a file has every character, and outside of a CI it is printed as it is."""
    code, out, err = call(capsys, "report", NOW, "--format", format)
    assert (code, out) == (2, "")
    assert err.startswith("karat: the CI would take a line of the output for a command: ")
    assert find_actions(err) == []
    call(capsys, "report", NOW, "--format", format, "--output", "report.out")
    exact = Path("report.out").read_bytes().decode()
    assert "##[add-mask]the 0q" in exact
    for name in ("CI", "GITHUB_ACTIONS"):
        monkeypatch.setenv(name, "false")
    assert call(capsys, "report", NOW, "--format", format)[1] == exact


def test_a_fused_run_with_a_command_in_it_is_refused_in_a_log(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """TREC's format has no way to write an id otherwise."""
    assert call(capsys, "fuse", "run.txt", "run.txt")[0] == 2
    (inside / "mild.txt").write_text("q Q0 d 1 1 t\n")
    shutil.copy(inside / "mild.txt", inside / "again.txt")
    assert call(capsys, "fuse", "mild.txt", "again.txt")[1].startswith("q Q0 d 1 ")


def test_only_one_file_prints() -> None:
    """Whatever prints otherwise would get past what makes text safe."""
    folder = Path(karat.cli.__file__).parent
    for path in folder.glob("*.py"):
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        names = {ast.unparse(node.func) for node in calls}
        printing = {"print", "click.echo", "click.secho", "sys.stdout.write", "sys.stderr.write", "traceback.print_exc"}
        assert not names & printing or path.name == "_table.py", path.name


def test_data_on_a_terminal_is_escaped(
    inside: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody looks at it there, and no program reads it."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    (inside / "odd.txt").write_text("q\x1b[2J\u202e Q0 ##[d] 1 1 t\n")
    shutil.copy(inside / "odd.txt", inside / "odder.txt")
    assert call(capsys, "fuse", "odd.txt", "odder.txt")[1].startswith(r"q\u001b[2J\u202e Q0 #\u0023[d] 1 ")
