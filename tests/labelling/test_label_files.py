"""Labels are on the disk before anybody is told so, and nothing that was saved is ever lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from each import each
from karat.core import InputError, UsageError
from karat.labelling import (
    QueuePlan,
    list_proposals,
    make_queue,
    measure_labels,
    measure_queue,
    measure_status,
    next_task,
    open_desk,
    propose_labels,
    undo_label,
)
from karat.labelling._journal import Journal, name_file
from labelling.rooms import ana_says, label_all, list_lines, make_desk, make_project, say

KILLED = """
import sys
from karat.labelling import Answer, next_task, open_desk, save_label
desk, who = open_desk(sys.argv[1]), sys.argv[2]
while (task := next_task(desk, "first", who)) is not None:
    saved = save_label(desk, "first", who, Answer(query=task.query, document=task.document, grade=2, note="x" * 500))
    print(saved.key, flush=True)
"""


def people(desk, who="ana"):
    return desk.folder / "people" / name_file(who)


def test_a_label_is_a_line_with_who_when_and_under_which_guidelines(tmp_path):
    desk = make_desk(tmp_path / "p")
    say(desk, "ana", "q1", "d2", 2, note=" why ", seconds=3.14159, key="k1")
    head, line = map(json.loads, list_lines(people(desk)))
    assert head == {"karat": "labels", "version": 1, "who": "ana"}
    assert line.pop("at").endswith("Z")
    assert line == {
        "key": "k1", "query": "q1", "document": "d2", "grade": 2, "note": "why", "seconds": 3.1, "queue": "first",
        "guideline": desk.guidelines.version,
    }  # fmt: skip


def test_the_same_key_counts_once_and_belongs_to_one_answer(tmp_path):
    """Also for another process. Another answer with the key is refused, not dropped unsaid."""
    desk = make_desk(tmp_path / "p")
    assert not say(desk, "ana", "q1", "d2", 2, key="k", seconds=1.0).repeated
    again = say(open_desk(tmp_path / "p"), "ana", "q1", "d2", 2, key="k", seconds=9.0)
    assert (again.repeated, again.grade) == (True, 2)
    assert len(list_lines(people(desk))) == 2
    others = (("d3", 2, {}), ("d2", 3, {}), ("d2", None, {"verdict": "skip"}), ("d2", 2, {"note": "why"}))
    for document, grade, more in others:
        with pytest.raises(UsageError, match="belongs to another label"):
            say(desk, "ana", "q1", document, grade, key="k", **more)
    assert len(list_lines(people(desk))) == 2


def test_a_label_that_is_edited_in_place_is_read_again(tmp_path):
    """The file and its length stay the same; a desk that is open has to notice all the same."""
    desk = make_desk(tmp_path / "p")
    say(desk, "ana", "q1", "d2", 2)
    say(desk, "bo", "q1", "d2", 2)
    assert not measure_labels(desk).disputes
    path = people(desk)
    before = path.stat()
    with path.open("r+b") as file:
        data = file.read().replace(b'"grade":2', b'"grade":0')
        file.seek(0)
        file.write(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))
    assert (path.stat().st_ino, path.stat().st_size) == (before.st_ino, before.st_size)
    [dispute] = measure_labels(desk).disputes
    assert dispute.grades == {"ana": 0, "bo": 2}


def test_a_file_that_was_rewritten_and_grew_is_read_again(tmp_path):
    """As by a merge of git whose new file gets the number of the old one."""
    desk = make_desk(tmp_path / "p")
    for who in ("ana", "bo"):
        say(desk, who, "q1", "d2", 2)
    path = people(desk)
    head, first = path.read_bytes().splitlines(keepends=True)
    more = first.replace(b'"d2"', b'"d4"').replace(b'"key":"', b'"key":"x')
    with path.open("r+b") as file:
        file.write(head + first.replace(b'"grade":2', b'"grade":0') + more)
    [dispute] = measure_labels(desk).disputes
    assert dispute.grades == {"ana": 0, "bo": 2}
    assert measure_queue(desk, "first").people[0].graded == 2


def test_two_desks_see_each_other(tmp_path):
    first, second = make_desk(tmp_path / "p"), open_desk(tmp_path / "p")
    say(first, "ana", "q1", "d2", 2)
    say(second, "ana", "q1", "d3", 1)
    assert measure_queue(first, "first").people == measure_queue(second, "first").people
    assert measure_queue(first, "first").people[0].graded == 2


def test_a_torn_last_line_is_removed_and_told(tmp_path):
    """Readers leave it alone; the next who writes removes it."""
    desk = make_desk(tmp_path / "p")
    say(desk, "ana", "q1", "d2", 2)
    with people(desk).open("ab") as file:
        file.write(b'{"key": "torn", "query"')
    other = open_desk(tmp_path / "p")
    assert measure_queue(other, "first").people[0].graded == 1
    saved = say(other, "ana", "q1", "d3", 1)
    assert saved.notes == (
        "ana.jsonl: the last line was cut off while it was written; its 23 bytes were removed, and nothing that was "
        "saved is lost",
    )
    assert measure_status(other).notes == saved.notes
    assert [json.loads(line).get("document") for line in list_lines(people(desk))] == [None, "d2", "d3"]


def test_a_whole_last_line_without_its_end_is_kept(tmp_path):
    """An editor may take the end of the last line; the label on it was saved."""
    desk = make_desk(tmp_path / "p")
    say(desk, "ana", "q1", "d2", 2)
    say(desk, "ana", "q1", "d3", 3)
    people(desk).write_bytes(people(desk).read_bytes().rstrip(b"\n"))
    saved = say(open_desk(tmp_path / "p"), "ana", "q1", "d1", 1)
    assert saved.notes == ()
    assert [json.loads(line).get("document") for line in list_lines(people(desk))] == [None, "d2", "d3", "d1"]


@pytest.mark.slow
@given(cut=st.integers(1, 400))
@settings(max_examples=25)
def test_a_file_that_ends_anywhere_keeps_every_whole_line(tmp_path_factory, cut):
    """Whatever part of the last bytes is lost: the lines before are read, and one more can be saved."""
    folder = tmp_path_factory.mktemp("cut")
    desk = make_desk(folder / "p")
    for document in ("d1", "d2", "d3"):
        say(desk, "ana", "q1", document, 2)
    data = people(desk).read_bytes()
    kept = data[: max(0, len(data) - cut)]
    people(desk).write_bytes(kept)
    other = open_desk(folder / "p")
    say(other, "ana", "q2", "d1", 1)
    has_end_lost = b"\n" in kept and kept.endswith(b"}")  # a whole line, which stays
    whole = max(0, kept.count(b"\n") - 1) + has_end_lost
    assert measure_queue(other, "first").people[0].graded == whole + 1


@pytest.mark.slow
def test_what_was_acknowledged_survives_kill_9(tmp_path):
    """Two processes save for two people and one is killed: every key that it printed is there, and work goes on."""
    project = make_desk(tmp_path / "p").config.folder
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", KILLED, project]
    workers = [
        subprocess.Popen([*command, who], stdout=subprocess.PIPE, text=True, env=environment) for who in ("ana", "bo")
    ]
    for worker in workers:
        for _ in range(5):
            assert worker.stdout.readline()
        worker.send_signal(signal.SIGKILL)
    printed = [worker.communicate()[0].split() for worker in workers]
    desk = open_desk(project)
    for who, keys in zip(("ana", "bo"), printed, strict=True):
        saved = {json.loads(line).get("key") for line in list_lines(people(desk, who))}
        assert {*keys} <= saved
    assert next_task(desk, "first", "ana") is not None


@pytest.mark.slow
def test_two_processes_that_save_for_one_person_lose_nothing(tmp_path):
    """Each line is whole, and each pair of query and document was asked at least once."""
    desk = make_desk(tmp_path / "p")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", KILLED, desk.config.folder, "ana"]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
    printed = [key for worker in workers for key in worker.communicate()[0].split()]
    lines = [json.loads(line) for line in list_lines(people(desk))[1:]]
    assert sorted(line["key"] for line in lines) == sorted(printed)
    assert len({(line["query"], line["document"]) for line in lines}) == 40


def test_undo_is_a_new_line_and_the_label_before_counts_again(tmp_path):
    desk = make_desk(tmp_path / "p")
    say(desk, "ana", "q1", "d2", 1)
    say(desk, "ana", "q1", "d2", 3)
    undone = undo_label(desk, "ana", key="u")
    assert (undone.document, undone.grade, undone.verdict) == ("d2", 3, "undo")
    votes = desk.book.votes(("q1", "d2"))
    assert votes["ana", False].grade == 1
    assert undo_label(desk, "ana", key="u").repeated
    assert desk.book.votes(("q1", "d2"))["ana", False].grade == 1
    assert undo_label(desk, "ana").grade == 1
    assert not desk.book.votes(("q1", "d2"))
    assert undo_label(desk, "ana") is None
    assert len(list_lines(people(desk))) == 5
    assert open_desk(tmp_path / "p").open_queue("first").labels.sum() == 0


def test_a_pair_that_was_undone_is_asked_again(tmp_path):
    desk = make_desk(tmp_path / "p")
    task = next_task(desk, "first", "ana")
    say(desk, "ana", task.query, task.document, 2)
    assert next_task(desk, "first", "ana") != task
    undo_label(desk, "ana")
    assert next_task(desk, "first", "ana") == task


def test_a_file_that_git_replaced_is_read_anew(tmp_path):
    """Another branch has fewer labels, or others."""
    desk = make_desk(tmp_path / "p")
    for document in ("d1", "d2"):
        say(desk, "ana", "q1", document, 2)
    assert measure_queue(desk, "first").labels == 2
    lines = people(desk).read_text().splitlines(keepends=True)
    people(desk).unlink()
    assert measure_queue(desk, "first").labels == 0
    people(desk).write_text("".join(lines[:2]))
    assert measure_queue(desk, "first").labels == 1


def test_lines_of_two_branches_are_all_kept(tmp_path):
    """git's union merge may leave a second head, and a line twice."""
    desk = make_desk(tmp_path / "p")
    say(desk, "ana", "q1", "d1", 2)
    lines = people(desk).read_text()
    people(desk).write_text(
        lines + lines + '{"key":"other","at":"2026-01-01T00:00:00Z","query":"q1","document":"d2","grade":1}\n'
    )
    assert measure_queue(open_desk(tmp_path / "p"), "first").labels == 2
    assert "merge=union" in (desk.folder / ".gitattributes").read_text()


@each(
    ("line", "message"),
    [
        ("not json", "is not a label"),
        ('{"key": 1}', "is not a label"),
        ('{"key": "k", "at": "x", "verdict": "maybe"}', "is not a label"),
        ('{"karat": "labels", "version": 9, "who": "ana"}', "has version 9"),
        ('{"karat":"labels","version":1,"who":"bo"}', "has the labels of 'bo', not of 'ana'"),
    ],
)
def test_a_line_that_is_wrong_is_named_and_nothing_is_guessed(tmp_path, line, message):
    """Every time, until somebody puts it right: no label of the file counts, and its owner is asked nothing."""
    desk = make_desk(tmp_path / "p")
    say(desk, "ana", "q1", "d1", 2)
    good = people(desk).read_text()
    people(desk).write_text(good + line + "\n")
    for _ in range(2):
        queue = measure_queue(desk, "first")
        assert queue.labels == 0
        assert queue.people == ()
        (problem,) = queue.left_out
        assert problem.startswith("labels/people/ana.jsonl, line 3: ")
        assert message in problem
        with pytest.raises(InputError, match="line 3"):
            next_task(desk, "first", "ana")
        with pytest.raises(InputError, match="line 3"):
            say(desk, "ana", "q1", "d2", 1)
        with pytest.raises(InputError, match="line 3"):
            undo_label(desk, "ana")
    assert people(desk).read_text() == good + line + "\n"
    people(desk).write_text(good)
    queue = measure_queue(desk, "first")
    assert (queue.labels, queue.left_out) == (1, ())
    assert say(desk, "ana", "q1", "d2", 1).grade == 1


def test_a_damaged_file_stops_nobody_else(tmp_path):
    """Others go on; every number says whose labels it lacks; nothing is proposed, since these may dispute it."""
    desk = make_desk(tmp_path / "p")
    label_all(desk, "ana", lambda *_: 2, most=10)
    label_all(desk, "bo", lambda *_: 1, most=10)
    bo = people(desk, "bo").read_text()
    whole = measure_labels(desk)
    assert whole.pairs > 0
    people(desk, "bo").write_text(bo + "{\n")
    assert measure_labels(desk).pairs == 0
    assert label_all(desk, "ana", lambda *_: 2, most=5) == 5
    assert next_task(desk, "first", "cy") is not None
    status = measure_status(desk)
    for left_out in (status.left_out, status.queues[0].left_out, measure_labels(desk).left_out):
        assert [own[:27] for own in left_out] == ["labels/people/bo.jsonl, lin"]
    assert status.queues[0].labels == 15
    with pytest.raises(InputError, match=r"bo\.jsonl"):
        propose_labels(desk, "first", by="ana", unfinished=True)
    people(desk, "bo").write_text(bo)
    assert set(map(str, measure_labels(desk).disputes)) > set(map(str, whole.disputes))
    assert measure_status(desk).left_out == ()
    assert measure_status(desk).queues[0].labels == 25
    assert propose_labels(desk, "first", by="ana", unfinished=True).changes


def test_a_file_that_stays_damaged_is_not_read_each_time(tmp_path, monkeypatch):
    """Whoever judges meanwhile does not wait for it; a change of its permissions or its content is noticed."""
    desk = make_desk(tmp_path / "p")
    say(desk, "ana", "q1", "d1", 2)
    people(desk, "bo").write_text("{\n")
    state = desk.open_queue("first")
    read: list[str] = []
    monkeypatch.setattr(Journal, "read_on", lambda self, real=Journal.read_on: (read.append(self.who), real(self))[1])
    edition = desk.book.edition
    for _ in range(3):
        assert desk.open_queue("first") is state
    assert set(read) == {"ana"}
    assert desk.book.edition == edition
    people(desk, "bo").unlink()
    assert measure_status(desk).left_out == ()


@pytest.mark.parametrize("name", ["Ana Ng.jsonl", " x.jsonl", "a%0Ab.jsonl", "ana%2fb.jsonl"])
def test_a_file_that_is_named_after_nobody_is_named(tmp_path, name):
    """Its labels would otherwise be missing without a word."""
    desk = make_desk(tmp_path / "p")
    say(desk, "ana", "q1", "d1", 2)
    people(desk).rename(people(desk).with_name(name))
    status = measure_status(open_desk(tmp_path / "p"))
    (problem,) = status.left_out
    assert name in problem
    assert "rename" in problem
    assert status.queues[0].labels == 0


def test_a_damaged_queue_or_proposal_hides_no_other(tmp_path):
    """It is named in the list of all, and to whoever opens it."""
    desk = make_desk(tmp_path / "p")
    label_all(desk, "ana", lambda *_: 2, most=3)
    propose_labels(desk, "first", by="ana", unfinished=True)
    for folder, name in (("queues", "second"), ("proposals", "0002")):
        (desk.folder / folder / f"{name}.jsonl").write_text("{\n")
    status, proposals = measure_status(desk), list_proposals(desk)
    assert [queue.queue for queue in status.queues] == ["first"]
    assert [own.proposal for own in proposals.proposals] == ["0001"]
    assert [own.split(": ")[0] for own in (*status.left_out, *proposals.left_out)] == [
        "labels/queues/second.jsonl",
        "labels/proposals/0002.jsonl, line 1",
    ]
    with pytest.raises(InputError, match="second"):
        measure_queue(desk, "second")


def test_a_first_line_that_is_no_head_is_named(tmp_path):
    desk = make_desk(tmp_path / "p")
    say(desk, "ana", "q1", "d1", 2)
    people(desk).write_text('{"a": 1}\n')
    (problem,) = measure_labels(open_desk(tmp_path / "p")).left_out
    assert "is not a file of labels" in problem


@each("who", ["", " ", "a\nb", " ana", "x" * 65, "\u202eana", "..."])
def test_a_name_is_a_name(tmp_path, who):
    desk = make_desk(tmp_path / "p")
    with pytest.raises(UsageError, match="name"):
        say(desk, who, "q1", "d1", 2)
    assert not (desk.folder / "people").exists()


def test_no_name_leads_out_of_the_folder(tmp_path):
    desk = make_desk(tmp_path / "p")
    for who in ("../../evil", ".hidden", "Ana Ng", "Zoë", "a/b"):
        say(desk, who, "q1", "d1", 2)
    assert len(list((desk.folder / "people").iterdir())) == 5
    assert set(measure_status(open_desk(tmp_path / "p")).people) == {"../../evil", ".hidden", "Ana Ng", "Zoë", "a/b"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p"]


def test_a_link_in_place_of_a_file_is_refused(tmp_path):
    desk = make_desk(tmp_path / "p")
    victim = tmp_path / "victim"
    victim.write_text("")
    people(desk).parent.mkdir(parents=True)
    people(desk).symlink_to(victim)
    with pytest.raises(InputError, match="link"):
        say(desk, "ana", "q1", "d1", 2)
    assert victim.read_text() == ""


def test_the_project_can_be_a_golden_set_alone(tmp_path):
    project = make_project(tmp_path / "p")
    assert open_desk(project / "set").folder == project / "set" / "labels"
    with pytest.raises(InputError, match="no such file"):
        open_desk(tmp_path / "none")
    assert ana_says("q1", "d2") == 1


def test_a_name_in_other_letters_is_nobody_else(tmp_path):
    """One person would agree with herself, and a pair for several people would have its labels from one."""
    desk = make_desk(tmp_path / "p")
    say(desk, "ana", "q1", "d2", 2)
    for name in ("Ana", "ANA", "\uff41na"):
        with pytest.raises(UsageError, match=f"'{name}' is 'ana' in other letters"):
            say(desk, name, "q1", "d2", 2)
        with pytest.raises(UsageError, match="in other letters"):
            propose_labels(desk, "first", by=name, unfinished=True)
        with pytest.raises(UsageError, match="in other letters"):
            make_queue(desk, QueuePlan(name="settle", kind="disputes", adjudicator=name))
    with pytest.raises(UsageError, match="'EVE' is 'eve' in other letters"):  # who judged the golden set
        say(desk, "EVE", "q1", "d2", 2)
    say(desk, "eve", "q1", "d2", 2)
    assert (measure_labels(desk).people, measure_labels(desk).pairs) == (("ana", "eve"), 1)


def test_two_files_of_one_name_count_once(tmp_path):
    """As an earlier version of karat wrote them: the one in small letters counts, and the other is named."""
    desk = make_desk(tmp_path / "p")
    say(desk, "ana", "q1", "d2", 2)
    copy = people(desk).read_text().replace('"who":"ana"', '"who":"Ana"')
    (twin := people(desk, "Ana")).write_text(copy)
    for count, own in enumerate((desk, open_desk(tmp_path / "p")), 1):
        status = measure_status(own)
        assert (status.queues[0].labels, measure_labels(own).pairs) == (count, 0)
        assert "Ana.jsonl" in status.left_out[0]
        assert "has the name of ana.jsonl in other letters" in status.left_out[0]
        with pytest.raises(InputError, match="in other letters"):
            say(own, "Ana", "q1", "d3", 2)
        say(own, "ana", f"q{1 + count}", "d3", 2)
    twin.unlink()
    assert not measure_status(desk).left_out
    people(desk).rename(twin)
    twin.write_text(copy)
    status = measure_status(desk)
    assert (status.queues[0].labels, status.left_out) == (1, ())
