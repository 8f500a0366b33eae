"""Where this karat came from, and how pip installs the same one again."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_REMOTE = ("https://", "http://", "ssh://")
_CODE = Path(__file__).parents[1]


def format_extras(names: Iterable[str]) -> str:
    """Return extras as they stand in a requirement, each once; empty without any.

    >>> format_extras(["hnsw", " dense", "hnsw", ""])
    '[hnsw,dense]'
    """
    distinct = dict.fromkeys(name.strip() for name in names if name.strip())
    return f"[{','.join(distinct)}]" if distinct else ""


def find_requirement(extra: str = "", *, local: bool = False) -> str:
    """Return the requirement with which pip installs the karat that runs here; empty if its source is not known.

    pip and other installers record where a package came from, unless it came from an index. What came from this
    computer is not known elsewhere: it counts only with ``local``.
    """
    from importlib.metadata import PackageNotFoundError, distribution  # takes as long to import as NumPy's core

    name = f"karat{format_extras([extra])}"
    try:
        package = distribution("karat")
    except PackageNotFoundError:
        package = None
    record = package.read_text("direct_url.json") if package else None
    if package and record is None and package.read_text("INSTALLER"):
        return f"{name}=={package.version}"
    address = _read_address(record, local=local) if record else _find_clone() if local else ""
    usable = address.isprintable() and not re.search(r"[\s$]", address)
    return f"{name} @ {address}" if address and usable else ""


def format_pip_line(extra: str) -> str:
    """Return the command that adds an extra to this karat, with a placeholder if its source is not known.

    Nobody owns the name karat on the public index, so that no command asks an index for it, unless it came from one.
    """
    requirement = find_requirement(extra, local=True) or f"karat{format_extras([extra])} @ PATH_OR_URL"
    return f"pip install {shlex.quote(requirement)}"


def _find_clone() -> str:
    """Return the address of the clone in which this code is, as it is with the launcher; empty elsewhere."""
    root = _CODE.parents[1]
    return root.as_uri() if _CODE.parent.name == "src" and (root / "pyproject.toml").is_file() else ""


def _read_address(record: str, *, local: bool) -> str:
    try:
        return _format_address(json.loads(record), (*_REMOTE, "file://") if local else _REMOTE)
    except (ValueError, AttributeError, KeyError, TypeError):  # not in the format of PEP 610
        return ""


def _format_address(record: dict[str, Any], schemes: tuple[str, ...]) -> str:
    """Return the address of a package, with its commit; empty for one that has another scheme."""
    url, version = record["url"], record.get("vcs_info")
    if not url.startswith(schemes):
        return ""
    within = f"#subdirectory={record['subdirectory']}" if record.get("subdirectory") else ""
    if version:
        return f"{version['vcs']}+{url}@{version['commit_id']}{within}"
    known = record.get("archive_info") is not None or (url.startswith("file://") and "dir_info" in record)
    return f"{url}{within}" if known else ""
