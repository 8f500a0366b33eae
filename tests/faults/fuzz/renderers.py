"""Every report of a document with hostile contents: it is well-formed, and nothing in it is a command or markup."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from typing import Any

from click.testing import CliRunner

from faults.fuzz import reader_seeds
from faults.fuzz.cases import Case, work_folder
from faults.fuzz.filling import Draw, fill
from karat import reports
from karat.cli import _golden_diff, _golden_tag, _runs_text, _sweep_text
from karat.cli._main import cli
from karat.reports._comment import _INTENDED
from karat.reports._latex import LETTER
from karat.schema import DecisionDocument, from_plain
from karat.schema._published import document_type

ELEMENTS = {
    "html": {"lang"}, "head": set(), "meta": {"charset", "http-equiv", "content", "name"}, "title": set(),
    "link": {"rel", "href"}, "style": set(), "script": {"type", "id"}, "body": set(), "header": {"class"},
    "main": set(), "p": {"class", "role"}, "div": {"id", "class", "tabindex", "role", "aria-label"},
    "noscript": set(), "dialog": {"id", "aria-labelledby"}, "section": {"class", "id", "aria-labelledby"},
    "h1": {"id"}, "h2": {"id"}, "ul": {"class"}, "li": set(), "span": {"class", "role", "aria-hidden", "aria-label"},
    "b": set(), "code": set(), "details": {"class", "open"}, "summary": set(), "dl": {"class"}, "dt": set(),
    "dd": set(), "a": {"href"}, "table": set(), "thead": set(), "tbody": set(), "tr": set(), "th": {"scope"},
    "td": set(),
}  # fmt: skip
COMMANDS = {
    "begin", "end", "centering", "caption", "label", "addvspace", "medskipamount", "toprule", "midrule", "bottomrule",
    "mbox", "le", "textbf", "textsuperscript", "kern", "karatletter", "textbackslash", "textasciitilde",
    "textasciicircum", "textless", "textgreater", "textbar", "textasciigrave", "usepackage",
}  # fmt: skip
COMPARED = {"low", "high", "p_corrected", "wins", "ties", "losses", "significant"}
WORST = ("error", "fail", "inconclusive", "pass")


def run(case: Case) -> None:
    """Render the document of a case."""
    KINDS[case.kind](case.files)


# Documents


def render_filled(files: Mapping[str, bytes]) -> None:
    """Render a decision that is filled from bytes."""
    document = fill(DecisionDocument, Draw(files.get("bytes", b"")))
    render_read({"decision.json": json.dumps(reconcile(document)).encode()})


def reconcile(document: dict[str, Any]) -> dict[str, Any]:
    """Return a decision without the contradictions for which its reader refuses it."""
    outcomes = {check["outcome"] for check in document["checks"]}
    outcome = next((outcome for outcome in WORST if outcome in outcomes), "pass")
    return document | {
        "verdict": document["verdict"] | {"outcome": outcome},
        "queries": list({query["id"]: query for query in document["queries"]}.values()),
        "checks": [check if check.get("n") is not None else check | {"total": None} for check in document["checks"]],
        "measures": [reconcile_measure(measure, document["baseline"]) for measure in document["measures"]],
    }


def reconcile_measure(measure: dict[str, Any], baseline: object) -> dict[str, Any]:
    """Return a measure in which a comparison is whole, or there is none."""
    if baseline is None or not measure.keys() >= COMPARED or None in (measure["low"], measure["high"]):
        measure = measure | {"difference": None}
    return measure if "n_compared" in measure else measure | {"compared": None}


def render_read(files: Mapping[str, bytes]) -> None:
    """Render a decision that is read from a file."""
    with work_folder() as folder:
        (folder / "decision.json").write_bytes(files.get("decision.json", b""))
        document = reports.read_document(str(folder / "decision.json"))
    if document is not None:
        check_decision(document)


def check_decision(document: DecisionDocument) -> None:
    """Render a decision in every format."""
    check_decision_text(document)
    check_html(reports.render_html(document))
    check_markdown(reports.render_markdown(document))
    check_markdown(reports.render_comment(document).replace(_INTENDED, ""))
    check_markdown(reports.render_markdown(document, limit=20_000))
    check_junit(reports.render_junit(document), len(document.checks))
    check_annotations(reports.render_github(document))
    check_csv(reports.render_csv(document), 1 + len(document.queries))
    check_latex(reports.render_latex(document), len(document.measures))
    assert json.loads(reports.show_safely(reports.render_json(document))) == json.loads(reports.render_json(document))


def check_decision_text(document: DecisionDocument) -> None:
    for style in (reports.PLAIN, reports.COLOUR):
        text = reports.render_text(document, style=style)
        check_terminal(reports.show_safely(text, styled=style is reports.COLOUR))
    check_terminal(reports.show_safely(reports.render_refusal(document)))
    check_terminal(reports.show_safely(reports.explain_checks(document, document.checks)))


def render_text_of(name: str, render: Callable[..., str]) -> Callable[[Mapping[str, bytes]], None]:
    """Return a check of a document's text for a terminal."""

    def check_text(files: Mapping[str, bytes]) -> None:
        kind = document_type(name)
        document = from_plain(fill(kind, Draw(files.get("bytes", b""))), kind)
        check_terminal(reports.show_safely(render(document)))

    return check_text


def run_verb(files: Mapping[str, bytes]) -> None:
    """Run a verb of the command line in a project whose files are hostile."""
    verbs = files.get("verb", b"").decode(errors="replace").split("\n")
    arguments = next((verb for verb in VERBS if " ".join(verb) == verbs[0]), VERBS[0])
    with work_folder() as folder:
        Case(kind="", files=files).write(folder)
        (folder / "verb").unlink(missing_ok=True)
        result = CliRunner().invoke(cli, [part.replace("PROJECT", str(folder)) for part in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    check_terminal(result.output)


VERBS = [
    ["runs", "list", "PROJECT"], ["runs", "show", "PROJECT/runs/new.jsonl"], ["trend", "PROJECT"],
    ["show", "PROJECT/runs/new.jsonl", "q1"], ["compare", "PROJECT/runs/old.jsonl", "PROJECT/runs/new.jsonl"],
    ["baseline", "show", "PROJECT"], ["golden", "check", "PROJECT"],
    ["eval", "PROJECT", "--run", "PROJECT/runs/new.jsonl"],
    ["experiments", "list", "--log", "PROJECT/experiments.json"], ["power", "--run", "PROJECT/runs/new.jsonl"],
    ["runs", "list", "PROJECT", "--json"], ["trend", "PROJECT", "--json"], ["gate", "PROJECT/runs/new.jsonl"],
]  # fmt: skip


# What a report may hold


def check_terminal(text: str) -> None:
    """Nothing acts on a terminal, and no CI finds a command."""
    acting = [c for c in re.sub("\x1b\\[(?:0|1|31|32|33)m", "", text) if not (c.isprintable() or c in "\n\t")]
    assert not acting, f"a terminal acts on {acting[:3]}"
    assert not re.search(r"##\w*\[|section_(?:start|end):\d", text), "a command for a CI"
    assert not re.search(r"(?m)^\s*::", text), "a command for GitHub"
    text.encode()


def check_annotations(text: str) -> None:
    """Every line is an annotation of karat's own."""
    for line in reports.show_safely(text, commands=True).split("\n")[:-1]:
        assert re.match(r"::(error|warning|notice) title=[^:,]*::", line), f"not an annotation: {line[:200]!r}"


class Page(HTMLParser):
    """Collects the elements and the data of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.data, self.scripts, self._in_data = "", 0, False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        assert tag in ELEMENTS, f"an element <{tag}>"
        assert names.keys() <= ELEMENTS[tag], f"attributes {names.keys() - ELEMENTS[tag]} of <{tag}>"
        if tag == "a":
            assert re.match("#q=", names.get("href") or ""), f"a link to {names.get('href')!r}"
        self.scripts += tag == "script"
        self._in_data = tag == "script" and names.get("id") == "data"

    def handle_endtag(self, tag: str) -> None:
        self._in_data = False

    def handle_data(self, data: str) -> None:
        self.data += data if self._in_data else ""

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment {data[:50]!r}")


def check_html(text: str) -> None:
    """The page has only elements and attributes of karat's, and its data is JSON."""
    page = Page(text)
    assert page.scripts == 3
    json.loads(page.data)
    text.encode()


def check_markdown(text: str) -> None:
    """There is no HTML but karat's, no link, no code, no mention and no control character."""
    tags = {
        tag for tag in re.findall(r"<[^>]*>", text) if not re.fullmatch("<!-- karat-report [A-Za-z0-9._-]* -->", tag)
    }
    assert tags <= {"<details>", "</details>", "<summary>", "</summary>"}, f"markup {tags}"
    assert not re.search(r"(?<![\w\\])@[A-Za-z]", text), "a mention"
    assert not re.search(r"(?<!\\)`|(?<!\\)\[|https?://|##\[", text), "code, a link or a command"
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", text), "a control character"
    text.encode()


def check_junit(text: str, checks: int) -> None:
    """It is XML with a test for each check."""
    root = ET.fromstring(text)
    names = [case.get("name") for case in root.iter("testcase")]
    assert len(names) == checks
    assert {element.tag for element in root.iter()} <= {
        "testsuites", "testsuite", "properties", "property", "testcase", "skipped", "failure", "error"
    }  # fmt: skip


def check_csv(text: str, rows: int) -> None:
    """It reads back with as many rows and columns, and no cell is a formula."""
    cells = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert len(cells) == rows
    assert len({len(row) for row in cells}) == 1, "rows of several lengths"
    for cell in (cell for row in cells for cell in row):
        assert not re.match(r"[=@|%\uff1d\uff0b\uff0d\uff20]|[-+](?![0-9.]+(?:e[-+]?[0-9]+)?$)", cell), (
            f"a formula: {cell[:50]!r}"
        )


def check_latex(text: str, rows: int) -> None:
    """There is no command but karat's, braces balance, and every row has its columns."""
    table = text.replace(LETTER, "").partition("\n")[2]
    commands = set(re.findall(r"\\([A-Za-z]+)", table))
    assert commands <= COMMANDS, f"commands {commands - COMMANDS}"
    bare = re.sub(r"\\[^A-Za-z]", "", table)
    assert bare.count("{") == bare.count("}"), "braces do not balance"
    assert not re.search(r"%|#|~|\^\^|`|\"", bare), "a special character"
    body = bare.partition(r"\midrule")[2].partition(r"\bottomrule")[0].strip("\n").split("\n")
    widths = {line.count("&") for line in body if line.strip()}
    assert widths <= {2} or widths <= {5}, f"rows of {widths} columns"
    assert sum(1 for line in body if line.strip()) == rows, "a row more or less"


KINDS: dict[str, Callable[[Mapping[str, bytes]], None]] = {
    "filled": render_filled,
    "read": render_read,
    "verb": run_verb,
    "golden-diff": render_text_of("golden-diff", _golden_diff.diff_text),
    "golden-tag": render_text_of("golden-tag", lambda tag: _golden_tag._text(tag, "a b")),
    "runs": render_text_of("runs", _runs_text.listing_text),
    "run": render_text_of("run", _runs_text.details_text),
    "runs-pruned": render_text_of("runs-pruned", _runs_text.pruning_text),
    "sweep-plan": render_text_of("sweep-plan", _sweep_text.plan_text),
}


def make_seeds() -> list[Case]:
    """Return bytes for every document, a decision, and a project for the verbs."""
    spread = bytes(range(256)) * 8
    filled = [kind for kind in KINDS if kind not in ("read", "verb")]
    cases = [
        Case(kind=kind, files={"bytes": data}) for kind in filled for data in (spread, spread[::-1], spread[::7] * 9)
    ]
    by_kind = {case.kind: case.files for case in reader_seeds.make_seeds()}
    cases.append(Case(kind="read", files={"decision.json": by_kind["decision"]["decision.json"]}))
    project = dict(by_kind["gate"])
    run = project.pop("run.jsonl")
    project |= {
        "runs/new.jsonl": run,
        "runs/old.jsonl": run,
        "experiments.json": by_kind["experiments"]["experiments.json"],
    }
    cases += [Case(kind="verb", files={"verb": " ".join(verb).encode(), **project}) for verb in VERBS]
    return cases
