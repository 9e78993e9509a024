"""Markdown and notebooks: what is in a file acts as markup in neither."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import ptttool
from ptttool.analyses.drawing.markdown import markdown
from ptttool.analyses.drawing.notebook import notebook_html
from ptttool.analyses.shown import Column, Facts, Histogram, Note, Part, Series, Table, Timeline, Unit, text_column
from ptttool.diagnostics import Severity
from tests.support import captures

ADDRESSES = ["https://", "http:", "ftp://", "www.", "//", "mailto:", "xmpp:", "evil.com", "e.рф", "a@b.com", "<https://e.com>", "[a](b)"]
PLAIN = {
    "blockquote_open", "blockquote_close", "bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close",
    "paragraph_open", "paragraph_close", "inline", "text", "text_special", "code_inline", "softbreak", "strong_open", "strong_close",
    "table_open", "table_close", "thead_open", "thead_close", "tbody_open", "tbody_close", "tr_open", "tr_close", "th_open", "th_close",
    "td_open", "td_close", "heading_open", "heading_close",
}  # fmt: skip
EVIL = "<script>|*_`x`\x1b[31m\n# head"
PARTS: list[Part] = [
    Note(EVIL, Severity.WARNING),
    Facts([(EVIL, EVIL)], EVIL),
    Table(EVIL, (text_column(EVIL), Column("n")), [(EVIL, 1000), ("b", None)], total=(EVIL, 1000), more=3, note=EVIL),
    Histogram(EVIL, EVIL, (0, 2), (1, 4), (1, 3), Unit.TICKS, EVIL, {EVIL: 3}),
    Timeline(EVIL, (0, 1), Unit.TICKS, (Series(EVIL, (1, 2)),), EVIL),
    Timeline(EVIL, range(100), Unit.TICKS, (Series(EVIL, range(100)),), EVIL, limits={EVIL: 5.0}),
]


class Tags(HTMLParser):
    """Collects the names of elements."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not attrs
        self.names.add(tag)


def test_markdown_escapes() -> None:
    text = markdown(PARTS, most_rows=1)
    assert "\x1b" not in text and "<script>" not in text.replace("\\<", "")
    # The file's own line end makes no heading.
    assert all(line.startswith("### ") for line in text.splitlines() if line.startswith("#"))
    # Every row of a table has the cells of its head.
    cells = [line.replace("\\|", "").count("|") for line in text.splitlines() if line.startswith("|")]
    assert set(cells) <= {3, 4, 5, 6}
    assert "and 4 more" in text and "1,000" in text


@pytest.mark.parametrize("flavour", ["commonmark", "gfm-like"])
@given(st.lists(st.sampled_from([*ADDRESSES, *"<>&`|~*_[]()!#:/@.\\ \n\t", "\u2028", "x", "1"]) | st.text(max_size=3)).map("".join))
def test_no_text_becomes_a_link_or_an_element(flavour: str, text: str) -> None:
    written = markdown([Note(text), Facts([(text, text)]), Table("t", (text_column("a"), text_column("b")), [(text, text)], note=text)])
    tokens = MarkdownIt(flavour).parse(written)
    kinds = {inner.type for token in tokens for inner in (token, *(token.children or ()))}
    assert kinds <= PLAIN, kinds - PLAIN


def test_notebooks_escape() -> None:
    tags = Tags()
    tags.feed(notebook_html(PARTS))
    assert tags.names <= {"p", "b", "table", "caption", "thead", "tbody", "tr", "th", "td"}


def test_a_result_in_a_notebook() -> None:
    with ptttool.open(captures.FOLDER / "6.12" / "m-8dw-port10-type7-dir2.data") as recording:
        shown = recording.analyze("summary")._repr_html_()
    assert "<td>MWr</td><td>4,930</td>" in shown
