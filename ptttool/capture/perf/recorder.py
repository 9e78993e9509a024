"""Run ``perf record``: start it, turn its event on and off, run a command meanwhile, wait for its end."""

from __future__ import annotations

import errno
import os
import re
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType

from msgspec import Struct

from ptttool.capture.perf.child import UNHEARD, prepare_perf, signal_of_death
from ptttool.capture.perf.switch import STOP_SIGNALS, Switch

_TICK = 0.2
# Seconds for perf to finish its file after it was asked to stop; after that, a further Ctrl-C kills it.
PATIENCE = 10.0
# Seconds that perf gets to finish its file after a failure of this process: it took 15 on a slow machine.
_LAST_PATIENCE = 60.0
# Seconds that perf gets to turn its event on: it took 46 to start on a slow machine.
ANSWER = 180.0
# What perf writes to standard error when it turns its events on and off.
_SWITCHED = re.compile(r"^Events (enabled|disabled)\n", re.MULTILINE)
_MAGIC = b"PERFILE2"
# The size of the data section in the header of perf.data (struct perf_file_header: magic, size, attr_size, attrs, data).
_DATA_SIZE = slice(48, 56)


class RecordingProgress(Struct, frozen=True):
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


class Outcome(Struct, frozen=True):
    """How perf ended.

    Parameters
    ----------
    exit_status : int
        As :class:`subprocess.Popen` gives it.
    stderr : str
        What perf wrote to standard error, without its notes on turning the event on and off.
    complete : bool
        Whether perf finished its file.
    stopped_by : str or None
        The first signal that stopped the recording.
    started, ended : datetime
        Wall time, with its offset from UTC: when the event was seen on, and seen off; where it was not, when perf was started and ended.
    size : int
        Bytes of the file.
    traced : float or None
        Seconds between perf's answers that the event is on and off; None where it did not give both.
    traced_at_least : float or None
        Seconds for which the event was certainly on; None where nothing is certain, or :attr:`traced` is known.
    begun : bool
        Whether the event was seen on.
    unanswered : bool
        Whether perf was ended because it did not say in :data:`ANSWER` seconds that the event is on.
    asked : bool
        Whether perf ended because it was asked to, by the duration, the end of the command or a signal.
    command_status : int or None
        How the command ended, as :class:`subprocess.Popen` gives it; None without one, or where it was not run.
    command_stopped : bool
        Whether the command was ended because the recording ended first.
    """

    exit_status: int
    stderr: str
    complete: bool
    stopped_by: str | None
    started: datetime
    ended: datetime
    size: int
    traced: float | None = None
    traced_at_least: float | None = None
    begun: bool = False
    unanswered: bool = False
    asked: bool = False
    command_status: int | None = None
    command_stopped: bool = False


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


def _prepare_command() -> None:
    """Have the kernel end the command if this process is killed."""
    signal_of_death(signal.SIGTERM)


def _end_with(process: subprocess.Popen[bytes], ends: selectors.BaseSelector, closing: ExitStack) -> None:
    """Have a wait end with a process, too, where the kernel can (5.3)."""
    with suppress(OSError, AttributeError):  # a Python that was built with older headers does not have it
        descriptor = os.pidfd_open(process.pid)
        closing.callback(os.close, descriptor)
        ends.register(descriptor, selectors.EVENT_READ)


class Recorder:
    """One ``perf record``.

    In the main thread, SIGINT, SIGTERM, SIGHUP and SIGQUIT end the trace: perf turns the event off, says so, and finishes its file. They
    never interrupt this process. perf is then in a process group of its own, so Ctrl-C reaches it through this process alone. SIGHUP is
    ignored where it was ignored before (nohup).

    Parameters
    ----------
    arguments : Sequence of str
        The command line, which writes to ``output`` and has the words of the switch.
    output : Path
        The file.
    switch : Switch
        Turns the event on and off; the caller closes it.
    seconds : float or None
        How long to trace. None: until the command ends; without one, until a signal.
    command : Sequence of str
        Runs while the event is on.
    command_stdout : int or None
        Descriptor for the standard output of the command.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        output: Path,
        switch: Switch,
        *,
        seconds: float | None = None,
        command: Sequence[str] = (),
        command_stdout: int | None = None,
    ) -> None:
        self._arguments = list(arguments)
        self._output = output
        self._switch = switch
        self._seconds = seconds
        self._words = list(command)
        self._stdout = command_stdout
        self._process: subprocess.Popen[bytes] | None = None
        self._command: subprocess.Popen[bytes] | None = None
        self._status: int | None = None
        self._command_stopped = False
        self._signals: list[int] = []
        self._signalled = 0.0
        self._told_to_end = 0.0
        self._unanswered = False
        self._turned_off = False

    def run(self, progress: Callable[[RecordingProgress], None] | None = None) -> Outcome:
        """Record until the command, the duration or the user ends it.

        Parameters
        ----------
        progress : Callable, optional
            Called several times a second. An OSError of it (the terminal is gone) ends the calls and not the recording.

        Raises
        ------
        OSError
            perf cannot be started.
        """
        # Not a temporary file: there may be no folder that can be written.
        with os.fdopen(os.memfd_create("perf-stderr"), "w+b") as stderr, handled(self._on_signal):
            began, clock = datetime.now(UTC).astimezone(), time.monotonic()
            # In another thread no signal is handled: perf takes those of the terminal itself.
            own_group = threading.current_thread() is threading.main_thread()
            self._process = subprocess.Popen(
                self._arguments,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                pass_fds=self._switch.pass_fds,
                preexec_fn=prepare_perf,
                process_group=0 if own_group else None,
                env=os.environ | {"LC_ALL": "C"} if "LC_ALL" in os.environ else None,
            )
            try:
                self._switch.begun(None if self._words else self._seconds)
                if self._signals:
                    # It came before perf was started.
                    self._stop(self._signals[-1])
                perf_ended = self._watch(progress, clock)
                self._end_command()
            except BaseException:
                self._abandon()
                raise
            stderr.seek(0)
            text = _SWITCHED.sub("", stderr.read().decode(errors="replace"))
        switch, status = self._switch, self._process.returncode
        off = switch.disabled if switch.confirms else switch.disabling
        lasted = None
        if switch.enabled is not None and off is not None and (switch.confirms or status >= 0):
            lasted = max(off - switch.enabled, 0.0)
        return Outcome(
            exit_status=status,
            stderr=text,
            complete=is_complete(self._output),
            stopped_by=signal.Signals(self._signals[0]).name if self._signals else None,
            started=began + timedelta(seconds=(switch.enabled or clock) - clock),
            ended=began + timedelta(seconds=(off or perf_ended) - clock),
            size=self._size(),
            traced=lasted if switch.confirms else None,
            traced_at_least=None if switch.confirms else lasted,
            begun=switch.enabled is not None,
            unanswered=self._unanswered,
            asked=switch.disabling is not None or bool(self._signals) or self._told_to_end > 0,
            command_status=self._status,
            command_stopped=self._command_stopped,
        )

    def _watch(self, report: Callable[[RecordingProgress], None] | None, began: float) -> float:
        """Turn the event on and off at the right time, and wait for perf's end; return when that was."""
        assert self._process is not None
        silent: float | None = None
        with selectors.PollSelector() as ends, ExitStack() as closing:
            ends.register(self._switch, selectors.EVENT_READ)
            _end_with(self._process, ends, closing)
            while self._process.poll() is None:
                # Before the wait: what was noted while this process was stopped is read first.
                now = time.monotonic()
                for ready, _ in ends.select(_TICK):
                    if ready.fileobj is not self._switch:  # a process has ended for good
                        ends.unregister(ready.fileobj)
                    elif not self._switch.answered():
                        ends.unregister(self._switch)
                        silent = time.monotonic()
                on, off = self._switch.enabled, self._switch.disabled
                if on is not None and self._words:
                    is_ending = self._signals or self._told_to_end or self._turned_off or self._switch.disabling is not None
                    if self._command is None and not is_ending:
                        self._run_command(ends, closing)
                    if self._command is None or self._command.poll() is not None:
                        self._turn_off()
                since = began if on is None else self._switch.disabling or silent
                unanswered = since is not None and now - since > (ANSWER if on is None else PATIENCE)
                if not self._told_to_end and (off is not None or unanswered):
                    self._told_to_end = now
                    self._unanswered = on is None
                    self._process.send_signal(signal.SIGINT)
                elif self._told_to_end and on is None and now - self._told_to_end > _LAST_PATIENCE:
                    self._process.kill()  # it has never answered
                if report is not None:
                    try:
                        report(self._progress())
                    except OSError:  # the terminal is gone; the recording goes on
                        report = None
        return time.monotonic()

    def _run_command(self, ends: selectors.BaseSelector, closing: ExitStack) -> None:
        try:
            # It has the descriptors that the user's shell opened for it; Python's own are not inherited.
            self._command = subprocess.Popen(self._words, stdout=self._stdout, preexec_fn=_prepare_command, close_fds=False)
        except OSError as error:  # as a shell has it
            with suppress(OSError):
                os.write(2, f"{self._words[0]}: {error.strerror}\n".encode(errors="replace"))
            self._status = 127 if error.errno == errno.ENOENT else 126
            self._turn_off()
        else:
            _end_with(self._command, ends, closing)

    def _turn_off(self) -> None:
        if not self._turned_off:
            self._turned_off = True
            self._switch.off()

    def _end_command(self) -> None:
        """Wait for the command; end one that outlives the trace."""
        if self._command is None:
            return
        if self._command.poll() is None:
            self._command_stopped = True
            self._command.terminate()
        self._status = self._command.wait()

    def _progress(self) -> RecordingProgress:
        on = self._switch.enabled
        elapsed = 0.0 if on is None else (self._switch.disabled or time.monotonic()) - on
        return RecordingProgress(elapsed, self._size(), bool(self._signals), tracing=on is not None)

    def _size(self) -> int:
        try:
            return self._output.stat().st_size
        except OSError:
            return 0

    def _abandon(self) -> None:
        """Stop perf and the command after a failure of this process; what was recorded is worth keeping."""
        for process in (self._process, self._command):
            if process is None:
                continue
            process.terminate()
            try:
                process.wait(_LAST_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        self._signals.append(number)
        self._signalled = self._signalled or now
        if number == signal.SIGINT and now - self._signalled > PATIENCE:  # they had their time, and the user asks again
            for process in (self._process, self._command):
                if process is not None and process.poll() is None:
                    process.kill()
        else:
            self._stop(number)

    def _stop(self, number: int) -> None:
        """End the trace: perf answers that it is off. One that does not trace yet gets the signal itself."""
        if self._process is None:
            return
        if self._process.poll() is not None:
            if self._command is not None and self._command.poll() is None:
                self._command.send_signal(signal.SIGTERM)
        elif self._switch.enabled is not None:
            self._turn_off()
        else:
            self._process.send_signal(signal.SIGINT if number in UNHEARD else number)
