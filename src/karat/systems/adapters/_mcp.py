"""A tool of an MCP server that is started here and asked over its standard input and output."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from karat.core import SystemFailed, UsageError, did_you_mean, shorten
from karat.net import Secrets, collect_secrets, read_variable, require_package
from karat.systems.adapters._paths import HitReader
from karat.systems.adapters._store import Surroundings

if TYPE_CHECKING:
    import asyncio

_PATHS = ("id", "score", "document", "content")


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
        if not self.command or shutil.which(self.command[0], path=os.environ.get("PATH", "")) is None:
            program = self.command[0] if self.command else ""
            raise UsageError(f"[system] command: there is no program {shorten(program)}")
        values = {name: read_variable(name, "the system mcp", blanks=True) for name in self.variables}
        started = mcp.StdioServerParameters(
            command=self.command[0], args=self.command[1:], env=values, cwd=around.folder
        )
        from asyncio.subprocess import DEVNULL  # what the server logs is neither a result nor free of secrets

        server = mcp.stdio_client(started, errlog=DEVNULL)
        return McpTool(server, self, secrets=collect_secrets("", values))


class McpTool:
    """A tool of an MCP server: of any that ``mcp.Client`` connects to, such as an ``MCPServer`` of this process."""

    name = "mcp"

    def __init__(self, server: Any, settings: McpSettings, *, secrets: Secrets | None = None) -> None:
        self._mcp = require_package("mcp", purpose="the system mcp", extra="mcp")
        self._server, self._settings, self._secrets = server, settings, secrets or Secrets()
        paths = {name: getattr(settings, name) for name in _PATHS}
        self._reader = HitReader(paths, hits=settings.hits, redact=self._secrets.redact)
        self._client: asyncio.Future[Any] | None = None
        self._session: asyncio.Task[None] | None = None
        self._ended: asyncio.Event | None = None

    def describe(self) -> dict[str, Any]:
        """Return everything known here that decides the answers."""
        settings = self._settings
        names = ("tool", "command", "query_field", "k_field", "hits", *_PATHS)
        return {
            "kind": self.name,
            "arguments": dict(settings.arguments),
            **{name: getattr(settings, name) for name in names},
        }

    async def ready(self) -> bool:
        """Return True; UsageError is raised if the server has no such tool."""
        client = await self._connect()
        names = [tool.name for tool in (await client.list_tools()).tools]
        if self._settings.tool not in names:
            others = did_you_mean(self._settings.tool, names) or f"; it has {', '.join(map(shorten, names)) or 'none'}"
            raise UsageError(f"[system] the server has no tool {shorten(self._settings.tool)}{others}")
        return True

    async def retrieve(self, query: str, k: int) -> list[dict[str, Any]]:
        """Call the tool, and return the hits as records."""
        settings = self._settings
        asked = {settings.query_field: query} | ({settings.k_field: k} if settings.k_field else {})
        client = await self._connect()
        result = await client.call_tool(settings.tool, {**settings.arguments, **asked})
        texts = [block.text for block in result.content if getattr(block, "text", None) is not None]
        if result.is_error:
            raise SystemFailed(self._secrets.redact(f"the tool failed: {shorten(' '.join(texts))}"))
        answer = result.structured_content
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

    async def _connect(self) -> Any:
        """Return the client; the first call starts the server."""
        import asyncio

        if self._client is None:
            self._client, self._ended = asyncio.get_running_loop().create_future(), asyncio.Event()
            self._session = asyncio.create_task(self._hold(self._client, self._ended))
        return await asyncio.shield(self._client)

    async def _hold(self, opened: asyncio.Future[Any], ended: asyncio.Event) -> None:
        """Keep the connection open in one task, since the task that opened it has to close it."""
        try:
            async with self._mcp.Client(self._server) as client:
                opened.set_result(client)
                await ended.wait()
        except BaseException as error:
            if opened.done():
                raise
            opened.set_exception(error)

    async def close(self) -> None:
        """End the server."""
        if self._session is not None and self._ended is not None:
            self._ended.set()
            await self._session
