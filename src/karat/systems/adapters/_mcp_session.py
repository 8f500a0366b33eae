"""The connection to an MCP server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from karat.net import require_package

if TYPE_CHECKING:
    import asyncio


class McpSession:
    """A connection that the first call opens; ``server`` is anything that ``mcp.Client`` connects to."""

    def __init__(self, server: Any) -> None:
        self._mcp = require_package("mcp", purpose="the system mcp", extra="mcp")
        self._server = server
        self._client: asyncio.Future[Any] | None = None
        self._task: asyncio.Task[None] | None = None
        self._ended: asyncio.Event | None = None
        self._opening: Any = None

    async def connect(self) -> Any:
        """Return the client; the first call starts the server."""
        import asyncio

        if self._client is None:
            self._client, self._ended = asyncio.get_running_loop().create_future(), asyncio.Event()
            # A scope of anyio, by which the SDK waits for the end of the server even if it is cancelled.
            self._opening = require_package("anyio", purpose="the system mcp", extra="mcp").CancelScope()
            self._task = asyncio.create_task(self._hold(self._client, self._ended))
        return await asyncio.shield(self._client)

    async def _hold(self, opened: asyncio.Future[Any], ended: asyncio.Event) -> None:
        """Keep the connection open in one task, since the task that opened it has to close it."""
        try:
            with self._opening:
                async with self._mcp.Client(self._server) as client:
                    opened.set_result(client)
                    await ended.wait()
        except BaseException as error:
            if opened.done():
                raise
            opened.set_exception(_find_cause(error))
        finally:
            opened.cancel()  # if it was neither opened nor failed

    async def close(self) -> None:
        """End the server, also one that has not answered yet."""
        if self._task is not None and self._ended is not None and self._client is not None:
            self._ended.set()
            if not self._client.done():
                self._opening.cancel()
            await self._task


def _find_cause(error: BaseException) -> BaseException:
    """Return the first error of a group, which is what went wrong; the group itself says nothing."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
