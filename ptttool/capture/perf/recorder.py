"""Runs ``perf record`` and brings its recording home.

perf writes to a name of its own beside the wanted one and only a good recording takes the wanted name, so a failed one costs
nothing that was there before: neither the last recording nor its ``.old``. (perf itself moves the last recording away, over the one
before, before it knows whether it can record.)
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TICK = 0.2
# Seconds that perf gets to finish its file after it was asked to stop; a further Ctrl-C then kills it.
PATIENCE = 10.0
_PR_SET_PDEATHSIG = 1
_MAGIC = b"PERFILE2"
# Where the header of perf.data keeps the size of its data section (struct perf_file_header: magic, size, attr_size, attrs, data).
_DATA_SIZE = slice(48, 56)


@dataclass(frozen=True)
class Progress:
    """How far a recording has come. ``elapsed``: seconds; ``size``: bytes of the file so far (perf writes in steps of MiB)."""

    elapsed: float
    size: int
    stopping: bool = False


@dataclass(frozen=True)
class Outcome:
    """How perf ended.

    ``exit_status``: as :class:`subprocess.Popen` gives it; of a complete recording it is the traced command's. ``complete``: perf has
    finished its file. ``stopped_by``: the signal that ended it early through us, if one did.
    """

    exit_status: int
    stderr: str
    complete: bool
    stopped_by: str | None
    started: datetime
    ended: datetime
    size: int


class Destination:
    """The wanted file, and the unfinished one beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unfinished = path.with_name(f"{path.name}.{os.getpid()}.part")

    def keep(self, companion: Callable[[Path], Path] | None = None) -> Path | None:
        """Give the recording its name; what had it becomes ``.old``, companion file (its sidecar) included. Returns the ``.old`` name.

        Raises OSError; the recording then still has its unfinished name.
        """
        old = Path(f"{self.path}.old")
        moved = None
        if self.path.is_file() and self.path.stat().st_size:
            self.path.replace(old)
            moved = old
        if companion is not None:
            with suppress(OSError):  # a recording is worth more than the file beside it
                if moved is not None:
                    companion(old).unlink(missing_ok=True)
                    if companion(self.path).is_file():
                        companion(self.path).replace(companion(old))
                companion(self.path).unlink(missing_ok=True)
        self.unfinished.replace(self.path)
        return moved

    def discard(self) -> None:
        """Remove the unfinished recording."""
        self.unfinished.unlink(missing_ok=True)


def is_complete(path: Path) -> bool:
    """Whether perf finished the file: an interrupted one has data size 0 in its header, one that never began is empty."""
    try:
        with path.open("rb") as file:
            head = file.read(56)
    except OSError:
        return False
    return len(head) == 56 and head.startswith(_MAGIC) and any(head[_DATA_SIZE])


def with_own_stderr(command: Sequence[str], descriptor: int) -> list[str]:
    """A traced command that keeps our standard error, while perf's own goes where we can read it.

    A shell puts the descriptor in place and becomes the command, so process, status and signals are the command's own.
    """
    return ["sh", "-c", f'exec "$@" 2>&{descriptor} {descriptor}>&-', "sh", *command]


@contextmanager
def duplicate_of_stderr() -> Iterator[int | None]:
    """A low descriptor of our standard error for the traced command; None where there is none that a shell can name (0 to 9)."""
    try:
        descriptor = fcntl.fcntl(2, fcntl.F_DUPFD, 3)
    except OSError:
        yield None
        return
    try:
        yield descriptor if descriptor <= 9 else None
    finally:
        os.close(descriptor)


# Found before the fork: between fork and exec nothing may be imported.
_libc = ctypes.CDLL(None)


def _end_with_us() -> None:
    """Have the kernel stop perf should this process be killed: it would hold the device, and the CPU, without end."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)


class Recorder:
    """One ``perf record``.

    ``arguments``: the command line, which writes to ``output``. Ctrl-C, SIGTERM and SIGHUP stop perf, which then finishes its file;
    they do so again and again while it does, and never interrupt us.
    """

    def __init__(self, arguments: Sequence[str], output: Path, *, command_stdout: int | None = None, pass_fds: Sequence[int] = ()) -> None:
        self._arguments = list(arguments)
        self._output = output
        self._stdout = command_stdout
        self._pass_fds = tuple(pass_fds)
        self._process: subprocess.Popen[bytes] | None = None
        self._signals: list[int] = []
        self._asked = 0.0

    def run(self, progress: Callable[[Progress], None] = lambda _: None) -> Outcome:
        """Record until the command, the duration or the user ends it. ``progress`` is called several times a second.

        Raises OSError where perf cannot be started.
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
                # It came before there was a perf that it could reach.
                self._forward(self._signals[-1])
            try:
                while not self._ended():
                    progress(Progress(time.monotonic() - clock, self._size(), bool(self._signals)))
            except BaseException:
                self._abandon()
                raise
            ended = datetime.now(UTC).astimezone()
            stderr.seek(0)
            said = stderr.read().decode(errors="replace")
        return Outcome(
            exit_status=self._process.returncode,
            stderr=said,
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
        """Our own failure must not leave a perf running."""
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @contextmanager
    def _signals_to_perf(self) -> Iterator[None]:
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
            self._process.kill()  # it had its time, and the user insists
        else:
            self._forward(number)

    def _forward(self, number: int) -> None:
        """From a terminal perf has it already (it shares our process group); a second one does no harm."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT if number == signal.SIGHUP else number)
