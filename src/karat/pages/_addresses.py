"""The addresses of pages, for links."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

_PARAMETER = re.compile(r"\{([a-z_]+)(?::path)?\}")
SUFFIXES = (".json", ".csv", ".svg", ".html")
"""What an address may end in to get another form of the same page; an id that ends so itself gets .html."""
RUN, COMPARISON, RANKINGS, QUERY = "/runs/{run}", "/compare", "/compare/{query:path}", "/queries/{query:path}"


def link_run(run: str, **parameters: Any) -> str:
    """Return the address of a run."""
    return fill_address(RUN, {"run": run, **parameters})


def link_comparison(first: str, second: str, **parameters: Any) -> str:
    """Return the address of the comparison of two runs."""
    return fill_address(COMPARISON, {"a": first, "b": second, **parameters})


def link_rankings(query: str, first: str, second: str, **parameters: Any) -> str:
    """Return the address of one query in two runs."""
    return fill_address(RANKINGS, {"query": query, "a": first, "b": second, **parameters})


def link_query(query: str, **parameters: Any) -> str:
    """Return the address of a query."""
    return fill_address(QUERY, {"query": query, **parameters})


def fill_address(address: str, parameters: Mapping[str, Any]) -> str:
    """Return an address with its parameters filled in, and everything else in the query string.

    >>> fill_address("/runs/{run}", {"run": "a b", "show": "failed"})
    '/runs/a%20b?show=failed'
    >>> fill_address("/queries/{query:path}", {"query": "../x.json"})
    '/queries?query=..%2Fx.json'
    """
    names = _PARAMETER.findall(address)
    path, rest = address, {name: value for name, value in parameters.items() if value not in ("", None)}
    if any(not _stands_in_a_path(str(rest.get(name, ""))) for name in names):
        path = address[: address.index("/{")]  # the parameters are in the query string
    else:
        path = _PARAMETER.sub(lambda match: quote(str(rest.pop(match[1])), safe=""), address)
        if names and path.endswith(SUFFIXES):
            path += ".html"
    return f"{path}?{urlencode(rest)}" if rest else path


def _stands_in_a_path(value: str) -> bool:
    """Return whether browsers leave a value alone as a part of a path."""
    return bool(value) and not {".", ".."} & set(value.replace("\\", "/").split("/"))
