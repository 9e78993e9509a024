"""A perf beside that of the trace: it is told when to begin and to end (``--control``, perf 5.9), and answers.

Whatever becomes of it, the trace goes on.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from contextlib import suppress
from typing import Self

from ptttool.capture.perf.child import prepare_perf
from ptttool.wording import clean, shortened

# Seconds that perf gets to begin, which delays the trace, and to answer, which makes it longer.
_READY, _ANSWER = 10.0, 2.0
# Bytes of what it prints that are read.
_MOST = 1 << 16
NOT_TOLD = "this perf cannot be told when to begin and to end (--control, perf 5.9)"
"""Why nothing runs beside the trace of an old perf."""


class ToldPerf:
    """One perf beside a trace; a context manager.

    Attributes
    ----------
    held : tuple of int
        The descriptors by which it is told what to do.
    """

    patience = 5.0
    """Seconds that it gets to finish what it has."""

    def __init__(self) -> None:
        self.held: tuple[int, ...] = ()
        self._open: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None
        self._problem = ""
        try:
            self._start()
        except OSError as error:
            self._problem = error.strerror or str(error)

    def _command(self, control: str) -> list[str]:
        """Return the command that obeys the descriptors of a control."""
        raise NotImplementedError

    def _inherited(self) -> tuple[int, ...]:
        """Return further descriptors that perf inherits."""
        return ()

    def _start(self) -> None:
        control, self._control = self._opened(os.pipe())
        self._answers, answers = self._opened(os.pipe())
        (self._said,) = self._opened((os.memfd_create("perf-beside-stderr"),))
        try:
            self._process = subprocess.Popen(
                self._command(f"fd:{control},{answers}"),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._said,
                pass_fds=(control, answers, *self._inherited()),
                preexec_fn=prepare_perf,
                process_group=0,
                env=os.environ | {"LC_ALL": "C"},
            )
        finally:
            for descriptor in (control, answers):
                self._open.discard(descriptor)
                os.close(descriptor)
        self.held = (self._control, self._answers)

    def _opened(self, descriptors: tuple[int, ...]) -> tuple[int, ...]:
        self._open.update(descriptors)
        return descriptors

    def is_ready(self) -> bool:
        """Wait until perf has begun, and tell whether it has: it answers that its events are off."""
        return bool(self.held) and self._told(b"disable\n", _READY)

    def turned(self, *, on: bool) -> bool:
        """Turn the events on or off, and tell whether perf has said that it did."""
        return self._told(b"enable\n" if on else b"disable\n", _ANSWER)

    def _told(self, word: bytes, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        try:
            os.write(self._control, word)
            answers = select.poll()
            answers.register(self._answers, select.POLLIN)
            return bool(answers.poll(max(deadline - time.monotonic(), 0) * 1000)) and bool(os.read(self._answers, 64))
        except OSError:  # perf has ended
            return False

    def _stop(self) -> int | None:
        """End perf by the signal that makes it finish what it has; return its exit status."""
        if self._process is None:
            return None
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)
        try:
            return self._process.wait(self.patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _why(self) -> str:
        """Return why it failed, as perf or the system says; empty where neither does."""
        lines = [] if self._process is None else [line.strip() for line in printed(self._said).splitlines()]
        said = [line for line in lines if line and line != "Error:" and not line.startswith(("Events ", "[ perf record"))]
        return self._problem or shortened(clean(said[0] if said else ""), 200)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End perf, and close all descriptors."""
        if self._process is not None and self._process.poll() is None:
            self._stop()
        for descriptor in self._open:
            os.close(descriptor)


def printed(descriptor: int) -> str:
    """Return what was printed; nothing where it cannot be read: the recording is good without it."""
    try:
        return os.pread(descriptor, _MOST, 0).decode(errors="replace")
    except OSError:
        return ""
