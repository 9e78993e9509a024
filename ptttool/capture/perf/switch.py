"""Turn perf's event on once and off once, and know when: ``perf record --control`` (perf 5.9) answers when it has done so.

The event is off when perf starts (``--delay=-1``). So what perf does to begin and to end is not in the recording, and the time between the
two answers is that of the trace. It is turned on once only: drivers that commit late spoil a trace that is stopped and started again.

A process of its own speaks with perf, ends the duration and notes the times: this one may be stopped (Ctrl-Z), or wait for its terminal.

A perf without that option traces from before its command to after it. It gets a command that says that it runs, and waits.
"""

from __future__ import annotations

import math
import os
import select
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

from ptttool.capture.perf.told import ToldPerf

# The command for a perf without --control: it reports, and waits for the end of the other pipe.
_WAIT = 'echo >"$0" && exec cat "$1"'
NOT_KNOWN = 129
"""Exit status of perf for an option that it does not know."""
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Signals that end a recording."""
# Seconds of one wait: what poll takes is limited.
_LONGEST = 3600.0


class Switch:
    """The switch of one recording, with the descriptors that perf inherits; a context manager.

    Parameters
    ----------
    confirms : bool
        Whether perf knows ``--control``.
    counting : ToldPerf or None
        Counters that are on while the trace is: they are turned on once it is on, and off before it is turned off.
    around : ToldPerf or None
        What is on for longer: it is turned on before the trace is, and off once it is off.

    Attributes
    ----------
    options : list of str
        Options for ``perf record``.
    words : list of str
        The command that perf is to run; none where the options do without.
    pass_fds : tuple of int
        The descriptors that perf inherits.
    enabling, enabled, disabling, disabled : float or None
        When perf was asked to turn the event on, when it answered, when it was asked to turn it off, when it answered (CLOCK_MONOTONIC).
    counting_from, counting_to : float or None
        Between these times the counters were on; None where they did not answer.
    around_from : float or None
        When what is on for longer was on; None where it did not answer.
    """

    def __init__(self, *, confirms: bool = True, counting: ToldPerf | None = None, around: ToldPerf | None = None) -> None:
        self.confirms = confirms
        self._counting, self._around = counting, around
        control, self._control = os.pipe()
        self._answers, answers = os.pipe()
        self._orders, self._order = os.pipe()
        self._noted, self._note = os.pipe()
        self._open = {control, self._control, self._answers, answers, self._orders, self._order, self._noted, self._note}
        self._keeper = 0
        self._unread = b""
        self.pass_fds = (control, answers)
        self.options = ["--control", f"fd:{control},{answers}", "--delay=-1"] if confirms else []
        self.words = [] if confirms else ["sh", "-c", _WAIT, f"/proc/self/fd/{answers}", f"/proc/self/fd/{control}"]
        self.enabling: float | None = None
        self.enabled: float | None = None
        self.disabling: float | None = None
        self.disabled: float | None = None
        self.counting_from: float | None = None
        self.counting_to: float | None = None
        self.around_from: float | None = None

    def begun(self, seconds: float | None = None) -> None:
        """Ask perf, which has inherited its descriptors, to turn the event on, and off some seconds after its answer."""
        # Until the child ignores them: the handlers of this process are not for it.
        held = (*STOP_SIGNALS, signal.SIGTSTP)
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, held)
        try:
            keeper = os.fork()
            if not keeper:
                try:
                    for number in held:
                        signal.signal(number, signal.SIG_IGN)
                    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
                    os.setpgid(0, 0)
                    self._keep_time(seconds)
                finally:
                    os._exit(0)
            self._keeper = keeper
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        self._close(self._open - {self._order, self._noted})

    def off(self) -> None:
        """Ask perf to turn the event off, or end its command."""
        with suppress(OSError):  # perf has ended
            os.write(self._order, b".")

    def fileno(self) -> int:
        """Return the descriptor that can be read once perf was asked, has answered, or has ended."""
        return self._noted

    def answered(self) -> bool:
        """Read the times; it does not wait only where :meth:`fileno` can be read. False: there will be no more."""
        data = os.read(self._noted, 512)
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            name, at = line.decode().split()
            setattr(self, name, float(at))
        return bool(data)

    def _keep_time(self, seconds: float | None) -> None:
        """Speak with perf until it has ended: one that loses its control before may end without finishing its file."""
        # Held here, a lock or a pipe would outlive the process that it belongs to.
        held = {self._control, self._answers, self._orders, self._note}
        counting, around = self._counting, self._around
        for told in (counting, around):
            held.update(() if told is None else told.held)
        self._close({int(one.name) for one in Path("/proc/self/fd").iterdir()} - held)
        counts = counting is not None and counting.is_ready()
        if around is not None and around.is_ready() and around.turned(on=True):
            self._noting("around_from")
        if self.confirms:
            self._noting("enabling")
            os.write(self._control, b"enable\n")
        ends = select.poll()
        ends.register(self._answers, select.POLLIN)
        ends.register(self._orders, select.POLLIN)
        deadline = math.inf
        while True:
            rest = min(max(deadline - time.monotonic(), 0.0), _LONGEST)
            ready = [descriptor for descriptor, _ in ends.poll(math.ceil(rest * 1000))]
            if self._answers in ready:
                if not os.read(self._answers, 64):
                    return
                if self.enabled is None:
                    # The command runs once this is noted: the counters are on by then.
                    at = time.monotonic()
                    counts = counts and self.disabling is None and counting is not None and counting.turned(on=True)
                    if counts:
                        self._noting("counting_from")
                    self._noting("enabled", at)
                    deadline = math.inf if seconds is None or self.disabling else time.monotonic() + seconds
                elif self.disabling is not None:
                    self._noting("disabled")
                    if self.around_from is not None and around is not None:
                        around.turned(on=False)
            if self._orders in ready:  # or the process that gives them has ended
                ends.unregister(self._orders)
            if self.disabling is None and (self._orders in ready or time.monotonic() >= deadline):
                deadline = math.inf
                at = time.monotonic()
                if self.counting_from is not None and counting is not None and counting.turned(on=False):
                    self._noting("counting_to", at)
                self._noting("disabling")
                if self.confirms:
                    os.write(self._control, b"disable\n")
                else:
                    os.close(self._control)

    def _noting(self, what: str, at: float | None = None) -> None:
        at = time.monotonic() if at is None else at
        setattr(self, what, at)
        with suppress(OSError):  # nobody reads it any more
            os.write(self._note, f"{what} {at!r}\n".encode())

    def _close(self, descriptors: set[int]) -> None:
        for descriptor in descriptors:
            self._open.discard(descriptor)
            with suppress(OSError):
                os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close all descriptors."""
        keeper, self._keeper = self._keeper, 0
        if keeper:
            with suppress(OSError):
                os.kill(keeper, signal.SIGKILL)
                os.waitpid(keeper, 0)
        self._close(set(self._open))
