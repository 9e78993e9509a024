"""Turn signals into exceptions, so that a command removes unfinished files before it ends."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ptttool.errors import InterruptedByUserError


class EndedBySignal(SystemExit):
    """A signal ends the command; ``error`` says which, and has its exit code."""

    def __init__(self, number: int) -> None:
        self.error = InterruptedByUserError(f"ended by {signal.Signals(number).name}", ending=number)
        super().__init__(int(self.error.exit_code))


@contextmanager
def tidy_end() -> Iterator[None]:
    """Make SIGTERM and SIGHUP raise EndedBySignal while the body runs, as Ctrl-C raises KeyboardInterrupt. Ignored signals stay ignored.

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
    raise EndedBySignal(number)
