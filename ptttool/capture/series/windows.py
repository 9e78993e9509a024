"""Windows: short recordings again and again, of which only those around one that is found are kept."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Self

from msgspec.structs import replace

from ptttool.capture.checks.output import require_output
from ptttool.capture.names import sidecar_path, unfinished_of
from ptttool.capture.perf.tracepoints import TracepointPlan
from ptttool.capture.plan import Plan
from ptttool.capture.series.manifest import VERSION, RunState, Series, SeriesRun, Sought, run_path, save, series_path
from ptttool.capture.series.record import earlier, left_behind, put_back
from ptttool.diagnostics import Diagnostic
from ptttool.errors import OutputError
from ptttool.files.failures import output_failure


def window_of(plan: Plan, number: int, seconds: float | None) -> Plan:
    """Return the plan of a window: it has a name of its own, and nothing is recorded or counted beside it."""
    output = run_path(plan.output, number, "window")
    return replace(plan, output=output, seconds=seconds, command=(), counters=False, kernel=TracepointPlan())


class Windows:
    """The files of a search; a context manager. At its end they are gone, unless something was found.

    The windows are the recordings of a series. Its file names those that are there at any time, so a search that is killed leaves what any
    other series leaves: recordings that can be read together.

    Parameters
    ----------
    plan : Plan
        What to record; the windows and the file of the series are named after its output.
    condition : str
        What is looked for.

    Raises
    ------
    OutputError, AccessError
        The output cannot be written; or a series of that name is there, or a file that is not one.
    """

    def __init__(self, plan: Plan, condition: str) -> None:
        self.path = series_path(plan.output)
        self._plan = plan
        self._runs: dict[int, SeriesRun] = {}
        self._last = 0
        self._sought = Sought(condition)
        require_output(plan.output, force=True)  # nothing is written to it
        before = earlier(self.path)
        try:
            require_output(self.path, force=plan.force)
        except OutputError as error:
            if error.code == "exists":
                error.hint = "its recordings may hold what you look for; name another file with -o, or give --force"
            raise
        if before is not None and before.until is not None and before.until.window is None:  # killed
            for run in before.runs:
                _remove_window(self.path.with_name(run.file), plan.output)
            before = None
        self._before = before

    @property
    def series(self) -> Series:
        """The windows that are there."""
        return Series(VERSION, (), tuple(self._runs[number] for number in sorted(self._runs)), self._sought)

    def next(self, seconds: float | None) -> tuple[int, Plan]:
        """Begin a window; return its number, from 1, and what to record.

        Raises
        ------
        OutputError, AccessError
            The file of the series cannot be written.
        """
        self._last += 1
        plan = window_of(self._plan, self._last, seconds)
        name = f"window-{self._last}" if self._sought.window is None else "after"
        self._runs[self._last] = SeriesRun(name, plan.output.name, str(plan.chosen.built), RunState.RECORDING)
        self._save()
        return self._last, plan

    def recorded(self, number: int) -> None:
        """Take a window as recorded; the file of the series says so with its next change."""
        self._runs[number] = replace(self._runs[number], state=RunState.RECORDED)

    def failed(self, number: int, reason: str) -> None:
        """Take a window as failed, and remove what there is of it."""
        run = self._runs[number]
        self.drop(number)
        if self._sought.window is not None:
            self._runs[number] = replace(run, state=RunState.FAILED, reason=reason)

    def drop(self, number: int) -> None:
        """Remove a window."""
        _remove_window(self.path.with_name(self._runs.pop(number).file), self._plan.output)

    def found(self, number: int, index: int) -> list[Diagnostic]:
        """Keep the windows that are there; return what is to be said of those of an earlier series.

        Raises
        ------
        OutputError, AccessError
            The file of the series cannot be written.
        """
        self._sought = replace(self._sought, window=number, index=index)
        for each, run in self._runs.items():
            self._runs[each] = replace(run, name="found" if each == number else "before" if each < number else "after")
        self._save()
        return left_behind(self.path, self.series, self._before)

    def _save(self) -> None:
        try:
            save(self.path, self.series)
        except OSError as error:
            raise output_failure(self.path, error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._sought.window is not None:
            with suppress(OSError, OutputError):
                save(self.path, self.series)
            return
        for number in list(self._runs):
            self.drop(number)
        if self._last:
            put_back(self.path, self._before)


def _remove_window(path: Path, output: Path) -> None:
    """Remove a window with its sidecar, and what is unfinished of it; nothing that has not the name of a window of the output."""
    number = path.name.removesuffix("-window.data").rpartition(".")[2]
    if not (number.isascii() and number.isdecimal() and len(number) < 16) or path != run_path(output, int(number), "window"):
        return
    for one in (path, *unfinished_of(path)):
        for each in (one, sidecar_path(one)):
            with suppress(OSError):
                each.unlink()
