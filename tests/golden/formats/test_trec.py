"""TREC's topics, qrels and documents."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given

from each import each
from golden.formats.golden_strategies import golden_sets, ids, quick, round_trip, texts
from karat import golden
from karat.core import Document, GoldenSet, InputError, Judgment, Query, Target
from karat.files import Mistakes
from karat.golden.formats._qrels import split_fields
from karat.golden.formats._sgml import escape_block, escape_inline, parse_block, parse_inline

TOPICS = """<top>
<num> Number: 301
<title> International
Organized   Crime &amp; Co

<desc> Description:
Identify organizations that participate.

<narr> Narrative:
A relevant document must as a minimum identify the organization.
</top>

<top>
<num>Number: 302</num>
<title>Poliomyelitis and a < b</title>
</top>
"""
DOCUMENTS = """<DOC>
<DOCNO> FT911-1 </DOCNO>
<HEADLINE>
Polio
returns
</HEADLINE>
<TEXT>
First line,
  second &lt;line&gt;.
<P>Third.</P>
</TEXT>
</DOC>
<doc><docno>LA-2</docno>
No text tag.
</doc>
"""
QRELS = "301 0 FT911-1 1\n301 0 LA-2 0\n302 0 LA-2 1\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "topics.301-302").write_text(TOPICS)
    (tmp_path / "ft.dat").write_text(DOCUMENTS)
    (tmp_path / "judged").write_text(QRELS)
    return tmp_path


def test_files_are_known_by_what_is_in_them(folder: Path) -> None:
    """Whatever they are called: SGML topics with labels and open tags, documents, and four columns."""
    result = golden.read(folder)
    assert result.queries == (
        Query(
            id="301",
            text="International Organized Crime & Co",
            metadata={
                "description": "Identify organizations that participate.",
                "narrative": "A relevant document must as a minimum identify the organization.",
            },
        ),
        Query(id="302", text="Poliomyelitis and a < b"),
    )
    assert result.documents == (
        Document(id="FT911-1", title="Polio returns", text="First line,\n  second <line>.\nThird."),
        Document(id="LA-2", text="No text tag."),
    )
    assert result.qrels() == {"301": {"FT911-1": 1, "LA-2": 0}, "302": {"LA-2": 1}}
    assert (result.grades, result.relevant) == (("not relevant", "relevant"), 1)


def test_topics_of_the_web_track_are_read(tmp_path: Path) -> None:
    """A number in the tag, and a query in place of a title."""
    (tmp_path / "topics.xml").write_text(
        '<?xml version="1.0"?>\n<topics>\n<topic number="1" type="faceted">\n<query>obama family</query>\n'
        "<question>Who are they?</question>\n</topic>\n</topics>\n"
    )
    (tmp_path / "qrels").write_text("1 0 d 2\n")
    assert golden.read(tmp_path).queries == (
        Query(id="1", text="obama family", type="faceted", metadata={"description": "Who are they?"}),
    )


def test_topics_may_be_lines_and_documents_rows(tmp_path: Path) -> None:
    """``id<TAB>text``, and JSONL."""
    (tmp_path / "queries.tsv").write_text("1\thow far is it 5\n2\ta b c 1\n")
    (tmp_path / "docs.jsonl").write_text('{"docid": "d", "contents": "Far."}\n')
    (tmp_path / "qrels.txt").write_text("1 0 d 1\n")
    result = golden.read(tmp_path)
    assert result.queries == (Query(id="1", text="how far is it 5"), Query(id="2", text="a b c 1"))
    assert result.documents == (Document(id="d", text="Far."),)


def test_qrels_alone_are_a_set(tmp_path: Path) -> None:
    """The text of a query that nobody wrote down is its id, and a note says so."""
    (tmp_path / "judged.txt").write_text(QRELS)
    result = golden.read(tmp_path / "judged.txt")
    assert result.queries == (Query(id="301", text="301"), Query(id="302", text="302"))
    assert any("no topics beside it: the text of each of 2 queries is its id" in note for note in result.notes)


def test_a_file_takes_along_what_lies_beside_it(folder: Path) -> None:
    """Topics and documents by their names, and nothing else."""
    (folder / "documents.sgml").write_text("<DOC><DOCNO>x</DOCNO><TEXT>y</TEXT></DOC>")
    result = golden.read(folder / "judged")
    assert [query.id for query in result.queries] == ["301", "302"]
    assert [document.id for document in result.documents] == ["x"]


def test_of_several_qrels_one_is_named(folder: Path) -> None:
    """A folder with two is an error that lists them, and the path of one reads it."""
    (folder / "judged.2").write_text("302 0 LA-2 0\n")
    with pytest.raises(InputError, match=r"several qrels: judged, judged\.2; name one of them"):
        golden.read(folder)
    assert len(golden.read(folder / "judged.2").judgments) == 1


def test_leading_zeros_of_topics_are_those_of_the_qrels(tmp_path: Path) -> None:
    """Topic 051 is what old qrels call 51."""
    (tmp_path / "topics").write_text("<top><num> Number: 051 <title> Topic: Airbus Subsidies\n</top>")
    (tmp_path / "qrels").write_text("51 0 d 1\n")
    result = golden.read(tmp_path)
    assert result.queries == (Query(id="51", text="Airbus Subsidies"),)
    assert any("leading zeros" in note for note in result.notes)


def test_topics_that_differ_in_leading_zeros_stay_apart(tmp_path: Path) -> None:
    """051 is not renamed to the 51 that is there already, and only numbers are."""
    (tmp_path / "topics").write_text("51\tone\n051\ttwo\n0a\tthree\n")
    (tmp_path / "qrels").write_text("51 0 d 1\na 0 d 1\n")
    assert [query.id for query in golden.read(tmp_path).queries] == ["51", "051", "0a"]


def test_what_is_not_kept_is_noted(tmp_path: Path) -> None:
    """Subtopics in the second column, judgments below 0, and files that are something else."""
    (tmp_path / "qrels").write_text("1 1 d 1\n1 2 e 1\n1 2 f -2\n")
    (tmp_path / "README").write_text("Hello there.\n")
    notes = " ".join(golden.read(tmp_path).notes)
    assert "second column has 2 values" in notes
    assert "1 judgments with a grade below 0" in notes
    assert "README: neither topics nor qrels nor documents" in notes


def test_every_mistake_is_reported_with_its_line(tmp_path: Path) -> None:
    """In qrels, topics and documents at once."""
    (tmp_path / "qrels").write_text("1 0 d 1\n" * 60 + "1 0 d\n1 0 d x\n")
    (tmp_path / "topics").write_text("<top>\n<num> 1\n</top>\n<top>\n<title> t\n</top>\n")
    (tmp_path / "documents").write_text("<DOC>\n<TEXT>a</TEXT>\n</DOC>\n<DOC>\n<DOCNO>2</DOCNO>\n<TEXT>cut")
    with pytest.raises(Mistakes) as caught:
        golden.read(tmp_path)
    reported = {(Path(error.source).name, error.line): error.what for error in caught.value.errors}
    assert reported == {
        ("qrels", 61): "3 columns instead of 4",
        ("qrels", 62): "grade 'x' is not a whole number",
        ("documents", 1): "a document has no <DOCNO>",
        ("documents", 4): "a <DOC> is never closed",
        ("topics", 1): "topic '1' has no <title>",
        ("topics", 4): "a topic has no <num>",
    }


def test_a_file_that_is_named_is_read_as_qrels(tmp_path: Path) -> None:
    """Whatever it looks like: its mistakes are reported, not that it is something else."""
    (tmp_path / "judged").write_text("1 0 d\n")
    with pytest.raises(InputError, match="judged, line 1: 3 columns instead of 4"):
        golden.read(tmp_path / "judged", "trec")


def test_one_bad_line_does_not_hide_the_qrels(tmp_path: Path) -> None:
    """The file is still known for what it is, and the line is reported."""
    (tmp_path / "judged").write_text("1 0 d 1\n1 0 d 1 x\n" + "1 0 d 1\n" * 8)
    with pytest.raises(InputError, match="judged, line 2: 5 columns instead of 4"):
        golden.read(tmp_path)


def test_a_line_without_a_tab_is_a_mistake(tmp_path: Path) -> None:
    """Behind the first lines, by which a file of topics is known."""
    (tmp_path / "qrels").write_text("1 0 d 1\n")
    (tmp_path / "topics").write_text("1\tone\n" * 60 + "two\n")
    with pytest.raises(InputError, match="topics, line 61: no id, tab and text"):
        golden.read(tmp_path)


def test_a_folder_without_qrels_is_refused(tmp_path: Path) -> None:
    """Topics alone judge nothing."""
    (tmp_path / "topics").write_text(TOPICS)
    with pytest.raises(InputError, match="holds no qrels"):
        golden.read(tmp_path, "trec")


@each("name", ["a b", "a\tb", " a", "a\x00", "\ufeffa"])
@each("what", ["query", "document"])
def test_an_id_with_a_blank_is_refused(tmp_path: Path, name: str, what: str) -> None:
    """The error names it."""
    query, document = (name, "d") if what == "query" else ("q", name)
    original = GoldenSet(
        documents=(Document(id=document),),
        queries=(Query(id=query, text="?"),),
        judgments=(Judgment(query=query, target=Target(document=document), grade=1),),
    )
    with pytest.raises(InputError, match="holds white space, which TREC's qrels cannot") as caught:
        golden.write(original, tmp_path / "set", "trec")
    assert repr(name) in str(caught.value)


@quick
@given(text=texts)
def test_sgml_gives_back_what_it_was_given(text: str) -> None:
    """Tags, entities, blanks and control characters of a text stay what they are."""
    assert parse_inline(f"  {escape_inline(text)}\n") == text
    assert parse_block(f"\n{escape_block(text)}\n") == text


bare_ids = ids.filter(lambda name: split_fields(name) == [name] and "\0" not in name and name[0] != "\ufeff")


@pytest.mark.slow
@quick
@given(original=golden_sets(bare_ids))
@example(
    original=GoldenSet(
        documents=(Document(id="d", text="a"),),
        queries=(Query(id="<top>", text="b"),),
        judgments=(Judgment(query="<top>", target=Target(document="d"), grade=0),),
    )
)
def test_what_is_kept_goes_round(original: GoldenSet) -> None:
    """Texts, titles and grades come back, and so do ids without blanks."""
    again = round_trip(original, "trec")
    assert [(document.id, document.text, document.title) for document in again.documents] == [
        (document.id, document.text, document.title) for document in original.documents
    ]
    assert [(query.id, query.text) for query in again.queries] == [(query.id, query.text) for query in original.queries]
    assert again.qrels() == original.qrels()


WEB = """<topic number="301" type="faceted">
    <query>horse hooves</query>
    <description> Find information about hooves. </description>
    <subtopic number="1" type="inf"> Their care. </subtopic>
  </topic>
  <topic number="302" type="ambiguous"><query>avp &amp; co</query></topic>
"""


@pytest.mark.parametrize(
    "markup",
    [
        f"<webtrack2009>\n{WEB}</webtrack2009>\n",
        f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- <topic number="9"> -->\n<TOPICS year="2010">{WEB}</TOPICS>',
        f"<!DOCTYPE web [\n<!ELEMENT web (topic*)>\n<!ATTLIST topic number CDATA #REQUIRED>\n]>\n<web>{WEB}</web>",
        WEB,
    ],
    ids=["a root of its own", "a prolog and a comment", "a DOCTYPE", "no root"],
)
def test_topics_have_any_root_and_prolog(folder: Path, markup: str) -> None:
    """Whatever their root element is called, and after any prolog."""
    (folder / "topics.301-302").write_text(markup)
    result = golden.read(folder)
    assert result.queries == (
        Query(
            id="301",
            text="horse hooves",
            type="faceted",
            metadata={"description": "Find information about hooves."},
        ),
        Query(id="302", text="avp & co", type="ambiguous"),
    )
    assert result.notes == ()


def test_a_topic_may_be_nothing_but_text(folder: Path) -> None:
    """As the Clinical Trials track writes them."""
    (folder / "topics.301-302").write_text(
        '<topics task="trials"><topic number="301">\nA man of 45.\n</topic></topics>'
    )
    assert golden.read(folder).queries == (Query(id="301", text="A man of 45."),)


@pytest.mark.parametrize(
    ("name", "records"),
    [
        ("topics.301-302", "<DOC>\n<DOCNO>301</DOCNO>\ncrime\n</DOC>\n<DOC>\n<DOCNO>399</DOCNO>\npolio\n</DOC>\n"),
        ("asked.txt", "<DOC 301>\ncrime\n</DOC>\n<DOC 399>\npolio\n</DOC>\n"),
    ],
    ids=["by the name of the file", "by the ids of the qrels"],
)
def test_doc_records_of_topics_are_queries(folder: Path, name: str, records: str) -> None:
    """Lemur's topics are <DOC> records, which are not documents of the set."""
    (folder / "topics.301-302").unlink()
    (folder / name).write_text(records)
    result = golden.read(folder)
    assert result.queries == (Query(id="301", text="crime"), Query(id="399", text="polio"))
    assert [document.id for document in result.documents] == ["FT911-1", "LA-2"]


def test_documents_that_share_ids_with_topics_are_documents(folder: Path) -> None:
    """Documents 301 and 302 are judged, so their records are not topics."""
    (folder / "judged").write_text("301 0 301 1\n302 0 302 1\n")
    (folder / "ft.dat").write_text("<DOC><DOCNO>301</DOCNO>a</DOC>\n<DOC><DOCNO>302</DOCNO>b</DOC>\n")
    result = golden.read(folder)
    assert [document.id for document in result.documents] == ["301", "302"]
    assert [query.text for query in result.queries] == ["International Organized Crime & Co", "Poliomyelitis and a < b"]


def test_a_topic_that_names_an_article_has_its_title_or_url(folder: Path) -> None:
    """Background linking: the article is the query, and a note says which text stands for it."""
    topics = "<top>\n<num> Number: {} </num>\n<docid>{}</docid>\n<url>{}</url>\n</top>\n"
    (folder / "topics.301-302").write_text(
        topics.format(301, "FT911-1", "https://news.example/polio")
        + topics.format(302, "WP-9", "https://news.example/9")
    )
    result = golden.read(folder)
    assert [(query.id, query.text) for query in result.queries] == [
        ("301", "Polio returns"),
        ("302", "https://news.example/9"),
    ]
    assert result.queries[1].metadata == {"docid": "WP-9", "url": "https://news.example/9"}
    assert result.notes == (
        "2 topics name an article and no question (background linking): the text of 1 is the article's title and the "
        "text of 1 is its URL or id; add the articles to the documents",
    )
