"""A tool of an MCP server that is started here and asked over its standard input and output."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from karat.core import SystemFailed, UsageError, did_you_mean, shorten
from karat.net import Secrets, collect_secrets, hide_options, read_variable, require_package
from karat.systems.adapters._mcp_session import McpSession
from karat.systems.adapters._paths import HitReader
from karat.systems.adapters._settings import Surroundings

_PATHS = ("id", "score", "document", "content")
_LONGEST_START = 60.0  # seconds until a server has to answer, which may import much on a busy machine


@dataclass(frozen=True, kw_only=True)
class McpSettings:
    """The table ``[system]`` with ``kind = "mcp"``, and what a tool is asked and how its answer is read."""

    tool: str
    command: list[str] = field(default_factory=list)
    """The program that is the server, and its arguments; it is started in the folder of karat.toml."""
    variables: list[str] = field(default_factory=list)
    """The environment variables that the server gets, beside those that every program needs."""
    query_field: str = "query"
    k_field: str = "k"
    """What the tool calls the number of hits; empty if it takes none."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Other arguments of every call."""
    hits: str = ""
    """The path to the list of hits in the answer; empty if the answer is the list."""
    id: str = "id"
    score: str = "score"
    document: str = ""
    content: str = ""

    def connect(self, around: Surroundings) -> McpTool:
        """Prepare the server, which starts with the first question."""
        mcp = require_package("mcp.client.stdio", purpose="the system mcp", extra="mcp")
        program = self.command[0] if self.command else ""
        # A path is relative to the folder in which the program is started; a mere name is looked up in PATH.
        place = str(around.folder / program) if os.path.dirname(program) else program  # noqa: PTH120
        if not program or shutil.which(place, path=os.environ.get("PATH", "")) is None:
            raise UsageError(f"[system] command: there is no program {shorten(program)}")
        values = {name: read_variable(name, "the system mcp", blanks=True) for name in self.variables}
        started = mcp.StdioServerParameters(command=place, args=self.command[1:], env=values, cwd=around.folder)
        from asyncio.subprocess import DEVNULL  # what the server logs is neither a result nor free of secrets

        # Nor is a line of its output that is not of the protocol, which the SDK logs with a traceback: to standard
        # error, or wherever the program that uses karat logs.
        noise = logging.getLogger("mcp.client.stdio")
        noise.propagate = False
        noise.addHandler(logging.NullHandler())
        server = mcp.stdio_client(started, errlog=DEVNULL)
        return McpTool(server, self, secrets=collect_secrets("", values))


class McpTool:
    """A tool of an MCP server: of any that ``mcp.Client`` connects to, such as an ``MCPServer`` of this process."""

    name = "mcp"

    def __init__(self, server: Any, settings: McpSettings, *, secrets: Secrets | None = None) -> None:
        self._settings, self._secrets = settings, secrets or Secrets()
        paths = {name: getattr(settings, name) for name in _PATHS}
        self._reader = HitReader(paths, hits=settings.hits, redact=self._secrets.redact)
        self._session = McpSession(server)

    def describe(self) -> dict[str, Any]:
        """Return everything known here that decides the answers."""
        settings = self._settings
        names = ("tool", "command", "query_field", "k_field", "hits", *_PATHS)
        return {
            "kind": self.name,
            "arguments": dict(settings.arguments),
            **{name: getattr(settings, name) for name in names},
            "command": hide_options(settings.command),
        }

    async def ready(self) -> bool:
        """Return True; UsageError is raised if the server has no such tool."""
        import asyncio

        try:
            client = await asyncio.wait_for(self._session.connect(), _LONGEST_START)
            listing = await asyncio.wait_for(client.list_tools(), _LONGEST_START)
        except TimeoutError:
            raise SystemFailed(f"the server has not answered after {_LONGEST_START:g} s") from None
        names = [tool.name for tool in listing.tools]
        if self._settings.tool not in names:
            others = did_you_mean(self._settings.tool, names) or f"; it has {', '.join(map(shorten, names)) or 'none'}"
            message = f"[system] the server has no tool {shorten(self._settings.tool)}{others}"
            raise UsageError(self._secrets.redact(message))
        return True

    async def retrieve(self, query: str, k: int) -> list[dict[str, Any]]:
        """Call the tool, and return the hits as records."""
        settings = self._settings
        arguments = {settings.query_field: query} | ({settings.k_field: k} if settings.k_field else {})
        client = await self._session.connect()
        result = await client.call_tool(settings.tool, {**settings.arguments, **arguments})
        texts = [block.text for block in result.content if getattr(block, "text", None) is not None]
        if result.is_error:
            raise SystemFailed(self._secrets.redact(f"the tool failed: {shorten(' '.join(texts))}"))
        answer = result.structured_content
        if answer is None and result.content and not texts:
            raise SystemFailed("the tool answered with neither text nor structured content")
        answer = self._parse(texts) if answer is None else answer
        if isinstance(answer, Mapping) and not settings.hits and answer.keys() == {"result"}:
            answer = answer["result"]  # as the protocol wraps a list, which has to be an object
        records: list[dict[str, Any]] = self._secrets.redact_value(self._reader.read(answer))
        return records

    def _parse(self, texts: list[str]) -> Any:
        """Return the JSON of an answer without structured content: of one text, or of a text for each hit."""
        try:
            values = [json.loads(text) for text in texts]
        except (ValueError, RecursionError):
            message = f"the tool answered with text that is not JSON: {shorten(' '.join(texts))}"
            raise SystemFailed(self._secrets.redact(message)) from None
        return (
            values[0]
            if len(values) == 1 and not (isinstance(values[0], Mapping) and not self._settings.hits)
            else values
        )

    async def close(self) -> None:
        """End the server, also one that has not answered yet."""
        await self._session.close()
