"""The address of a store in PostgreSQL."""

from __future__ import annotations

import errno
import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from karat.core import InputError, UsageError, shorten

_SCHEMES = ("postgresql", "postgres")
_OPTIONS = ("host", "port", "connect_timeout", "target_session_attrs", "sslmode", "sslrootcert")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,47}")  # PostgreSQL cuts names at 63 bytes, and partitions have longer ones


def is_address(path: str | os.PathLike[str]) -> bool:
    """Return whether a store is named by an address, and not by a path.

    >>> is_address("postgresql://db.example/logs"), is_address("karat.db")
    (True, False)
    """
    return isinstance(path, str) and path.partition("://")[0].lower() in _SCHEMES and "://" in path


def read_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a store in a file; what can be none, such as None or a text with NUL, is refused.

    >>> read_path("karat.db").name
    'karat.db'
    >>> read_path("a" * 5000)
    Traceback (most recent call last):
    karat.core._errors.InputError: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...': is not a usable path
    """
    try:
        place = Path(path)
        os.lstat(place)
    except (TypeError, ValueError):  # no text, or one that no file can have
        raise InputError("is not a usable path", source=shorten(path)) from None
    except OSError as error:  # it need not be there, and whoever opens it tells why that fails
        if error.errno == errno.ENAMETOOLONG:
            raise InputError("is not a usable path", source=shorten(path)) from None
    return place


def has_store(path: str | os.PathLike[str]) -> bool:
    """Return whether there is something at a path; at an address only opening it tells."""
    return is_address(path) or read_path(path).exists()


@dataclass(frozen=True, slots=True)
class Address:
    """Where a store in PostgreSQL is. It holds no secret: passwords come from the environment.

    >>> parse_address("postgresql://karat@db.example:5433/logs?schema=staging")
    Address(text='postgresql://karat@db.example:5433/logs?schema=staging', schema='staging', database='logs')
    """

    text: str
    schema: str
    database: str

    @property
    def parameters(self) -> dict[str, str]:
        """What libpq takes; it reads the environment for what is not among them."""
        parts = urlsplit(self.text)
        named = {"host": parts.hostname, "port": parts.port, "user": parts.username, "dbname": parts.path.strip("/")}
        parts_of_url = {name: unquote(str(value)) for name, value in named.items() if value}
        return parts_of_url | {name: value for name, value in parse_qsl(parts.query) if name != "schema"}


def parse_address(text: str) -> Address:
    """Read an address; one with a password, or with a setting that karat does not know, is refused."""
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 (raises where it is no number)
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError:  # which may repeat a part of a password
        raise UsageError("the address of a store cannot be read; use postgresql://USER@HOST/DATABASE") from None
    if "@" in f"{parts.path}{parts.query}{parts.fragment}":  # after a password with a / in it
        raise UsageError("the address of a store has an @ after its host; use postgresql://USER@HOST/DATABASE")
    if parts.password or "password" in options or "sslpassword" in options:
        advice = "set PGPASSWORD, or name a file by PGPASSFILE: an address is seen in lists of processes, and logged"
        raise UsageError(f"the address of a store may not have a password in it; {advice}")
    schema = options.pop("schema", "karat")
    if unknown := sorted(options.keys() - set(_OPTIONS)):
        known = ", ".join(("schema", *_OPTIONS))
        raise UsageError(f"the address of a store has the setting {unknown[0]!r}; it may have {known}")
    if not _SCHEMA.fullmatch(schema) or schema.startswith("pg_") or schema == "information_schema":
        raise UsageError(f"schema={schema!r} is not the name of a schema; use small letters, digits and _")
    database = unquote(parts.path.strip("/")) or os.environ.get("PGDATABASE", "") or "postgres"
    return Address(text, schema, database)
