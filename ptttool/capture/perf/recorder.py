"""Run ``perf record``: start it, pass signals on to it, wait for its end."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType

from ptttool.capture.perf.workload import UNHEARD, Start, Workload

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_TICK = 0.2
# Seconds for perf to finish its file after it was asked to stop; after that, a further Ctrl-C kills it.
PATIENCE = 10.0
# Seconds that perf gets to finish its file after a failure of this process: it took 15 on a slow machine.
_LAST_PATIENCE = 60.0
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
        Seconds since the trace began; 0 before that.
    size : int
        Bytes of the file so far; perf writes in steps of half the AUX area.
    stopping : bool
        Whether perf was asked to stop.
    tracing : bool
        Whether the trace has begun.
    """

    elapsed: float
    size: int
    stopping: bool = False
    tracing: bool = True


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
        Wall time, with its offset from UTC: when the trace began and ended; where it did not begin, when perf was started and ended.
    size : int
        Bytes of the file.
    traced : float or None
        Seconds from when the trace began, as the program that perf ran reported it, to the end of that program, or to the signal that
        stopped perf where that came before. perf's own start and end are not in it. None: the trace was not seen to begin.
    """

    exit_status: int
    stderr: str
    complete: bool
    stopped_by: str | None
    started: datetime
    ended: datetime
    size: int
    traced: float | None = None


def is_complete(path: Path) -> bool:
    """Tell whether perf finished the file: an interrupted one has data size 0 in its header, one that never began is empty."""
    try:
        with path.open("rb") as file:
            head = file.read(56)
    except OSError:
        return False
    return len(head) == 56 and head.startswith(_MAGIC) and any(head[_DATA_SIZE])


@contextmanager
def handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle the signals that end a recording; those of the terminal that were ignored stay ignored (nohup)."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread can handle signals
        yield
        return
    heard = [number for number in STOP_SIGNALS if number not in UNHEARD or signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in heard}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


@contextmanager
def signals_held() -> Iterator[None]:
    """Keep the signals that end a recording from ending this process."""
    # Not SIG_IGN, which processes inherit that are started meanwhile.
    with handled(lambda _number, _frame: None):
        yield


# Loaded before the fork: between fork and exec nothing may be imported.
_libc = ctypes.CDLL(None)


def _prepare_perf() -> None:
    """Have the kernel stop perf if this process is killed, since perf would keep the device and the CPU; survive the terminal's end.

    perf has no handler for SIGHUP and SIGQUIT: they would kill it with all the trace that it has not written yet.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)
    for number in UNHEARD:
        signal.signal(number, signal.SIG_IGN)


class Recorder:
    """One ``perf record``.

    In the main thread, SIGINT, SIGTERM, SIGHUP and SIGQUIT stop perf, which then finishes its file. They are passed on as often as they
    come, and never interrupt this process. SIGHUP is ignored where it was ignored before (nohup).

    Parameters
    ----------
    arguments : Sequence of str
        The command line, which writes to ``output``.
    output : Path
        The file.
    workload : Workload or None
        The program in that command line, which tells when the trace begins; the caller closes it.
    command_stdout : int or None
        Descriptor for the standard output of perf and its command.
    """

    def __init__(
        self, arguments: Sequence[str], output: Path, *, workload: Workload | None = None, command_stdout: int | None = None
    ) -> None:
        self._arguments = list(arguments)
        self._output = output
        self._workload = workload
        self._stdout = command_stdout
        self._process: subprocess.Popen[bytes] | None = None
        self._signals: list[int] = []
        self._asked = 0.0
        self._start: Start | None = None
        self._end = 0.0

    def run(self, progress: Callable[[RecordingProgress], None] = lambda _: None) -> Outcome:
        """Record until the command, the duration or the user ends it.

        Parameters
        ----------
        progress : Callable
            Called several times a second. An OSError of it (the terminal is gone) ends the calls and not the recording.

        Raises
        ------
        OSError
            perf cannot be started.
        """
        # Not a temporary file: there may be no folder that can be written.
        with os.fdopen(os.memfd_create("perf-stderr"), "w+b") as stderr, handled(self._on_signal):
            began, clock = datetime.now(UTC).astimezone(), time.monotonic()
            self._process = subprocess.Popen(
                self._arguments,
                stdout=self._stdout,
                stderr=stderr,
                pass_fds=() if self._workload is None else self._workload.pass_fds,
                preexec_fn=_prepare_perf,
                env=os.environ | {"LC_ALL": "C"} if "LC_ALL" in os.environ else None,
            )
            if self._workload is not None:
                self._workload.begun()
            if self._signals:
                # It came before perf was started.
                self._forward(self._signals[-1])
            try:
                self._watch(progress)
            except BaseException:
                self._abandon()
                raise
            ended = time.monotonic()
            stderr.seek(0)
            text = stderr.read().decode(errors="replace")
        start, end = (clock, ended) if self._start is None else (self._start.time, self._end or ended)
        if self._start is not None and self._asked:
            end = max(min(end, self._asked), start)
        return Outcome(
            exit_status=self._process.returncode,
            stderr=text,
            complete=is_complete(self._output),
            stopped_by=signal.Signals(self._signals[0]).name if self._signals else None,
            started=began + timedelta(seconds=start - clock),
            ended=began + timedelta(seconds=end - clock),
            size=self._size(),
            traced=None if self._start is None else end - start,
        )

    def _watch(self, progress: Callable[[RecordingProgress], None]) -> None:
        """Wait for perf's end."""
        assert self._process is not None
        report: Callable[[RecordingProgress], None] | None = progress
        with _Ends() as ends:
            perf = ends.add_process(self._process.pid)
            announced = None if self._workload is None else ends.add(self._workload.fileno())
            task: int | None = None
            while self._process.poll() is None:
                ready = ends.wait() if perf is not None else self._tick()
                if announced in ready and self._workload is not None:
                    ends.remove(self._workload.fileno())
                    announced, self._start = None, self._workload.start()
                    task = None if self._start is None else ends.add_process(self._start.pid)
                    if task is None and perf is not None:  # it has ended already
                        self._end = time.monotonic()
                if task is not None and task in ready:
                    self._end = time.monotonic()
                    ends.remove(task)
                    task = None
                if report is not None:
                    try:
                        report(self._progress())
                    except OSError:  # the terminal is gone; the recording goes on
                        report = None

    def _progress(self) -> RecordingProgress:
        elapsed = 0.0 if self._start is None else time.monotonic() - self._start.time
        return RecordingProgress(elapsed, self._size(), bool(self._signals), tracing=self._start is not None)

    def _tick(self) -> list[int]:
        time.sleep(_TICK)
        return []

    def _size(self) -> int:
        try:
            return self._output.stat().st_size
        except OSError:
            return 0

    def _abandon(self) -> None:
        """Stop perf after a failure of this process; what it has recorded is worth keeping."""
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.wait(_LAST_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        self._signals.append(number)
        self._asked = self._asked or now
        running = self._process is not None and self._process.poll() is None
        if number == signal.SIGINT and now - self._asked > PATIENCE and running:
            assert self._process is not None
            self._process.kill()  # it had its time, and the user asks again
        else:
            self._forward(number)

    def _forward(self, number: int) -> None:
        """Pass a signal on; from a terminal perf has it already (same process group), and a second one does no harm."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT if number in UNHEARD else number)


class _Ends:
    """Waits until a descriptor can be read: a pipe, or that of a process that has ended. A context manager."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._processes: list[int] = []

    def add(self, descriptor: int) -> int:
        """Wait for a descriptor, too."""
        self._poll.register(descriptor, select.POLLIN)
        return descriptor

    def add_process(self, pid: int) -> int | None:
        """Wait for the end of a process, too; None where it has ended, or the kernel is older than 5.3."""
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:
            return None
        self._processes.append(descriptor)
        return self.add(descriptor)

    def remove(self, descriptor: int) -> None:
        """Wait for a descriptor no longer."""
        self._poll.unregister(descriptor)

    def wait(self) -> list[int]:
        """Return the descriptors that can be read, after at most a moment."""
        return [descriptor for descriptor, _ in self._poll.poll(_TICK * 1000)]

    def __enter__(self) -> _Ends:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._processes:
            with suppress(OSError):
                os.close(descriptor)
