"""How much a page holds: rows, points and characters, so that it stays small however much was recorded."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ptttool.analyses.drawing.pieces import fewer_bins, together
from ptttool.analyses.shown import Cell, Facts, Histogram, Note, Part, Series, Table, Timeline
from ptttool.wording import clean, shortened

# A page that opens from a mail.
MAX_PAGE_BYTES = 5_000_000
# Characters of one text of a file.
_TEXT = 300


class Limits(Struct, frozen=True):
    """What one part of a page may hold.

    Parameters
    ----------
    rows : int
        Rows of a table, facts of a list.
    points : int
        Points of a time line, bins of a histogram.
    parts : int
        Parts of a chapter.
    """

    rows: int = 200
    points: int = 1000
    parts: int = 60

    def halved(self) -> Limits | None:
        """Return limits for a page of half the size; None where less would say nothing."""
        if self.rows <= 5:
            return None
        return Limits(self.rows // 2, max(self.points // 2, 20), max(self.parts // 2, 8))


def estimated(part: Part, limits: Limits) -> int:
    """Return roughly how many bytes of a page a part takes."""
    if isinstance(part, Table):
        first = part.rows[0] if part.rows else ()
        cells = sum(20 + (min(len(cell), _TEXT) if isinstance(cell, str) else 8) for cell in first)
        return 500 + min(len(part.rows), limits.rows) * (12 + cells)
    if isinstance(part, Timeline):
        return 1500 + min(len(part.times), limits.points) * (16 + 8 * len(part.series))
    return 1500


def limited(part: Part, limits: Limits) -> Part:
    """Return a part with as much as the page holds; its texts are clean."""
    if isinstance(part, Facts):
        rows = [(text_of(label), text_of(value)) for label, value in part.rows[: limits.rows]]
        if len(part.rows) > limits.rows:
            rows.append(("…", f"and {len(part.rows) - limits.rows:,} more"))
        return Facts(rows, text_of(part.title))
    if isinstance(part, Table):
        return replace(
            part,
            title=text_of(part.title),
            columns=[replace(column, title=text_of(column.title)) for column in part.columns],
            rows=[[_cell(cell) for cell in row] for row in part.rows[: limits.rows]],
            total=None if part.total is None else [_cell(cell) for cell in part.total],
            more=part.more + max(len(part.rows) - limits.rows, 0),
            note=text_of(part.note),
        )
    if isinstance(part, Histogram):
        part = fewer_bins(part, limits.points)
        return replace(part, title=text_of(part.title), marks={text_of(name): value for name, value in part.marks.items()})
    if isinstance(part, Timeline):
        return _fewer_points(part, limits.points)
    return Note(text_of(part.text, 2000), part.severity)


def text_of(text: str, most: int = _TEXT) -> str:
    """Return a text without control characters, and not longer than a page holds."""
    return shortened(clean(text), most)


def _cell(cell: Cell) -> Cell:
    return text_of(cell) if isinstance(cell, str) else cell


def _fewer_points(part: Timeline, most: int) -> Timeline:
    """Join neighbouring intervals: each keeps the largest value, so that no peak is lost."""
    step = max(-(-len(part.times) // most), 1)
    title = text_of(part.title) + (f" (largest of {step} intervals each)" if step > 1 else "")
    series = [Series(text_of(one.name), together(one.values, most)[0]) for one in part.series]
    indexes = None if part.indexes is None else part.indexes[::step]
    limits = {text_of(name): value for name, value in part.limits.items()}
    return replace(part, title=title, times=part.times[::step], series=series, indexes=indexes, limits=limits)
