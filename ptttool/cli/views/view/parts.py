"""The parts of the viewer's screen that draw rows: the strip over the whole recording, and the table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from ptttool.api.viewing.lines import Line
from ptttool.cli.terminal.letters import HANDLER, has_unicode_locale

_PLAIN, _HEAD, _CURSOR, _ERROR = Style(), Style(bold=True, underline=True), Style(reverse=True), Style(color="red")
# From nothing to the most; the first one stands for zero.
_BLOCKS, _ASCII = " ▁▂▃▄▅▆▇█", " .:-=+*#@"


def letters(text: str) -> str:
    """Return a text in letters that the terminal has."""
    return text if has_unicode_locale() else text.encode("ascii", HANDLER).decode("ascii")


class Rows(Widget, can_focus=True):
    """The table: a head, and the rows of a window of it. What is shown comes from outside."""

    DEFAULT_CSS = "Rows { height: 1fr; min-height: 2; }"

    class Chosen(Message):
        """A row was clicked: ``line`` counts from the top. Or the wheel turned: ``by`` rows."""

        def __init__(self, line: int | None, by: int = 0) -> None:
            super().__init__()
            self.line = line
            self.by = by

    class Sized(Message):
        """There is room for more rows, or for fewer."""

    def __init__(self) -> None:
        super().__init__()
        self.head = ""
        self.lines: Sequence[tuple[str, Line]] = ()
        self.at = -1
        self.shift = 0

    def show(self, head: str, lines: Sequence[tuple[str, Line]], at: int, shift: int) -> None:
        """Show rows, each with the sign in front of it; `at`: the line of the cursor, `shift`: columns that are out of sight."""
        self.head, self.lines, self.at, self.shift = head, lines, at, shift
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw a line."""
        width = self.size.width
        if y == 0:
            text, style = "  " + self.head[self.shift :], _HEAD
        elif y <= len(self.lines):
            sign, line = self.lines[y - 1]
            is_here = y - 1 == self.at
            text = (">" if is_here else " ") + sign + line.text[self.shift :]
            style = _CURSOR if is_here else _ERROR if line.is_error else _PLAIN
        else:
            text, style = "", _PLAIN
        style = self.rich_style + style  # filters of textual, as for NO_COLOR, need a colour
        return Strip([Segment(letters(text), style)]).adjust_cell_length(width, style)

    def on_resize(self) -> None:
        """Ask for the rows that there is room for."""
        self.post_message(self.Sized())

    def on_click(self, event: object) -> None:
        """Choose a row."""
        y = getattr(event, "y", 0)
        if y > 0:
            self.post_message(self.Chosen(y - 1))

    def on_mouse_scroll_down(self) -> None:
        """Go down."""
        self.post_message(self.Chosen(None, 3))

    def on_mouse_scroll_up(self) -> None:
        """Go up."""
        self.post_message(self.Chosen(None, -3))


class Overview(Widget):
    """Two rows over the whole recording: bytes and open requests, with the cursor in it."""

    DEFAULT_CSS = "Overview { height: 2; }"
    LABEL = 6

    class Chosen(Message):
        """A column was clicked."""

        def __init__(self, column: int) -> None:
            super().__init__()
            self.column = column

    def __init__(self) -> None:
        super().__init__()
        self.series: tuple[Sequence[float | None], Sequence[float | None]] = (), ()
        self.at: int | None = None

    def show(self, amounts: Sequence[float | None], opens: Sequence[float | None], at: int | None) -> None:
        """Show two series of values from 0 to 1, None where one is not known yet, and the column of the cursor."""
        self.series, self.at = (amounts, opens), at
        self.refresh()

    @property
    def columns(self) -> int:
        """Columns of the series."""
        return max(self.size.width - self.LABEL, 1)

    def render_line(self, y: int) -> Strip:
        """Draw a row."""
        blocks = _BLOCKS if has_unicode_locale() else _ASCII
        label = ("bytes ", "open  ")[y]
        cells = ["?" if value is None else blocks[0 if not value else max(1, round(value * 8))] for value in self.series[y]]
        plain = self.rich_style
        segments = [Segment(label, plain)]
        for number, cell in enumerate(cells):
            segments.append(Segment(cell if number != self.at or cell != " " else "|", plain + _CURSOR if number == self.at else plain))
        return Strip(segments).adjust_cell_length(self.size.width, plain)

    def on_click(self, event: object) -> None:
        """Choose a column."""
        self.post_message(self.Chosen(getattr(event, "x", 0) - self.LABEL))
