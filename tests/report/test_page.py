"""The page as bytes: what it allows itself, what it escapes, how large it gets."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.analyses.shown import Column, Histogram, Note, Series, Table, Timeline, Unit, text_column
from ptttool.errors import InputError
from ptttool.report.gather import unread
from ptttool.report.model import Chapter
from ptttool.report.page.assets import source_hash
from ptttool.report.page.build import json_in_html, page_of
from ptttool.report.page.limits import MAX_PAGE_BYTES, Limits, limited
from tests.report.examples import HISTOGRAM, HOSTILE, OUTSTANDING, reported

ADDRESSES = re.compile(r"(?:https?:)?//[\w.-]+", re.IGNORECASE)
LOADING = {"src", "srcset", "data", "action", "formaction", "poster", "background", "ping"}


class Elements(HTMLParser):
    """Start tags with their attributes, and the text of scripts and styles."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self.data = ""
        self._into: str = ""
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._into = tag if tag in ("script", "style") else ""
        if tag == "script" and dict(attrs).get("type") == "application/json":
            self._into = "data"

    def handle_endtag(self, tag: str) -> None:
        self._into = ""

    def handle_data(self, data: str) -> None:
        if self._into == "script":
            self.scripts.append(data)
        elif self._into == "style":
            self.styles.append(data)
        elif self._into == "data":
            self.data += data


def anchors(elements: Elements) -> tuple[set[str], set[str]]:
    """Where links of a page lead, and what there is."""
    targets = {str(each["href"])[1:] for _, each in elements.tags if str(each.get("href", "")).startswith("#")}
    return targets, {str(each["id"]) for _, each in elements.tags if "id" in each}


@pytest.fixture(scope="module")
def page() -> bytes:
    return page_of([reported(), reported(HOSTILE)], version="1.0")


def test_nothing_of_it_is_elsewhere(page: bytes) -> None:
    elements = Elements(page)
    for tag, attributes in elements.tags:
        assert not LOADING & set(attributes), tag
        assert not any(name.startswith("on") or name == "style" for name in attributes), tag
        if "href" in attributes:
            assert tag == "a"
            assert str(attributes["href"]).startswith("#")
    assert not ADDRESSES.search("".join(elements.styles))
    assert {tag for tag, _ in elements.tags} & {"link", "img", "iframe", "object", "embed", "base", "video", "audio"} == set()


def test_the_policy_names_every_script_and_style(page: bytes) -> None:
    elements = Elements(page)
    policy = next(str(each["content"]) for tag, each in elements.tags if each.get("http-equiv") == "Content-Security-Policy")
    rules = {name: values for name, *values in (rule.split() for rule in policy.split(";"))}
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == ["'none'"]
    assert rules["script-src"] == [source_hash(text) for text in elements.scripts]
    assert rules["style-src"] == [source_hash(text) for text in elements.styles]
    assert set(rules) == {"default-src", "base-uri", "form-action", "script-src", "style-src"}


def test_the_licence_is_in_it(page: bytes) -> None:
    assert b"The MIT License" in page
    assert b"Permission is hereby granted, free of charge" in page


def test_what_readers_of_screens_need(page: bytes) -> None:
    elements = Elements(page)
    tags = [tag for tag, _ in elements.tags]
    assert next(tag for tag in tags if re.fullmatch(r"h[1-6]", tag)) == "h1"
    assert tags.count("h1") == tags.count("main") == tags.count("nav") == 1
    assert tags.count("caption") == tags.count("table")
    assert tags.count("figcaption") == tags.count("figure") == 4
    ids = [str(each["id"]) for _, each in elements.tags if "id" in each]
    assert len(ids) == len(set(ids))
    for _, attributes in elements.tags:
        if str(attributes.get("href", "")).startswith("#"):
            assert str(attributes["href"])[1:] in ids
        assert set(str(attributes.get("aria-labelledby", "")).split()) <= set(ids)


@given(st.text(min_size=1))
def test_any_text_stays_text(text: str) -> None:
    """A text gives the same elements as a harmless one, wherever it stands."""

    def tags(text: str) -> list[str]:
        parts = (
            Table(text, [text_column(text)], [[text]], [text], note=text),
            Note(text),
            Timeline(text, [0], Unit.TICKS, [Series(text, [1])], text, limits={text: 2}),
            Histogram(text, text, [0], [1], [1], Unit.TICKS, text, {text: 0}),
        )
        elements = Elements(page_of([reported(text, chapters=[Chapter("a", text, text, parts)], facts=[(text, text)])], version="1"))
        json.loads(elements.data)
        return [tag for tag, _ in elements.tags]

    assert tags(text) == tags("x")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10
)


@given(VALUES)
def test_json_between_tags(value: Any) -> None:
    text = json_in_html(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028\u2029") & set(text)
    assert text.isascii()


def test_many_recordings_and_some_that_cannot_be_read() -> None:
    failed = unread(HOSTILE, InputError("x", "nothing", code="no-such-file"))
    elements = Elements(page_of([failed, *[reported()] * 70], version="1.0"))
    targets, there = anchors(elements)
    assert targets <= there
    assert {"r1", "r50", "all"} <= there
    assert "r51" not in there
    rows = [tag for tag, _ in elements.tags if tag == "tr"]
    assert len(rows) > 71


def large(rows: int, points: int, tables: int, text: int = 40) -> Chapter:
    columns = [text_column("a"), *(Column(str(at), Unit.BYTES) for at in range(9))]
    table = Table("t", columns, [["x" * text, *(10**9 + row,) * 9] for row in range(rows)])
    series = [Series(str(each), [at * 1.234567 for at in range(points)]) for each in range(8)]
    return Chapter("traffic", "t", "", [table, Timeline("l", list(range(points)), Unit.TICKS, series, "TLPs")] * tables)


SIZES = [(1, large(100_000, 100_000, 1)), (3, large(1000, 5000, 30)), (200, large(300, 1000, 4, 4000))]


@pytest.mark.parametrize(("recordings", "chapter"), SIZES, ids=["long", "wide", "many"])
def test_it_stays_small(recordings: int, chapter: Chapter) -> None:
    page = page_of([reported(chapters=[chapter])] * recordings, version="1.0")
    assert len(page) < MAX_PAGE_BYTES
    assert b"more: --json has all" in page


def test_parts_get_smaller_honestly() -> None:
    limits = Limits(rows=2, points=10)
    table = limited(Table("t", [Column("n")], [[each] for each in range(7)], more=3), limits)
    assert isinstance(table, Table)
    assert (list(table.rows), table.more) == ([[0], [1]], 8)
    line = limited(OUTSTANDING, limits)
    assert isinstance(line, Timeline)
    assert len(line.times) == 10
    assert line.indexes is not None
    assert list(line.indexes) == list(OUTSTANDING.indexes or ())[::24]
    for before, after in zip(OUTSTANDING.series, line.series, strict=True):
        assert max(value for value in after.values if value is not None) == max(value for value in before.values if value is not None)
    bins = limited(HISTOGRAM, Limits(points=4))
    assert isinstance(bins, Histogram)
    assert (sum(bins.counts), bins.lows[0], bins.highs[-1]) == (sum(HISTOGRAM.counts), HISTOGRAM.lows[0], HISTOGRAM.highs[-1])
    assert len(bins.lows) == len(bins.highs) == len(bins.counts) <= 4
