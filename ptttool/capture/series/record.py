"""Record a series: its runs in turn, each as a recording of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ptttool.capture.checks.output import require_output
from ptttool.capture.keep import Recorded, Report
from ptttool.capture.plan import Plan
from ptttool.capture.series.manifest import VERSION, RunState, Series, SeriesRun, load, run_path, save, series_path
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import InputError, OutputError, PtttoolError, UsageError
from ptttool.files.failures import output_failure
from ptttool.wording import clean, in_words


class RecordedSeries(Struct, frozen=True):
    """A series that was recorded, as far as it came.

    Parameters
    ----------
    path : Path
        The file of the series.
    series : Series
        Its runs.
    recorded : tuple of (Plan, Recorded)
        The recordings, in order.
    stopped_by : str or None
        The signal that ended it.
    failure : PtttoolError or None
        Why it ended early.
    diagnostics : tuple of Diagnostic
        What is to be said of the series as a whole.
    """

    path: Path
    series: Series
    recorded: tuple[tuple[Plan, Recorded], ...]
    stopped_by: str | None = None
    failure: PtttoolError | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


def plan_series(plans: Sequence[Plan], names: Sequence[str]) -> list[Plan]:
    """Return the plans of a series with an output each, named after the output that they share.

    Parameters
    ----------
    plans : sequence of Plan
        The plans of the runs.
    names : sequence of str
        What each traces.

    Raises
    ------
    UsageError
        The runs have no end of their own (``series-without-end``): neither a duration nor a command.
    """
    if plans[0].seconds is None and not plans[0].command:
        message = f"{len(plans)} runs, one after another ({in_words(names)}), have no duration"
        raise UsageError(message, hint="give --duration, or a COMMAND, which is then run once for each", code="series-without-end")
    pairs = zip(plans, names, strict=True)
    return [replace(plan, output=run_path(plan.output, number, name)) for number, (plan, name) in enumerate(pairs, 1)]


def record_series(
    plans: Sequence[Plan],
    names: Sequence[str],
    output: Path,
    record: Callable[[int, Plan], Recorded],
    *,
    purposes: Sequence[str] = (),
    report: Report | None = None,
) -> RecordedSeries:
    """Record the runs of a series in turn.

    A signal that stops a run ends the series, and so does a failure; what was recorded stays. On a recorded machine a run without a replay
    is left out.

    Parameters
    ----------
    plans : sequence of Plan
        The runs, of :func:`plan_series`.
    names : sequence of str
        What each traces.
    output : Path
        The output that they share: the file of the series is named after it.
    record : Callable
        Records the run of a number.
    purposes : sequence of str
        What the series is for.
    report : Callable or None
        Called with what is missing where an exception cuts the series off, such as Ctrl-C before perf has begun.

    Raises
    ------
    PtttoolError
        The first run failed: nothing was recorded. An output cannot be written, or is there already (``exists``); or a file that is not
        that of a series has its name.
    """
    path = series_path(output)
    require_output(output, force=True)  # nothing is written to it
    before = earlier(path)
    for target in (*(plan.output for plan in plans), path):
        _require_new(target, force=plans[0].force, planned=bool(purposes))
    pairs = zip(plans, names, strict=True)
    series = Series(VERSION, tuple(purposes), tuple(SeriesRun(name, plan.output.name, str(plan.chosen.built)) for plan, name in pairs))
    diagnostics = list(left_behind(path, series, before))
    failure: PtttoolError | None = None
    stopped_by: str | None = None
    recorded: list[tuple[Plan, Recorded]] = []
    for number, plan in enumerate(plans):
        problem = _saved(path, series.with_run(number, RunState.RECORDING))
        if problem is not None:
            series, failure = series.with_run(number, RunState.FAILED, problem.message), failure or problem
            break
        try:
            done = record(number, plan)
        except PtttoolError as error:
            series, failure = series.with_run(number, RunState.FAILED, error.message), failure or error
            _saved(path, series)
            if error.code == "no-such-recording":
                continue
            break
        except BaseException:
            if recorded:
                series = series.with_run(number, RunState.FAILED, "interrupted")
                _saved(path, series)
                if report is not None and (missing := series.missing_diagnostic(str(path))) is not None:
                    report(missing)
            else:
                put_back(path, before)
            raise
        recorded.append((plan, done))
        series, stopped_by = series.with_run(number, RunState.RECORDED), done.stopped_by
        problem = _saved(path, series)
        if problem is not None or stopped_by is not None:
            failure = failure or problem
            break
    if not recorded and failure is not None:
        put_back(path, before)
        raise failure
    missing = series.missing_diagnostic(str(path))
    return RecordedSeries(path, series, tuple(recorded), stopped_by, failure, (*diagnostics, *(() if missing is None else (missing,))))


def _require_new(path: Path, *, force: bool, planned: bool) -> None:
    try:
        require_output(path, force=force)
    except OutputError as error:
        if error.code == "exists" and not planned:
            error.hint = "move it away, or name another file with -o; --force would trace all types at once"
        raise


def _saved(path: Path, series: Series) -> PtttoolError | None:
    """Write the file of the series; return why that failed."""
    try:
        save(path, series)
    except OSError as error:
        return output_failure(path, error)
    except PtttoolError as error:
        return error
    return None


def earlier(path: Path) -> Series | None:
    """Return the earlier series of that name; an OutputError where the file is another one, which is not overwritten."""
    try:
        return load(path)
    except InputError as error:
        if error.code == "no-such-file":
            return None
        message = f"{path} is there, and is not the file of a series: {error.reason}"
        raise OutputError(message, hint="move it away, or name another file with -o", code="not-a-series") from None


def put_back(path: Path, before: Series | None) -> None:
    """Undo what a series wrote that recorded nothing: the earlier file is there again."""
    with suppress(OSError, PtttoolError):
        if before is None:
            path.unlink()
        else:
            save(path, before)


def left_behind(path: Path, series: Series, before: Series | None) -> list[Diagnostic]:
    """Name the recordings of an earlier series of that name that this one does not replace."""
    ours = {run.file for run in series.runs}
    left = [] if before is None else [run.file for run in before.runs if run.file not in ours and path.with_name(run.file).exists()]
    if not left:
        return []
    message = f"{in_words(clean(name) for name in left)} of an earlier series with that name stay, and do not belong to this one"
    return [Diagnostic(Severity.INFO, "earlier-series", message, where=str(path))]
