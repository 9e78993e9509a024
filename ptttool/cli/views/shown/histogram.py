"""Draw a histogram: a bar a line."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from ptttool.analyses.drawing.numbers import number_text
from ptttool.analyses.drawing.pieces import bars, marks_text
from ptttool.analyses.shown import Histogram, Unit
from ptttool.cli.views.shown.medium import Medium
from ptttool.wording import clean

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
    found = bars(histogram, _MOST_BARS)
    if not found:
        yield "none"
        return
    head = clean(histogram.axis) + ("" if histogram.unit is Unit.NONE else f" [{histogram.unit.value}]")
    labels = max(len(head), *(len(bar.label) for bar in found))
    counts = max(len(clean(histogram.what)), *(len(number_text(bar.count)) for bar in found))
    marks = max((len(", ".join(bar.marks)) for bar in found), default=0)
    # Gaps of two blanks, and the share.
    room = medium.picture_width - labels - counts - 3 * 2 - len("100.0 %") - (marks + len("  <- ") if marks else 0)
    length = min(max(room, _SHORTEST), _LONGEST)
    most = max(bar.count for bar in found)
    yield f"{head:>{labels}}  {'':<{length}}  {clean(histogram.what):>{counts}}"
    for bar in found:
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
