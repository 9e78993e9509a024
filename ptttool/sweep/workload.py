"""Run the workload in its own process group, all of which ends with it, with bounded output and time."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import StrEnum

from msgspec import Struct

from ptttool.errors import UsageError

MOST_OUTPUT = 16 << 20
"""Bytes of standard output, and of standard error, that a run may write."""

# Seconds between looks for a signal; seconds that a process gets to end after SIGTERM, and its children to close their output.
_LOOK, _GRACE, _DRAIN = 0.1, 3.0, 1.0


class Ending(StrEnum):
    """How a run ended."""

    DONE = "done"
    FAILED = "failed"
    """It ended with an exit status other than 0, or by a signal."""
    TIMEOUT = "timeout"
    TOO_MUCH_OUTPUT = "too-much-output"
    INTERRUPTED = "interrupted"
    """ptttool itself was interrupted."""


class Finished(Struct, frozen=True):
    """A run of the workload.

    Parameters
    ----------
    ending : Ending
        How it ended.
    exit : int
        Its exit status; minus the number of the signal that ended it.
    seconds : float
        How long it ran.
    stdout, stderr : bytes
        What it wrote.
    """

    ending: Ending
    exit: int
    seconds: float
    stdout: bytes
    stderr: bytes

    @property
    def reason(self) -> str:
        """Say why there is no metric; empty for a run that is done."""
        last = next((line for line in reversed(self.stderr.decode("utf-8", "replace").splitlines()) if line.strip()), "")
        said = f": {last.strip()[:200]}" if last else ""
        match self.ending:
            case Ending.FAILED if self.exit < 0:
                return f"the workload was killed by {_signal_name(-self.exit)}{said}"
            case Ending.FAILED:
                return f"the workload ended with exit status {self.exit}{said}"
            case Ending.TIMEOUT:
                return f"the workload was ended after {self.seconds:.1f} s (--timeout){said}"
            case Ending.TOO_MUCH_OUTPUT:
                return f"the workload wrote more than {MOST_OUTPUT >> 20} MiB"
            case _:
                return ""


def require_command(command: Sequence[str]) -> None:
    """Raise UsageError if there is no such program."""
    import shutil

    if not command or not command[0]:
        raise UsageError("the workload is missing", hint="write the program to run after --: -- fio job.fio", code="no-command")
    if shutil.which(command[0]) is None:
        raise UsageError(f"{command[0]}: program not found", hint="is it installed, and on PATH?", code="command-not-found")


def run_workload(command: Sequence[str], timeout: float | None = None, stop: Callable[[], bool] = lambda: False) -> Finished:
    """Run a command to its end.

    It reads nothing, and is in a session of its own: Ctrl-C reaches this process alone. What its process group leaves running is killed.

    Parameters
    ----------
    command : Sequence of str
        The program and its arguments.
    timeout : float, optional
        Seconds after which it is ended.
    stop : callable
        Asked several times a second: True ends it.

    Raises
    ------
    UsageError
        It cannot be started.
    """
    began = time.monotonic()
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    except OSError as error:
        raise UsageError(f"{command[0]}: cannot be started: {error.strerror or error}", code="command-not-started") from None
    try:
        run = _Run(process, began)
        ending = run.watch(timeout, stop)
    finally:
        _end(process)
    if ending is Ending.DONE:
        run.read_rest()
    run.close()
    seconds = (run.ended or time.monotonic()) - began
    if ending is Ending.DONE and process.returncode:
        ending = Ending.FAILED
    return Finished(ending, process.returncode, seconds, bytes(run.outputs[0]), bytes(run.outputs[1]))


class _Run:
    """A process and what it writes."""

    def __init__(self, process: subprocess.Popen[bytes], began: float) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._began = began
        self.ended: float | None = None
        self.outputs = [bytearray(), bytearray()]
        self._selector = selectors.DefaultSelector()
        for number, stream in enumerate((process.stdout, process.stderr)):
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ, number)
        # Can be read once the process has ended.
        self._end = os.pidfd_open(process.pid)
        self._selector.register(self._end, selectors.EVENT_READ)

    def watch(self, timeout: float | None, stop: Callable[[], bool]) -> Ending:
        """Read what the process writes until it ends, or is to be ended."""
        while True:
            if stop():
                return Ending.INTERRUPTED
            wait = _LOOK
            if timeout is not None:
                left = self._began + timeout - time.monotonic()
                if left <= 0:
                    return Ending.TIMEOUT
                wait = min(wait, left)
            if not self._read(wait):
                return Ending.TOO_MUCH_OUTPUT
            if self._has_ended():
                self.ended = time.monotonic()
                return Ending.DONE

    def read_rest(self) -> None:
        """Read what is left in the pipes once the process group has ended."""
        self._selector.unregister(self._end)
        until = time.monotonic() + _DRAIN
        while self._selector.get_map() and time.monotonic() < until and self._read(0.05):
            pass

    def close(self) -> None:
        """Close the pipes."""
        self._selector.close()
        os.close(self._end)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def _has_ended(self) -> bool:
        """Tell whether the process has ended; it stays a zombie, so that the number of its group is not used again."""
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _read(self, wait: float) -> bool:
        """Read once, or wait for the end of the process; False if there is too much."""
        for key, _ in self._selector.select(wait):
            if key.fd == self._end:
                continue
            try:
                data = os.read(key.fd, 1 << 16)
            except BlockingIOError:
                continue
            if not data:
                self._selector.unregister(key.fileobj)
                continue
            self.outputs[key.data] += data
            if len(self.outputs[key.data]) > MOST_OUTPUT:
                return False
        return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process group: with SIGTERM first where the process itself still runs."""
    flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
    if process.returncode is None:
        if os.waitid(os.P_PID, process.pid, flags) is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            until = time.monotonic() + _GRACE
            while os.waitid(os.P_PID, process.pid, flags) is None and time.monotonic() < until:
                time.sleep(0.02)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
