"""Prompts: Markdown files with a version, which a project can replace by its own."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from karat.core import InputError

_HEAD = re.compile(r"\Aversion:\s*(?P<version>[\w.-]{1,40})\s*\n(?:-{3,}\s*\n)?", re.ASCII)
_LONGEST = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The instructions of a model. They come first in every message, and never change within a run."""

    name: str
    version: str
    text: str

    @property
    def digest(self) -> str:
        """A hash of the text: two prompts with one version may differ."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]


def parse_prompt(name: str, text: str, source: str) -> Prompt:
    """Return the prompt that a text is, which begins with its version."""
    match = _HEAD.match(text)
    if match is None:
        raise InputError("does not begin with a version", source=source, hint="write 'version: 1' in the first line")
    body = text[match.end() :].strip()
    if not body or len(body) > _LONGEST:
        raise InputError("has no text" if not body else f"has more than {_LONGEST:,} characters", source=source)
    return Prompt(name=name, version=match["version"], text=body)
