"""What answered a query: build, index, normaliser and flags, from the host to the store and to files."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from shadows import read as read_shadows

from karat import online
from karat.core import Answer, Citation, Hit, Span
from karat.online import Log, LoggedQuery, export_log, import_ubi, ingest, read_log
from karat.online._drafts import QueryDraft, decode_draft, encode_draft
from karat.online._shadow_records import LoggedShadow, MirroredAnswer, MirroredPart
from karat.online.shadow import Replayed, Shadow, replay

HASH = "sha256:" + "0123456789" * 6


def read(path: Path) -> list[LoggedQuery]:
    ingest(path)
    with read_log(path) as reader:
        return list(reader.queries())


def test_a_log_knows_what_answers(path: Path) -> None:
    """As it was opened, or as a query says; a hash stays as it is though it has many digits, and a text does not."""
    with online.open(path, build="2026.11", index=HASH, normaliser="nfc-2") as log:
        log.record("a", [], flags={"rerank": "treatment"})
        log.record("b", [], build=7, index="of ann@example.org", normaliser=None)
    first, second = read(path)
    assert (first.build, first.index, first.normaliser) == ("2026.11", HASH, "nfc-2")
    assert (first.flags, second.flags) == ({"rerank": "treatment"}, {})
    assert (second.build, second.index, second.normaliser) == ("7", "of [e-mail]", "nfc-2")


def test_flags_that_are_no_mapping_cost_the_record_and_not_the_host(path: Path) -> None:
    """It is dropped, and counted."""
    with online.open(path) as log:
        log.record("a", [], flags=5)
        assert log.dropped == {"flags": 1}


def test_a_journal_of_an_earlier_version_is_read() -> None:
    """Its records end before the build."""
    new = msgspec.msgpack.decode(encode_draft(QueryDraft("1", 1.7e9, "wifi?", count=0, build="x")))
    draft = decode_draft(msgspec.msgpack.encode(new[:-4]))
    assert isinstance(draft, QueryDraft)
    assert (draft.count, draft.build, draft.flags) == (0, "", None)


def test_files_of_other_tools_keep_them(path: Path, log: Log, tmp_path: Path) -> None:
    """There and back."""
    log.record("a", [], build="b1", index=HASH, normaliser="n", flags={"k": "v"})
    log.close()
    (query,) = read(path)
    export_log(path, tmp_path / "out")
    import_ubi(tmp_path / "other.db", sorted((tmp_path / "out").glob("*queries*")), keep_ids=True)
    assert read(tmp_path / "other.db") == [query]


def answer(query: str, k: int = 10) -> Answer:
    """Return an answer that cites in every way there is."""
    hits = [Hit("wifi:chunk:3", 0.9, span=Span(5, 9), section="S.1", block="B1"), Hit("pool", 0.5), Hit("spa", 0.4)]
    cites = [1, "pool", "elsewhere", Citation("spa", span=Span(0, 2)), {"id": "wifi:chunk:3"}, hits[2], 9, None]
    return Answer(f"Ask ann@example.org: {query}", cites, hits=hits)


def refuse(query: str, k: int = 10) -> dict[str, object]:
    return {"answer": "I cannot say.", "refused": True, "hits": {"pool": 0.5}}


def check_answers(run: LoggedShadow) -> None:
    control, treatment = run.answers
    assert control is not None
    wifi = MirroredPart("wifi:chunk:3", "wifi", "S.1", "B1", (5, 9))
    spa = MirroredPart("spa", "spa")
    assert control.text.startswith("Ask [e-mail]")
    assert control.hits == (wifi, MirroredPart("pool", "pool"))
    assert control.citations[:2] == (wifi, MirroredPart("pool", "pool"))
    assert control.citations[2] == MirroredPart("elsewhere", "elsewhere")
    assert control.citations[3:6] == (MirroredPart("spa", "spa", span=(0, 2)), wifi, spa)
    assert [part.document for part in control.citations[6:]] == ["", ""]
    assert treatment == MirroredAnswer("I cannot say.", refused=True, hits=(MirroredPart("pool", "pool"),))


def test_a_shadow_keeps_both_answers(path: Path, log: Log) -> None:
    """With what they cite, and the parts of documents that they were made from; ids and texts as they may be."""
    with Shadow(answer, refuse, log=log, feature="f", percent=100, k=2) as shadow:
        assert shadow("wifi?").text.endswith("wifi?")
        assert shadow.drain()
    log.close()
    (run,) = read_shadows(path)
    check_answers(run)


def test_a_replay_keeps_both_answers(path: Path) -> None:
    """As a shadow does."""
    replay([Replayed(id="q", text="wifi?")], answer, refuse, feature="f", store=path, k=2)
    (run,) = read_shadows(path)
    check_answers(run)


@pytest.mark.parametrize("level", ["full", "diff"])
def test_lists_without_answers_and_differences_only(path: Path, log: Log, level: str) -> None:
    """A system that only searches has no answer; with the level diff none is kept."""
    systems = (answer, refuse) if level == "diff" else (lambda *_: ["a"], lambda *_: ["a"])
    with Shadow(*systems, log=log, feature="f", percent=100, level=level) as shadow:  # type: ignore[arg-type]
        shadow("wifi?", 10)
        assert shadow.drain()
    log.close()
    (run,) = read_shadows(path)
    assert run.answers == (None, None)
