"""Golden sets grow: runs and baselines of an earlier version are compared on the questions that both have."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import validate

from cli.gate_project import accept, edited, main, make_gated_project, make_project, make_run, make_set
from karat import golden, runs
from karat.config import Settings
from karat.core import (
    MEASURES,
    Document,
    GoldenSet,
    Hit,
    InputError,
    Judgment,
    Measure,
    Provenance,
    Query,
    Run,
    Span,
    Target,
    Trace,
)
from karat.evaluation import Evaluation, needed_depth, revise_evaluation, score_run
from karat.gate import Baseline, pair_scores, read_baseline, write_baseline
from karat.projects import GateResult, gate_run, open_project, report_document
from karat.projects.baselines import rebase_baseline, rebase_document
from karat.reports import render_comment, render_html, render_markdown, render_text
from karat.runs import read_any_run
from karat.schema import json_schema, to_plain
from strategies import quick

SIZE = 12


def grown(size: int = SIZE + 1, **fields: Any) -> GoldenSet:
    """The set of the project with one more query."""
    return make_set(size, **fields)


def rejudged(query: str = "q01", document: str = "x01", grade: int = 1) -> GoldenSet:
    """The set of the project with one more judgment."""
    more = Judgment(query=query, target=Target(document=document), grade=grade)
    return make_set(SIZE, judgments=(*make_set(SIZE).judgments, more))


def reworded(query: str = "q02") -> GoldenSet:
    """The set of the project with another text of one query."""
    queries = tuple(
        replace(question, text="Something else?") if question.id == query else question
        for question in make_set(SIZE).queries
    )
    return make_set(SIZE, queries=queries)


def edited_document(name: str = "d03") -> GoldenSet:
    """The set of the project with another text of one document."""
    documents = make_set(SIZE).documents
    return make_set(
        SIZE,
        documents=tuple(
            replace(document, text="rewritten") if document.id == name else document for document in documents
        ),
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of twelve queries with a baseline that has each relevant document at place 1 or 2."""
    make_gated_project(tmp_path, [1, 2] * 6)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def gate(folder: Path, path: Path) -> GateResult:
    """Decide on a run of the project as it is now."""
    project = open_project(folder)
    return gate_run(project, read_any_run(path, project.golden))


def gate_new(folder: Path, golden_set: GoldenSet, places: Sequence[int], **settings: Any) -> GateResult:
    """Change the golden set, ask it all, and decide."""
    make_project(folder, golden_set=golden_set)
    return gate(folder, make_run(folder, golden_set, places, **settings))


class TestStory3:
    """One query was added to the golden set: CI decides, with scores and a caveat, instead of exit 2."""

    def test_check_decides(
        self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The report has the scores, the verdict and the count of new questions."""
        make_project(folder, golden_set=grown())
        (folder / "finds.py").write_text(
            "def find(query, k):\n    number = query.split()[-1].rstrip('?')\n    return [f'd{number}', 'x01']\n"
        )
        monkeypatch.syspath_prepend(folder)
        text = (folder / "karat.toml").read_text().replace("[eval]\n", '[eval]\nsystem = "finds:find"\n')
        (folder / "karat.toml").write_text(text)
        code = main(["check", "."])
        out = capsys.readouterr().out
        assert code in (0, 1, 4), out
        assert "RR@10" in out
        assert "1 question is new and has no baseline (q13)" in out

    def test_the_new_question_counts_in_floors_and_not_in_comparisons(self, folder: Path) -> None:
        """It was found nowhere: the mean of the run falls, and the difference to the baseline does not."""
        make_project(
            folder, '[gate]\nrules = [{ metric = "RR@10", min = 0.72, max_drop_abs = 0.0 }]\n', golden_set=grown()
        )
        run = make_run(folder, grown(), [*[1, 2] * 6, 0])
        checks = {check.kind: check for check in gate(folder, run).decision.checks}
        assert checks["min"].outcome.value == "fail"
        assert checks["min"].current == pytest.approx(12 * 0.75 / 13)
        assert checks["max_drop_abs"].outcome.value == "pass"
        assert checks["max_drop_abs"].difference == 0

    def test_an_old_run_is_used_with_a_caveat(self, folder: Path) -> None:
        """Nothing is known of the question that it was not asked, and that is said."""
        make_project(folder, golden_set=grown())
        result = gate(folder, folder / "runs" / "old.jsonl")
        assert len(result.evaluation.queries) == SIZE
        assert any("since the run: 1 question is new and was not asked (q13)" in text for text in result.caveats)


class TestRemoved:
    """A question that is gone must not vanish silently."""

    def test_one_is_counted_and_named(self, folder: Path) -> None:
        """It is left out of the baseline's means too."""
        golden_set = make_set(SIZE)
        fewer = replace(golden_set, queries=golden_set.queries[1:], judgments=golden_set.judgments[1:])
        result = gate_new(folder, fewer, [2, 1] * 6)
        assert any("1 was removed (q01); 11 are compared" in text for text in result.caveats)
        assert result.baseline is not None
        assert result.baseline.evaluation.means["RR@10"] == pytest.approx((5 * 1 + 6 * 0.5) / 11)

    def test_several_are_a_warning_that_is_first(self, folder: Path) -> None:
        """More than one, or two in a hundred."""
        golden_set = make_set(SIZE)
        fewer = replace(golden_set, queries=golden_set.queries[3:], judgments=golden_set.judgments[3:])
        result = gate_new(folder, fewer, [2, 1] * 6)
        assert result.caveats[0].startswith(
            "WARNING: 3 of the 12 questions that the baseline scored are no longer in the golden set: q01, q02, q03;"
        )

    def test_every_report_begins_with_the_warning(self, folder: Path) -> None:
        """In the terminal, in Markdown, in a comment and in a page; it is not repeated among the caveats."""
        golden_set = make_set(SIZE)
        fewer = replace(golden_set, queries=golden_set.queries[3:], judgments=golden_set.judgments[3:])
        document = report_document(gate_new(folder, fewer, [2, 1] * 6), created="2026-11-17")
        assert render_text(document).startswith("WARNING: 3 of the 12 questions")
        assert render_markdown(document).split("\n")[2].startswith("> WARNING: 3 of the 12 questions")
        assert render_comment(document).split("\n")[2].startswith("> WARNING: 3 of the 12 questions")
        page = render_html(document)
        assert page.index("WARNING: 3 of the 12") < page.index('<h1 id="verdict">')
        for text in (render_text(document), render_markdown(document), render_comment(document)):
            assert text.count("WARNING: 3 of the 12") == 1

    def test_a_run_that_was_not_asked_many_is_a_warning_too(self, folder: Path) -> None:
        """An old run on a set that grew by three."""
        make_project(folder, golden_set=make_set(SIZE + 3))
        result = gate(folder, folder / "runs" / "old.jsonl")
        assert any(
            text.startswith(
                "WARNING: 3 of the 15 questions of the golden set were not asked in this run: q13, q14, q15;"
            )
            for text in result.caveats
        )

    def test_another_text_is_another_question(self, folder: Path) -> None:
        """Under the same id it counts as removed and as new, for a baseline and for a run."""
        result = gate_new(folder, reworded(), [1] * SIZE)
        (caveat,) = [text for text in result.caveats if "since the baseline" in text]
        assert "1 question is new and has no baseline (q02); 1 was removed (q02)" in caveat
        assert result.baseline is not None
        assert "q02" not in result.baseline.evaluation.queries
        old = gate(folder, folder / "runs" / "old.jsonl").evaluation
        assert "q02" not in old.queries

    def test_no_common_question_is_refused(self, folder: Path) -> None:
        """Another golden set has nothing to compare."""
        other = make_set(SIZE, queries=tuple(replace(query, text=f"{query.text}!") for query in make_set(SIZE).queries))
        with pytest.raises(InputError, match="'old' has no question in common with golden set 'turns'"):
            gate_new(folder, other, [1] * SIZE)


class TestJudgments:
    """A changed judgment is applied to both sides."""

    def test_the_baseline_is_scored_again(self, folder: Path) -> None:
        """The baseline has d01 before d02 for q02, and now both are relevant."""
        golden_set = rejudged("q02", "d01")
        result = gate_new(folder, golden_set, [1, 2] * 6)
        assert result.baseline is not None
        assert result.baseline.evaluation.values("RR@10")["q02"] == 1.0
        assert result.evaluation.values("RR@10")["q02"] == 1.0
        assert any(text.startswith("the judgments of 1 question changed") and "q02" in text for text in result.caveats)

    def test_a_list_that_is_too_short_keeps_the_old_score(self, folder: Path) -> None:
        """The baseline has the first documents only, and says how many scores are old."""
        path = folder / "baseline.json"
        before = read_baseline(path)
        lists = {query: hits[:2] for query, hits in before.evaluation.lists.items()}
        write_baseline(replace(before, evaluation=replace(before.evaluation, lists=lists, depth=2)), path)
        result = gate_new(folder, rejudged("q02", "d01"), [1, 2] * 6)
        assert result.baseline is not None
        assert result.baseline.evaluation.values("RR@10")["q02"] == 0.5
        assert any("1 question keeps its old score of RR@10 in the baseline" in text for text in result.caveats)

    def test_a_changed_threshold_applies_to_both(self, folder: Path) -> None:
        """What counts as relevant changed for all questions, and the definition of the measure with it."""
        golden_set = make_set(
            SIZE, relevant=2, grades=("no", "part", "yes"),
            judgments=tuple(replace(judgment, grade=2) for judgment in make_set(SIZE).judgments),
        )  # fmt: skip
        result = gate_new(folder, golden_set, [1, 2] * 6)
        assert result.baseline is not None
        assert result.baseline.evaluation.scores.definitions["RR@10"] == "RR(rel=2)@10"

    def test_a_changed_threshold_with_a_question_that_failed_and_one_that_is_gone(self, folder: Path) -> None:
        """A failure is the worst score under any definition, and what is gone is not compared."""
        accept(folder, make_run(folder, make_set(SIZE), [1] * SIZE, "old", errors={"q05": "timed out"}))
        judgments = tuple(replace(judgment, grade=2) for judgment in make_set(SIZE).judgments)
        golden_set = make_set(SIZE, relevant=2, grades=("no", "part", "yes"), judgments=judgments[1:])
        result = gate_new(folder, replace(golden_set, queries=golden_set.queries[1:]), [1] * (SIZE - 1))
        assert result.baseline is not None
        assert result.baseline.evaluation.scores.definitions["RR@10"] == "RR(rel=2)@10"
        assert result.baseline.evaluation.values("RR@10")["q05"] == 0

    def test_an_old_score_is_told_again_after_a_rebase(self, folder: Path) -> None:
        """The baseline is on the set of today then, and still has a score by the judgments of before."""
        accept(folder, make_run(folder, make_set(SIZE), [1, 2] * 6, "old", paraphrases=True))
        make_project(folder, golden_set=rejudged("q02", "d01"))
        assert rebase_baseline(open_project(folder)).written
        project = open_project(folder)
        revision = revise_evaluation(read_baseline("baseline.json").evaluation, project.golden).revision
        assert revision is not None
        assert revision.stale == {"RR@10": ("q02",)}

    def test_a_format_2_baseline_is_scored_again_too(self, folder: Path) -> None:
        """It has no digests: all of its lists are scored, and what differs is named."""
        strip(folder / "baseline.json")
        result = gate_new(folder, rejudged("q02", "d01"), [1, 2] * 6)
        assert result.baseline is not None
        assert result.baseline.evaluation.values("RR@10")["q02"] == 1.0
        assert result.baseline.evaluation.revision is not None
        assert result.baseline.evaluation.revision.rejudged == ("q02",)


def strip(path: Path) -> None:
    """Rewrite a baseline as format 2 had it."""
    record = json.loads(path.read_text())
    record = {key: value for key, value in record.items() if key not in ("digest", "depth")} | {"format": 2}
    record["golden"] = {key: record["golden"][key] for key in ("name", "version", "fingerprint", "questions")}
    for row in record["queries"].values():
        for key in ("text", "judgments", "documents"):
            row.pop(key, None)
    path.write_text(json.dumps(record))


class TestDocuments:
    """A changed document marks the questions that are judged on it."""

    def test_the_caveat_names_them(self, folder: Path) -> None:
        """Only q03 is judged on d03."""
        result = gate_new(folder, edited_document("d03"), [1, 2] * 6)
        (caveat,) = [text for text in result.caveats if "the documents changed since the baseline" in text]
        assert caveat.endswith("1 question has judgments on them: q03")

    def test_another_document_marks_none(self, folder: Path) -> None:
        """No question is judged on x03, and the difference may come from it all the same."""
        result = gate_new(folder, edited_document("x03"), [1, 2] * 6)
        (caveat,) = [text for text in result.caveats if "the documents changed since the baseline" in text]
        assert caveat.endswith("judgments be out of date")

    def test_another_judgment_changes_no_document(self, folder: Path) -> None:
        """The judged documents of q01 are others now, but none of them changed."""
        result = gate_new(folder, rejudged("q01", "x02"), [1, 2] * 6)
        assert [text for text in result.caveats if "judgments of 1 question changed" in text]
        assert not [text for text in result.caveats if "documents changed" in text]

    def test_a_rebase_keeps_the_mark_of_a_changed_document_only(self, folder: Path) -> None:
        """q03 stays marked until its answer is recorded again; q01, which was judged anew, is not."""
        judged = rejudged("q01", "x02").judgments
        for golden_set in (make_set(SIZE, judgments=judged), replace(edited_document("d03"), judgments=judged)):
            make_project(folder, golden_set=golden_set)
            rebase_baseline(open_project(folder))
        result = gate_new(folder, replace(edited_document("d03"), judgments=judged), [1, 2] * 6)
        (caveat,) = [text for text in result.caveats if "the documents changed since the baseline" in text]
        assert caveat.endswith("1 question has judgments on them: q03")

    def test_a_run_knows_the_judged_documents_too(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Two run files, of which the first was made before d03 changed; a run of an older karat does not say which."""
        old, new, older = (folder / f"{name}.jsonl" for name in ("old", "new", "older"))
        for path, golden_set in ((old, make_set(SIZE)), (new, edited_document("d03"))):
            runs.make_run(golden_set, lambda query, k: [f"d{query[-3:-1]}"], Settings(repeat=2), output=path)
        older.write_bytes(old.read_bytes())
        edited(older, lambda row: {key: value for key, value in row.items() if key != "judged"})
        make_project(folder, golden_set=edited_document("d03"))
        assert main(["compare", str(old), str(new), "--golden", str(folder)]) == 0
        assert [line for line in capsys.readouterr().out.splitlines() if "documents changed" in line] == [
            "A: the documents changed since the run: a difference may come from them, and judgments be out of date; "
            "1 question has judgments on them: q03"
        ]
        assert main(["compare", str(older), str(new), "--golden", str(folder)]) == 0
        (note,) = [line for line in capsys.readouterr().out.splitlines() if "documents changed" in line]
        assert note.endswith("judgments be out of date")

    def test_a_baseline_of_an_older_run_keeps_the_documents_of_its_answers(self, folder: Path) -> None:
        """It is recorded after d03 changed, from a run that was made before, and the next run is compared with that."""
        path = folder / "runs" / "old.jsonl"
        runs.make_run(make_set(SIZE), lambda query, k: [f"d{query[-3:-1]}"], output=path)
        make_project(folder, golden_set=edited_document("d03"))
        accept(folder, path)
        result = gate_new(folder, edited_document("d03"), [1] * SIZE)
        (caveat,) = [text for text in result.caveats if "the documents changed since the baseline" in text]
        assert caveat.endswith("1 question has judgments on them: q03")

    def test_spans_of_another_normaliser_are_refused(self, folder: Path) -> None:
        """Bytes were counted by other rules; whole documents have none."""
        make_project(folder, golden_set=grown(normaliser="karat-2"))
        assert gate(folder, make_run(folder, grown(normaliser="karat-2"), [1] * 13)).decision
        spans = tuple(
            replace(judgment, target=replace(judgment.target, span=Span(0, 2))) for judgment in grown().judgments
        )
        golden_set = grown(normaliser="karat-2", judgments=spans)
        with pytest.raises(InputError, match=r"differ in golden set .*; normaliser"):
            gate_new(folder, golden_set, [1] * 13)


class TestOldRuns:
    """Runs on an earlier version stay usable."""

    def test_compare(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Two runs that were asked different questions are compared on those that both were asked."""
        make_project(folder, golden_set=grown())
        make_run(folder, grown(), [2] * 13)
        assert main(["compare", "runs/old.jsonl", "runs/new.jsonl"]) == 0
        out = capsys.readouterr().out
        assert "A: the golden set changed since the run: 1 question is new and was not asked (q13)" in out
        assert "1 query is in B only and left out" in out

    def test_baseline_update(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """It becomes a baseline of the questions that it was asked, and the next gate counts the rest."""
        make_project(folder, golden_set=grown())
        assert main(["baseline", "update", "runs/old.jsonl", "--force", "an old run"]) == 0
        assert (
            "the golden set changed since the run: 1 question is new and was not asked (q13)" in capsys.readouterr().err
        )
        assert len(read_baseline("baseline.json").evaluation.queries) == SIZE
        result = gate(folder, make_run(folder, grown(), [1] * 13))
        assert any("1 question is new and has no baseline (q13)" in text for text in result.caveats)

    def test_report_and_eval(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Both score it with the judgments of today."""
        make_project(folder, golden_set=rejudged("q02", "d01"))
        assert main(["eval", ".", "--run", "runs/old.jsonl", "--json"]) == 0
        measures = json.loads(capsys.readouterr().out)["runs"][0]["measures"]
        assert measures["RR@10"]["mean"] == pytest.approx((7 * 1 + 5 * 0.5) / 12)
        assert main(["report", "runs/old.jsonl", "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["measures"][0]["mean"] == pytest.approx((7 * 1 + 5 * 0.5) / 12)

    def test_a_run_whose_answers_were_cut_is_refused(self, folder: Path) -> None:
        """Its header has a digest of the questions that it was asked."""
        make_project(folder, golden_set=grown())
        path = edited(folder / "runs" / "old.jsonl", lambda line: None if line.get("query") == "q05" else line)
        with pytest.raises(InputError, match="does not have the questions that it was asked"):
            gate(folder, path)


class TestTrend:
    """Where the golden set changed, a trend has a mark."""

    @pytest.fixture
    def three(self, folder: Path) -> Iterator[Path]:
        """Runs before and after a query was added, and after a judgment was."""
        (folder / "runs" / "old.jsonl").unlink()
        make_run(folder, make_set(SIZE), [1] * SIZE, "p-2026-01-01-aaaaaaaa")
        make_run(folder, grown(), [1] * 13, "p-2026-01-02-aaaaaaaa")
        judged = grown(judgments=(*grown().judgments, Judgment(query="q01", target=Target(document="x01"), grade=1)))
        make_project(folder, golden_set=judged)
        make_run(folder, judged, [1] * 13, "p-2026-01-03-aaaaaaaa")
        return folder

    def test_table_json_and_drawing(self, three: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """All three runs are one history; the marks say how many questions came and went, or that judgments did."""
        assert main(["trend", ".", "--svg", "trend.svg"]) == 0
        out = capsys.readouterr().out
        assert "golden set: +1 question" in out
        assert "golden set: judgments" in out
        drawing = Path("trend.svg").read_text()
        assert drawing.count('class="mark"') == 2 * 2  # two marks on the line of the measure, and on that of latency
        assert main(["trend", ".", "--json"]) == 0
        (history,) = json.loads(capsys.readouterr().out)["histories"]
        assert [run["golden_change"] for run in history["runs"]] == [
            None,
            {"added": 1, "removed": 0, "judgments": False, "documents": True},
            {"added": 0, "removed": 0, "judgments": True, "documents": False},
        ]


class TestRebase:
    """``karat baseline rebase`` brings the baseline to the set as it is."""

    def change(self, folder: Path) -> GoldenSet:
        """Drop q01, add q13, and judge d01 relevant for q02."""
        golden_set = grown()
        more = Judgment(query="q02", target=Target(document="d01"), grade=1)
        changed = replace(golden_set, queries=golden_set.queries[1:], judgments=(*golden_set.judgments[1:], more))
        make_project(folder, golden_set=changed)
        return changed

    def test_a_dry_run_writes_nothing(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """And shows what would change as a diff that a reviewer can read."""
        self.change(folder)
        before = (folder / "baseline.json").read_bytes()
        assert main(["baseline", "rebase", "--dry-run"]) == 0
        out, err = capsys.readouterr()
        assert "- q01 What of 01?: RR@10 1.0000\n" in out
        assert "+ q13 What of 13?: no scores\n" in out
        assert "~ q02 What of 02?: RR@10 0.5000 -> 1.0000\n" in out
        assert "was not changed (--dry-run)" in err
        assert (folder / "baseline.json").read_bytes() == before

    def test_it_is_written_and_then_up_to_date(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A second call finds nothing to do, and the questions are still told as new."""
        self.change(folder)
        assert main(["baseline", "rebase"]) == 0
        after = read_baseline("baseline.json")
        assert (len(after.evaluation.queries), after.recorded, bool(after.rebased)) == (11, "2026-11-16", True)
        data = (folder / "baseline.json").read_bytes()
        capsys.readouterr()
        assert main(["baseline", "rebase"]) == 0
        assert "is up to date" in capsys.readouterr().err
        assert (folder / "baseline.json").read_bytes() == data
        changed = open_project(folder).golden
        result = gate(folder, make_run(folder, changed, [1] * 12))
        assert any("1 question is new and has no baseline (q13)" in text for text in result.caveats)
        assert not any("removed" in text for text in result.caveats)

    def test_new_questions_can_be_taken_from_a_run(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Of the same system; one of another system is refused."""
        changed = self.change(folder)
        run = make_run(folder, changed, [*[2, 1] * 5, 2, 0])
        assert main(["baseline", "rebase", "--from", str(run)]) == 0
        after = read_baseline("baseline.json").evaluation
        assert after.queries == tuple(query.id for query in changed.queries)
        assert after.values("RR@10")["q13"] == 0
        assert "q13" in after.unfound
        edited(run, lambda line: line | {"fingerprint": "sha256:1"} if "fingerprint" in line else line)
        capsys.readouterr()
        assert main(["baseline", "rebase", "--from", str(run)]) == 2
        assert "is a run of another system than the baseline" in capsys.readouterr().err

    def test_an_older_format_is_brought_to_the_newest(self, folder: Path) -> None:
        """On the same golden set the digests are those of today."""
        fresh = read_baseline("baseline.json")
        strip(folder / "baseline.json")
        result = rebase_baseline(open_project(folder))
        assert result.written
        after = read_baseline("baseline.json")
        assert after.evaluation.questions == fresh.evaluation.questions
        assert after.evaluation.values("RR@10") == fresh.evaluation.values("RR@10")

    def test_the_document_is_as_its_schema_says(self, folder: Path) -> None:
        """Each question with its scores before and after."""
        project = (self.change(folder), open_project(folder))[1]
        result = rebase_baseline(project, write=False)
        document = json.loads(json.dumps(to_plain(rebase_document(result, project.golden))))
        validate(document, json_schema("baseline-rebase"))
        assert document["queries"] == {"before": 12, "after": 11}
        assert [question["query"] for question in document["removed"]] == ["q01"]
        assert [question["query"] for question in document["added"]] == ["q13"]
        assert document["rejudged"][0]["measures"]["RR@10"] == {"before": 0.5, "after": 1.0}


DOCUMENT_IDS = [f"d{i}" for i in range(8)]


def list_measures() -> list[str]:
    """Every measure, without a cut-off and with one where it may have either."""
    suffixes = {"none": [""], "optional": ["", "@3"], "required": ["@3"], "recall": ["@0.5"]}
    return [f"{measure.name}{suffix}" for measure in MEASURES for suffix in suffixes[measure.cutoff]]


def rank(documents: Sequence[str]) -> tuple[Hit, ...]:
    """Hits on these documents, the best first."""
    return tuple(Hit(document, 9.0 - i, document) for i, document in enumerate(documents))


@st.composite
def worlds(draw: st.DrawFn) -> tuple[GoldenSet, Run]:
    """A golden set of a few queries, and a run on it with lists of any length."""
    names = [f"q{i}" for i in range(draw(st.integers(2, 5)))]
    judgments = tuple(
        Judgment(query=query, target=Target(document=document), grade=draw(st.integers(0, 3)))
        for query in names
        for document in draw(st.lists(st.sampled_from(DOCUMENT_IDS), unique=True, max_size=4))
    )
    golden_set = GoldenSet(
        queries=tuple(Query(id=query, text=f"What of {query}?") for query in names),
        documents=tuple(Document(id=document, text=document) for document in DOCUMENT_IDS),
        judgments=judgments,
    )
    traces = tuple(
        Trace(query=query, text=f"What of {query}?", hits=rank(draw(st.permutations(DOCUMENT_IDS)))) for query in names
    )
    return golden_set, Run(
        provenance=Provenance(name="mine", golden=golden.identify(golden_set), settings={"k": 8}), traces=traces
    )


def stored(evaluation: Evaluation) -> Evaluation:
    """The evaluation as a baseline file keeps it."""
    with tempfile.TemporaryDirectory() as folder:
        write_baseline(Baseline(evaluation=evaluation), Path(folder, "b.json"))
        return read_baseline(Path(folder, "b.json")).evaluation


@pytest.mark.slow
@quick
@given(worlds(), st.integers(3, 8))
def test_rescoring_with_unchanged_judgments_is_the_identity(world: tuple[GoldenSet, Run], depth: int) -> None:
    """For every measure: a stored list gives the score that was computed from the whole one, or the old one stays."""
    golden_set, run = world
    before = score_run(golden_set, run, [*list_measures(), "P(judged_only=True)@3"])
    lists = {query: hits[:depth] for query, hits in before.lists.items()}
    provenance = replace(before.provenance, golden={"fingerprint": "sha256:0"}, settings={})
    unknown = replace(before, lists=lists, depth=depth, questions={}, traces=(), provenance=provenance)
    after = revise_evaluation(unknown, golden_set)
    assert after.revision is not None
    for name in before.scores.measures:
        stale = after.revision.stale.get(name, ())
        for query in before.queries:
            assert after.scores.value(query, name) == before.scores.value(query, name), (name, query, query in stale)
    assert after.revision.rejudged == ()
    assert "P@3" not in after.revision.stale


@pytest.mark.slow
@quick
@given(worlds(), st.data())
def test_adding_queries_never_changes_the_differences_of_old_ones(
    world: tuple[GoldenSet, Run], data: st.DataObject
) -> None:
    """Whatever the new questions are, and whatever the run answers to them."""
    golden_set, run = world
    names = ["RR@10", "nDCG@3", "AP"]
    baseline = stored(score_run(golden_set, run, names))
    other = replace(
        run, traces=tuple(replace(trace, hits=trace.hits[data.draw(st.integers(0, 3)) :]) for trace in run.traces)
    )
    before = score_run(golden_set, other, names)
    new = Query(id="new", text="And this?")
    judgment = Judgment(query="new", target=Target(document="d1"), grade=3)
    more = replace(golden_set, queries=(*golden_set.queries, new), judgments=(*golden_set.judgments, judgment))
    trace = Trace(query="new", text=new.text, hits=tuple(data.draw(st.permutations(run.traces[0].hits))))
    provenance = replace(run.provenance, golden=golden.identify(more))
    after = score_run(more, Run(provenance=provenance, traces=(*other.traces, trace)), names)
    revised = revise_evaluation(baseline, more)
    for name in names:
        assert list(pair_scores(after, revised, name)) == list(pair_scores(before, baseline, name))


def test_the_depth_of_stored_lists_fits_the_measures() -> None:
    """Ten documents, or as many as the deepest cut-off, and at most a hundred for measures without one."""
    assert needed_depth(["nDCG@5", "DupRate@50"], 10) == 10
    assert needed_depth(["nDCG@5", "R@20"], 10) == 20
    assert needed_depth([str(Measure.parse("AP"))], 10) == needed_depth(["R@1000"], 10) == 100


def test_another_start_of_relevance_is_named(tmp_path: Path) -> None:
    """Nobody removed a judgment or changed one: what counts as relevant is another grade."""
    grades = ("no", "tangential", "yes")
    first = make_set(SIZE, grades=grades)
    better = Judgment(query="q01", target=Target(document="d01"), grade=2)
    now = make_set(SIZE, grades=grades, relevant=2, judgments=(better, *make_set(SIZE).judgments[1:]))
    places = [1] * SIZE
    make_project(tmp_path, golden_set=first)
    accept(tmp_path, make_run(tmp_path, first, places, "old"))
    make_project(tmp_path, golden_set=now)
    result = gate(tmp_path, make_run(tmp_path, now, places))
    told = " ".join(result.caveats)
    assert "the lowest grade that counts as relevant is 2, and was 1" in told
    assert "relevant = 1 in golden.toml" in told
    assert "removed by accident" not in told
    (check,) = [check for check in result.decision.checks if check.kind == "removed"]
    assert "since the lowest grade that counts as relevant is 2, and was 1" in check.reason
