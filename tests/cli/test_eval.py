"""``karat eval``: from a folder to scores, with the built-in pipeline or one's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click import Option

from karat import golden
from karat.cli._eval import command
from karat.core import Document, GoldenSet, Judgment, Query, Target
from karat.labelling import QueuePlan, make_queue, open_desk
from karat.projects import gate_run
from karat.runs import read_any_run

TEXTS = {
    "pool": "The pool opens at six in the morning and closes at nine.",
    "wifi": "The wireless network is free for all guests of the hotel.",
    "dogs": "Dogs are welcome at the lodge for a small fee per night.",
}
SET = GoldenSet(
    name="tiny",
    grades=("no", "yes"),
    relevant=1,
    documents=tuple(Document(id=name, text=text) for name, text in TEXTS.items()),
    queries=(
        Query(id="q1", text="when does the pool open", category="times"),
        Query(id="q2", text="is the wireless network free", category="prices"),
        Query(id="q3", text="fee for dogs", category="prices"),
    ),
    judgments=tuple(
        Judgment(query=q, target=Target(document=d), grade=1)
        for q, d in [("q1", "pool"), ("q2", "wifi"), ("q3", "dogs")]
    ),
)
VERB = "eval"
Run = Callable[..., tuple[str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project: a golden set, a configuration without the dense channel, and a retriever of its own."""
    golden.write(SET, tmp_path / "set")
    (tmp_path / "karat.toml").write_text(
        '[golden]\npath = "set"\n[pipeline]\ndense = false\n[eval]\nmeasures = ["RR@10"]\n'
    )
    (tmp_path / "mine_for_eval.py").write_text(
        "def find(query, k):\n"
        "    if 'dogs' in query:\n        raise RuntimeError('kennel closed')\n"
        "    return ['pool', 'wifi'][:k]\n"
        "def broken(query, k):\n    raise ConnectionError('refused')\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_the_pipeline_answers_and_is_scored(run: Run, folder: Path) -> None:
    """A table of means and one of latency; the run is kept beside the configuration."""
    out, err = run(".")
    assert out.startswith("measure    mean  queries\nRR@10    1.0000      3/3\n")
    assert "\ntotal " in out
    (kept,) = (folder / "runs").iterdir()
    assert f"run saved as runs/{kept.name}" in err


def test_a_set_without_judgments_is_asked_and_not_scored(run: Run, folder: Path) -> None:
    """The first run of a new set is what people judge: a queue comes from it, and no number is shown meanwhile."""
    golden.write(replace(SET, judgments=()), folder / "new")
    (folder / "karat.toml").write_text('[golden]\npath = "new"\n[pipeline]\ndense = false\n')
    out, err = run(".")
    assert "3 queries asked, 0 failed; nothing is scored: the golden set has no judgment yet" in out
    assert "run a second system, too" in out
    assert "karat label queue first" in out
    assert "P@5" not in out
    assert "run saved as runs/" in err
    document = json.loads(run(".", "--system", "mine_for_eval:find", "--json")[0])
    assert document["runs"][0]["measures"]["Judged@10"]["mean"] in (0.0, None)
    assert "3 queries asked, 1 failed; nothing is scored" in "".join(document["caveats"])
    assert "second system" not in run(".", "--system", "mine_for_eval:find")[0]
    files = sorted(map(str, (folder / "runs").glob("*.jsonl")))
    queue, _ = make_queue(open_desk(folder), QueuePlan(name="first", kind="pool", sources=tuple(files)))
    assert len(queue) > 3


def test_a_set_with_another_error_is_not_asked(run: Run, folder: Path) -> None:
    """Nor is a run scored that exists already."""
    golden.write(replace(SET, judgments=(), queries=()), folder / "empty")
    assert "empty-set" in run("empty", code=2)[1]
    golden.write(replace(SET, judgments=()), folder / "new")
    (folder / "old.txt").write_text("q1 Q0 pool 1 9 a\n")
    assert "no-judgments" in run("new", "--run", "old.txt", code=2)[1]


def test_json_has_the_shape_of_score(run: Run, folder: Path) -> None:
    """Means with counts, groups, latency and what failed."""
    document = json.loads(run(".", "--json", "--per-query", "-m", "P@1")[0])
    entry = document["runs"][0]
    assert entry["measures"]["P@1"] == {"mean": 1.0, "n": 3, "total": 3, "missing": {}}
    assert entry["by"]["category"]["prices"]["measures"]["P@1"]["total"] == 2
    assert entry["queries"]["q1"] == {"P@1": 1.0}
    assert set(entry["latency"]["total"]) == {"n", "mean", "p50", "p95", "p99"}
    assert entry["failed"] == []
    assert document["golden"]["fingerprint"] == golden.fingerprint(SET)


def test_bounds_are_shown_if_asked_for(run: Run, folder: Path) -> None:
    """The retriever returns pool, then wifi: of q1 wifi is not judged, of q2 pool, and q3 failed."""
    arguments = (".", "--system", "mine_for_eval:find", "-m", "P@1", "-m", "DupRate@2")
    out, _ = run(*arguments, "--bounds")
    assert "if unjudged documents were judged   worst     now    best  unjudged\n" in out
    assert "P@1                                0.3333  0.3333  0.6667         1\n" in out
    assert "DupRate@2                          0.0000  0.0000  0.0000         2\n" in out
    (entry,) = json.loads(run(*arguments, "--bounds", "--json")[0])["runs"]
    assert entry["measures"]["P@1"]["bounds"] == {"worst": 1 / 3, "best": 2 / 3, "exact": True, "unjudged": 1}
    (entry,) = json.loads(run(*arguments, "--json")[0])["runs"]
    assert "bounds" not in entry["measures"]["P@1"]


def test_ones_own_retriever_and_its_failures(run: Run, folder: Path) -> None:
    """A failing query counts as zero and is told; the table by category shows where."""
    out, _ = run(".", "--system", "mine_for_eval:find", "--by", "category")
    assert "RR@10    0.5000      3/3" in out
    assert "1 of 3 questions failed, and count as 0:\n  q3: RuntimeError: kennel closed" in out
    assert "\ncategory  " in out


def test_when_all_fails_the_exit_code_is_three(run: Run, folder: Path) -> None:
    """The backend's own words; so it is with --fail-fast at the first."""
    _, err = run(".", "--system", "mine_for_eval:broken", code=3)
    assert "karat: every one of 3 queries failed: ConnectionError: refused" in err
    _, err = run(".", "--system", "mine_for_eval:find", "--fail-fast", code=3)
    assert "query 'q3': RuntimeError: kennel closed" in err


def test_a_run_is_scored_again_without_the_system(run: Run, folder: Path) -> None:
    """Other measures on what was answered before; that a set has changed since is said."""
    run(".")
    (kept,) = (folder / "runs").iterdir()
    assert "P@1" in run(".", "--run", kept, "-m", "P@1")[0]
    golden.write(replace(SET, judgments=SET.judgments[:2]), folder / "other")
    _, err = run("other", "--run", kept)
    assert "the golden set changed since the run, which is scored with the judgments of today" in err


def test_any_golden_set_will_do(run: Run, folder: Path) -> None:
    """A BEIR folder without a configuration is evaluated with the defaults."""
    golden.write(SET, folder / "beir", "beir")
    out, _ = run("beir", "-m", "RR@10", "--output", folder / "elsewhere", "--no-cache")
    assert "RR@10    1.0000" in out
    assert len(list((folder / "elsewhere").iterdir())) == 1


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("[pipelin]\n", "there is no table 'pipelin', did you mean 'pipeline'?"),
        ("[pipeline]\nchnk = 'whole'\n", "[pipeline] has no key 'chnk', did you mean 'chunk'?"),
        ("[pipeline]\nlexical = false\ndense = false\n", "both off"),
        ("[eval]\nk = 'ten'\n", "[eval] k is 'ten', which is of the wrong type"),
        ("[eval\n", "is not valid TOML"),
        ("eval = 3\n", "eval is 3, not a table"),
    ],
)
def test_a_wrong_configuration_is_told(run: Run, folder: Path, toml: str, message: str) -> None:
    """Unknown keys and wrong values are mistakes, with the file and what was probably meant."""
    head = "" if toml.startswith("eval = ") else '[golden]\npath = "set"\n'
    (folder / "karat.toml").write_text(toml + head if toml.startswith("eval = ") else head + toml)
    _, err = run(".", code=2)
    assert message in err


def test_repeats_show_the_noise(run: Run, folder: Path) -> None:
    """A system that always answers alike has none."""
    out, _ = run(".", "--repeat", "2")
    assert "measure    mean   noise  pass@2  pass^2  queries\nRR@10    1.0000  0.0000  1.0000  1.0000      3/3" in out


def test_repeats_show_who_succeeds_ever_and_always(run: Run, folder: Path) -> None:
    """By hand: q1 is right at every second asking, q2 always second, q3 always right; of DupRate less is better."""
    (folder / "moody_for_eval.py").write_text(
        "asked = []\n"
        "def find(query, k):\n"
        "    asked.append(query)\n"
        "    if 'pool' in query:\n"
        "        return ['pool', 'wifi'] if asked.count(query) % 2 else ['wifi', 'pool']\n"
        "    return ['dogs', 'wifi']\n"
    )
    config = folder / "karat.toml"
    config.write_text(config.read_text() + "warm_up = 0\nrepeat = 2\n")
    wanted = ("-m", "RR@10", "-m", "P@1", "-m", "DupRate@2")
    out, _ = run(".", "--system", "moody_for_eval:find", *wanted)
    assert out.startswith(
        "measure      mean   noise  pass@2  pass^2  queries\n"
        "RR@10      0.7500  0.1179  0.6667  0.3333      3/3\n"  # means 5/6 and 2/3, sd = (1/6) / sqrt 2
        "P@1        0.5000  0.2357  0.6667  0.3333      3/3\n"
        "DupRate@2  0.0000  0.0000       -       -      3/3\n"
    )
    document = json.loads(run(".", "--system", "moody_for_eval:find", *wanted, "--success", "0.5", "--json")[0])
    assert document["runs"][0]["trials"] == {
        "success": 0.5,
        "columns": ["pass@2", "pass^2"],
        "measures": {"RR@10": [1.0, 1.0], "P@1": [2 / 3, 1 / 3]},
    }


def test_what_was_not_found_is_listed(run: Run, folder: Path) -> None:
    """A query without a relevant hit is named, and when there is no other, so is the likely reason."""
    (folder / "blind_for_eval.py").write_text(
        "def find(query, k):\n    return ['pool', 'wifi']\n"
        "def none(query, k):\n    return ['dogs' if 'pool' in query else 'pool']\n"
    )
    assert "1 of 3 found nothing relevant: q3\n" in run(".", "--system", "blind_for_eval:find")[0]
    out, _ = run(".", "--system", "blind_for_eval:none")
    assert "3 of 3 found nothing relevant: q1, q2, q3\nno query found anything relevant: compare the ids" in out
    assert json.loads(run(".", "--system", "blind_for_eval:find", "--json")[0])["runs"][0]["unfound"] == ["q3"]


def test_runs_are_not_overwritten_by_others(run: Run, folder: Path) -> None:
    """Another k is another run with another file, and the same again gets a number."""
    for options in ([], ["--k", "2"], ["--k", "2"]):
        run(".", *options)
    names = sorted(path.name for path in (folder / "runs").iterdir())
    assert len(names) == 3
    assert [name.endswith("-2.jsonl") for name in names].count(True) == 1


def test_as_many_hits_are_asked_for_as_the_measures_look_at(run: Run, folder: Path) -> None:
    """R@50 makes k 50; a k that is given is kept, and what it cuts off is told."""
    out, _ = run(".", "-m", "R@50")
    assert "looks at" not in out
    assert (
        max(json.loads(path.read_text().splitlines()[0])["settings"]["k"] for path in (folder / "runs").iterdir()) == 50
    )
    out, _ = run(".", "-m", "R@50", "--k", "2")
    assert "R@50 looks at 50 hits, but 2 were asked for: set [eval] k = 50, or --k 50\n" in out


def test_a_run_from_elsewhere_does_not_say_how_many_hits_were_asked_for(run: Run, folder: Path) -> None:
    """Its longest list is named instead, and no option that would be refused beside --run."""
    (folder / "theirs.txt").write_text("q1 Q0 pool 1 2.5 theirs\nq1 Q0 wifi 2 1.5 theirs\n")
    out, _ = run(".", "--run", folder / "theirs.txt", "-m", "R@50")
    assert "R@50 looks at 50 hits, but the longest list of the run has 2\n" in out


def test_a_measure_that_does_not_exist_is_told_first(run: Run, folder: Path) -> None:
    """Nothing is asked, and nothing is saved."""
    _, err = run(".", "-m", "nCDG@5", code=2)
    assert "unknown measure 'nCDG'" in err
    assert not (folder / "runs").exists()


def test_nothing_is_asked_of_a_run(run: Run, folder: Path) -> None:
    """Options that say how to ask are refused beside --run."""
    run(".")
    (kept,) = (folder / "runs").iterdir()
    _, err = run(".", "--run", kept, "--sample", "2", "--no-cache", code=2)
    assert "--sample, --no-cache with --run" in err


def test_a_retriever_that_was_rewritten_does_not_go_on(run: Run, folder: Path) -> None:
    """A run that was begun by another version of the code is not taken up."""
    module = folder / "changing_for_eval.py"
    module.write_text("def find(query, k):\n    return ['pool']\n")
    run(".", "--system", "changing_for_eval:find")
    (first,) = (folder / "runs").iterdir()
    first.rename(f"{first}.part")
    import sys

    del sys.modules["changing_for_eval"]
    module.write_text("def find(query, k):\n    return ['wifi', 'dogs']\n")
    run(".", "--system", "changing_for_eval:find")
    assert len({path.name.split(".")[0] for path in (folder / "runs").iterdir()}) == 2


def test_a_mistake_in_the_configuration_is_no_answer(run: Run, folder: Path) -> None:
    """A reranker that cannot be loaded ends the run at the first question; it is not a query that failed."""
    config = folder / "karat.toml"
    config.write_text(
        config.read_text().replace(
            "dense = false", 'dense = false\nrerank = { kind = "cross-encoder", model = "nobody/nothing" }'
        )
    )
    _, err = run(".", code=2)
    assert "cross-encoder" in err


def test_a_run_that_was_begun_yesterday_is_taken_up(run: Run, folder: Path) -> None:
    """The file of a run that was not finished is found by what it is, not by its day."""
    run(".")
    (kept,) = (folder / "runs").iterdir()
    head, *traces = kept.read_text().splitlines(keepends=True)[:-1]
    yesterday = kept.with_name(f"pipeline-2020-01-01-{kept.stem[-8:]}.jsonl")
    yesterday.with_name(f"{yesterday.name}.part").write_text(head + traces[0] + traces[1][:10])
    kept.unlink()
    run(".")
    assert [path.name for path in (folder / "runs").iterdir()] == [yesterday.name]
    assert yesterday.read_text().splitlines(keepends=True)[1] == traces[0]


def test_paraphrases_have_a_row_each(run: Run, folder: Path) -> None:
    """The mean over wordings counts; beside it stands what each wording reaches."""
    worse = tuple(replace(query, paraphrases=("nothing of the kind",)) for query in SET.queries[:1])
    golden.write(replace(SET, queries=worse + SET.queries[1:]), folder / "more")
    config = folder / "karat.toml"
    config.write_text(config.read_text().replace('"set"', '"more"'))
    out, _ = run(".", "--paraphrases")
    assert out.startswith("measure    mean  queries\nRR@10    0.8333      3/3\n\nwording        RR@10  queries\n")
    assert "query         1.0000        3\nparaphrase 1  0.0000        1\n" in out


def test_a_folder_that_is_not_there(run: Run, folder: Path) -> None:
    """One clear message."""
    assert "nowhere: no such file or folder" in run("nowhere", code=2)[1]


@pytest.mark.parametrize("option", ["--run", "--k", "--no-cache"])
def test_the_help_says_what_the_page_says(run: Run, folder: Path, option: str) -> None:
    """The help of an option, with its default, is the beginning of its row in docs/eval.md."""
    (parameter,) = (parameter for parameter in command.params if option in parameter.opts)
    assert isinstance(parameter, Option)
    text, _, default = str(parameter.help).partition("  [default: ")
    expected = text.rstrip(".").lower() + (f"; by default {default.rstrip(']')}" if default else "")
    page = (Path(__file__).parents[2] / "docs" / "eval.md").read_text(encoding="utf-8")
    (row,) = (line for line in page.splitlines() if line.startswith(f"| `{option}"))
    assert row.split(" | ")[1].lower().startswith(expected)


def test_a_system_that_returns_nothing_is_told_so(run: Run, folder: Path) -> None:
    """Its ids cannot be wrong: the advice is about the index and filters."""
    (folder / "silent_for_eval.py").write_text("def find(query, k):\n    return []\n")
    out, _ = run(".", "--system", "silent_for_eval:find")
    assert "the system returned no hits for any of 3 queries: check that the index is filled" in out
    assert "compare the ids" not in out


def test_scores_that_contradict_the_order_are_a_caveat(run: Run, folder: Path) -> None:
    """A retriever that forgot to sort: its order counts, so q1 and q2 have RR 1/2, and table, JSON and gate say why."""
    (folder / "unsorted_for_eval.py").write_text(
        "def find(query, k):\n"
        "    right = next(word for word in ('pool', 'wireless', 'dogs') if word in query)\n"
        "    name = {'wireless': 'wifi'}.get(right, right)\n"
        "    return [(name, 0.9), ('spa', 0.1)] if name == 'dogs' else [('spa', 0.1), (name, 0.9)]\n"
    )
    unsorted = "the hits of 2 queries are not in the order of their scores, such as those of 'q1'"
    caveat = f"{unsorted}: the order of the list counts"
    out, _ = run(".", "--system", "unsorted_for_eval:find")
    assert "RR@10    0.6667      3/3" in out
    assert f"\ncaveat: {caveat}\n" in out
    assert caveat in json.loads(run(".", "--system", "unsorted_for_eval:find", "--json")[0])["caveats"]
    assert caveat in gate_run(".", read_any_run(next((folder / "runs").iterdir()), SET)).caveats
    assert "order of their scores" not in run(".", "--system", "mine_for_eval:find")[0]
