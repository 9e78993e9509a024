"""The screen of ``ptttool top`` on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Footer, Input, Static
from textual.worker import get_current_worker

from ptttool.api.sample import Sample
from ptttool.cli.views.top.columns import COLUMNS, SORTED_BY, fitting, ordered, summary


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
    #summary { height: auto; max-height: 8; }
    #filter { display: none; height: 1; border: none; padding: 0; }
    #filter.shown { display: block; }
    DataTable { height: 1fr; background: $background; }
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
        Binding("ctrl+z", "suspend_process", "Suspend", show=False),
    ]

    def __init__(self, samples: Iterator[Sample], stop: Event, hold: Event, title: str) -> None:
        super().__init__()
        self._samples = samples
        self._stop = stop
        self._hold = hold
        self._title = title
        self._last: Sample | None = None
        self._sorted_by = SORTED_BY
        self._is_backwards = False
        self._wanted = ""
        self.failure: BaseException | None = None

    def compose(self) -> ComposeResult:
        """Make the parts of the screen."""
        yield Static(Text(self._title, no_wrap=True, overflow="ellipsis"), id="head")
        yield Static("waiting for the first sample", id="summary")
        yield Input(placeholder="requester, name, direction or class", id="filter", compact=True)
        yield DataTable(cursor_type="row", zebra_stripes=False)
        yield Footer(compact=True)

    def on_mount(self) -> None:
        """Begin to sample."""
        self.query_one(DataTable).focus()
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
        shown = fitting(self.size.width)
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
        shown = fitting(self.size.width)
        at = shown.index(self._sorted_by) if self._sorted_by in shown else 0
        self._sorted_by = shown[(at + step) % len(shown)]
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

    def action_no_filter(self) -> None:
        """Show all rows again."""
        line = self.query_one("#filter", Input)
        line.value = ""
        line.remove_class("shown")
        self.query_one(DataTable).focus()

    def _draw(self) -> None:
        sample = self._last
        if sample is None or not self.is_running:
            return
        lines = summary(sample)
        if self._hold.is_set():
            lines[0] += "  PAUSED"
        if self._wanted:
            lines.append(f"rows with {self._wanted!r} (Escape: all)")
        text = Text("\n").join(Text(line, style=_style(line), no_wrap=True, overflow="ellipsis") for line in lines)
        self.query_one("#summary", Static).update(text)
        table = self.query_one(DataTable)
        at, row_at = table.scroll_y, table.cursor_row
        table.clear(columns=True)
        shown = fitting(self.size.width)
        for number in shown:
            column = COLUMNS[number]
            mark = ("▲" if self._is_backwards == column.is_number else "▼") if number == self._sorted_by else ""
            title = Text(column.title + mark, justify="right" if column.is_number else "left")
            table.add_column(title, width=column.width)
        for row in ordered(sample.rows, self._sorted_by, backwards=self._is_backwards, wanted=self._wanted):
            cells = (COLUMNS[number] for number in shown)
            table.add_row(*(Text(cell.text(row), justify="right" if cell.is_number else "left") for cell in cells))
        table.move_cursor(row=row_at, scroll=False)
        table.scroll_y = at


def _style(line: str) -> str:
    return {"error": "bold red", "errors": "bold red", "warning": "bold yellow"}.get(line.partition(":")[0], "")
