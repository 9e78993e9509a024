"""What standard output can show: pictures or numbers only, how wide, which characters."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass

# Width of lines that fill the terminal, where it is wider.
_WIDEST_PICTURE = 120


@dataclass(frozen=True)
class Medium:
    """What is drawn on.

    Parameters
    ----------
    is_terminal : bool
        Whether people look at it: then there are pictures, and columns that have no room are left out.
    width : int or None
        Characters of a line; None: as many as the content has.
    is_unicode : bool
        Whether it shows more than ASCII.
    most_rows : int or None
        Largest number of rows of a table; None for all.
    """

    is_terminal: bool
    width: int | None
    is_unicode: bool
    most_rows: int | None = None

    @property
    def picture_width(self) -> int:
        """Characters of a line of a picture."""
        return min(self.width or _WIDEST_PICTURE, _WIDEST_PICTURE)


def standard_output(most_rows: int | None = None) -> Medium:
    """Return what standard output is.

    Parameters
    ----------
    most_rows : int or None
        Largest number of rows of a table.
    """
    is_terminal = sys.stdout.isatty()
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "").replace("_", "")
    # COLUMNS is the width of a pipe that somebody sees, such as that of watch.
    width = max(shutil.get_terminal_size().columns, 40) if is_terminal or "COLUMNS" in os.environ else None
    return Medium(is_terminal, width, encoding.startswith("utf"), most_rows)
