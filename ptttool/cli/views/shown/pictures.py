"""Draw a histogram, a bar a line; and a time line, columns of blocks with the time from left to right."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from ptttool.analyses.drawing.numbers import number_text, with_unit
from ptttool.analyses.drawing.pieces import bars, limits_text, marks_text, together
from ptttool.analyses.shown import Histogram, Timeline, Unit
from ptttool.cli.views.shown.medium import Medium
from ptttool.wording import clean, shortened

# Bars of a histogram; neighbours are put together above it.
_MOST_BARS = 32
_SHORTEST, _LONGEST = 8, 60
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def histogram_lines(histogram: Histogram, medium: Medium) -> Iterator[str]:
    """Yield the lines of a histogram, without its title: limits, bar, count, share and marks of each bin.

    Parameters
    ----------
    histogram : Histogram
        The histogram.
    medium : Medium
        What is drawn on.
    """
    bins = bars(histogram, _MOST_BARS)
    if not bins:
        yield "none"
        return
    head = clean(histogram.axis) + ("" if histogram.unit is Unit.NONE else f" [{histogram.unit.value}]")
    labels = max(len(head), *(len(bar.label) for bar in bins))
    counts = max(len(clean(histogram.what)), *(len(number_text(bar.count)) for bar in bins))
    marks = max((len(", ".join(bar.marks)) for bar in bins), default=0)
    # Gaps of two blanks, and the share.
    room = medium.picture_width - labels - counts - 3 * 2 - len("100.0 %") - (marks + len("  <- ") if marks else 0)
    length = min(max(room, _SHORTEST), _LONGEST)
    most = max(bar.count for bar in bins)
    yield f"{head:>{labels}}  {'':<{length}}  {clean(histogram.what):>{counts}}"
    for bar in bins:
        named = f"  <- {', '.join(map(clean, bar.marks))}" if bar.marks else ""
        drawn = bar_text(bar.count / most, length, is_unicode=medium.is_unicode)
        yield f"{bar.label:>{labels}}  {drawn:<{length}}  {number_text(bar.count):>{counts}}  {bar.share:5.1f} %{named}"
    if marks_text(histogram):
        yield from textwrap.wrap(clean(marks_text(histogram)), medium.picture_width, break_long_words=False)


def bar_text(share: float, length: int, *, is_unicode: bool) -> str:
    """Return a bar; what is not nothing has at least its smallest mark.

    Parameters
    ----------
    share : float
        Part of the longest bar, 0 to 1.
    length : int
        Characters of the longest bar.
    is_unicode : bool
        Whether eighths of characters can be drawn.
    """
    if not is_unicode:
        return "#" * max(round(share * length), int(share > 0))
    eighths = max(round(share * length * 8), int(share > 0))
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


_BLOCKS = " ▁▂▃▄▅▆▇█"
_ASCII = " .:-=+*%#"
# Lines of a chart: of one series, and of each of several.
_HIGH, _LOW = 8, 2
_MOST_NAME = 20


def timeline_lines(timeline: Timeline, medium: Medium) -> Iterator[str]:
    """Yield the lines of a time line, without its title.

    Parameters
    ----------
    timeline : Timeline
        The time line.
    medium : Medium
        What is drawn on.
    """
    if not timeline.times or not timeline.series:
        yield "none"
        return
    high = _HIGH if len(timeline.series) == 1 else _LOW
    names = [shortened(clean(each.name), _MOST_NAME) for each in timeline.series]
    tops = [max((value for value in each.values if value is not None), default=0) for each in timeline.series]
    labels = max(len(text) for text in (*names, *map(number_text, tops), "0"))
    room = max(medium.picture_width - labels - 2, 10)
    count = 1
    for name, series, top in zip(names, timeline.series, tops, strict=True):
        points, count = together(series.values, room)
        for number, line in enumerate(_rows(points, top, high, is_unicode=medium.is_unicode)):
            label = number_text(top) if number == 0 else (name if len(timeline.series) > 1 else "0") if number == high - 1 else ""
            yield f"{label:>{labels}} {'│' if medium.is_unicode else '|'}{line}".rstrip()
    begin, end = with_unit(timeline.times[0], timeline.time_unit), with_unit(timeline.times[-1], timeline.time_unit)
    drawn = -(-len(timeline.times) // count)
    yield f"{'':>{labels}}  {begin}{end:>{max(drawn - len(begin), len(end) + 2)}}"
    if count > 1:
        yield f"{'':>{labels}}  each column: the largest of {count} intervals"
    if timeline.limits:
        yield f"{'':>{labels}}  {clean(limits_text(timeline))}"
    for name, series, top in zip(names, timeline.series, tops, strict=True):
        if timeline.indexes is not None and top:
            index = timeline.indexes[list(series.values).index(top)]
            if index is not None:
                yield f"{'':>{labels}}  largest{'' if len(names) == 1 else f' of {name}'}: index {number_text(index, Unit.INDEX)}"


def _rows(points: Sequence[float | None], top: float, high: int, *, is_unicode: bool) -> Iterator[str]:
    """Yield the lines of a chart, the top one first; a point that is not nothing shows at least the smallest block."""
    marks = _BLOCKS if is_unicode else _ASCII
    eighths = [0 if not point or top <= 0 else max(round(point / top * high * 8), 1) for point in points]
    for row in reversed(range(high)):
        yield "".join(marks[min(max(each - 8 * row, 0), 8)] for each in eighths)
