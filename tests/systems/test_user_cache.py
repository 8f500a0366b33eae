"""The user's cache of embeddings, which all projects share: a real embedding service counts what it is asked for."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from karat.core import Document
from karat.systems import Pipeline, Stages

DOCUMENTS = [Document(id="pool", text="The pool opens at six."), Document(id="wifi", text="The network is free.")]


class Service(ThreadingHTTPServer):
    """An embedding service that remembers the texts it was sent."""

    texts: list[str]

    @property
    def stages(self) -> dict[str, object]:
        url = f"http://127.0.0.1:{self.server_port}/v1"
        return {"lexical": False, "embedder": {"kind": "openai", "model": "toy", "url": url}, "chunk": "whole"}


class Handler(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        self.server.texts += texts
        vectors = [list(hashlib.sha256(text.encode()).digest()) for text in texts]
        data = json.dumps({"data": [{"index": n, "embedding": v} for n, v in enumerate(vectors)]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """A service, and an empty cache of the user's."""
    monkeypatch.setenv("KARAT_CACHE", str(tmp_path / "user"))
    server = Service(("127.0.0.1", 0), Handler)
    server.texts = []
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def evaluate(service: Service, cache: Path | None, **stages: object) -> list[str]:
    """Ingest and ask one question; return what the service was sent, and what karat said."""
    service.texts.clear()
    messages: list[str] = []
    pipeline = Pipeline(Stages.from_table({**service.stages, **stages}), cache=cache, say=messages.append)
    pipeline.ingest(DOCUMENTS)
    assert len(list(pipeline.retrieve("pool?", 2))) == 2
    return [*service.texts, *messages]


TEXTS = [document.text for document in DOCUMENTS]


def test_a_second_project_embeds_no_text_again(service: Service, tmp_path: Path) -> None:
    """Both have their own indexes and one cache; the question is embedded each time, since its latency counts."""
    assert evaluate(service, tmp_path / "one" / ".karat") == [*TEXTS, "pool?"]
    assert evaluate(service, tmp_path / "two" / ".karat") == ["pool?"]
    assert {path.name for path in (tmp_path / "two" / ".karat").iterdir()} == {
        ".gitignore",
        "chunks.index",
        "dense.index",
    }
    assert (tmp_path / "user" / "embeddings" / "vectors.sqlite").is_file()


def test_without_a_cache_nothing_is_written(service: Service, tmp_path: Path) -> None:
    """As with --no-cache."""
    for _ in range(2):
        assert evaluate(service, None) == [*TEXTS, "pool?"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("way", ["variable", "setting"])
def test_the_users_cache_can_be_switched_off(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """By the environment for all projects, or by karat.toml for one; indexes are kept all the same."""
    if way == "variable":
        monkeypatch.setenv("KARAT_CACHE", "off")
    stages = {"embedding_cache": False} if way == "setting" else {}
    assert evaluate(service, tmp_path / "one", **stages) == [*TEXTS, "pool?"]
    assert evaluate(service, tmp_path / "two", **stages) == [*TEXTS, "pool?"]
    assert evaluate(service, tmp_path / "two", **stages) == ["pool?"]
    assert not (tmp_path / "user").exists()


def test_the_setting_bounds_the_cache(service: Service, tmp_path: Path) -> None:
    """In gigabytes; a bound that holds nothing leaves an empty cache, and a run that works."""
    assert evaluate(service, tmp_path / "one", embedding_cache=1e-6) == [*TEXTS, "pool?"]
    assert evaluate(service, tmp_path / "two", embedding_cache=1e-6) == [*TEXTS, "pool?"]


def test_a_home_that_cannot_be_written_is_a_note(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run goes on without a cache, and says so once."""
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.delenv("KARAT_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    *texts, note = evaluate(service, tmp_path / "one")
    assert texts == [*TEXTS, "pool?"]
    assert note.startswith(f"{tmp_path}/file/.cache/karat/embeddings/vectors.sqlite: embeddings are not cached")


def test_no_home_at_all_is_a_note(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without a home, as in some containers."""
    monkeypatch.setenv("KARAT_CACHE", "~no-such-user-here/cache")
    *texts, note = evaluate(service, tmp_path / "one")
    assert texts == [*TEXTS, "pool?"]
    assert note.startswith("embeddings are not cached: ")
