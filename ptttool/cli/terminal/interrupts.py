"""How a command that writes files ends early: always through the code that tidies up."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# By convention a program that a signal ended has 128 and the signal's number for its exit code.
_EXIT_BASE = 128


@contextmanager
def tidy_end() -> Iterator[None]:
    """While the body runs, SIGTERM and SIGHUP raise SystemExit, as Ctrl-C raises KeyboardInterrupt. Signals that are ignored stay so.

    polars puts a handler of its own on SIGINT when it is imported, one that tears its threads down with a panic, even where SIGINT was
    ignored (a job in the background): import it before, and Python's is put back here.
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
