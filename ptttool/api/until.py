"""Short recordings again and again, until one holds a TLP for which a condition is true: ``ptttool trace --until``."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from ptttool.api.capture import record
from ptttool.api.live import SHORTEST
from ptttool.api.recording import Ask, Recording, Request
from ptttool.capture.keep import Log, Recorded
from ptttool.capture.perf.recorder import handled
from ptttool.capture.plan import Plan
from ptttool.capture.series.windows import Windows
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import BusyError, InputError, InterruptedByUserError, PerfError, PtttoolError, UsageError
from ptttool.pipeline.analyzing.ask import run
from ptttool.planner.visible import check_condition
from ptttool.wording import counted

__all__ = ["KeptWindow", "Match", "Role", "Search", "check_condition", "record_until"]

# Diagnostics of a code that are reported: each window says most of them again, and a search may last for days.
_MOST_SAID = 8
# So many windows that fail one after another end a search; the seconds before the next attempt.
_MOST_FAILURES = 3
_PAUSE = 0.5


class Role(StrEnum):
    """Why a window is kept."""

    BEFORE = "before"
    FOUND = "found"
    AFTER = "after"


class Match(Struct, frozen=True):
    """Where a condition was true.

    Parameters
    ----------
    window : int
        Number of the window, from 1.
    index : int
        Number of the first such TLP in its recording.
    tlps : int
        How many of its TLPs meet the condition.
    """

    window: int
    index: int
    tlps: int


class KeptWindow(Struct, frozen=True):
    """A window that was kept.

    Parameters
    ----------
    window : int
        Its number, from 1.
    role : Role
        Why it was kept: it is the one in which the condition was true, or the last one before or the first one after it.
    recorded : Recorded
        Its recording.
    signs_of_loss : tuple of Diagnostic
        Signs that something is missing from it; null for the one after, which was not looked at.
    """

    json_merges: ClassVar = ("recorded",)

    window: int
    role: Role
    recorded: Recorded
    signs_of_loss: tuple[Diagnostic, ...] | None = None


class Search(Struct, frozen=True, kw_only=True):
    """What a search saw.

    Parameters
    ----------
    condition : str
        What was looked for.
    seconds : float
        How long each window was to be.
    found : Match or None
        Where the condition was true; None where it was not, in what was looked at.
    windows, tlps : int
        How many windows, and TLPs in them, were looked at.
    empty : int
        How many of these windows have no TLP.
    incomplete : int
        How many others have signs of loss: the condition may have been true for what is missing.
    signs : Mapping of str to int
        The signs, by code, with the number of windows that have them.
    failed : int
        How many more windows could not be recorded, or read.
    failures : Mapping of str to int
        Why, by the code of the error.
    traced : float or None
        Seconds that were traced in the windows that have no sign of loss; None where they are not known, as of a replay.
    passed : float or None
        Seconds from the begin of the first window that was looked at to the end of the last one; None where none was.
    share : float or None
        Part of that time that was traced, in percent: of the rest nothing is known.
    kept : tuple of KeptWindow
        The windows that were kept, in order.
    series : Path or None
        The file that stands for them.
    stopped_by : str or None
        The signal that ended the search.
    diagnostics : tuple of Diagnostic
        What was reported meanwhile.
    """

    json_hides: ClassVar = ("diagnostics",)

    condition: str
    seconds: float
    found: Match | None = None
    windows: int = 0
    tlps: int = 0
    empty: int = 0
    incomplete: int = 0
    signs: Mapping[str, int] = {}
    failed: int = 0
    failures: Mapping[str, int] = {}
    traced: float | None = None
    passed: float | None = None
    share: float | None = None
    kept: tuple[KeptWindow, ...] = ()
    series: Path | None = None
    stopped_by: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


def record_until(
    plan: Plan,
    condition: str,
    *,
    window: float = 0.05,
    windows: int | None = None,
    duration: float | None = None,
    progress: Callable[[Search], None] | None = None,
    report: Callable[[Diagnostic], None] | None = None,
) -> Search:
    """Record short windows again and again until one holds a TLP for which a condition is true.

    That window is kept, with the last one before it and the first one after it, as a series; all others are removed. While a window is
    looked at, the next one is recorded: three of them exist at most. Between two windows nothing is seen.

    In the main thread, SIGINT, SIGTERM, SIGHUP and SIGQUIT end the search. On a recorded machine there is one window to look at, as each
    replay is the same.

    Parameters
    ----------
    plan : Plan
        What to record, from :func:`~ptttool.api.capture.plan_recording`; of its output the names of the windows are made.
    condition : str
        An SQL condition on columns.
    window : float
        Seconds of each window.
    windows : int, optional
        How many windows to look at.
    duration : float, optional
        Seconds after which no further window is looked at.
    progress : Callable, optional
        Called after each window, with what was seen so far.
    report : Callable, optional
        Called with each diagnostic when it is first known.

    Returns
    -------
    Search
        What was found, and how much was looked at.

    Raises
    ------
    UsageError
        The condition means nothing, or no TLP of the event can meet it (``never-true``); a window is too short, or there is none.
    BusyError
        Another run of ptttool traces the device.
    PtttoolError
        The first window, or three one after another, cannot be recorded. Nothing is kept.

    Examples
    --------
    >>> import tempfile
    >>> from ptttool.api.capture import build_event, plan_recording
    >>> from ptttool.api.machine import find_machine
    >>> folder = tempfile.TemporaryDirectory()
    >>> chosen = build_event(find_machine(demo=True), root_ports=["nvme0"], format="8dw")
    >>> found = record_until(plan_recording(chosen, output=f"{folder.name}/x.data"), "kind = 'MRd' and length_dw > 100")
    >>> found.found.window, [(one.role.value, one.recorded.path.name) for one in found.kept]
    (1, [('found', 'x.1-window.data'), ('after', 'x.2-window.data')])
    >>> folder.cleanup()
    """
    if window < SHORTEST:
        raise UsageError("--window: at least 1ms", hint="50ms is a good window", code="window-too-short")
    if windows is not None and windows < 1:
        raise UsageError("--windows: at least 1", code="too-few-windows")
    if plan.command:
        raise UsageError("--until: the command would run once for each window", hint="run it beside", code="command-with-until")
    log = Log(report)
    log.add(*check_condition(condition, plan.chosen))
    with Windows(plan, condition) as files:
        return _Searching(plan, condition, window, files, log, progress).run(windows, duration)


class _Window(Struct):
    """A window that was recorded, and what was seen in it once it was looked at."""

    number: int
    recorded: Recorded
    ended: float
    tlps: int = 0
    index: int | None = None
    matching: int = 0
    signs: tuple[Diagnostic, ...] = ()

    @property
    def is_whole(self) -> bool:
        return all(sign.severity is Severity.INFO for sign in self.signs)

    def kept(self, role: Role) -> KeptWindow:
        return KeptWindow(self.number, role, self.recorded, None if role is Role.AFTER else self.signs)


class _Searching:
    """A search while it runs."""

    def __init__(
        self, plan: Plan, condition: str, seconds: float, files: Windows, log: Log, progress: Callable[[Search], None] | None
    ) -> None:
        self._plan, self._condition, self._seconds, self._files, self._log, self._progress = plan, condition, seconds, files, log, progress
        source = plan.device.source
        self._is_live = source is not None and source.live
        self._said: dict[str, set[str]] = {}
        self._search = Search(condition=condition, seconds=seconds)
        self._began: float | None = None
        self._traced: float | None = 0.0
        self._in_row = 0
        self._signs: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._stopped_by: str | None = None

    def run(self, most: int | None, duration: float | None) -> Search:
        most = most if self._is_live or most is not None else 1
        end = None if duration is None else time.monotonic() + duration
        before: _Window | None = None
        looking: tuple[_Window, Future[None]] | None = None
        with ThreadPoolExecutor(1) as pool, handled(self._on_signal):
            while True:
                begun = self._search.windows + (looking is not None)
                goes_on = self._stopped_by is None and (most is None or begun < most) and (end is None or time.monotonic() < end)
                window, failure = None, None
                try:
                    window = self._record() if goes_on else None
                except PtttoolError as error:  # what is being looked at may hold it
                    failure = error
                if looking is not None:
                    seen, future = looking
                    looking = None
                    if self._looked_at(seen, future):
                        if seen.index is not None:
                            return self._found(before, seen, window)
                        if before is not None:
                            self._files.drop(before.number)
                        before = seen
                if failure is not None:
                    looked = self._search.windows
                    raise failure.amended(f"{counted(looked, 'window')} had been looked at, and nothing was found") if looked else failure
                if window is not None:
                    looking = window, pool.submit(self._look, window)
                elif not goes_on:
                    return self._result()

    def _record(self, *, is_after: bool = False) -> _Window | None:
        """Record a window; None where that fails, and it is not yet too much."""
        number, plan = self._files.next(self._seconds if self._is_live else None)
        began = time.monotonic()
        try:
            recorded = record(plan, report=self._say)
        except InterruptedByUserError as error:
            self._files.failed(number, error.message)
            self._stopped_by = signal.Signals(error.exit_code - 128).name
            return None
        except (PerfError, BusyError) as error:
            self._failed(number, error, is_last=is_after)
            return None
        except PtttoolError as error:
            self._files.failed(number, error.message)
            raise
        self._began = began if self._began is None else self._began
        self._stopped_by = self._stopped_by or recorded.stopped_by
        self._files.recorded(number)
        return _Window(number, recorded, time.monotonic())

    def _failed(self, number: int, error: PtttoolError, *, is_last: bool = False) -> None:
        """Count a window that cannot be recorded or read; raise the error where it is one too much."""
        self._files.failed(number, error.message)
        self._in_row += 1
        self._failures[error.code] += 1
        self._search = replace(self._search, failed=self._search.failed + 1)
        message = f"window {number} is not looked at: {error.message}"
        self._say(Diagnostic(Severity.WARNING, "window-failed", message, error.hint, details={"code": error.code}))
        if is_last:
            return
        if self._began is None or self._in_row >= _MOST_FAILURES:
            raise error
        time.sleep(_PAUSE)

    def _look(self, window: _Window) -> None:
        """Look at a window, in a thread of its own: the next one is recorded meanwhile."""
        with Recording(Request(str(window.recorded.path))) as recording:
            recording.topology = machine = recording.part_of(self._plan.machine)
            for batch in recording.batches(("index",), self._condition):
                if window.index is None and batch.size:
                    window.index = batch.to_polars()["index"][0]
                window.matching += batch.size
            ask = Ask(machine=machine, went_offline=window.recorded.went_offline)
            window.signs = tuple(run(recording, ask, ("loss",)).results["loss"].signs)
            window.tlps = recording.findings.records

    def _looked_at(self, window: _Window, future: Future[None]) -> bool:
        """Wait until a window was looked at, and add it to what was seen; False where it cannot be read."""
        try:
            future.result()
        except InputError as error:
            self._failed(window.number, error)
            return False
        one, self._in_row = self._search, 0
        incomplete = bool(window.tlps) and not window.is_whole
        self._signs.update({sign.code for sign in window.signs if sign.severity is not Severity.INFO})
        if window.recorded.elapsed is None:
            self._traced = None
        elif self._traced is not None and window.is_whole:
            self._traced += window.recorded.elapsed
        assert self._began is not None
        passed = window.ended - self._began
        self._search = replace(
            one,
            windows=one.windows + 1,
            tlps=one.tlps + window.tlps,
            empty=one.empty + (not window.tlps),
            incomplete=one.incomplete + incomplete,
            traced=self._traced,
            passed=passed,
            share=None if self._traced is None or not passed else 100 * self._traced / passed,
        )
        if self._progress is not None:
            self._progress(self._search)
        return True

    def _found(self, before: _Window | None, found: _Window, after: _Window | None) -> Search:
        """Keep a window with those around it; the one after is recorded now, if that was not begun before."""
        assert found.index is not None
        try:
            for diagnostic in self._files.found(found.number, found.index):
                self._say(diagnostic)
        except PtttoolError as error:
            raise error.amended(f"TLP {found.index:,} of {found.recorded.path} met the condition: that recording is kept") from None
        if after is None and self._stopped_by is None:
            try:
                after = self._record(is_after=True)
            except PtttoolError as error:
                message = f"the window after it cannot be recorded: {error.message}"
                self._say(Diagnostic(Severity.WARNING, "window-failed", message, error.hint))
        around = ((before, Role.BEFORE), (found, Role.FOUND), (after, Role.AFTER))
        self._search = replace(
            self._search,
            found=Match(found.number, found.index, found.matching),
            kept=tuple(one.kept(role) for one, role in around if one is not None),
            series=self._files.path,
        )
        return self._result()

    def _result(self) -> Search:
        return replace(
            self._search,
            signs=dict(self._signs),
            failures=dict(self._failures),
            stopped_by=self._stopped_by,
            diagnostics=tuple(self._log.diagnostics),
        )

    def _say(self, diagnostic: Diagnostic) -> None:
        """Report what is new."""
        said = self._said.setdefault(diagnostic.code, set())
        if diagnostic.message not in said and len(said) < _MOST_SAID:
            said.add(diagnostic.message)
            self._log.add(diagnostic)

    def _on_signal(self, number: int, _frame: object) -> None:
        self._stopped_by = self._stopped_by or signal.Signals(number).name
