"""Run the workload in its own process group, all of which ends with it, with bounded output and time."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
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
        message = f": {last.strip()[:200]}" if last else ""
        match self.ending:
            case Ending.FAILED if self.exit < 0:
                return f"the workload was killed by {_signal_name(-self.exit)}{message}"
            case Ending.FAILED:
                return f"the workload ended with exit status {self.exit}{message}"
            case Ending.TIMEOUT:
                return f"the workload was ended after {self.seconds:.1f} s (--timeout){message}"
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
    outputs = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector, _started(command) as process:
        try:
            for stream, output in zip((process.stdout, process.stderr), outputs, strict=True):
                assert stream is not None
                os.set_blocking(stream.fileno(), False)
                selector.register(stream, selectors.EVENT_READ, output)
            with _end_of(process, selector):
                ending = _watch(process, selector, None if timeout is None else began + timeout, stop)
            ended = time.monotonic()
        finally:
            _end(process)
        if ending is Ending.DONE:  # what is left in the pipes
            until = time.monotonic() + _DRAIN
            while selector.get_map() and time.monotonic() < until and _read(selector, 0.05):
                pass
        else:
            ended = time.monotonic()
    if ending is Ending.DONE and process.returncode:
        ending = Ending.FAILED
    return Finished(ending, process.returncode, ended - began, *map(bytes, outputs))


def _started(command: Sequence[str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    except OSError as error:
        raise UsageError(f"{command[0]}: cannot be started: {error.strerror or error}", code="command-not-started") from None


@contextmanager
def _end_of(process: subprocess.Popen[bytes], selector: selectors.BaseSelector) -> Iterator[None]:
    """Let a selector wake up at the end of a process, too."""
    descriptor = os.pidfd_open(process.pid)
    try:
        selector.register(descriptor, selectors.EVENT_READ)
        yield
        selector.unregister(descriptor)
    finally:
        os.close(descriptor)


def _watch(process: subprocess.Popen[bytes], selector: selectors.BaseSelector, until: float | None, stop: Callable[[], bool]) -> Ending:
    """Read what a process writes until it ends, or is to be ended."""
    while True:
        if stop():
            return Ending.INTERRUPTED
        wait = _LOOK
        if until is not None:
            left = until - time.monotonic()
            if left <= 0:
                return Ending.TIMEOUT
            wait = min(wait, left)
        if not _read(selector, wait):
            return Ending.TOO_MUCH_OUTPUT
        if _has_ended(process):
            return Ending.DONE


def _read(selector: selectors.BaseSelector, wait: float) -> bool:
    """Read once, or wait for the end of the process; False if there is too much."""
    for key, _ in selector.select(wait):
        if key.data is None:  # the process has ended
            continue
        try:
            data = os.read(key.fd, 1 << 16)
        except BlockingIOError:
            continue
        if not data:
            selector.unregister(key.fileobj)
            continue
        key.data.extend(data)
        if len(key.data) > MOST_OUTPUT:
            return False
    return True


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Tell whether a process has ended; it stays a zombie, so that the number of its group is not used again."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process group: with SIGTERM first where the process itself still runs."""
    if process.returncode is None:
        if not _has_ended(process):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            until = time.monotonic() + _GRACE
            while not _has_ended(process) and time.monotonic() < until:
                time.sleep(0.02)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
