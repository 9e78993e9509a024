"""Exceptions that no code expects: one line for a person, and on request a report for the developers. Never a traceback.

Nothing but Python's own modules is imported before something goes wrong: the import of anything else may be what fails.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ptttool.errors import PtttoolError

REPORT_VARIABLE = "PTTTOOL_CRASH_REPORT"

UNSEEN: list[BaseException] = []
"""Exceptions in threads and finalizers, which Python would print: for the report."""

# Interpreters and libraries end the import of a package with one of these when memory is limited.
_PACKAGES = ("numpy", "polars")


def guarded(function: Callable[[], int]) -> int:
    """Call a function that returns an exit code; whatever it raises becomes a message and an exit code.

    In between, exceptions in threads and finalizers are kept for the report instead of being printed.
    """
    import threading
    import warnings

    if not sys.warnoptions:  # of libraries, for developers
        warnings.simplefilter("ignore")
    threading.excepthook = lambda thread: UNSEEN.append(thread.exc_value) if thread.exc_value is not None else None
    sys.unraisablehook = _ignored
    try:
        return function()
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        from ptttool.cli.terminal.talk import report_error

        return report_error(explained(error, sys.argv[1:]), sys.argv[1:])


def _ignored(unraisable: sys.UnraisableHookArgs) -> None:
    """Keep an exception that Python ignores. One that a signal raised must not be lost: the signal comes once more.

    Python ignores it where the signal meets a finalizer or a callback of a weak reference: one runs at the end of each import.
    """
    import signal

    from ptttool.cli.terminal.interrupts import SIGNAL_EXIT

    error, number = unraisable.exc_value, 0
    if isinstance(error, KeyboardInterrupt):
        number = signal.SIGINT
    elif isinstance(error, SystemExit) and isinstance(error.code, int):
        number = error.code - SIGNAL_EXIT
    if number in signal.valid_signals():
        # By a timer, since this function is called where exceptions are ignored.
        signal.signal(signal.SIGALRM, lambda _number, _frame: signal.raise_signal(number))
        signal.setitimer(signal.ITIMER_REAL, 0.01)
    elif error is not None:
        UNSEEN.append(error)


def explained(error: BaseException, arguments: Sequence[str]) -> PtttoolError:
    """Return the error that says what happened, and write the report if one is wanted.

    Parameters
    ----------
    error : BaseException
        What was raised.
    arguments : sequence of str
        The command line: for ``--crash-report``, and for the report.
    """
    from ptttool.errors import InternalError, InterruptedByUserError, MissingPackageError, PtttoolError, WorkersError

    if isinstance(error, PtttoolError):
        explanation = error
    elif isinstance(error, MemoryError):
        explanation = WorkersError("not enough memory", hint="use fewer --jobs or fewer columns", code="no-memory")
    elif isinstance(error, KeyboardInterrupt):
        package = _importing(error)
        if package is None:
            return InterruptedByUserError("interrupted")
        # A library of numpy interrupts the process if it cannot start its threads.
        return InterruptedByUserError(f"interrupted while the package {package} was loaded", hint=_limited())
    elif isinstance(error, RecursionError):
        explanation = InternalError.of(error)
        explanation.code = "too-deep"
    elif (package := _half_imported(error)) is not None:
        explanation = MissingPackageError(
            f"the package {package} cannot be loaded: {_first_line(error)}",
            hint="install it again, for this version of Python",
            code="broken-package",
            package=package,
        )
    else:
        explanation = InternalError.of(error)
    if not isinstance(error, PtttoolError):
        explanation.hint = _limited() or explanation.hint
    if isinstance(explanation, InternalError) or (isinstance(explanation, MissingPackageError) and explanation is not error):
        _add_report(explanation, error, arguments)
    return explanation


def _add_report(explanation: PtttoolError, error: BaseException, arguments: Sequence[str]) -> None:
    """Write the report where one is wanted; the hint says where it is, or how to get one."""
    path = wanted_report(arguments)
    if path is None:
        explanation.hint = (
            explanation.hint or "'ptttool --crash-report FILE ...' writes what the developers need to mend it: please report it"
        )
        return
    from ptttool.cli.crash_report import write_report
    from ptttool.errors import PtttoolError

    try:
        write_report(path, error, arguments, UNSEEN)
    except (PtttoolError, OSError) as problem:
        explanation.hint = f"the crash report cannot be written: {problem}"
    else:
        explanation.hint = (
            f"{explanation.hint}; " if explanation.hint else ""
        ) + f"the crash report is {path}: look through it, and send it to the developers"


def wanted_report(arguments: Sequence[str]) -> str | None:
    """Return the file that ``--crash-report`` before the command names, or the environment."""
    options = iter(arguments)
    for word in options:
        if not word.startswith("-") or word == "--":
            break
        name, equals, value = word.partition("=")
        if name == "--crash-report":
            return value if equals else next(options, None)
    return os.environ.get(REPORT_VARIABLE) or None


def _half_imported(error: BaseException) -> str | None:
    """Return the package of which only a part could be imported, if the error says so."""
    if isinstance(error, ImportError) and error.name is not None and not error.name.startswith("ptttool"):
        return error.name.partition(".")[0]
    # polars swallows the error of its own binary, and lacks names afterwards.
    return _importing(error) if isinstance(error, (ImportError, NameError)) else None


def _importing(error: BaseException) -> str | None:
    """Return the one of the large packages that code of the traceback belongs to."""
    trace: Any = error.__traceback__
    names = set()
    while trace is not None:
        names.add(str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0])
        trace = trace.tb_next
    return next((name for name in _PACKAGES if name in names), None)


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _limited() -> str | None:
    """Return a hint that names the limit of this process's memory, if there is one."""
    # Not by the module resource, which is a library: there may be no memory left to load it.
    try:
        with open("/proc/self/limits") as limits:  # noqa: PTH123 - pathlib may not be loaded either
            soft = next(line.split()[3] for line in limits if line.startswith("Max address space"))
        size = int(soft) / (1 << 20)
    except (OSError, StopIteration, ValueError):  # "unlimited" is no number
        return None
    return f"the memory of this process is limited to {size:.0f} MiB (ulimit -v): raise the limit"
