"""Signals end a command through the code that removes unfinished files."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# By convention the exit code of a program that a signal ended is 128 plus the number of the signal.
_EXIT_BASE = 128


@contextmanager
def tidy_end() -> Iterator[None]:
    """Make SIGTERM and SIGHUP raise SystemExit while the body runs, as Ctrl-C raises KeyboardInterrupt. Ignored signals stay ignored.

    When polars is imported, it installs its own handler of SIGINT, which ends its threads with a panic, even if SIGINT is ignored (a job
    in the background). Import polars before: this function installs Python's handler again.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.getsignal(signal.SIGINT))
    numbers = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, _leave)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _leave(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(_EXIT_BASE + number)
