"""The one tree of errors, and the exit codes of the command line.

Every error class has the exit code of its kind. :class:`ExitCode` is the only table of codes and meanings: the manual page is made
from it, and a test compares the documentation with it.
"""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import Any, Self


class ExitCode(IntEnum):
    """Exit codes of the command line, each with its meaning in one line.

    Attributes
    ----------
    meaning : str
        What the code says, in Markdown: commands and options stand in backticks.
    """

    meaning: str

    def __new__(cls, value: int, meaning: str) -> ExitCode:
        """Make a member from its number and meaning."""
        code = int.__new__(cls, value)
        code._value_ = value
        code.meaning = meaning
        return code

    SUCCESS = 0, "success"
    DIFFERENT = (
        1,
        "`tune diff`: the values differ; `tune recover`: tune attributes are half done; `doctor`: whether a trace would work is not known; "
        "`trace --until`: not found",
    )
    USAGE = 2, "wrong usage: an option, an argument, an expression"
    NO_DEVICE = 3, "no device, or no driver"
    NO_PERMISSION = 4, "no permission"
    PERF = 5, "perf failed, or the trace is empty, not what was asked for, or with `--fail-on-loss` incomplete"
    FILE = 6, "bad input: a damaged, foreign or unreadable file; or the output cannot be written"
    HARDWARE = 7, "hardware: no answer in time, or the value read back differs from the one written"
    PACKAGE = 8, "an optional package is missing, or a plug-in is broken"
    WORKERS = 9, "the processes, or the cluster of `--scheduler`, that do the work failed"
    WORKLOAD = 10, "the workload of `tune sweep` failed, or printed no metric"
    INTERNAL = 70, "an internal error: a defect of ptttool or of a plug-in"
    BUSY = 75, "busy: another ptttool works on the same machine or device; try again"
    HANGUP = 129, "ended by SIGHUP: the terminal was closed"
    INTERRUPTED = 130, "interrupted: Ctrl-C (SIGINT)"
    QUIT = 131, "ended by SIGQUIT"
    TERMINATED = 143, "ended by SIGTERM"
    CPU_TIME = 152, "ended by SIGXCPU: the limit of CPU time was reached"

    @classmethod
    def of_signal(cls, number: int) -> ExitCode:
        """Return the code of a command that a signal ended: by convention 128 plus the signal's number."""
        return next((code for code in cls if code == 128 + number), cls.INTERRUPTED)


class PtttoolError(Exception):
    """A failure, with what a person or a script needs to react to it.

    Parameters
    ----------
    message : str
        What is wrong, in one line.
    hint : str, optional
        What to do next, in one line.
    code : str, optional
        A stable word in kebab case, one for each cause (``"device-busy"``). Default: the code of the class.
    **details
        Further facts for ``--json``: numbers and strings.

    Attributes
    ----------
    exit_code : ExitCode
        Exit code of the command line for errors of this class.
    """

    exit_code: ExitCode = ExitCode.DIFFERENT
    code = "error"

    def __init__(self, message: str, *, hint: str | None = None, code: str | None = None, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if code is not None:
            self.code = code
        self.details = details

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle every attribute: exceptions are otherwise made anew from their message alone."""
        return _restored, (type(self), self.args, self.__dict__)

    def amended(self, clause: str, **details: Any) -> Self:
        """Add a clause to the message and facts to the details; return the error itself."""
        self.message = f"{self.message}; {clause}"
        self.args = (self.message,)
        self.details = self.details | details
        return self


def _restored(kind: type[PtttoolError], arguments: tuple[Any, ...], state: dict[str, Any]) -> PtttoolError:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    error.__dict__.update(state)
    return error


class UsageError(PtttoolError):
    """An option, an argument or an expression that is not valid."""

    exit_code = ExitCode.USAGE
    code = "usage"


class DeviceError(PtttoolError):
    """The device or its driver is not there."""

    exit_code = ExitCode.NO_DEVICE
    code = "no-device"


class AccessError(PtttoolError):
    """The operating system denies permission."""

    exit_code = ExitCode.NO_PERMISSION
    code = "no-permission"


class PerfError(PtttoolError):
    """perf is missing, cannot record, or failed."""

    exit_code = ExitCode.PERF
    code = "perf-failed"


class EmptyTraceError(PerfError):
    """perf ended normally and the recording holds no trace."""

    code = "empty-trace"


class NotAsAskedError(PerfError):
    """perf ended normally, and the recording holds TLPs that its event cannot have traced."""

    code = "not-as-asked"


class LossError(PerfError):
    """perf ended normally, and there are signs that something is missing from the recording; ``--fail-on-loss`` was given."""

    code = "loss"


class InputError(PtttoolError):
    """A file cannot be read as what it should be.

    Parameters
    ----------
    path : str or Path
        The file.
    reason : str
        What is wrong with it. Path, offset and reason make up the message.
    offset : int, optional
        Location in bytes from the start of the file; None if there is no such location.
    hint, code, **details
        See :class:`PtttoolError`.
    """

    exit_code = ExitCode.FILE
    code = "bad-input"

    def __init__(
        self,
        path: str | Path,
        reason: str,
        *,
        offset: int | None = None,
        hint: str | None = None,
        code: str | None = None,
        **details: Any,
    ) -> None:
        # A sentence about "." names no folder.
        where = Path(path).absolute() if str(path) in (".", "..") else path
        location = f"{where}" if offset is None else f"{where}: offset {offset:#x}"
        super().__init__(f"{location}: {reason}", hint=hint, code=code, **details)
        self.path = str(path)
        self.offset = offset
        self.reason = reason


class OutputError(PtttoolError):
    """The output cannot be written: the disk is full, or the file exists and ``--force`` is not given."""

    exit_code = ExitCode.FILE
    code = "cannot-write"


class HardwareError(PtttoolError):
    """The device did not answer in time, or holds another value than the one written."""

    exit_code = ExitCode.HARDWARE
    code = "hardware"


class WorkersError(PtttoolError):
    """The processes or the cluster cannot do the work."""

    exit_code = ExitCode.WORKERS
    code = "workers"


class WorkloadError(PtttoolError):
    """The workload of a sweep failed, or did not print what is to be measured."""

    exit_code = ExitCode.WORKLOAD
    code = "workload-failed"


def _how_to_add(extra: str, package: str) -> str:
    """Say how to install what an extra of ptttool brings, in the way in which ptttool itself is installed."""
    import shlex
    import sys
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = [line.partition(";") for line in requires("ptttool") or []]
    except PackageNotFoundError:  # it runs from a clone that is not installed
        lines = []
    quoted = (f"extra == '{extra}'", f'extra == "{extra}"')
    packages = shlex.join([needed.strip() for needed, _, condition in lines if condition.strip() in quoted] or [package])
    prefix = Path(sys.prefix)
    if (prefix / "pipx_metadata.json").exists():
        return f"pipx inject ptttool {packages}"
    if (prefix / "uv-receipt.toml").exists():
        return f"in a clone of ptttool: uv tool install --reinstall '.[{extra}]'"
    if (prefix.parent / "CONTENTS").exists() and (prefix.parent / "bin" / "ptttool").exists():
        return f"this is the bundle, which takes no packages; in a clone of ptttool: pipx install '.[{extra}]'"
    return f"{shlex.quote(sys.executable)} -m pip install {packages}"


class MissingPackageError(PtttoolError):
    """An optional package that this job needs is not installed."""

    exit_code = ExitCode.PACKAGE
    code = "missing-package"

    @classmethod
    def of_extra(cls, what: str, package: str, extra: str) -> MissingPackageError:
        """Make the error for a package that an extra of ptttool installs.

        Parameters
        ----------
        what : str
            What needs the package: the subject of the message.
        package : str
            The package that is missing.
        extra : str
            The extra that installs it, such as ``flow``.
        """
        return cls(f"{what} needs the package {package}", hint=_how_to_add(extra, package), package=package)


class PlugInError(PtttoolError):
    """A package that adds something to ptttool is broken."""

    exit_code = ExitCode.PACKAGE
    code = "bad-plug-in"


class BusyError(PtttoolError):
    """Another process holds the lock of the machine or the device."""

    exit_code = ExitCode.BUSY
    code = "locked"


class InternalError(PtttoolError):
    """Something happened that no code expects: a defect of ptttool, or of a plug-in."""

    exit_code = ExitCode.INTERNAL
    code = "internal-error"

    @classmethod
    def of(cls, error: BaseException) -> InternalError:
        """Make the error for an exception; the message has its first line, and the innermost line of code that is not a library's."""
        lines = str(error).strip().splitlines()
        name = type(error).__name__
        place = _place_of(error)
        text = f"internal error: {name}" + (f": {lines[0]}" if lines else "") + (f" ({place})" if place else "")
        return cls(text, exception=name, **({"place": place} if place else {}))


def _place_of(error: BaseException) -> str | None:
    """Return file and line: the innermost one of ptttool, or of whatever there is if none is."""
    here = str(Path(__file__).parent)
    places = []
    trace = error.__traceback__
    while trace is not None:
        places.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    ours = [(path.removeprefix(f"{Path(here).parent}/"), line) for path, line in places if path.startswith(f"{here}/")]
    chosen = (ours or places)[-1:]
    return f"{chosen[0][0]}:{chosen[0][1]}" if chosen else None


class InterruptedByUserError(PtttoolError):
    """Ctrl-C or another signal that ends a command, with nothing to keep.

    Parameters
    ----------
    message : str
        What was interrupted.
    ending : int, optional
        Number of the signal: the exit code is the signal's. Default: SIGINT.
    hint, code, **details
        See :class:`PtttoolError`.
    """

    exit_code = ExitCode.INTERRUPTED
    code = "interrupted"

    def __init__(
        self, message: str, *, ending: int | None = None, hint: str | None = None, code: str | None = None, **details: Any
    ) -> None:
        super().__init__(message, hint=hint, code=code, **details)
        if ending is not None:
            self.exit_code = ExitCode.of_signal(ending)
