"""Ways to get exit code 0 by editing the golden set: rewording, deleting, moving, and taking wordings away."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cli.gate_project import accept, main, make_gated_project, make_project, make_run, make_set
from karat.core import GateFailed, GoldenSet, InputError, UsageError
from karat.gate import Check, read_baseline
from karat.projects import GateResult, gate_run, open_project, report_document
from karat.projects.baselines import accept_run, rebase_baseline
from karat.reports import render_github, render_html, render_junit, render_markdown, render_text
from karat.runs import read_any_run

SIZE = 12
GOOD = [1] * SIZE


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose baseline found every document first."""
    make_gated_project(tmp_path, GOOD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def reword(golden_set: GoldenSet, first: int) -> GoldenSet:
    """Return the set with all questions from a number on asked in other words."""
    queries = (
        replace(query, text=f"Please, {query.text}") if int(query.id[1:]) >= first else query
        for query in golden_set.queries
    )
    return replace(golden_set, queries=tuple(queries))


def gate(folder: Path, golden_set: GoldenSet, places: Sequence[int], toml: str = "") -> GateResult:
    """Change the golden set, make a run on it, and gate it."""
    make_project(folder, toml, golden_set=golden_set)
    project = open_project(folder)
    return gate_run(project, read_any_run(make_run(folder, golden_set, places), project.golden))


def check_of(result: GateResult, kind: str) -> Check | None:
    """The check of a kind, if there is one."""
    return next((check for check in result.decision.checks if check.kind == kind), None)


@pytest.mark.parametrize(
    ("size", "outcome"),
    [
        (13, "pass"),  # one question more: the issue that golden sets grow
        (15, "pass"),  # 12 of 15 are four fifths
        (16, "inconclusive"),
        (40, "inconclusive"),
    ],
)
def test_a_set_that_grows_is_gated_on_the_common_questions_while_they_are_four_fifths(
    folder: Path, size: int, outcome: str
) -> None:
    """The new ones fail, of which no baseline tells; with more of them than a fifth it is not known what they hide."""
    result = gate(folder, make_set(size), [*GOOD, *[0] * (size - SIZE)])
    assert result.decision.outcome.value == outcome
    new = check_of(result, "new")
    assert (new is None) == (outcome == "pass")
    if new:
        assert new.reason.startswith(
            f"{size - 12} of {size} questions have no baseline, so that too few are compared: q13"
        )
    (tested,) = [check for check in result.decision.checks if check.kind == "non_inferior"]
    assert (tested.n, tested.total, tested.current) == (12, size, 1.0)


def test_a_fall_of_the_common_questions_fails_however_many_are_new(folder: Path) -> None:
    """New questions never hide it."""
    assert gate(folder, make_set(40), [*[0] * SIZE, *[1] * 28]).decision.outcome.value == "fail"


def test_rewording_what_a_change_breaks_does_not_pass(folder: Path) -> None:
    """Eleven of twelve: every format says that the one that is compared is one of twelve, and none says PASS."""
    result = gate(folder, reword(make_set(SIZE), 2), [1, *[0] * 11])
    assert result.decision.outcome.value == "inconclusive"
    document = report_document(result)
    for render in (render_text, render_markdown, render_html, render_github, render_junit):
        text = render(document)
        assert "11 of 12 questions have no baseline" in text
    assert "not worse by more than 0.05, on 1 of 12" in render_text(document)
    assert json.loads(json.dumps(check_of(result, "non_inferior").to_dict()))["total"] == 12  # type: ignore[union-attr]


def test_nothing_records_such_a_run_without_a_reason(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither update nor rebase; a rebase with a reason keeps it, and leaves the gate inconclusive."""
    before = Path("baseline.json").read_bytes()
    result = gate(folder, reword(make_set(SIZE), 2), [1, *[0] * 11])
    project, run = result.project, read_any_run("runs/new.jsonl", result.project.golden)
    with pytest.raises(GateFailed, match="11 of 12 questions that the baseline scored"):
        accept_run(project, run)
    with pytest.raises(
        GateFailed, match="11 of the 12 questions of the baseline would go, since they are no longer in the golden set"
    ) as refusal:
        rebase_baseline(project)
    assert refusal.value.exit_code == 4
    with pytest.raises(UsageError, match="--force needs a reason"):
        rebase_baseline(project, force=" ")
    assert not rebase_baseline(project, write=False).written
    assert Path("baseline.json").read_bytes() == before
    assert main(["baseline", "rebase", ".", "--force", "all questions were rude"]) == 0
    assert read_baseline("baseline.json").shrunk == "all questions were rude"
    assert gate_run(project, run).decision.outcome.value == "inconclusive"
    capsys.readouterr()
    assert main(["baseline", "show"]) == 0
    assert "rebased although it lost many questions: all questions were rude" in capsys.readouterr().out


def test_a_rebase_that_loses_few_questions_needs_no_reason(folder: Path) -> None:
    """Half of them may go, as a change to a file that people review; a reason that is not needed is not kept."""
    make_project(folder, golden_set=make_set(6))
    assert rebase_baseline(open_project(folder), force="why not").after.shrunk == ""


# Segments.

RULE = '[gate]\nextends = "none"\n[[gate.rules]]\nmetric = "RR@10"\nwhere = { category = "prices" }\n'
DROP = RULE + "max_drop_abs = 0.1\n"


def move(golden_set: GoldenSet, *queries: str) -> GoldenSet:
    """Return the set with some questions in another category."""
    moved = (replace(query, category="times") if query.id in queries else query for query in golden_set.queries)
    return replace(golden_set, queries=tuple(moved))


def test_moving_what_fails_to_another_category_is_inconclusive(folder: Path) -> None:
    """Of the six questions on prices five fail; moved, the rule would look at the one that does not."""
    places = [1 if i % 2 or i == 2 else 0 for i in range(1, SIZE + 1)]
    assert gate(folder, make_set(SIZE), places, DROP).decision.outcome.value == "fail"
    away = [f"q{i:02}" for i in range(4, SIZE + 1, 2)]
    result = gate(folder, move(make_set(SIZE), *away), places, DROP)
    check = check_of(result, "moved")
    assert check is not None
    assert (check.outcome.value, check.name) == ("inconclusive", "moved category=prices")
    assert check.reason == (
        "5 of 6 questions that the baseline has in category=prices are no longer in it: q04, q06, q08, q10, q12"
    )
    assert result.decision.outcome.value == "inconclusive"
    with pytest.raises(GateFailed, match="the baseline of a segment with a rule would lose questions"):
        accept_run(result.project, read_any_run("runs/new.jsonl", result.project.golden))


def test_deleting_a_small_segment_is_seen_although_the_set_is_large(tmp_path: Path) -> None:
    """Two of four are half of the segment, and two in a hundred of the set."""
    rare = move(make_set(100), *(f"q{i:02}" for i in range(9, 101)))
    accept(tmp_path, make_run(tmp_path, make_project(tmp_path, DROP, golden_set=rare), [1] * 100, "old"))
    fewer = replace(
        rare, queries=rare.queries[2:4] + rare.queries[5:], judgments=rare.judgments[2:4] + rare.judgments[5:]
    )
    result = gate(tmp_path, fewer, [1] * 97, DROP)
    assert check_of(result, "moved").reason.startswith("1 of 4 questions")  # type: ignore[union-attr]
    fewer = replace(fewer, queries=fewer.queries[2:], judgments=fewer.judgments[2:])
    check = check_of(gate(tmp_path, fewer, [1] * 95, DROP), "moved")
    assert check is not None
    assert check.outcome.value == "inconclusive"


def test_one_question_may_move_and_other_segments_do_not_matter(folder: Path) -> None:
    """A correction of one is told and passes; without a rule on the segment nobody asks."""
    result = gate(folder, move(make_set(SIZE), "q04"), GOOD, DROP)
    assert check_of(result, "moved").outcome.value == "pass"  # type: ignore[union-attr]
    assert result.decision.outcome.value == "pass"
    everything = move(make_set(SIZE), *(f"q{i:02}" for i in range(1, SIZE + 1)))
    assert check_of(gate(folder, everything, GOOD), "moved") is None


def test_a_baseline_keeps_segments_as_they_were_recorded(folder: Path) -> None:
    """A rebase does not move them, so that it is no way around; nor does it lose those of new questions."""
    recorded = read_baseline("baseline.json").evaluation.segments
    assert recorded["category", "prices"] == ["q02", "q04", "q06", "q08", "q10", "q12"]
    grown = move(make_set(14), "q04", "q06")
    make_project(folder, DROP, golden_set=grown)
    project = open_project(folder)
    run = read_any_run(make_run(folder, grown, [1] * 14), project.golden)
    rebase_baseline(project, run=run)
    segments = read_baseline("baseline.json").evaluation.segments
    assert segments["category", "prices"] == [*recorded["category", "prices"], "q14"]
    assert check_of(gate_run(project, run), "moved").outcome.value == "inconclusive"  # type: ignore[union-attr]


def test_a_baseline_without_segments_is_compared_as_before(folder: Path) -> None:
    """It was recorded by an older karat: what it does not know is not held against the run."""
    from cli.gate_project import signed

    record = json.loads(Path("baseline.json").read_text())
    for row in record["queries"].values():
        del row["segments"]
    Path("baseline.json").write_text(signed(record))
    assert check_of(gate(folder, move(make_set(SIZE), "q04", "q06"), GOOD, DROP), "moved") is None


# Paraphrases.


def paraphrase(golden_set: GoldenSet, *queries: str) -> GoldenSet:
    """Return the set with a paraphrase of some questions."""
    worded = (
        replace(query, paraphrases=(f"Or rather {query.id}?",)) if query.id in queries else query
        for query in golden_set.queries
    )
    return replace(golden_set, queries=tuple(worded))


def ask(folder: Path, golden_set: GoldenSet, name: str, *, lost: bool) -> Path:
    """Write a run in which every wording finds its document, or no paraphrase does."""
    path = make_run(folder, golden_set, GOOD, name, paraphrases=True)
    header, *lines, end = path.read_text().splitlines()
    assert json.loads(header)["settings"]["paraphrases"] is True
    rows = []
    for query, line in zip(golden_set.queries, lines, strict=True):
        rows.append(line)
        for text in query.paraphrases:
            record = json.loads(line) | {"text": text, "paraphrase": 1}
            record["hits"] = record["hits"][1:] if lost else record["hits"]
            rows.append(json.dumps(record))
    path.write_text("\n".join([header, *rows, end]) + "\n")
    return path


ALL = [f"q{i:02}" for i in range(1, SIZE + 1)]
PARAPHRASED = "paraphrases = true\n"


def test_deleting_the_paraphrases_that_fail_does_not_pass(tmp_path: Path) -> None:
    """A change loses every paraphrase: FAIL. Without them in the set each question is another one: inconclusive."""
    worded = paraphrase(make_set(SIZE), *ALL)
    make_project(tmp_path, PARAPHRASED, golden_set=worded)
    accept(tmp_path, ask(tmp_path, worded, "old", lost=False))
    project = open_project(tmp_path)
    run = read_any_run(ask(tmp_path, worded, "new", lost=True), project.golden)
    assert gate_run(project, run).decision.outcome.value == "fail"
    make_project(tmp_path, PARAPHRASED, golden_set=make_set(SIZE))
    project = open_project(tmp_path)
    with pytest.raises(InputError, match="every question has other words now, or other paraphrases"):
        gate_run(project, read_any_run(ask(tmp_path, make_set(SIZE), "new", lost=True), project.golden))
    first = paraphrase(make_set(SIZE), "q01")
    make_project(tmp_path, PARAPHRASED, golden_set=first)
    project = open_project(tmp_path)
    result = gate_run(project, read_any_run(ask(tmp_path, first, "new", lost=True), project.golden))
    assert result.decision.outcome.value == "inconclusive"
    assert check_of(result, "removed").reason.startswith("11 of 12 questions")  # type: ignore[union-attr]


def test_paraphrases_that_are_not_asked_may_change(folder: Path) -> None:
    """Without [eval] paraphrases no score depends on them."""
    result = gate(folder, paraphrase(make_set(SIZE), *ALL), GOOD)
    assert result.decision.outcome.value == "pass"
    assert check_of(result, "removed") is None


def test_one_changed_paraphrase_is_told_and_passes(tmp_path: Path) -> None:
    """As one reworded question does; the other eleven are compared."""
    worded = paraphrase(make_set(SIZE), *ALL)
    make_project(tmp_path, PARAPHRASED, golden_set=worded)
    accept(tmp_path, ask(tmp_path, worded, "old", lost=False))
    fewer = paraphrase(make_set(SIZE), *ALL[1:])
    make_project(tmp_path, PARAPHRASED, golden_set=fewer)
    project = open_project(tmp_path)
    result = gate_run(project, read_any_run(ask(tmp_path, fewer, "new", lost=False), project.golden))
    assert result.decision.outcome.value == "pass"
    assert check_of(result, "removed").reason.startswith("1 of 12 questions")  # type: ignore[union-attr]
