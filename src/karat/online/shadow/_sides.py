"""The two systems of a replay, as their users name them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from karat.core import Context, GoldenSet, InputError
from karat.projects import open_project
from karat.runs import Settings, prepare_system
from karat.systems import System, adapt, load_system


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A system that is asked, and its name with a digest of what it is made of."""

    call: Callable[..., Any]
    name: str


def open_side(system: object, golden: GoldenSet | None = None, *, say: Callable[[str], None] | None = None) -> Side:
    """Return a system that is ready to be asked.

    It is one of karat, any other object with ``retrieve``, or a function; the name ``package.module:name`` of one; or a
    folder with karat.toml, whose system it is. A system that takes in documents gets those of its project, or of
    ``golden``.
    """
    documents = golden
    if isinstance(system, str | Path):
        if _names_folder(system):
            project = open_project(system)
            subject, documents = project.system(say=say), project.golden
        else:
            subject = load_system(str(system))
    else:
        subject = adapt(system)
    prepare_system(subject, documents or GoldenSet(), Settings(), say)
    return Side(call=_pass_context(subject), name=name_side(subject))


def _names_folder(system: str | Path) -> bool:
    if Path(system).exists():
        return True
    if ":" not in str(system):
        hint = "name package.module:name, or a folder with karat.toml"
        raise InputError("no such system", source=str(system), hint=hint)
    return False


def _pass_context(system: System) -> Callable[..., Any]:
    return partial(system.retrieve, context=Context(tenant=system.tenant)) if system.takes_context else system.retrieve


def name_side(system: System) -> str:
    """Return the name of a system with a digest of its description, which has the hash of its code."""
    description = json.dumps(dict(system.description), sort_keys=True, default=str)
    return f"{system.name} {hashlib.sha256(description.encode()).hexdigest()[:8]}"
