"""Flags behind the real OpenFeature SDK: values, variants, reasons and errors, and a change while it runs."""
# ruff: noqa: FBT003 (the signatures are those of OpenFeature)

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openfeature import api
from openfeature.client import OpenFeatureClient
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode, ProviderNotReadyError
from openfeature.flag_evaluation import Reason

from karat.core import UsageError
from karat.online.flags import LiveFlags, change_flag, read_flags
from karat.online.openfeature import KaratProvider

WHO: dict[str, Any] = {"author": "ada", "reason": "test"}


def unit(name: str) -> EvaluationContext:
    return EvaluationContext(targeting_key=name)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "karat.db"
    change_flag(path, "rerank", {"percent": 50, "overrides": {"tester": "treatment"}}, **WHO)
    change_flag(path, "all", {"percent": 100}, **WHO)
    change_flag(path, "nobody", {}, **WHO)
    change_flag(path, "killed", {"percent": 100, "enabled": False, "overrides": {"tester": "treatment"}}, **WHO)
    change_flag(path, "sizes", {"percent": 100, "variants": {"small": 1, "large": 1}}, **WHO)
    return path


@pytest.fixture
def client(path: Path) -> Iterator[OpenFeatureClient]:
    api.set_provider_and_wait(KaratProvider(path, every=0.01))
    yield api.get_client()
    api.shutdown()
    api.clear_providers()


def test_the_client_gets_what_the_flag_says(client: OpenFeatureClient, path: Path) -> None:
    """For 200 units: the boolean is whether, and the text which, as Flag.assign has it."""
    flags = read_flags(path)
    for number in range(200):
        name = f"session-{number}"
        for key in ("rerank", "sizes"):
            variant = flags[key][0].assign(name)
            details = client.get_string_details(key, "default", unit(name))
            assert (details.value, details.variant, details.reason) == (variant, variant, Reason.SPLIT)
            assert client.get_boolean_value(key, True, unit(name)) == (variant != "control")
    assert {client.get_string_value("sizes", "", unit(f"{n}")) for n in range(50)} == {"small", "large"}


@pytest.mark.parametrize(
    ("key", "name", "value", "reason"),
    [
        ("rerank", "tester", True, Reason.TARGETING_MATCH),
        ("rerank", "session-1", False, Reason.SPLIT),
        ("all", "anybody", True, Reason.STATIC),
        ("all", "", True, Reason.STATIC),
        ("nobody", "anybody", False, Reason.STATIC),
        ("killed", "tester", False, Reason.DISABLED),
        ("killed", "", False, Reason.DISABLED),
    ],
)
def test_reasons(client: OpenFeatureClient, key: str, name: str, value: bool, reason: Reason) -> None:
    """Why a unit gets what it gets; the default of the caller plays no part, also where the kill switch is thrown."""
    details = client.get_boolean_details(key, not value, unit(name) if name else None)
    assert (details.value, details.reason, details.error_code) == (value, reason, None)


def test_what_cannot_be_answered_is_an_error_with_the_default(client: OpenFeatureClient) -> None:
    """The code of OpenFeature, a message, and the value that the caller named."""
    details: Any = client.get_boolean_details("rerenk", True, unit("a"))
    assert (details.value, details.error_code, details.reason) == (True, ErrorCode.FLAG_NOT_FOUND, Reason.ERROR)
    details = client.get_boolean_details("rerank", True)
    assert (details.value, details.error_code) == (True, ErrorCode.TARGETING_KEY_MISSING)
    for details in (
        client.get_integer_details("rerank", 3, unit("a")),
        client.get_float_details("rerank", 3.0, unit("a")),
        client.get_object_details("rerank", {"a": 1}, unit("a")),
    ):
        assert details.error_code == ErrorCode.TYPE_MISMATCH
        assert "a boolean or the name of a variant" in details.error_message


def test_a_change_reaches_the_client(client: OpenFeatureClient, path: Path) -> None:
    """Without a restart; also from a coroutine."""
    assert client.get_boolean_value("all", False, unit("a"))
    change_flag(path, "all", {"enabled": False}, **WHO)
    for _ in range(60_000):  # a failsafe of ten minutes
        if not client.get_boolean_value("all", True, unit("a")):
            break
        threading.Event().wait(0.01)
    details = asyncio.run(client.get_boolean_details_async("all", True, unit("a")))
    assert (details.value, details.reason) == (False, Reason.DISABLED)


def test_a_store_that_is_not_there(tmp_path: Path) -> None:
    """The provider is not ready, and says why; flags of the caller's own stay open."""
    provider = KaratProvider(tmp_path / "none.db", every=1000)
    with pytest.raises(ProviderNotReadyError, match="was not initialised"):
        provider.resolve_boolean_details("rerank", default_value=False)
    with pytest.raises(ProviderNotReadyError) as refused:
        provider.initialize(EvaluationContext())
    assert "no such store" in str(refused.value.error_message)
    provider.shutdown()
    change_flag(tmp_path / "karat.db", "all", {"percent": 100}, **WHO)
    with LiveFlags(tmp_path / "karat.db", every=1000) as flags:
        own = KaratProvider(flags)
        own.initialize(EvaluationContext())
        own.shutdown()
        assert own.get_metadata().name == "karat"
        assert own.resolve_string_details("all", "default").value == "treatment"


def test_without_the_sdk_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """One message, and how to install it."""
    monkeypatch.delitem(sys.modules, "karat.online.openfeature._provider")
    monkeypatch.delitem(sys.modules, "karat.online.openfeature")
    monkeypatch.setitem(sys.modules, "openfeature.api", None)
    with pytest.raises(UsageError, match="the provider of OpenFeature needs karat's extra openfeature"):
        __import__("karat.online.openfeature")
