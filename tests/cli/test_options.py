"""One look over all verbs together: names, texts and defaults follow the same rules everywhere."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterator

import click

from each import each
from karat.cli._main import cli


def walk(command: click.Command, path: str = "karat") -> Iterator[tuple[str, click.Command]]:
    """Return every verb and group with its name."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from walk(inner, f"{path} {name}")


EVERY = dict(walk(cli))
OURS = {name: command for name, command in EVERY.items() if name != "karat trec-eval"}  # which has trec_eval's options


def options(command: click.Command) -> list[click.Option]:
    return [option for option in command.params if isinstance(option, click.Option)]


@each("name", EVERY)
def test_every_verb_and_group_has_an_example_of_itself_that_parses(name: str) -> None:
    """What the help shows can be typed: the verb exists, and its options and arguments are taken."""
    example = re.search(r"Example: (karat .*?)(?:\n\s*\n|\Z)", EVERY[name].help or "", re.DOTALL)
    assert example, name
    words = shlex.split(" ".join(example[1].split()))[1:]
    command, path = cli, "karat"
    while isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        if words[0] not in command.list_commands(context):
            words = [getattr(command, "default", ""), *words]
        command, path = command.get_command(context, words[0]), f"{path} {words[0]}"  # type: ignore[assignment]
        words = words[1:]
    assert path.startswith(name) or path.replace(" run", "").startswith(name)
    with command.make_context(path, words):
        pass  # the arguments parse


@each("name", OURS)
def test_texts_of_options_are_alike(name: str) -> None:
    """A sentence that begins with a capital or a number and ends; what repeats says so; a default is shown."""
    for option in options(OURS[name]):
        text = option.help or ""
        assert re.match(r"[A-Z0-9]", text), (name, option.opts)
        assert text.endswith((".", "]")), (name, option.opts)
        assert not option.multiple or "can be repeated" in text, (name, option.opts)
        has_default = isinstance(option.default, int | float | str) and option.default not in ("", False)
        if has_default and not option.is_flag:
            assert option.show_default or "[default:" in text, (name, option.opts)


@each("name", EVERY)
def test_an_argument_that_can_be_left_out_is_in_brackets(name: str) -> None:
    for argument in EVERY[name].params:
        if isinstance(argument, click.Argument) and not argument.required:
            assert argument.make_metavar(click.Context(EVERY[name])).startswith("["), argument


def test_a_short_option_means_the_same_everywhere() -> None:
    """-m is a measure, -n a number, -o the output, -k a number of hits, -j a judge; and none of them is missing."""
    meanings, long = defaultdict(set), defaultdict(set)
    for command in OURS.values():
        for option in options(command):
            short = [name for name in option.opts if re.fullmatch(r"-\w", name)]
            for name in (name for name in option.opts if name.startswith("--")):
                long[name].add(tuple(short))
                for letter in short:
                    meanings[letter].add(name)
    assert {letter: sorted(names) for letter, names in meanings.items()} == {
        "-j": ["--judge"],
        "-k": ["--k"],
        "-m": ["--measure"],
        "-n": ["--n"],
        "-o": ["--output"],
    }
    assert {name: shorts for name, shorts in long.items() if len(shorts) > 1} == {}


def test_what_names_a_project_is_called_project() -> None:
    """--project works wherever a project is named by an option, beside --golden in verbs of golden sets."""
    for name, command in OURS.items():
        for option in options(command):
            is_project = option.metavar == "DIR" and re.match(r"The project\b", option.help or "")
            assert not is_project or "--project" in option.opts, (name, option.opts)


def test_every_verb_that_prints_a_result_can_print_json() -> None:
    """All but what speaks another protocol: trec_eval's output, MCP, and a script for a shell."""
    leaves = {name: command for name, command in EVERY.items() if not isinstance(command, click.Group)}
    without = {name for name, command in leaves.items() if not any("--json" in o.opts for o in options(command))}
    assert without == {"karat completion", "karat mcp", "karat trec-eval"}
