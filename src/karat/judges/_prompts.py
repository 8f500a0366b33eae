"""The prompts of judges: Markdown files with a version, which a project can replace by its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from karat.chat import Prompt, parse_prompt
from karat.core import UsageError, did_you_mean, shorten
from karat.files import decode, read_bytes


def list_prompts() -> list[str]:
    """Return the names of the prompts that karat brings."""
    return sorted(path.name.removesuffix(".md") for path in files("karat.judges").joinpath("prompts").iterdir())


def load_prompt(name: str, replaced: Mapping[str, Path] | None = None) -> Prompt:
    """Return a prompt: that of a project's file, if it has one, or else karat's own.

    >>> load_prompt("claims").version
    '1'
    """
    if name not in (known := list_prompts()):
        raise UsageError(f"there is no prompt {shorten(name)}{did_you_mean(name, known)}; known: {', '.join(known)}")
    if path := (replaced or {}).get(name):
        return parse_prompt(name, decode(read_bytes(path), str(path)), str(path))
    return _load_own(name)


def load_prompts(replaced: Mapping[str, Path] | None = None, language: str = "") -> dict[str, Prompt]:
    """Return all prompts by name; they ask for replies in a language, if there is one."""
    for name in replaced or {}:
        load_prompt(name, replaced)  # a name that no judge uses is a mistake
    return {name: ask_in(load_prompt(name, replaced), language) for name in list_prompts()}


def ask_in(prompt: Prompt, language: str) -> Prompt:
    """Return a prompt that asks for reasons in a language: the prompt as it is without one.

    >>> ask_in(load_prompt("refusal"), "German").text.splitlines()[-1]
    'Write your reasons in German. Copy words of the texts as they are.'
    """
    if not language:
        return prompt
    instruction = f"Write your reasons in {language}. Copy words of the texts as they are."
    return replace(prompt, text=f"{prompt.text}\n\n{instruction}")


@cache
def _load_own(name: str) -> Prompt:
    return parse_prompt(name, files("karat.judges").joinpath("prompts", f"{name}.md").read_text("utf-8"), f"{name}.md")
