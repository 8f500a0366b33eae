"""Keys and passwords are hidden however they come back, and nothing else is."""

from __future__ import annotations

import base64
import gc
import html
import json
import random
import string
import urllib.parse
import weakref
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from each import each
from karat.core import SystemFailed, UsageError
from karat.net import (
    Endpoint,
    Secrets,
    _secrets,
    collect_secrets,
    describe_error,
    hide_secrets,
    hide_settings,
    show_setting,
    strip_logins,
    strip_secrets,
)

KEY = "sk-7Hq2/mZ0+xW9vB4tN8"


@pytest.fixture(autouse=True)
def no_other_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the services of a test are in use, whatever an earlier one left in memory."""
    monkeypatch.setattr(_secrets, "_IN_USE", weakref.WeakSet())


URL = "https://ana:p%40ss/Wörd&9@host/find?index=hotel&api_key=qu3ryK3y77".replace("/W", "%2FW")
PASSWORD = "p@ss/Wörd&9"

ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 without padding": lambda text: base64.b64encode(text.encode()).decode().rstrip("="),
    "base64 for URLs": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "base64 for URLs without padding": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base64 of a header": lambda text: base64.b64encode(f"Authorization: Bearer {text}\r\n".encode()).decode(),
    "base64 of another header": lambda text: base64.b64encode(f"x-api-key: {text}\r\n".encode()).decode(),
    "base64 of a third header": lambda text: base64.b64encode(f"X-My-Key: {text}\r\n".encode()).decode(),
    "percent": lambda text: urllib.parse.quote(text, safe=""),
    "percent in small letters": lambda text: urllib.parse.quote(text, safe="").replace("%2F", "%2f"),
    "percent as in a path": urllib.parse.quote,
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON of PHP": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "HTML": html.escape,
    "Python": lambda text: repr(text)[1:-1],
    "hex": lambda text: text.encode().hex(),
    "HEX": lambda text: text.encode().hex().upper(),
}


def common(text: str, secret: str) -> int:
    """Return the length of the longest part that two texts share."""
    return max((size for size in range(1, len(secret) + 1) for i in range(len(secret) - size + 1)
                if secret[i : i + size] in text), default=0)  # fmt: skip


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("secret", [KEY, PASSWORD, f"ana:{PASSWORD}"])
def test_no_encoding_of_a_secret_is_shown(secret: str, encoding: str) -> None:
    """Of what a service repeats, in a message or in its data, not even eight characters are left."""
    encoded = ENCODINGS[encoding](secret)
    secrets = collect_secrets(URL, {"Authorization": f"Bearer {KEY}"})
    text = f"invalid: {encoded}, sorry"
    for shown in (secrets.redact(text), secrets.redact_value([{"error": text}])[0]["error"]):
        assert shown.startswith("invalid: ")
        assert shown.endswith(", sorry")
        assert "***" in shown
        for form in (secret, base64.b64encode(secret.encode()).decode(), secret.encode().hex()):
            assert common(shown, form) < 8


@pytest.mark.parametrize("size", [8, 12, 20])
def test_beginnings_and_ends_are_hidden(size: int) -> None:
    """Services show the first and the last characters of a key."""
    secrets = Secrets([KEY])
    assert secrets.redact(f"key {KEY[:size]}...{KEY[-size:]} is wrong") == "key ***...*** is wrong"
    assert secrets.redact_value(f"key {KEY[:size]}...{KEY[-size:]}") == "key ***...***"
    assert Secrets([KEY]).redact(f"key {KEY[2:20]} is wrong") == "key *** is wrong"


@pytest.mark.parametrize("width", [64, 76])
@pytest.mark.parametrize("packed", [True, False], ids=["base64", "as it is"])
def test_a_long_key_in_lines_is_hidden(width: int, packed: bool) -> None:
    """A token of a thousand characters, in lines as mails and PEM have them, leaves less of a line than its marks."""
    key = "".join(random.Random(7).choices(string.ascii_letters + string.digits, k=1000))
    text = base64.b64encode(key.encode()).decode() if packed else key
    lines = [text[at : at + width] for at in range(0, len(text), width)]
    shown = Secrets([key]).redact("\n".join(lines))
    assert set(shown.split()) == {"***"}


def test_a_key_among_headers_of_every_form_is_hidden() -> None:
    """The words of a scheme stay; what Basic has encoded is hidden in plain, too."""
    login = base64.b64encode(b"ana:correct7horse").decode()
    headers = {"Authorization": f"Basic {login}", "X-Key": "ApiKey c2VjcmV0LTk5", "Cookie": "sid=4f9a8b7c6d"}
    secrets = collect_secrets("http://localhost/", headers)
    text = f"Basic {login} is ana:correct7horse, password correct7horse; ApiKey c2VjcmV0LTk5; sid=4f9a8b7c6d; Bearer"
    assert secrets.redact(text) == "Basic *** is ***, password ***; ApiKey ***; ***; Bearer"


def test_what_only_looks_like_a_part_stays_in_data() -> None:
    """A key of words must not change the ids of documents; the whole of it is hidden even there."""
    secrets = Secrets(["hotel-search-key", "pw", "2026", "12345678"])
    data = {"hits": [{"id": "hotel-search", "score": 0.5, "n": 2026, "on": True, "content": "pw hotel-se"}, "2026"]}
    assert secrets.redact_value(data) == data
    assert secrets.redact_value(["a hotel-search-key", 12345678, 0.12345678]) == ["a ***", "***", 0.12345678]
    assert secrets.redact("pw of hotel-search-desk: 2026, opwx") == "*** of ***desk: ***, opwx"


def test_keys_of_objects_are_hidden_too() -> None:
    """A message lists the keys of an answer."""
    assert Secrets([KEY]).redact_value({KEY: {"a": [KEY]}}) == {"***": {"a": ["***"]}}


@given(
    st.text(string.ascii_letters + string.digits + "-_/+=.~", min_size=8, max_size=200),
    st.text(max_size=30),
    st.text(max_size=30),
    st.sampled_from(sorted(ENCODINGS)),
)
def test_the_whole_of_any_key_is_hidden(key: str, before: str, after: str, encoding: str) -> None:
    """Wherever it stands, and whatever stands around it."""
    encoded = ENCODINGS[encoding](key)
    shown = Secrets([key]).redact_value(f"{before}{encoded}{after}")
    assert key not in shown.replace("***", "")
    assert encoded not in shown


@given(st.text(max_size=200), st.lists(st.text(string.ascii_letters + string.digits, min_size=8), max_size=3))
def test_a_text_without_a_secret_is_not_changed(text: str, keys: list[str]) -> None:
    """No eight characters in common: the text stays as it is."""
    secrets = Secrets(keys)
    if not any(common(text, key) >= 4 for key in keys):
        assert secrets.redact_value(text) == text


def test_a_secret_is_in_no_repr() -> None:
    """Neither of the value nor of an error that holds it."""
    assert "7Hq2" not in repr(Secrets([KEY]))


def test_an_error_of_the_users_code_has_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """What variables named like keys hold is hidden, and the password of an address in any variable."""
    monkeypatch.setenv("SHOP_API_KEY", KEY)
    monkeypatch.setenv("DATABASE", "postgresql://ana:s3cretWord@db/shop")
    monkeypatch.setenv("HOME_PASSWORD", "changeme")
    error = ValueError(f"no {KEY}, no s3cretWord at mysql://bob:other@db/x?password=abc&a=1; changeme")
    assert describe_error(error) == "ValueError: no ***, no *** at mysql://db/x?password=***&a=1; changeme"


def test_secrets_in_use_are_hidden_until_nobody_uses_them() -> None:
    """A traceback may show a key whose variable has any name."""
    secrets = collect_secrets("http://localhost/", {"X": KEY})
    assert hide_secrets(f"KeyError: {KEY}") == "KeyError: ***"
    del secrets
    gc.collect()
    assert hide_secrets(f"KeyError: {KEY}") == f"KeyError: {KEY}"


def test_secrets_that_have_a_part_in_common_are_hidden_whole() -> None:
    """The key of one service may be a part of the key of another: neither is left in pieces, in whatever order."""
    short, long = "sk-7Hq2mZ0xW9", "sk-proj-7Hq2mZ0xW9vB4tN8kL"
    for keys in ((short, long), (long, short)):
        services = [collect_secrets("http://host", {"Authorization": f"Bearer {key}"}) for key in keys]
        assert hide_secrets(f"{long} and {short}.") == "*** and ***."
        del services


def test_settings_are_recorded_without_secrets() -> None:
    """By their names, by their values, and within lists; what decides the answers stays."""
    settings = {
        "api_key": "x", "clientSecret": ["a", "b"], "pad_token": "<pad>", "max_tokens": 9, "password": "",
        "store": {"url": "https://me:pw@host/a?token=t&index=i"}, "models": ["a", 1, None],
    }  # fmt: skip
    assert hide_settings(settings) == {
        "api_key": "***", "clientSecret": ["***", "***"], "pad_token": "<pad>", "max_tokens": 9, "password": "",
        "store": {"url": "https://host/a?token=***&index=i"}, "models": ["a", 1, None],
    }  # fmt: skip
    assert show_setting("url", ["http://me:pw@host"]) == "(list)"


def test_addresses_without_secrets() -> None:
    """Login and secret parameters go, all else stays to the letter."""
    assert strip_secrets("http://host/find?b=1&a=%20x") == "http://host/find?b=1&a=%20x"
    assert strip_secrets("http://me@host:80/find?sig=x") == "http://host:80/find"
    assert strip_logins("a https://me:p@ss@host/x@y and b@c") == "a https://host/x@y and b@c"


@each("url", ["htp://me:s3cret@host/", "me:s3cret@host", "https://me:s3/cret@host/", "http://me:s3cret@:0/?key=s3cret"])
def test_an_unusable_address_is_shown_without_its_secrets(url: str) -> None:
    """However it is broken."""
    with pytest.raises(UsageError, match=r"url '.*' is not usable") as mistake:
        Endpoint(url=url)
    assert not any(word in str(mistake.value) for word in ("s3", "cret", "me:"))


@each(
    "options",
    [
        {"url": "http://me:pw@host/", "key_variable": "KEY"},
        {"url": "http://me@host/", "key_variable": "KEY"},
        {"url": "http://:pw@host/", "headers": {"authorization": "KEY"}},
        {"url": "http://host/", "key_variable": "KEY", "headers": {"AUTHORIZATION": "KEY"}},
    ],
)
def test_two_keys_at_once_are_refused(options: dict) -> None:
    """The HTTP library would send only one of them, and say nothing."""
    with pytest.raises(
        UsageError, match=r"^http://host/ has .* and .*, but only one of them can be sent; remove the others$"
    ):
        Endpoint(**options)


@each("name", ["sk-abc", "Bearer sk-1", "AKIAIOSFODNN7EXAMPLE", "hf_aB3dE6gH9jK2mN5p", "a b", ""])
def test_a_key_in_the_place_of_its_variable_is_not_shown(name: str) -> None:
    """A common mistake, whose message would be in the log of CI."""
    with pytest.raises(UsageError, match="has a key where the name of an environment variable belongs") as mistake:
        Endpoint(url="http://host/", headers={"X-Key": name}).read_headers()
    assert not name or name not in str(mistake.value)


def test_a_header_may_have_a_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key for a bearer token has no blanks; a header such as ApiKey has one."""
    monkeypatch.setenv("ELASTIC", "ApiKey c2VjcmV0")
    assert Endpoint(url="http://h/", headers={"Authorization": "ELASTIC"}).read_headers() == {
        "Authorization": "ApiKey c2VjcmV0"
    }
    with pytest.raises(UsageError, match="cannot be part of a key"):
        Endpoint(url="http://h/", key_variable="ELASTIC").read_headers()


def test_a_failure_keeps_its_kind() -> None:
    """What is raised by a system is still what it was."""
    assert describe_error(SystemFailed("")) == "SystemFailed"
