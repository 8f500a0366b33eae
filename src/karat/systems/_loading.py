"""Loading a user's system by its name, and passing it its parameters."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from karat.config import RESERVED
from karat.core import UsageError, did_you_mean, shorten
from karat.net import resolve
from karat.systems._protocol import System, adapt, describe_path, failing_as

_INSTALL = f"install it where karat runs ('{sys.executable} -m pip install ...'), or karat where your system does"


def load_system(path: str, *, tenant: str = "", parameters: Mapping[str, Any] | None = None) -> System:
    """Return the system that ``package.module:name`` names.

    ``parameters`` are passed by name: to the class or function that makes the system, or else to ``retrieve``. One that
    neither of them reads is an error. All of them are part of the description.
    """
    parameters = dict(parameters or {})
    value = _find(path)
    names = _read_names(value) if inspect.isclass(value) or inspect.isroutine(value) else None
    thing, rest = value, parameters
    if _is_factory(value, parameters):
        own = parameters if names is None else {name: parameters[name] for name in parameters if name in names}
        thing, rest = _call(value, path, own), {name: parameters[name] for name in parameters if name not in own}
    retrieve = getattr(thing, "retrieve", None) or getattr(thing, "retrieve_many", None) or thing
    if rest and callable(retrieve):
        _require_read(path, rest, _read_names(retrieve), () if thing is value else names or ())
    system = adapt(thing, name=path, tenant=tenant, module=path.partition(":")[0], parameters=rest)
    if not parameters:
        return system
    return replace(system, description={**system.description, "parameters": parameters})


def load(path: str) -> object:
    """Return what ``package.module:name`` names; a class, or a function without parameters, is called.

    >>> load("karat.systems:load").__name__
    'load'
    """
    value = _find(path)
    return _call(value, path, {}) if _is_factory(value, {}) else value


def _find(path: str) -> Any:
    module, _, name = path.partition(":")
    if not module or not name:
        raise UsageError(f"system {path}: write package.module:name")
    value = _import(module, path)
    for part in name.split("."):
        if not hasattr(value, part):
            near = did_you_mean(part, [name for name in dir(value) if not name.startswith("_")])
            raise UsageError(f"system {path}: {module} has no {part!r}{near}")
        value = getattr(value, part)
    return value


def _call(value: Any, path: str, parameters: Mapping[str, Any]) -> Any:
    with failing_as(f"system {path}: {path.partition(':')[2]}() failed"):
        return resolve(value(**parameters))


def _import(module: str, path: str) -> Any:
    with failing_as(f"system {path}: {module} cannot be imported"):
        try:
            return import_module(module)
        except ModuleNotFoundError as error:
            is_own = error.name in (module, module.split(".")[0])
            hint = "is it installed, or in the current folder?" if is_own else f"{module} imports it; {_INSTALL}"
            raise UsageError(f"system {path}: {error}; {hint}") from None


def _is_factory(value: Any, parameters: Mapping[str, Any]) -> bool:
    """Whether a value makes a system: a class, or a function that takes no question."""
    if not inspect.isclass(value) and not inspect.isroutine(value):
        return False
    names = _read_names(value)
    own = {name: parameters[name] for name in parameters if names is None or name in names}
    if not inspect.isclass(value) and _takes(value, "query", 10, **own):
        return False
    if not _takes(value, **own):
        if inspect.isclass(value):
            raise UsageError(
                f"{describe_path(value)} needs arguments; set them in [eval.parameters], or name a function that makes "
                "it, or an object"
            )
        return False
    return True


def _takes(function: Callable[..., Any], *arguments: object, **named: object) -> bool:
    try:
        inspect.signature(function).bind(*arguments, **named)
    except TypeError:
        return False
    except ValueError:  # written in C, without a signature
        return True
    return True


def _read_names(function: Callable[..., Any]) -> tuple[str, ...] | None:
    """Return the names of the parameters that can be passed by name; None if it takes any name, or does not say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C, without a signature
        return None
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    named = [parameter for parameter in parameters if parameter.kind in kinds]
    return tuple(parameter.name for parameter in named if parameter.name not in RESERVED)


def _require_read(
    path: str, parameters: Mapping[str, Any], names: tuple[str, ...] | None, others: tuple[str, ...]
) -> None:
    """Refuse a parameter that nothing reads: to change it would change nothing."""
    for name in parameters:
        if names is not None and name not in names:
            known = (*others, *names)
            reads = f"it reads {', '.join(known)}" if known else "it reads no parameters"
            raise UsageError(
                f"system {path} does not read the parameter {shorten(name)}{did_you_mean(name, known) or '; ' + reads}"
            )
