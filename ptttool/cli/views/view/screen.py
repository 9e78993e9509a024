"""The screen of ``ptttool view``: keys become calls of the view, what takes long runs in a thread, and Escape ends it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any, ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.css.query import NoMatches
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from ptttool.api.viewing.extremes import Extreme
from ptttool.api.viewing.view import LEVELS, View
from ptttool.cli.views.view.parts import Overview, Rows, letters
from ptttool.files.progress import Progress, StoppedError
from ptttool.wording import clean, counted

HELP = """arrows, PgUp, PgDn, Home, End, wheel: go; Left and Right shift the lines
/      search by a condition: kind = 'MRd' AND requester = '01:00.0'
n, N   next, previous row for which it is true
g      go to a row (1233), or to a time since the first row (@40960, @1.5ms)
x      what analyses name: slowest, busiest, longest gap, errors, first ones
1      TLPs
2      transactions: a request and its completions in one row
3      commands of NVMe drives, where they were fetched
f      mark all TLPs of this transaction; again: none
m, M   markers; between them: time, TLPs, bytes, requests outstanding
d      this row bit by bit, or not; Tab goes into it to scroll, Esc leaves it
b, B   bookmark with a note (an empty one removes it); list of bookmarks
w      write the bookmarks to a file beside the recording
y      the command line that shows the same, also for the clipboard
Esc    end what runs, close what is open
Ctrl-Z suspend; fg goes on
q      quit"""
_ASKS = {
    "search": "condition, such as kind = 'MRd' AND requested_bytes > 128", "go": "row (1233) or time (@40960, @1.5ms)", "note": "note",
}  # fmt: skip
# Parts that are looked for, and surveyed, at a time.
_AT_ONCE = 64


class Job:
    """Work in a thread: how far it has come, and whether somebody waits for it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.done = 0
        self.is_stopped = False
        self.progress: Progress | None = None

    def step(self, done: int) -> None:
        """Note how many parts are done. Raises StoppedError where nobody waits any more."""
        self.done = done
        if self.is_stopped:
            raise StoppedError

    @contextmanager
    def watch(self, progress: Progress) -> Iterator[None]:
        """Watch a pass of the pipeline."""
        self.progress = progress
        if self.is_stopped:
            raise StoppedError
        yield

    def stop(self) -> None:
        """Have it end soon."""
        self.is_stopped = True
        if self.progress is not None:
            self.progress.is_stopped = True


class ViewScreen(App[None]):
    """Shows a recording.

    Parameters
    ----------
    view : View
        The recording, and where it is looked at.
    title : str
        The line at the top.
    keep_index : bool
        Whether the index is kept beside the recording.

    Attributes
    ----------
    failure : BaseException or None
        What went wrong with the recording in the background, the last time.
    """

    CSS = """
    #head { height: 1; text-style: reverse; }
    #pane { height: 1fr; max-height: 26; display: none; border-top: ascii $foreground; }
    #pane.shown { display: block; }
    #ask { display: none; height: 1; border: none; padding: 0; }
    #ask.shown { display: block; }
    #list, #help { display: none; height: 1fr; border: none; }
    #list.shown, #help.shown { display: block; }
    #list > .option-list--option-highlighted { text-style: reverse; }
    #status { height: auto; max-height: 4; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "leave", "Quit"),
        Binding("ctrl+c", "leave", "Quit", show=False, priority=True),
        Binding("slash", "ask('search')", "Search", key_display="/", priority=True),
        Binding("n", "search(False)", "Next"),
        Binding("N,upper_n", "search(True)", "Previous", show=False),
        Binding("g", "ask('go')", "Go to", priority=True),
        Binding("x", "extremes", "Extremes"),
        Binding("1", "level(1)", "TLPs", show=False),
        Binding("2", "level(2)", "Transactions", show=False),
        Binding("3", "level(3)", "Commands", show=False),
        Binding("f", "follow", "Follow"),
        Binding("m", "mark('m')", "Mark"),
        Binding("M,upper_m", "mark('M')", "Mark", show=False),
        Binding("d,enter", "details", "Details", key_display="d"),
        Binding("b", "ask('note')", "Note", show=False, priority=True),
        Binding("B,upper_b", "notes", "Notes", show=False),
        Binding("w", "write_notes", "Write notes", show=False),
        Binding("y", "command", "Command"),
        Binding("question_mark,h", "help", "Help", key_display="?"),
        Binding("escape", "escape", "Stop", show=False),
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("left", "shift(-8)", show=False),
        Binding("right", "shift(8)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown,space", "page(1)", show=False),
        Binding("home", "end(True)", show=False),
        Binding("end,G,upper_g", "end(False)", show=False),
        Binding("ctrl+z", "suspend_process", "Suspend", show=False),
    ]

    def __init__(self, view: View, title: str, *, keep_index: bool = False) -> None:
        super().__init__(ansi_color="NO_COLOR" in os.environ or None)  # no colour at all, else shades of grey
        self.view = view
        self._title = title
        self._keeps_index = keep_index
        self.job: Job | None = None
        self.survey_job = Job("index")
        self.message = ""
        self._asked = ""
        self._shift = 0
        self._extremes: list[Extreme] | None = None
        self._listed: list[int] = []
        self._is_damaged = False
        self.failure: BaseException | None = None

    def compose(self) -> ComposeResult:
        """Make the parts of the screen."""
        yield Static(Text(letters(self._title), no_wrap=True, overflow="ellipsis"), id="head")
        if self.view.survey is not None:
            yield Overview()
        yield Rows()
        yield OptionList(id="list")
        with VerticalScroll(id="help"):
            yield Static(Text(HELP))
        with VerticalScroll(id="pane"):
            yield Static("", id="fields", markup=False)
        yield Input(id="ask", compact=True)
        yield Static("", id="status", markup=False)
        yield Footer(compact=True)

    def on_mount(self) -> None:
        """Begin to look at the whole recording."""
        self.query_one(Rows).focus()
        if self.size.height >= 32:
            self.query_one("#pane").add_class("shown")
        self.set_interval(0.2, self._tick)
        Thread(target=self._survey, daemon=True).start()
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))

    def on_rows_sized(self) -> None:
        """Draw as many rows as there is room for now."""
        self.draw()

    # ---- in the background

    def _survey(self) -> None:
        """Look for all parts, then sum them up; one pass, in a thread of its own."""
        view, job = self.view, self.survey_job
        try:
            while not view.pages.is_whole:
                job.step(view.pages.parts)
                view.grow(_AT_ONCE)
            for damage in view.recording.damage[:1]:
                self._is_damaged = True
                self._fail(damage)
            if view.survey is not None and not view.survey.load():
                for done in view.survey.run():
                    job.step(done)
                view.survey.finish()
                if self._keeps_index:
                    view.survey.save()
        except StoppedError:
            return
        except Exception as error:  # shown; the rest stays usable
            self._fail(error)
        job.is_stopped = True

    def _fail(self, error: BaseException) -> None:
        self.failure = error
        hint = getattr(error, "hint", None)
        self.message = f"error: {error}" + (f" ({hint})" if hint else "")

    def _begin(self, name: str, work: Callable[[Job], Any], then: Callable[[Any], None]) -> None:
        """Do something that takes long in a thread, and something with what comes of it; one thing at a time."""
        if self.job is not None:
            self.job.stop()
        job = self.job = Job(name)
        self.message = ""

        def run() -> None:
            try:
                result = work(job)
            except StoppedError:
                return
            except Exception as error:  # shown; the recording may not be what it was
                self._end(job, self._fail, error)
            else:
                self._end(job, then, result)

        Thread(target=run, daemon=True).start()

    def _end(self, job: Job, then: Callable[[Any], None], result: Any) -> None:
        def end() -> None:
            if self.job is job:
                self.job = None
                then(result)
                self.draw()

        if self.is_running and not job.is_stopped:
            self.call_from_thread(end)

    def _tick(self) -> None:
        """Show how far the work in the background has come."""
        with suppress(NoMatches):  # it ends
            self._draw_strip()
            self._draw_status()
            if self.view.cursor is not None and not self.query_one(Rows).lines:
                self.draw()

    # ---- keys

    def action_leave(self) -> None:
        """End."""
        self.end()
        self.exit()

    def end(self) -> None:
        """End what runs in the background."""
        self.survey_job.stop()
        if self.job is not None:
            self.job.stop()

    def action_move(self, by: int) -> None:
        """Go so many rows down."""
        self._safely(lambda: self.view.move(by))

    def action_page(self, by: int) -> None:
        """Go a page down."""
        self.action_move(by * max(self.query_one(Rows).size.height - 2, 1))

    def action_end(self, is_first: bool) -> None:
        """Go to the first or the last row; where few rows are shown, it may be far away."""
        view = self.view
        if view.level == 1:
            self._safely(view.home if is_first else view.end)
        else:
            look = view.pages.first if is_first else view.pages.last
            self._begin("go to", lambda job: look(view.left_out, job.step), view.go)

    def action_shift(self, by: int) -> None:
        """Shift the lines sideways."""
        self._shift = max(self._shift + by, 0)
        self.draw()

    def action_level(self, level: int) -> None:
        """Show TLPs, transactions, or commands: these are looked for first."""
        if level == 3 and self.view.commands is None:
            self._begin("commands", lambda job: self.view.find_commands(job.watch), lambda _: self.action_level(3))
        elif level == 2:
            look = self.view.look_for_requests
            self._begin("transactions", lambda job: look(job.step), lambda _: self._safely(lambda: self.view.choose_level(2)))
        else:
            self._safely(lambda: self.view.choose_level(level))

    def action_ask(self, what: str) -> None:
        """Ask for a line of text."""
        self._asked = what
        line = self.query_one("#ask", Input)
        line.placeholder = _ASKS[what]
        known = {"search": self.view.where or "", "note": next((n.text for n in self.view.notes if n.index == self.view.index), "")}
        line.value = known.get(what, "")
        line.add_class("shown")
        line.display = True
        self.set_focus(line)  # at once: what is typed next is for the line

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave letters to the line that is asked for."""
        return super().check_action(action, parameters) if action != "ask" else not isinstance(self.focused, Input)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the line."""
        text = event.value
        self._close()
        if self._asked == "go":
            self._begin("go to", lambda job: self.view.find(text, job.step), self.view.go)
        elif self._asked == "note":
            self._safely(lambda: self.view.note(text))
        elif text.strip():
            self._safely(lambda: self.view.look_for(text))
            if not self.message:
                self.action_search(is_back=False)

    def action_search(self, is_back: bool) -> None:
        """Go to the next row for which the condition is true."""

        def then(place: Any) -> None:
            self.view.go(place)
            self.message = "" if place is not None else "no further row for which this is true"

        self._begin("search", lambda job: self.view.search(job.step, backwards=is_back), then)

    def action_extremes(self) -> None:
        """List what analyses name."""
        if self._extremes is not None:
            self._list([(each.index, each.text) for each in self._extremes])
            return

        def then(found: Any) -> None:
            self._extremes = found
            self.action_extremes()

        self._begin("analyses", lambda job: self.view.extremes(job.watch, job.step), then)

    def action_notes(self) -> None:
        """List the bookmarks."""
        self._list([(note.index, note.text) for note in self.view.notes])

    def _list(self, rows: list[tuple[int, str]]) -> None:
        self._close()
        if not rows:
            self.message = "none"
            self._draw_status()
            return
        self._listed = [index for index, _ in rows]
        box = self.query_one("#list", OptionList)
        box.clear_options()
        box.add_options([Option(Text(letters(clean(f"{index:>10}  {text}")), no_wrap=True)) for index, text in rows])
        box.highlighted = 0
        box.add_class("shown")
        self.query_one(Rows).display = False
        box.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Go where the list points."""
        index = self._listed[event.option_index]
        self._close()
        self._begin("go to", lambda job: self.view.find(str(index), job.step), self.view.go)

    def action_follow(self) -> None:
        """Mark the TLPs of this transaction."""
        view = self.view
        if view.cursor in view.marked:
            view.marked = set()
            self.message = ""
            self.draw()
            return

        def then(found: Any) -> None:
            transaction, places = found
            view.marked = set(places) if transaction is not None else set()
            self.message = view.follow_text(transaction, places)

        self._begin("follow", lambda job: view.follow(job.step), then)

    def action_mark(self, name: str) -> None:
        """Set a marker; with both, say what lies between them."""
        self._safely(lambda: self.view.mark(name))
        if len(self.view.markers) == 2 and self.view.survey is not None:

            def then(found: Any) -> None:
                self.message = self.view.between_text(found)

            self._begin("between", lambda job: self.view.between(job.step), then)

    def action_details(self) -> None:
        """Show everything of the row, or no longer."""
        self.query_one("#pane").toggle_class("shown")
        self.query_one(Rows).focus()
        self.draw()

    def action_write_notes(self) -> None:
        """Write the bookmarks beside the recording."""

        def write() -> None:
            self.message = f"{counted(len(self.view.notes), 'note')} written to {clean(str(self.view.save_notes()))}"

        self._safely(write)

    def action_command(self) -> None:
        """Show the command line that shows the same."""
        self.message = self.view.command()
        self.copy_to_clipboard(self.message)
        self._draw_status()

    def action_help(self) -> None:
        """Show what the keys do, or hide it."""
        is_shown = self.query_one("#help").has_class("shown")
        self._close()
        if not is_shown:
            self.query_one("#help").add_class("shown").focus()
            self.query_one(Rows).display = False

    def action_escape(self) -> None:
        """End what runs, and close what is open."""
        if self.job is not None:
            self.job.stop()
            self.message = f"{self.job.name}: stopped"
            self.job = None
        else:
            self.message = ""
        self._close()

    def _close(self) -> None:
        for name in ("#ask", "#list", "#help"):
            self.query_one(name).remove_class("shown")
        self.query_one("#ask").display = False
        rows = self.query_one(Rows)
        rows.display = True
        rows.focus()
        self.draw()

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """Go to the row that was clicked, or as the wheel turned."""
        rows = self.query_one(Rows)
        if event.line is None:
            self.action_move(event.by)
        elif event.line < len(rows.lines):
            place = rows.lines[event.line][1].place
            self._safely(lambda: self.view.go(place))

    def on_overview_chosen(self, event: Overview.Chosen) -> None:
        """Go to the column that was clicked."""
        columns = self.query_one(Overview).columns
        if event.column >= 0 and self.view.cursor is not None:
            self._safely(lambda: self.view.go(self.view.at_column(event.column, columns)))

    def _safely(self, work: Callable[[], object]) -> None:
        """Do something at once, show what is wrong with it, and draw."""
        self.message = ""
        try:
            work()
        except Exception as error:  # shown; the recording may not be what it was
            self._fail(error)
        self.draw()

    # ---- drawing

    def draw(self) -> None:
        """Draw everything."""
        if self.is_running:
            with suppress(NoMatches):  # it ends
                self._draw()

    def _draw(self) -> None:
        rows, view = self.query_one(Rows), self.view
        try:
            head, lines = view.window(rows.size.height - 1, self.size.width - 2)
            noted = {note.index for note in view.notes}
            at = next((number for number, line in enumerate(lines) if line.place == view.cursor), -1)
            rows.show(head, [(view.signs(line.place, noted), line) for line in lines], at, self._shift)
            if self.query_one("#pane").has_class("shown") and view.cursor is not None:
                self.query_one("#fields", Static).update(Text(letters("\n".join(view.lines.details(view.cursor)))))
        except Exception as error:  # shown; the recording may not be what it was
            self._fail(error)
        self._draw_strip()
        self._draw_status()

    def _draw_strip(self) -> None:
        if self.view.survey is not None:
            overview = self.query_one(Overview)
            overview.show(*self.view.strip(overview.columns))

    def _draw_status(self) -> None:
        try:
            lines = self.status()
        except Exception as error:  # shown; the recording may not be what it was
            self._fail(error)
            lines = [self.message]
        self.query_one("#status", Static).update(Text(letters("\n".join(map(clean, lines)))))

    def status(self) -> list[str]:
        """Return where the cursor stands and what runs, and the last message."""
        view, here = self.view, self.view.here
        noun = view.recording.noun
        about = "" if view.pages.is_whole and view.pages.counted == view.pages.parts else "~"
        parts = [f"no {noun}" if here is None else f"{noun} {'' if here.is_sure else '~'}{here.index:,} of {about}{view.pages.size:,}"]
        if view.level != 1:
            parts.append(LEVELS[view.level])
        if here is not None and here.ticks is not None:
            parts.append(f"{view.span_text(here.ticks)} from the first")
        if not self.survey_job.is_stopped:
            parts.append(f"index: {100 * self.survey_job.done // max(view.pages.parts, 1)} %")
        if self.job is not None:
            parts.append(f"{self.job.name}: {self._done(self.job)} (Esc ends it)")
        if view.pages.is_cut:
            parts.append("the recording has more: only the first ones are kept here")
        if self._is_damaged:
            parts.append("damaged")
        if view.has_unsaved:
            parts.append("notes not written (w)")
        return ["  |  ".join(parts), *([self.message] if self.message else [])]

    def _done(self, job: Job) -> str:
        if job.progress is not None and job.progress.total:
            return f"{100 * job.progress.done // job.progress.total} %"
        return f"{job.done} of at most {self.view.pages.parts} parts"
