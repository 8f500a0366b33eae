"""Writes the reference of the docs from the code itself: ``./scripts/docs`` runs it, and a test compares.

docs/reference/cli.md is what click knows of the verbs, documents.md what the types of published documents say, and a
page for each package of the library what its docstrings say.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from karat.cli._main import _SECTIONS, cli
from karat.schema._published import DOCUMENTS, document_type

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"
MARK = "<!-- Written by scripts/docs from the code. Change the docstrings instead. -->\n"
PACKAGES = {
    "core": "Values and errors",
    "measures": "Scoring",
    "golden": "Golden sets",
    "systems": "Systems under test",
    "runs": "Runs",
    "evaluation": "Evaluations",
    "judges": "Judges",
    "labelling": "Labels",
    "gate": "The gate",
    "projects": "Projects",
    "reports": "Reports",
    "causes": "Causes",
    "diagnosis": "Diagnosis",
    "experiments": "Experiments",
    "stats": "Statistics",
    "traces": "Traces",
    "online": "Live traffic",
    "online.flags": "Flags",
    "online.shadow": "Shadow runs",
    "online.interleaving": "Interleaved lists",
    "online.trials": "Trials",
    "feedback.trials": "Trials from the log",
    "stats.sequential": "Sequential tests",
    "feedback": "Feedback",
    "monitoring": "Watching",
    "migration": "Moving to a new index",
    "engine": "Engines",
}
"""The packages that people call, in the order in which they meet them, with the title of each page."""


def make_pages() -> dict[str, str]:
    """Return every page of the reference as Markdown, by its name."""
    pages = {"cli.md": describe_commands(), "documents.md": describe_documents()}
    return pages | {f"{package}.md": describe_package(package, title) for package, title in PACKAGES.items()}


def describe_commands() -> str:
    """Return the page of all verbs."""
    lines = [MARK + "# Command line\n", _CLI]
    context = click.Context(cli, info_name="karat")
    for section, verbs in _SECTIONS.items():
        lines.append(f"## {section}\n")
        for name in verbs:
            command = cli.get_command(context, name)
            assert command is not None
            lines += _describe_verb(command, click.Context(command, parent=context, info_name=name))
    return "\n".join(lines)


_CLI = """\
Every verb, with what `karat VERB --help` prints. Each has a page with examples, too: see How-to. All verbs but
`completion`, `doctor`, `measures` and `trec-eval` also take `--max-bytes SIZE`. Exit codes: 0 pass, 1 the gate failed,
2 usage or input, 3 infrastructure, 4 inconclusive.
"""


def _describe_verb(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"### {context.command_path}\n"
    usage = command.collect_usage_pieces(context)
    yield f"```text\n{' '.join([context.command_path, *usage])}\n```\n"
    yield _clean(re.sub(r"^( *)Example: (.*)$", r"\1Example: `\2`", command.help or "", flags=re.MULTILINE)) + "\n"
    records = [
        p.get_help_record(context) for p in command.params if "--help" not in p.opts and "--max-bytes" not in p.opts
    ]
    if rows := [f"| `{_cell(name)}` | {_cell(_escape(text))} |" for name, text in filter(None, records) if text]:
        yield "\n".join(["| option | what it does |", "|---|---|", *rows, ""])
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _describe_verb(inner, click.Context(inner, parent=context, info_name=name))


def describe_documents() -> str:
    """Return the page of all published documents."""
    lines = [MARK + "# Documents\n", _DOCUMENTS, "| document | type | what it is |", "|---|---|---|"]
    types = {name: document_type(name) for name in DOCUMENTS}
    lines += [f"| [{n}](#{n}) | `{t.__name__}` | {_cell(_summary(t))} |" for n, t in types.items()]
    for name, kind in types.items():
        package = import_module(kind.__module__.partition("._")[0])
        path = f"{package.__name__}.{kind.__name__}" if hasattr(package, kind.__name__) else kind.__name__
        lines += [f"\n## {name}\n", f"`{path}`: {_clean(inspect.getdoc(kind) or '')}\n"]
        lines += _members(kind)
    return "\n".join([*lines, ""])


_DOCUMENTS = """\
Every JSON that karat prints or writes is a value of a type, and each type has a JSON Schema (2020-12), which
`karat.schema.json_schema("decision")` returns. Files that an older karat wrote are read.
"""


def describe_package(package: str, title: str) -> str:
    """Return the page of a package: all that its door has."""
    module = import_module(f"karat.{package}")
    names = {name: getattr(module, name) for name in sorted(module.__all__, key=str.lower)}
    shown = {name: thing for name, thing in names.items() if inspect.isclass(thing) or inspect.isfunction(thing)}
    lines = [MARK + f"# karat.{package}: {title.lower()}\n", _clean(inspect.getdoc(module) or "") + "\n"]
    lines += ["| name | what it is |", "|---|---|"]
    lines += [f"| [`{name}`](#{name.lower()}) | {_cell(_summary(thing))} |" for name, thing in shown.items()]
    if others := [f"`{name}`" for name in names if name not in shown]:
        lines.append(f"\nAlso here, without an entry below: {', '.join(others)}.")
    for name, thing in shown.items():
        lines += [
            f"\n## {name}\n",
            f"```text\n{_signature(name, thing)}\n```\n",
            _clean(inspect.getdoc(thing) or "") + "\n",
        ]
        lines += _members(thing) if inspect.isclass(thing) else []
    return "\n".join([*lines, ""])


def _signature(name: str, thing: Any) -> str:
    """Return how something is called, one argument in a line if it is long."""
    try:
        signature = inspect.signature(thing)
    except ValueError:  # an exception that takes whatever its base class takes
        return f"{name}(...)"
    arguments, star = [], False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            arguments.append("*")
        star = star or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        arguments.append(_argument(parameter))
    back = (
        "" if inspect.isclass(thing) or signature.return_annotation is signature.empty else signature.return_annotation
    )
    end = f" -> {_type(back)}" if back else ""
    line = f"{name}({', '.join(arguments)}){end}"
    return line if len(line) <= 88 else "\n".join([f"{name}(", *(f"    {a}," for a in arguments), f"){end}"])


def _argument(parameter: inspect.Parameter) -> str:
    stars = (
        "*" if parameter.kind is parameter.VAR_POSITIONAL else "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    )
    kind = "" if parameter.annotation is parameter.empty else f": {_type(parameter.annotation)}"
    return f"{stars}{parameter.name}{kind}{_default(parameter)}"


def _default(parameter: inspect.Parameter) -> str:
    """Return a default as it is written, or dots for one that has no short form."""
    if parameter.default is parameter.empty:
        return ""
    text = repr(parameter.default)
    return f" = {text if len(text) <= 40 and not text.startswith('<') else '...'}"


def _type(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Z])", "", text)


def _members(kind: type) -> Iterator[str]:
    """Return a table of what a value has: its fields with their comments, its properties and its methods."""
    rows: list[tuple[str, str, str]] = []
    for parent in reversed(kind.__mro__):
        rows += _fields(parent)
    for name, member in inspect.getmembers(kind, lambda m: inspect.isfunction(m) or isinstance(m, property)):
        if not name.startswith("_") and member.__doc__ and _is_own(kind, name):
            rows.append((name if isinstance(member, property) else f"{name}()", "", _summary(member)))
    if rows:
        yield "\n".join(["| member | type | what it is |", "|---|---|---|"])
        yield (
            "\n".join(f"| `{name}` | {f'`{_cell(of)}`' if of else ''} | {_cell(text)} |" for name, of, text in rows)
            + "\n"
        )


def _is_own(kind: type, name: str) -> bool:
    """Return whether a member is karat's, and not one of a class that it builds on."""
    return any(name in vars(parent) and parent.__module__.startswith("karat.") for parent in kind.__mro__)


@cache
def _fields(kind: type) -> tuple[tuple[str, str, str], ...]:
    """Return the fields of a class with their types and the texts under them."""
    if not kind.__module__.startswith("karat."):
        return ()
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)
    rows = []
    for statement, after in zip(body.body, [*body.body[1:], None], strict=True):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            if not statement.target.id.startswith("_"):
                rows.append((statement.target.id, ast.unparse(statement.annotation), _inline(str(text))))
    return tuple(rows)


def _summary(thing: Any) -> str:
    return _inline((inspect.getdoc(thing) or "").split("\n\n", 1)[0])


def _inline(text: str) -> str:
    return _escape(_roles(" ".join(text.split())))


def _roles(text: str) -> str:
    """Return a docstring with its references as code."""
    return re.sub(r":\w+:`~?\.?([^`]+)`", r"`\1`", text).replace("``", "`")


def _clean(doc: str) -> str:
    """Return a docstring as Markdown: its examples as blocks, and what looks like a tag as text."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(doc).replace("\b\n", "")):
        if paragraph.lstrip().startswith(">>>"):
            parts.append(f"```pycon\n{paragraph}\n```")
        else:
            parts += _prose(paragraph)
    return "\n\n".join(parts)


def _prose(paragraph: str) -> Iterator[str]:
    """Return a paragraph, with what is drawn by spaces as a block, and an example right after it as another."""
    text, arrow, example = paragraph.partition("\n>>> ")
    if re.search(r"^ {2,}(?!-)\S.* {2,}\S|[├└│]|::$", text, re.MULTILINE):
        yield f"```text\n{text}\n```"
    else:
        yield re.sub(r"(?<=\S)\n(?=- )", "\n\n", _escape(_roles(text)), count=1)
    if arrow:
        yield f"```pycon\n>>> {example}\n```"


def _escape(text: str) -> str:
    """Return a text in which nothing outside of code is a tag, a link or bold."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if index % 2 else re.sub(r"([\[\]*_])", r"\\\1", part.replace("<", "&lt;"))
        for index, part in enumerate(parts)
    )


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> None:
    """Write the pages, and remove those that are no longer made."""
    FOLDER.mkdir(exist_ok=True)
    pages = make_pages()
    for page in FOLDER.glob("*.md"):
        if page.name not in pages and page.read_text(encoding="utf-8").startswith(MARK):
            page.unlink()
    for name, text in pages.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
