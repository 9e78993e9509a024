"""What a layout of tables is."""

from __future__ import annotations

from io import BytesIO
from typing import Protocol

import polars as pl


class TableLayout(Protocol):
    """Makes lines of frames; the first one gets a header line.

    Attributes
    ----------
    cut : bool
        Whether a line was longer than the terminal is wide.
    """

    cut: bool

    def lines(self, frame: pl.DataFrame) -> bytes:
        """Return the lines of a frame's rows."""


def joined(lines: pl.Series) -> bytes:
    """Return ready lines as they are."""
    if not len(lines):
        return b""
    buffer = BytesIO()
    lines.to_frame().write_csv(buffer, include_header=False, quote_style="never")
    return buffer.getvalue()
