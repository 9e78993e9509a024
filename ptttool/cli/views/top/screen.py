"""The screen of ``ptttool top`` on a terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from threading import Event
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Footer, Input, Static
from textual.worker import get_current_worker

from ptttool.api.live import Sample
from ptttool.cli.terminal.letters import has_unicode_locale
from ptttool.cli.views.top.columns import COLUMNS, COUNTED, SORTED_BY, TLPS, TopColumn, columns_of, fitting, ordered, summary, texts

_HELP = Text(
    "q quit, p pause, r reverse\ns, < sort by the next, previous column\n/ filter, Escape all rows, ? hides this\n"
    "tk: ticks of Time, which has no unit"
)


class TopScreen(App[None]):
    """Shows samples as they come.

    Parameters
    ----------
    samples : iterator of Sample
        The samples; it is run in a thread of its own.
    stop : Event
        Set to end the samples.
    hold : Event
        Set while no sample shall be taken.
    title : str
        The line at the top.

    Attributes
    ----------
    failure : BaseException or None
        What ended the samples, where it was an error.
    """

    CSS = """
    #head { height: 1; text-style: reverse; }
    #summary { height: auto; max-height: 40%; }
    #filter { display: none; height: 1; border: none; padding: 0; }
    #filter.shown { display: block; }
    #help { display: none; height: auto; padding: 0 1; }
    #help.shown { display: block; }
    DataTable { height: 1fr; background: $background; scrollbar-size: 0 1; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "leave", "Quit"),
        Binding("ctrl+c", "leave", "Quit", show=False, priority=True),
        Binding("p,space", "hold", "Pause", key_display="p"),
        Binding("s,greater_than_sign", "sort(1)", "Sort by next", key_display="s"),
        Binding("less_than_sign", "sort(-1)", "Sort by previous", show=False),
        Binding("r", "reverse", "Reverse"),
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("escape", "no_filter", "All rows", show=False),
        Binding("question_mark,h", "help", "Help", key_display="?"),
        Binding("ctrl+z", "suspend_process", "Suspend", show=False),
    ]

    def __init__(self, samples: Iterator[Sample], stop: Event, hold: Event, title: str) -> None:
        super().__init__(ansi_color="NO_COLOR" in os.environ or None)  # no colour at all, else shades of grey
        self._samples = samples
        self._stop = stop
        self._hold = hold
        self._title = title
        self._last: Sample | None = None
        self._sorted_by = SORTED_BY
        self._is_backwards = False
        self._has_arrows = has_unicode_locale()
        self._wanted = ""
        self.failure: BaseException | None = None

    def compose(self) -> ComposeResult:
        """Make the parts of the screen."""
        yield Static(Text(self._title, no_wrap=True, overflow="ellipsis"), id="head")
        yield Static("waiting for the first sample", id="summary")
        yield Input(placeholder="requester, name, direction or class", id="filter", compact=True)
        yield Static(_HELP, id="help")
        yield DataTable(cursor_type="row", zebra_stripes=False)
        yield Footer(compact=True)

    def on_mount(self) -> None:
        """Begin to sample."""
        self.query_one(DataTable).focus()
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))
        self._take()

    @work(thread=True, exit_on_error=False)
    def _take(self) -> None:
        worker = get_current_worker()
        try:
            for sample in self._samples:
                if worker.is_cancelled:
                    return
                self.call_from_thread(self._show, sample)
        except Exception as error:  # the command reports it when the terminal is as it was
            self.failure = error
        self.call_from_thread(self.exit)

    def _show(self, sample: Sample) -> None:
        self._last = sample
        self._draw()

    def on_resize(self) -> None:
        """Draw anew once the size is known: other columns may fit."""
        self.call_after_refresh(self._draw)

    def on_data_table_header_selected(self, event: DataTable.HeaderSelected) -> None:
        """Sort by the column whose head was clicked."""
        shown = fitting(self.size.width, self._sorted_by, self._columns())
        chosen = shown[event.column_index]
        self._is_backwards = not self._is_backwards if chosen == self._sorted_by else False
        self._sorted_by = chosen
        self._draw()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the rows that hold what was typed."""
        self._wanted = event.value.strip()
        self._draw()

    def on_input_submitted(self) -> None:
        """Go back to the table; the filter stays."""
        self.query_one(DataTable).focus()

    def action_leave(self) -> None:
        """End."""
        self._stop.set()
        self.exit()

    def action_hold(self) -> None:
        """Take no more samples, or go on."""
        if self._hold.is_set():
            self._hold.clear()
        else:
            self._hold.set()
        self._draw()

    def action_sort(self, step: int) -> None:
        """Sort by another column."""
        columns = self._columns()
        self._sorted_by = (self._sorted_by + step) % len(columns)
        if columns is COUNTED and self._sorted_by == TLPS:  # not shown
            self._sorted_by += step
        self._is_backwards = False
        self._draw()

    def action_reverse(self) -> None:
        """Sort the other way round."""
        self._is_backwards = not self._is_backwards
        self._draw()

    def action_filter(self) -> None:
        """Ask for a text to filter by."""
        line = self.query_one("#filter", Input)
        line.add_class("shown")
        line.focus()

    def action_help(self) -> None:
        """Show what the keys do, or hide it."""
        text = self.query_one("#help", Static)
        text.toggle_class("shown")
        self.query_one(DataTable).display = not text.has_class("shown")

    def action_no_filter(self) -> None:
        """Show all rows again, and no help."""
        if self.query_one("#help", Static).has_class("shown"):
            self.action_help()
        line = self.query_one("#filter", Input)
        line.value = ""
        line.remove_class("shown")
        self.query_one(DataTable).focus()

    def _columns(self) -> tuple[TopColumn, ...]:
        """Return the columns of the last sample; where it has no rates, sorting is by what stands in their places."""
        columns = COLUMNS if self._last is None else columns_of(self._last)
        if columns is COUNTED and self._sorted_by == TLPS:
            self._sorted_by = SORTED_BY
        return columns

    def _draw(self) -> None:
        sample = self._last
        if sample is None or not self.is_running:
            return
        lines = summary(sample, self.size.width)
        if self._hold.is_set():
            lines[0] += "  PAUSED"
        if self._wanted:
            lines.append(f"rows with {self._wanted!r} (Escape: all)")
        text = Text("\n").join(Text(line, style=_style(line), no_wrap=True, overflow="ellipsis") for line in lines)
        self.query_one("#summary", Static).update(text)
        table = self.query_one(DataTable)
        at, row_at = table.scroll_y, table.cursor_row
        table.clear(columns=True)
        columns = self._columns()
        shown = fitting(self.size.width, self._sorted_by, columns)
        for number in shown:
            column = columns[number]
            up, down = "▲▼" if self._has_arrows else "^v"
            mark = (up if self._is_backwards == column.is_number else down) if number == self._sorted_by else ""
            title = Text(column.title + mark, justify="right" if column.is_number else "left")
            table.add_column(title, width=column.width)
        for row in ordered(sample.rows, self._sorted_by, backwards=self._is_backwards, text=self._wanted, columns=columns):
            cells = zip(shown, texts(row, shown, columns), strict=True)
            table.add_row(*(Text(text, justify="right" if columns[number].is_number else "left") for number, text in cells))
        table.move_cursor(row=row_at, scroll=False)
        table.scroll_y = at


def _style(line: str) -> str:
    return {"error": "bold red", "errors": "bold red", "warning": "bold yellow"}.get(line.partition(":")[0], "")
