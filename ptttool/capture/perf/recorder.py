"""Run ``perf record``: start it, pass signals on to it, wait for its end."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TICK = 0.2
# Seconds for perf to finish its file after it was asked to stop; after that, a further Ctrl-C kills it.
PATIENCE = 10.0
_PR_SET_PDEATHSIG = 1
_MAGIC = b"PERFILE2"
# The size of the data section in the header of perf.data (struct perf_file_header: magic, size, attr_size, attrs, data).
_DATA_SIZE = slice(48, 56)


@dataclass(frozen=True)
class RecordingProgress:
    """How far a recording is.

    Parameters
    ----------
    elapsed : float
        Seconds since perf was started.
    size : int
        Bytes of the file so far; perf writes in steps of MiB.
    stopping : bool
        Whether perf was asked to stop.
    """

    elapsed: float
    size: int
    stopping: bool = False


@dataclass(frozen=True)
class Outcome:
    """How perf ended.

    Parameters
    ----------
    exit_status : int
        As :class:`subprocess.Popen` gives it; for a complete recording it is that of the command that ran meanwhile.
    stderr : str
        All that perf wrote to standard error.
    complete : bool
        Whether perf finished its file.
    stopped_by : str or None
        The first signal that was passed on to perf.
    started, ended : datetime
        Wall time, with its offset from UTC.
    size : int
        Bytes of the file.
    """

    exit_status: int
    stderr: str
    complete: bool
    stopped_by: str | None
    started: datetime
    ended: datetime
    size: int


def is_complete(path: Path) -> bool:
    """Tell whether perf finished the file: an interrupted one has data size 0 in its header, one that never began is empty."""
    try:
        with path.open("rb") as file:
            head = file.read(56)
    except OSError:
        return False
    return len(head) == 56 and head.startswith(_MAGIC) and any(head[_DATA_SIZE])


def with_own_stderr(command: Sequence[str], descriptor: int) -> list[str]:
    """Make a command write to a descriptor as its standard error, while perf's own standard error is read here.

    A shell puts the descriptor in place and becomes the command, so process, status and signals are those of the command.
    """
    return ["sh", "-c", f'exec "$@" 2>&{descriptor} {descriptor}>&-', "sh", *command]


@contextmanager
def duplicate_of_stderr() -> Iterator[int | None]:
    """Give a descriptor of this process's standard error that a shell can name (0 to 9); None where there is none."""
    try:
        descriptor = fcntl.fcntl(2, fcntl.F_DUPFD, 3)
    except OSError:
        yield None
        return
    try:
        yield descriptor if descriptor <= 9 else None
    finally:
        os.close(descriptor)


# Loaded before the fork: between fork and exec nothing may be imported.
_libc = ctypes.CDLL(None)


def _end_with_us() -> None:
    """Have the kernel stop perf if this process is killed: perf would keep the device and the CPU."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)


class Recorder:
    """One ``perf record``.

    In the main thread, Ctrl-C, SIGTERM and SIGHUP stop perf, which then finishes its file. They are passed on as often as they come,
    and never interrupt this process.

    Parameters
    ----------
    arguments : Sequence of str
        The command line, which writes to ``output``.
    output : Path
        The file.
    command_stdout : int or None
        Descriptor for the standard output of perf and its command.
    pass_fds : Sequence of int
        Descriptors that perf's command inherits.
    """

    def __init__(self, arguments: Sequence[str], output: Path, *, command_stdout: int | None = None, pass_fds: Sequence[int] = ()) -> None:
        self._arguments = list(arguments)
        self._output = output
        self._stdout = command_stdout
        self._pass_fds = tuple(pass_fds)
        self._process: subprocess.Popen[bytes] | None = None
        self._signals: list[int] = []
        self._asked = 0.0

    def run(self, progress: Callable[[RecordingProgress], None] = lambda _: None) -> Outcome:
        """Record until the command, the duration or the user ends it.

        Parameters
        ----------
        progress : Callable
            Called several times a second.

        Raises
        ------
        OSError
            perf cannot be started.
        """
        with tempfile.TemporaryFile() as stderr, self._signals_to_perf():
            started, clock = datetime.now(UTC).astimezone(), time.monotonic()
            self._process = subprocess.Popen(
                self._arguments,
                stdout=self._stdout,
                stderr=stderr,
                pass_fds=self._pass_fds,
                preexec_fn=_end_with_us,
                env=os.environ | {"LC_ALL": "C"} if "LC_ALL" in os.environ else None,
            )
            if self._signals:
                # It came before perf was started.
                self._forward(self._signals[-1])
            try:
                while not self._ended():
                    progress(RecordingProgress(time.monotonic() - clock, self._size(), bool(self._signals)))
            except BaseException:
                self._abandon()
                raise
            ended = datetime.now(UTC).astimezone()
            stderr.seek(0)
            text = stderr.read().decode(errors="replace")
        return Outcome(
            exit_status=self._process.returncode,
            stderr=text,
            complete=is_complete(self._output),
            stopped_by=signal.Signals(self._signals[0]).name if self._signals else None,
            started=started,
            ended=ended,
            size=self._size(),
        )

    def _ended(self) -> bool:
        assert self._process is not None
        try:
            self._process.wait(_TICK)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _size(self) -> int:
        try:
            return self._output.stat().st_size
        except OSError:
            return 0

    def _abandon(self) -> None:
        """Stop perf after a failure of this process."""
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @contextmanager
    def _signals_to_perf(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():  # only the main thread can handle signals
            yield
            return
        before = {number: signal.signal(number, self._on_signal) for number in STOP_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        self._signals.append(number)
        self._asked = self._asked or now
        if now - self._asked > PATIENCE and self._process is not None and self._process.poll() is None:
            self._process.kill()  # it had its time, and the user asks again
        else:
            self._forward(number)

    def _forward(self, number: int) -> None:
        """Pass a signal on; from a terminal perf has it already (same process group), and a second one does no harm."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT if number == signal.SIGHUP else number)
