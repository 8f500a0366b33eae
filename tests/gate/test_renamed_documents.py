"""Documents get other ids, or go: what a baseline found then must not count as not found today."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cli.gate_project import accept, edited, main, make_project, make_run, make_set, signed
from karat.core import GoldenSet, InputError, Judgment, Target
from karat.evaluation import Evaluation
from karat.gate import read_baseline
from karat.golden import identify
from karat.projects import GateResult, gate_run, open_project
from karat.projects.baselines import accept_run, rebase_baseline
from karat.runs import read_any_run

SIZE = 60
PLACES = [1, 2] * (SIZE // 2)
GATE = '[gate]\nrules = [{ metric = "RR@10", non_inferior = true }]\n'


def rename(golden_set: GoldenSet, names: Mapping[str, str], **changes: str) -> GoldenSet:
    """The set with other ids of some documents, in the documents and in the judgments; ``text`` is their new text."""
    return replace(
        golden_set,
        documents=tuple(
            replace(document, id=names[document.id], **changes) if document.id in names else document
            for document in golden_set.documents
        ),
        judgments=tuple(
            replace(judgment, target=Target(document=names.get(judgment.target.document, judgment.target.document)))
            for judgment in golden_set.judgments
        ),
    )


def first(count: int) -> dict[str, str]:
    """New ids for the documents that answer the first questions."""
    return {f"d{i:02}": f"moved/d{i:02}" for i in range(1, count + 1)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of sixty questions whose baseline has each relevant document at place 1 or 2, and knows the texts."""
    golden_set = make_project(tmp_path, GATE, golden_set=make_set(SIZE))
    run = make_run(tmp_path, golden_set, PLACES, "old")
    monkeypatch.chdir(tmp_path)
    accept_run(open_project(tmp_path), read_any_run(run, golden_set), force="the first")
    return tmp_path


def without_contents(folder: Path) -> None:
    """Make the baseline what an older karat would have written, which has no digests of texts."""
    record = json.loads((folder / "baseline.json").read_text())
    del record["contents"]
    (folder / "baseline.json").write_text(signed(record))


def made_on(golden_set: GoldenSet, run: Path) -> Path:
    """Make a run file say that it was made on this golden set."""
    return edited(run, lambda line: line | {"golden": identify(golden_set)} if "golden" in line else line)


def gate(folder: Path, golden_set: GoldenSet, places: Sequence[int]) -> GateResult:
    """Change the golden set, ask it all, and decide."""
    make_project(folder, GATE, golden_set=golden_set)
    return gate_run(open_project(folder), read_any_run(make_run(folder, golden_set, places), golden_set))


def before(result: GateResult) -> Evaluation:
    assert result.baseline is not None
    return result.baseline.evaluation


class TestRenamed:
    """The text of a document is what it was: it is the same document."""

    def test_nothing_changes(self, folder: Path) -> None:
        """Seven documents of sixty: the baseline keeps every score, and nobody is told of a gain."""
        result = gate(folder, rename(make_set(SIZE), first(7)), PLACES)
        assert before(result).means["RR@10"] == pytest.approx(0.75)
        assert before(result).scores.value("q01", "RR@10") == 1
        assert before(result).lists["q01"][0] == "moved/d01"
        assert result.decision.outcome.value == "pass"
        (check,) = [check for check in result.decision.checks if check.metric == "RR@10"]
        assert check.difference == 0
        assert any(
            text.startswith("7 documents have other ids than in the baseline, and the same text")
            and "d01 is now moved/d01" in text
            for text in result.caveats
        )

    def test_a_loss_is_seen(self, folder: Path) -> None:
        """The renamed documents are those that are lost: 7 of 60 from place 1 or 2, which is (4 + 3 / 2) / 60."""
        result = gate(folder, rename(make_set(SIZE), first(7)), [*[0] * 7, *PLACES[7:]])
        assert result.decision.outcome.value == "fail"
        (check,) = [check for check in result.decision.checks if check.metric == "RR@10"]
        assert check.difference == pytest.approx(-5.5 / SIZE)

    def test_judgments_of_today_count(self, folder: Path) -> None:
        """q02 had d01 before d02: with d01 judged relevant under its new id, both sides have it at place 1."""
        golden_set = rename(make_set(SIZE), first(2))
        more = Judgment(query="q02", target=Target(document="moved/d01"), grade=1)
        result = gate(folder, replace(golden_set, judgments=(*golden_set.judgments, more)), PLACES)
        assert before(result).scores.value("q02", "RR@10") == 1

    def test_a_rebase_writes_the_new_ids(self, folder: Path) -> None:
        """With the scores that they had; a second rename is followed from there."""
        golden_set = make_project(folder, GATE, golden_set=rename(make_set(SIZE), first(7)))
        rebase_baseline(open_project(folder))
        after = read_baseline(folder / "baseline.json").evaluation
        assert after.means["RR@10"] == pytest.approx(0.75)
        assert after.lists["q01"][0] == "moved/d01"
        assert after.contents is not None
        assert {"moved/d01", "d08"} < set(after.contents)
        assert "d01" not in after.contents
        again = rename(golden_set, {"moved/d01": "again/d01"})
        assert before(gate(folder, again, PLACES)).scores.value("q01", "RR@10") == 1

    def test_two_documents_with_one_text_are_not_guessed(self, folder: Path) -> None:
        """Which of the two new ones is the old one cannot be known."""
        golden_set = rename(make_set(SIZE), first(1))
        twin = replace(golden_set.document_by_id["moved/d01"], id="twin")
        result = gate(folder, replace(golden_set, documents=(*golden_set.documents, twin)), PLACES)
        assert "q01" not in before(result).queries


class TestGone:
    """A document has another id and another text, or is no longer there: its questions are not compared."""

    def test_they_are_left_out_and_counted(self, folder: Path) -> None:
        """Neither the gain of 5.5 / 60 nor a zero: seven of sixty questions have nothing to compare."""
        result = gate(folder, rename(make_set(SIZE), first(7), text="rewritten"), PLACES)
        assert len(before(result).queries) == SIZE - 7
        assert before(result).means["RR@10"] == pytest.approx((26 * 1 + 27 * 0.5) / 53)
        (check,) = [check for check in result.decision.checks if check.metric == "RR@10"]
        assert check.difference == 0
        (removed,) = [check for check in result.decision.checks if check.kind == "removed"]
        assert (removed.outcome.value, removed.current) == ("inconclusive", 7)
        assert "cannot be compared, since documents that it found are gone: q01, q02" in removed.reason
        assert result.caveats[0].startswith("WARNING: 7 questions of the baseline are not compared: 7 documents that")
        assert "karat baseline rebase --from RUN" in result.caveats[0]

    def test_a_file_without_texts(self, folder: Path) -> None:
        """An older karat wrote it: nobody can tell that the documents are the same."""
        without_contents(folder)
        result = gate(folder, rename(make_set(SIZE), first(7)), PLACES)
        assert len(before(result).queries) == SIZE - 7
        assert result.decision.outcome.value == "inconclusive"

    def test_one_question_is_a_caveat(self, folder: Path) -> None:
        """As one removed question is."""
        result = gate(folder, rename(make_set(SIZE), first(1), text="rewritten"), PLACES)
        assert result.decision.outcome.value == "pass"
        assert any(
            "1, whose documents are gone, was left out (q01); 59 are compared" in text for text in result.caveats
        )

    def test_a_rebase_drops_them(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """It writes no zeros; a run of the same system brings them back."""
        golden_set = make_project(folder, GATE, golden_set=rename(make_set(SIZE), first(7), text="rewritten"))
        assert main(["baseline", "rebase"]) == 0
        assert "- q01 What of 01?: RR@10 1.0000\n" in capsys.readouterr().out
        after = read_baseline(folder / "baseline.json").evaluation
        assert len(after.queries) == SIZE - 7
        assert after.means["RR@10"] == pytest.approx((26 * 1 + 27 * 0.5) / 53)
        assert main(["baseline", "rebase", "--from", str(make_run(folder, golden_set, PLACES))]) == 0
        after = read_baseline(folder / "baseline.json").evaluation
        assert (len(after.queries), after.means["RR@10"]) == (SIZE, pytest.approx(0.75))

    def test_an_old_file_stays_cautious_after_a_rebase(self, folder: Path) -> None:
        """What its documents were is still not known: x01 is gone before anybody judges it."""
        without_contents(folder)
        make_project(folder, GATE, golden_set=make_set(SIZE + 1))
        rebase_baseline(open_project(folder))
        golden_set = rename(make_set(SIZE + 1), {"x01": "moved/x01"}, text="rewritten")
        more = Judgment(query="q01", target=Target(document="moved/x01"), grade=1)
        result = gate(folder, replace(golden_set, judgments=(*golden_set.judgments, more)), [*PLACES, 1])
        assert result.decision.baseline is not None
        assert result.decision.baseline.revision is not None
        assert set(result.decision.baseline.revision.unmatched) == {"q01"}

    def test_nothing_left_is_refused(self, folder: Path) -> None:
        """Every answer was in a document that is gone."""
        with pytest.raises(
            InputError, match="every question returned documents that are no longer in it, such as 'd01'"
        ):
            gate(folder, rename(make_set(SIZE), first(SIZE), text="rewritten"), PLACES)


class TestWithoutDocuments:
    """Sets of questions and judgments alone, whose ids are all that is known."""

    @pytest.fixture
    def bare(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """The project without documents."""
        golden_set = make_project(tmp_path, GATE, golden_set=make_set(SIZE, documents=()))
        run = made_on(golden_set, make_run(tmp_path, make_set(SIZE), PLACES, "old"))
        monkeypatch.chdir(tmp_path)
        accept_run(open_project(tmp_path), read_any_run(run, golden_set), force="the first")
        return tmp_path

    @pytest.mark.parametrize("old", [False, True])
    def test_a_judged_document_that_nobody_judges_any_more(self, bare: Path, old: bool) -> None:
        """It was judged when it was recorded, or is all that was found then."""
        if old:
            without_contents(bare)
        whole = rename(make_set(SIZE), first(7))
        golden_set = make_project(bare, GATE, golden_set=replace(whole, documents=()))
        run = made_on(golden_set, make_run(bare, whole, PLACES))
        result = gate_run(open_project(bare), read_any_run(run, golden_set))
        assert len(before(result).queries) == SIZE - 7
        assert result.decision.outcome.value == "inconclusive"


class TestOldRuns:
    """A run on an earlier version of the set."""

    def test_it_is_compared_without_them(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Otherwise a run of today would be better than itself."""
        golden_set = make_project(folder, GATE, golden_set=rename(make_set(SIZE), first(7)))
        run = make_run(folder, golden_set, PLACES)
        assert main(["compare", "runs/old.jsonl", str(run), "--json"]) == 0
        (pair,) = json.loads(capsys.readouterr().out)["pairs"]
        (measure,) = [row for row in pair["measures"] if row["measure"] == "RR@10"]
        assert (measure["n"], measure["difference"]) == (SIZE - 7, 0)

    def test_it_is_no_candidate(self, folder: Path) -> None:
        """Nothing is known of these questions, as if nobody had asked them."""
        make_project(folder, GATE, golden_set=rename(make_set(SIZE), first(7)))
        project = open_project(folder)
        decision = gate_run(project, read_any_run(folder / "runs" / "old.jsonl", project.golden)).decision
        (unasked,) = [check for check in decision.checks if check.kind == "unasked"]
        assert (unasked.outcome.value, unasked.current) == ("inconclusive", 7)


def test_a_baseline_of_tests_has_no_texts(tmp_path: Path) -> None:
    """``accept`` of these tests writes what karat wrote before there were digests."""
    golden_set = make_project(tmp_path, golden_set=make_set())
    accept(tmp_path, make_run(tmp_path, golden_set, [1] * 12))
    assert read_baseline(tmp_path / "baseline.json").evaluation.contents is None
