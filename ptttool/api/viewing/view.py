"""The state of a viewer: where it stands, what it marks, what it says of that. It draws nothing."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from msgspec import Struct

from ptttool.api.viewing.lines import Line, Lines
from ptttool.api.viewing.notes import Note, load_notes, save_notes
from ptttool.api.viewing.pages import CHOSEN, Pages, Place, Step, pages_of
from ptttool.api.viewing.survey import Survey
from ptttool.api.viewing.transactions import Between, Requests, Transaction, between, transaction_of, transactions_in
from ptttool.errors import UsageError
from ptttool.files.local import Closing
from ptttool.pipeline.analyzing.ask import Ask, ask_of
from ptttool.pipeline.recording import OpenRecording
from ptttool.pipeline.scope import TimeOptions
from ptttool.wording import clean, counted

if TYPE_CHECKING:
    from pathlib import Path

    from ptttool.api.viewing.commands import Commands
    from ptttool.api.viewing.extremes import Extreme
    from ptttool.files.progress import Watch
    from ptttool.machine.model import Machine
    from ptttool.pipeline.query import Query
    from ptttool.table.values import Array

T = TypeVar("T")

LEVELS: Final = {1: "TLPs", 2: "transactions", 3: "commands"}
_NS: Final = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_TIME = re.compile(r"@\s*([0-9][0-9_,]*(?:\.[0-9]+)?)\s*(ns|us|ms|s)?")


class Where(Struct, frozen=True):
    """Where the cursor stands.

    Parameters
    ----------
    index : int
        Number of the row.
    is_sure : bool
        Whether all parts in front of it were counted: older drivers leave records without a row.
    ticks : int or None
        Ticks since the first row; None where they are not known (yet).
    """

    index: int
    is_sure: bool
    ticks: int | None


class View(Closing):
    """What is seen of a recording; a context manager.

    Parameters
    ----------
    recording : OpenRecording
        The recording, which has to stay open.
    machine : Machine or None
        The machine that was recorded, for names.
    time : TimeOptions
        How the Time field is read.
    words : sequence of str
        Options by which other commands read the recording as this one does.

    Attributes
    ----------
    cursor : Place or None
        The row that is looked at; None without rows.
    level : int
        1: TLPs or elements; 2: transactions; 3: commands of NVMe drives.
    commands : Commands or None
        Those commands; None as long as nobody has asked for them.
    markers : dict of str to Place
        The markers ``m`` and ``M``, as far as they are set.
    marked : set of Place
        The TLPs of the transaction that is marked.
    notes : list of Note
        The bookmarks.
    where : str or None
        The last condition.
    """

    def __init__(
        self, recording: OpenRecording, machine: Machine | None = None, time: TimeOptions | None = None, words: Sequence[str] = ()
    ) -> None:
        self.recording = recording
        self.pages: Pages = pages_of(recording)
        self.lines = Lines(self.pages, machine)
        self._time = time or TimeOptions()
        self.survey = Survey(self.pages, self._time) if recording.is_ptt else None
        self.cursor: Place | None = self.pages.first() if self.pages.parts else None
        self.level = 1
        self.commands: Commands | None = None
        self.markers: dict[str, Place] = {}
        self.marked: set[Place] = set()
        self.notes: list[Note] = []
        self.where: str | None = None
        self.has_unsaved = False
        self._known: list[Note] = []
        self._has_requests: bool | None = None
        self._words = list(words)
        self._query: Query | None = None
        self._top: Place | None = self.cursor
        self._requests: Any = lru_cache(maxsize=8)(self._requests_in)
        self._ticks: Any = lru_cache(maxsize=8)(self._ticks_in)

    def close(self) -> None:
        """Remove what is kept of the recording."""
        self.pages.close()

    @property
    def left_out(self) -> str | None:
        """The class of TLPs that the level folds into others, or :data:`CHOSEN`."""
        return {2: "CPL", 3: CHOSEN}.get(self.level)

    def grow(self, most: int) -> None:
        """Get to know so many more parts."""
        self.pages.grow(most)
        if self.cursor is None:
            self._top = self.cursor = self.pages.first()

    # ---- moving

    def move(self, by: int) -> None:
        """Go so many rows down, or up."""
        if self.cursor is not None:
            self.cursor = self.pages.moved(self.cursor, by, self.left_out)

    def go(self, place: Place | None) -> None:
        """Go to a row, or to the next one that the level shows."""
        if place is not None:
            self.cursor = place
            self.move(0)

    def home(self) -> None:
        """Go to the first row."""
        self.go(self.pages.first(self.left_out))

    def end(self) -> None:
        """Go to the last row."""
        self.go(self.pages.last(self.left_out))

    def look_for_requests(self, step: Step = lambda _: None) -> None:
        """Look for rows that transactions are shown in: in a recording of completions, they may be far away."""
        if self.survey is not None and self.cursor is not None:
            self._has_requests = self.pages.look_around(self.cursor.part, "CPL", step) > 0

    def choose_level(self, level: int) -> None:
        """Show TLPs, transactions or commands, which were looked for.

        Raises
        ------
        UsageError
            The recording is not of TLPs (code ``no-tlps``), or holds nothing but completions (``no-requests``), or no commands
            (``no-commands``).
        """
        if level != 1 and self.survey is None:
            raise UsageError(f"{self.recording.title} has no transactions", code="no-tlps")
        if level == 3 and (self.commands is None or not len(self.commands.fetches)):
            raise UsageError("no command of an NVMe drive was seen to be fetched", hint="'ptttool analyze io' says why", code="no-commands")
        if level == 2 and self._has_requests is None:
            self.look_for_requests()
        if level == 2 and self._has_requests is False:
            raise UsageError("no request was seen, only completions", code="no-requests")
        self.level = level
        self.go(self.cursor)
        self._top = self.cursor

    def find(self, text: str, step: Step) -> Place:
        """Return the place that a text names: the number of a row, or ``@`` and a time since the first row.

        Parameters
        ----------
        text : str
            ``1233``, ``@40960`` (ticks), ``@1.5ms`` where a tick is known.
        step : callable
            See :data:`~.pages.Step`.

        Raises
        ------
        UsageError
            It is neither (code ``bad-place``); there is no such row or time, or time is not known.
        """
        text = text.strip()
        number = text.replace(",", "").replace("_", "")
        if number.isascii() and number.isdigit() and len(number) < 19:
            return self.pages.find(int(number), step)
        match = _TIME.fullmatch(text)
        if match is None:
            raise UsageError(f"{clean(text)!r} is neither a row nor a time", hint="1233, @40960 (ticks), @1.5ms", code="bad-place")
        if self.survey is None:
            raise UsageError("only TLPs have a time", hint="give the number of a row", code="time-unknown")
        ticks = float(match[1].replace(",", "").replace("_", ""))
        if match[2] is not None:
            if self.survey.tick_ns is None:
                raise UsageError("the length of a tick is not known (yet)", hint="give ticks, or --tick-ns", code="time-unknown")
            ticks *= _NS[match[2]] / self.survey.tick_ns
        return self.survey.at_ticks(int(ticks))

    # ---- searching

    def look_for(self, where: str) -> None:
        """Take a condition to search by.

        Raises
        ------
        UsageError
            It means nothing.
        """
        from ptttool.pipeline.query import parse_query

        self._query = parse_query(self.recording.schema, columns=(), where=where, machine=self.lines.machine)
        self.where = where

    def search(self, step: Step, *, backwards: bool = False) -> Place | None:
        """Return the next row of the level for which the condition is true, or the one before; None where there is none.

        Raises
        ------
        UsageError
            There is no condition yet (code ``no-condition``).
        """
        if self._query is None or self.cursor is None:
            raise UsageError("there is no condition", hint="/ asks for one", code="no-condition")
        return self.pages.search(self._query, self.cursor, step, self.left_out, backwards=backwards)

    # ---- marking

    def mark(self, name: str) -> None:
        """Set the marker ``m`` or ``M`` here."""
        if self.cursor is not None:
            self.markers[name] = self.cursor

    def between(self, step: Step) -> Between:
        """Return what lies between the markers.

        Raises
        ------
        UsageError
            There are no two markers (code ``no-markers``), or the rows are not TLPs (``no-tlps``).
        """
        if self.survey is None:
            raise UsageError(f"{self.recording.title}: only TLPs are measured between markers", code="no-tlps")
        if len(self.markers) < 2:
            raise UsageError("one marker is missing", hint="m and M set them", code="no-markers")
        return between(self.pages, self.survey.scope, self.markers["m"], self.markers["M"], step)

    def follow(self, step: Step) -> tuple[Transaction | None, list[Place]]:
        """Return the transaction of this TLP, and its TLPs.

        Raises
        ------
        UsageError
            The rows are not TLPs (code ``no-tlps``).
        """
        if self.survey is None or self.cursor is None:
            raise UsageError(f"{self.recording.title} has no transactions", code="no-tlps")
        return transaction_of(self.pages, self.survey.scope, self.cursor, step)

    def extremes(self, watch: Watch, step: Step) -> list[Extreme]:
        """Return what analyses of the whole recording name, and the first TLP of each kind.

        Parameters
        ----------
        watch : callable
            Shows how far the pass of the analyses has come.
        step : callable
            See :data:`~.pages.Step`.

        Raises
        ------
        UsageError
            The rows are not TLPs (code ``no-tlps``).
        """
        from ptttool.api.viewing.extremes import extremes, first_of_kinds

        found, facts = self._analyzed(extremes, watch)
        assert self.survey is not None
        if self.survey.time is None and facts is not None:
            self.survey.take(facts)
        return [*found, *first_of_kinds(self.pages, step)]

    def find_commands(self, watch: Watch) -> None:
        """Look for the commands of NVMe drives in the whole recording; raises as :meth:`extremes` does."""
        from ptttool.api.viewing.commands import commands_of

        if self.commands is None:
            found = self._analyzed(commands_of, watch)
            # Which TLP has a number is known where all in front of it were counted.
            if len(found.fetches):
                self.pages.find(int(found.fetches[-1]))
            self.pages.chosen, self.commands = found.fetches, found

    def _analyzed(self, look: Callable[[OpenRecording, Ask], T], watch: Watch) -> T:
        """Return what a pass over the whole recording finds, by as many processes as it is worth."""
        from ptttool.pipeline.workers.pool import WORTH_AN_ADDER, workers_for

        if self.survey is None:
            raise UsageError(f"{self.recording.title}: analyses name places in recordings of TLPs", code="no-tlps")
        with OpenRecording(self.recording.request) as recording, workers_for((self.recording.path,), None, WORTH_AN_ADDER) as workers:
            recording.topology = self.recording.topology
            return look(recording, ask_of(recording, Ask(workers, time=self._time, watch=watch), machine=self.lines.machine))

    # ---- notes

    def load_notes(self) -> None:
        """Take the notes beside the recording. Raises InputError as :func:`load_notes` does."""
        self._known = load_notes(self.recording.path)
        self.notes = sorted({*self.notes, *self._known})

    def note(self, text: str) -> None:
        """Keep a bookmark of this row; an empty text removes those of this row."""
        if self.cursor is None:
            return
        index = self.index
        self.notes = [note for note in self.notes if note.index != index or text.strip()]
        if text.strip():
            self.notes = sorted({*self.notes, Note(index, text.strip())})
        self.has_unsaved = True

    def save_notes(self) -> Path:
        """Write the notes beside the recording; raises as :func:`save_notes` does."""
        path = save_notes(self.recording.path, self.notes, self._known)
        self._known = self.notes = load_notes(self.recording.path)
        self.has_unsaved = False
        return path

    # ---- what is shown

    @property
    def index(self) -> int:
        """Number of the row that is looked at."""
        return 0 if self.cursor is None else self.pages.begin_of(self.cursor.part) + self.cursor.row

    @property
    def here(self) -> Where | None:
        """Where the cursor stands; None without rows."""
        if self.cursor is None:
            return None
        sure = self.pages.index_of(self.cursor) is not None
        return Where(self.index, sure, self.ticks_at(self.cursor))

    def ticks_at(self, place: Place) -> int | None:
        """Return the ticks of a row since the first one; None where they are not known (yet)."""
        if self.survey is None or place.part > len(self.survey.entries):
            return None
        ticks = self._ticks(place.part)
        return None if ticks is None else int(ticks[place.row])

    def _ticks_in(self, part: int) -> Array | None:
        assert self.survey is not None
        return self.survey.ticks_in(part)

    def window(self, height: int, width: int) -> tuple[str, list[Line]]:
        """Return the head and the lines of a window that holds the cursor."""
        if self.cursor is None or height < 1:
            return "", []
        top, level = self._top, self.left_out
        places: list[Place] = []
        if top is not None and abs(self.cursor.part - top.part) <= 1:
            top = min(self.cursor, self.pages.moved(top, 0, level))
            places = self.pages.listed(top, height, level)
            if self.cursor not in places and self.cursor <= self.pages.moved(top, 2 * height, level):
                places = self.pages.listed(self.pages.moved(self.cursor, 1 - height, level), height, level)
        if self.cursor not in places:  # a jump
            places = self.pages.listed(self.pages.moved(self.cursor, -(height // 3), level), height, level)
        if len(places) < height:  # the end
            places = self.pages.listed(self.pages.moved(places[-1], 1 - height, level), height, level)
        self._top = places[0]
        if self.level == 1:
            return self.lines.rows(places, width)
        assert self.survey is not None
        if self.level == 3 and self.commands is not None:
            pairs = [(place, self.commands.of(self.pages.begin_of(place.part) + place.row)) for place in places]
            return self.lines.commands([(place, one) for place, one in pairs if one is not None], self.survey.tick_ns, width)
        found = [self._requests(place.part).get(place.row) for place in places]
        return self.lines.transactions(places, found, self.survey.tick_ns, width)

    def _requests_in(self, part: int) -> Requests:
        assert self.survey is not None
        return transactions_in(self.pages, self.survey.scope, part)

    def signs(self, place: Place, noted: set[int]) -> str:
        """Return what stands in front of a row: ``m``, ``M``, ``*`` for the marked transaction, ``b`` for a bookmark."""
        names = [name for name, at in self.markers.items() if at == place]
        if place in self.marked:
            names.append("*")
        if noted and self.pages.begin_of(place.part) + place.row in noted:
            names.append("b")
        return names[0] if names else " "

    def strip(self, width: int) -> tuple[list[float | None], list[float | None], int | None]:
        """Return bytes and open requests over the whole recording, from 0 to 1, and where the cursor stands.

        Returns
        -------
        amounts, opens : list of float or None
            For each column; None where it is not known (yet).
        at : int or None
            The column of the cursor.
        """
        parts = self.pages.parts
        if not parts or width < 1:
            return [], [], None
        edges = np.arange(width + 1) * parts // width
        known = 0 if self.survey is None else len(self.survey.entries)
        entries = np.zeros((parts, 2), dtype=np.float64)
        if self.survey is not None and known:
            array = self.survey.array[:parts]
            entries[: len(array), 0], entries[: len(array), 1] = array["bytes"], array["open"]
        columns = [np.maximum.reduceat(entries[:, row], np.minimum(edges[:-1], parts - 1)) for row in (0, 1)]
        tops = [float(column.max()) or 1.0 for column in columns]
        amounts, opens = (
            [float(value) / top if edges[at] < known else None for at, value in enumerate(column)]
            for column, top in zip(columns, tops, strict=True)
        )
        at = None if self.cursor is None else min(int((self.cursor.part + self._share(self.cursor)) * width / parts), width - 1)
        return amounts, opens, at

    def _share(self, place: Place) -> float:
        return place.row / max(self.pages.rows_in(place.part), 1)

    def at_column(self, column: int, width: int) -> Place:
        """Return the place that a column of the strip stands for."""
        at = min(max(column, 0), width - 1) * self.pages.parts / width
        part = min(int(at), self.pages.parts - 1)
        rows = self.pages.rows_of(part)
        return Place(part, min(int((at - part) * len(rows)), max(len(rows) - 1, 0)))

    def command(self) -> str:
        """Return the command line that shows the same."""
        name = shlex.quote(self.recording.path)
        start = "ptttool decode " + ("-- " if name.startswith("-") and not self._words else "") + name
        words = "".join(f" {shlex.quote(word)}" for word in self._words)
        if len(self.markers) == 2:
            first, last = sorted(self.pages.begin_of(place.part) + place.row for place in self.markers.values())
            return clean(f"{start}{words} --offset {first} --limit {last - first + 1}")
        if self.level == 2:
            return clean(f"{start}{words} --follow {self.index}")
        return clean(f"{start}{words} --at {self.index}")

    def span_text(self, ticks: int) -> str:
        """Return a time in ticks, and in a unit where the length of a tick is known; at least that much, where gaps hide time."""
        assert self.survey is not None
        tick, time = self.survey.tick_ns, self.survey.time
        least = "at least " if ticks and time is not None and time.hides_time else ""
        if tick is None:
            return f"{least}{counted(ticks, 'tick')}"
        unit = next((name for name in ("s", "ms", "us") if ticks * tick >= _NS[name]), "ns")
        return f"{least}{counted(ticks, 'tick')} = {ticks * tick / _NS[unit]:,.6g} {unit}"

    def between_text(self, found: Between) -> str:
        """Return in one line what lies between the markers."""
        parts = [f"m..M: {counted(found.tlps, 'TLP')}"]
        if found.ticks is not None:
            parts.append(self.span_text(found.ticks))
        names = {"inbound": "in", "outbound": "out", "unknown": "of unknown direction"}
        parts.append(", ".join(f"{amount:,} B {names[name]}" for name, amount in found.bytes.items()))
        if found.outstanding is not None:
            low, mean, high = found.outstanding
            parts.append(f"outstanding {low} / {'?' if mean is None else f'{mean:.3g}'} / {high}" + (" at least" if found.left_out else ""))
        return "; ".join(parts)

    def follow_text(self, found: Transaction | None, places: Sequence[Place]) -> str:
        """Return in one line what a transaction is."""
        if found is None:
            return "no transaction: posted, without a request in sight, or not a known TLP"
        brought = f"{found.received:,} of {counted(found.requested, 'byte')} in {counted(len(places) - 1, 'completion')}"
        text = f"transaction of TLP {found.first}: {brought}"
        return text if found.to_last is None else f"{text}, {self.span_text(found.to_last)}"
