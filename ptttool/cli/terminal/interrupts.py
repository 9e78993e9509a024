"""Turn signals into exceptions, so that a command removes unfinished files before it ends."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# By convention, a program that ends because of a signal has exit code 128 plus the signal's number.
SIGNAL_EXIT = 128


@contextmanager
def tidy_end() -> Iterator[None]:
    """Make SIGTERM and SIGHUP raise SystemExit while the body runs, as Ctrl-C raises KeyboardInterrupt. Ignored signals stay ignored.

    The import of polars installs a handler of SIGINT that makes polars' threads panic, even if SIGINT is ignored (a background job). So
    import polars before the call: this function then installs Python's handler again.
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
    raise SystemExit(SIGNAL_EXIT + number)
