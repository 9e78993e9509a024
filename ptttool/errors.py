"""The one tree of errors; each class owns the exit code of its kind.

| exit | kind                                                        |
| ---- | ----------------------------------------------------------- |
| 2    | wrong usage: an option, an argument, an expression          |
| 3    | no device, no driver                                        |
| 4    | no permission                                               |
| 5    | perf failed, or the trace is empty                          |
| 6    | bad input: a damaged, foreign or unreadable file            |
| 7    | hardware: ETIMEDOUT, or what was read back differs          |
| 8    | an optional package is missing                              |
| 9    | the processes or the cluster that do the work failed        |
| 130  | interrupted                                                 |
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


class PtttoolError(Exception):
    """A failure with everything a person or a script needs to go on.

    ``message``: one line, what is wrong. ``hint``: one line, what to do next. ``code``: a stable word for scripts, distinct by
    cause (``"device-busy"``). ``details``: further facts for ``--json`` (numbers and strings only).
    """

    exit_code = 1
    code = "error"

    def __init__(self, message: str, *, hint: str | None = None, code: str | None = None, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if code is not None:
            self.code = code
        self.details = details

    def __reduce__(self) -> tuple[Any, ...]:
        """Whole from one process to another: exceptions are otherwise made anew of their message alone."""
        return _restored, (type(self), self.args, self.__dict__)

    def as_json(self) -> dict[str, Any]:
        """The error as the value of ``"error"`` in ``--json`` output."""
        body: dict[str, Any] = {"code": self.code, "exit_code": self.exit_code, "message": self.message}
        if self.hint is not None:
            body["hint"] = self.hint
        body.update(self.details)
        return body


def _restored(kind: type[PtttoolError], arguments: tuple[Any, ...], state: dict[str, Any]) -> PtttoolError:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    error.__dict__.update(state)
    return error


class UsageError(PtttoolError):
    """An option, an argument or an expression that cannot mean anything."""

    exit_code = 2
    code = "usage"


class DeviceError(PtttoolError):
    """No such device, or the driver is not there."""

    exit_code = 3
    code = "no-device"


class AccessError(PtttoolError):
    """The operating system refused: no permission."""

    exit_code = 4
    code = "no-permission"


class PerfError(PtttoolError):
    """perf is missing, cannot record, or failed."""

    exit_code = 5
    code = "perf-failed"


class EmptyTraceError(PerfError):
    """perf ended well and traced nothing."""

    code = "empty-trace"


class InputError(PtttoolError):
    """A file that cannot be read as what it should be.

    ``path``, ``offset`` (bytes from the file's start; None where there is no such place) and ``reason`` make up the message.
    """

    exit_code = 6
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
        place = f"{path}" if offset is None else f"{path}: offset {offset:#x}"
        super().__init__(f"{place}: {reason}", hint=hint, code=code, **details)
        self.path = str(path)
        self.offset = offset
        self.reason = reason

    def as_json(self) -> dict[str, Any]:
        body = super().as_json()
        body.update({"path": self.path, "offset": self.offset, "reason": self.reason})
        return body


class OutputError(PtttoolError):
    """What was asked for cannot be written: a full disk, an existing file without --force."""

    exit_code = 6
    code = "cannot-write"


class HardwareError(PtttoolError):
    """The device did not answer in time, or holds another value than was written."""

    exit_code = 7
    code = "hardware"


class WorkersError(PtttoolError):
    """The processes, or the cluster, that should do the work cannot."""

    exit_code = 9
    code = "workers"


class MissingPackageError(PtttoolError):
    """A package that this one job needs is not installed."""

    exit_code = 8
    code = "missing-package"

    @classmethod
    def of_extra(cls, what: str, package: str, extra: str) -> MissingPackageError:
        """``what`` needs a package that comes with an extra of ours."""
        return cls(f"{what} needs the package {package}", hint=f"pip install 'ptttool[{extra}]'", package=package)


class PlugInError(PtttoolError):
    """A package that adds something to this program is broken."""

    exit_code = 8
    code = "bad-plug-in"


class InterruptedByUserError(PtttoolError):
    """Ctrl-C where there was nothing to keep."""

    exit_code = 130
    code = "interrupted"
