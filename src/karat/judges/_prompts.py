"""The prompts of judges: Markdown files with a version, which a project can replace by its own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from karat.core import InputError, UsageError, did_you_mean
from karat.files import decode, read_bytes

_HEAD = re.compile(r"\Aversion:\s*(?P<version>[\w.-]{1,40})\s*\n(?:-{3,}\s*\n)?", re.ASCII)
_LONGEST = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The instructions of a judge. They come first in every message, and never change within a run."""

    name: str
    version: str
    text: str

    @property
    def digest(self) -> str:
        """A hash of the text: two prompts with one version may differ."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]


def list_prompts() -> list[str]:
    """Return the names of the prompts that karat brings."""
    return sorted(path.name.removesuffix(".md") for path in files("karat.judges").joinpath("prompts").iterdir())


def load_prompt(name: str, replaced: Mapping[str, Path] | None = None) -> Prompt:
    """Return a prompt: that of a project's file, if it has one, or else karat's own.

    >>> load_prompt("claims").version
    '1'
    """
    if path := (replaced or {}).get(name):
        return parse_prompt(name, decode(read_bytes(path), str(path)), str(path))
    if name not in (known := list_prompts()):
        hint = did_you_mean(name, known) or f"; known: {', '.join(known)}"
        raise UsageError(f"there is no prompt {name!r}{hint}")
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
    told = f"Write your reasons in {language}. Copy words of the texts as they are."
    return replace(prompt, text=f"{prompt.text}\n\n{told}")


@cache
def _load_own(name: str) -> Prompt:
    return parse_prompt(name, files("karat.judges").joinpath("prompts", f"{name}.md").read_text("utf-8"), f"{name}.md")


def parse_prompt(name: str, text: str, source: str) -> Prompt:
    """Return the prompt that a text is, which begins with its version."""
    match = _HEAD.match(text)
    if match is None:
        raise InputError("does not begin with a version", source=source, hint="write 'version: 1' in the first line")
    body = text[match.end() :].strip()
    if not body or len(body) > _LONGEST:
        raise InputError("has no text" if not body else f"has more than {_LONGEST:,} characters", source=source)
    return Prompt(name=name, version=match["version"], text=body)
