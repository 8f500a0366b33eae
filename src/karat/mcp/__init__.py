"""A server for coding agents, by the Model Context Protocol: they look, compare and propose; people decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core import open_lazily

if TYPE_CHECKING:
    from karat.mcp._server import make_server, serve
    from karat.mcp._tools import TOOLS, Tool
    from karat.mcp._work import perform, work

__all__ = ["TOOLS", "Tool", "make_server", "perform", "serve", "work"]

# Imported at first use: the process of a call has no use for the SDK, and the server none for what calls import.
_HOME = {
    **dict.fromkeys(("make_server", "serve"), "_server"),
    **dict.fromkeys(("TOOLS", "Tool"), "_tools"),
    **dict.fromkeys(("perform", "work"), "_work"),
}

if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, _HOME)
