"""The program that perf runs while it records: it tells when the trace began, and ends it."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

LAUNCHER = Path(__file__).with_name("launch.py")
UNHEARD = (signal.SIGHUP, signal.SIGQUIT)
"""Signals of a terminal that would kill perf: perf ignores them, and the user's command does not."""


@dataclass(frozen=True)
class Start:
    """When the trace began, as the program that perf ran reported it.

    Parameters
    ----------
    time : float
        On the clock of :func:`time.monotonic`.
    pid : int
        The process that is traced: the trace ends when it ends.
    """

    time: float
    pid: int


class Workload:
    """The program for one recording, with the descriptors that it inherits; a context manager.

    Without seconds and without a command it waits until perf or this process ends.

    Parameters
    ----------
    seconds : float or None
        How long to record.
    command : Sequence of str
        The command to become. Its standard error is that of this process, and its signals are handled as this process found them.
    show_arguments : bool
        Give perf the arguments of the command. perf keeps its own command line in the header of the recording, and arguments can hold
        passwords: without this they reach the launcher through a descriptor.

    Attributes
    ----------
    words : list of str
        The program and its arguments, for perf's command line.
    pass_fds : tuple of int
        The descriptors that it inherits through perf.
    """

    def __init__(self, seconds: float | None = None, command: Sequence[str] = (), *, show_arguments: bool = False) -> None:
        self._report, report = os.pipe()
        alive, self._alive = os.pipe()
        self._theirs = [report, alive]
        task = ["wait"] if seconds is None else ["sleep", f"{seconds:.9g}"]
        if command:
            task = ["run", ",".join(self._heard()), self._stderr(), *self._command(command, show_arguments)]
        self.words = [sys.executable or "python3", "-I", "-S", str(LAUNCHER), str(report), str(alive), *task]
        self.pass_fds = tuple(self._theirs)

    @staticmethod
    def _heard() -> list[str]:
        """Return the signals to restore: not those that this process was started to ignore, as by nohup."""
        return [one.name for one in UNHEARD if signal.getsignal(one) is not signal.SIG_IGN]

    def _stderr(self) -> str:
        """Return a duplicate of standard error, since perf's own is read here; ``-`` where it is closed."""
        try:
            self._theirs.append(fcntl.fcntl(2, fcntl.F_DUPFD_CLOEXEC, 3))
        except OSError:
            return "-"
        return str(self._theirs[-1])

    def _command(self, command: Sequence[str], show: bool) -> list[str]:
        if show:
            return ["-", *command]
        arguments = os.memfd_create("command")
        self._theirs.append(arguments)
        with os.fdopen(os.dup(arguments), "wb") as file:
            file.write(b"".join(os.fsencode(word) + b"\0" for word in command))
        return [str(arguments)]

    def begun(self) -> None:
        """Close the descriptors that perf has inherited; the end of the report is then seen."""
        while self._theirs:
            os.close(self._theirs.pop())

    def fileno(self) -> int:
        """Return the descriptor that can be read once the trace has begun."""
        return self._report

    def start(self) -> Start | None:
        """Read the report; it does not wait only where :meth:`fileno` can be read. None: perf ended before the program ran."""
        words = os.read(self._report, 100).split()
        return Start(int(words[0]) / 1e9, int(words[1])) if len(words) == 2 else None

    def close(self) -> None:
        """End a program that waits or sleeps, and close all descriptors."""
        self.begun()
        for descriptor in (self._report, self._alive):
            with suppress(OSError):
                os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
