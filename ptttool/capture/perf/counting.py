"""Count beside a trace: ``perf stat --control`` (perf 5.9) turns its events on and off when it is told to, and answers.

Its events are on for a time that lies within that of the trace. So what they count has been traced, and what is not in the recording of
it was lost: no difference of the two times can explain it.
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
from ptttool.capture.perf.counters import CounterPlan, LinkCounters, parse_perf_stat
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.wording import clean, shortened

# Seconds that perf gets to begin, which delays the trace, to answer, which makes it longer, and to print what it counted.
_READY, _ANSWER, _END = 10.0, 2.0, 5.0
# Bytes of what it prints that are read.
_MOST = 1 << 16
NOT_COUNTED = "not-counted"
"""Code of the diagnostic for counters that are there and did not count."""


class Counting:
    """One ``perf stat`` beside a trace; a context manager. Whatever becomes of it, the trace goes on.

    Parameters
    ----------
    plan : CounterPlan
        What to count.

    Attributes
    ----------
    held : tuple of int
        The descriptors by which it is told what to do.
    """

    def __init__(self, plan: CounterPlan) -> None:
        self.plan = plan
        self.held: tuple[int, ...] = ()
        self._open: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None
        self._problem = ""
        try:
            self._start()
        except OSError as error:
            self._problem = error.strerror or str(error)

    def _start(self) -> None:
        control, self._control = self._opened(os.pipe())
        self._answers, answers = self._opened(os.pipe())
        (self._printed,) = self._opened((os.memfd_create("perf-stat"),))
        (self._said,) = self._opened((os.memfd_create("perf-stat-stderr"),))
        try:
            self._process = subprocess.Popen(
                self.plan.command_until_told(f"fd:{control},{answers}", self._printed),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._said,
                pass_fds=(control, answers, self._printed),
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

    def ended(self, since: float | None, until: float | None) -> tuple[LinkCounters | None, Diagnostic | None]:
        """End perf, and return what it counted; or why it did not count.

        Parameters
        ----------
        since, until : float or None
            Between these times its events were on; None where it did not say so.
        """
        status = self._stop()
        if since is None or until is None:
            lines = [] if self._process is None else [line for line in _text(self._said).splitlines() if not line.startswith("Events ")]
            lines = [line.strip() for line in lines if line.strip() and line.strip() != "Error:"]
            why = self._problem or (lines[0] if lines else "")
            if not why:
                why = f"it did not answer when the trace {'began' if since is None else 'ended'} (exit status {status})"
            return None, not_counted(self.plan, f"perf stat: {shortened(clean(why), 200)}")
        counted = parse_perf_stat(_text(self._printed), self.plan)
        if all(one.value is None for one in counted):
            return None, not_counted(self.plan, "its counters are busy, or it does not have these events")
        return LinkCounters(self.plan.pmu, max(until - since, 0.0), counted, self.plan.filter), None

    def _stop(self) -> int | None:
        """End perf by the signal that makes it print what it counted."""
        if self._process is None:
            return None
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)
        try:
            return self._process.wait(_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End perf, and close all descriptors."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for descriptor in self._open:
            os.close(descriptor)


def not_counted(plan: CounterPlan, why: str) -> Diagnostic:
    """Return the note that counters are there and did not count."""
    message = f"{plan.pmu} did not count beside the trace: {why}"
    hint = "what the device itself overwrote leaves no other sign"
    return Diagnostic(Severity.INFO, NOT_COUNTED, message, hint=hint, details={"pmu": plan.pmu, "events": list(plan.events)})


def _text(descriptor: int) -> str:
    """Return what was printed; nothing where it cannot be read: the recording is good without it."""
    try:
        return os.pread(descriptor, _MOST, 0).decode(errors="replace")
    except OSError:
        return ""
