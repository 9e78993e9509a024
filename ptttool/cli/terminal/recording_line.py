"""The line that ``ptttool trace`` shows while it records."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptttool.api.until import Search
    from ptttool.capture.perf.recorder import RecordingProgress
    from ptttool.capture.plan import Plan

# perf writes in steps of half the AUX area; over this many seconds the rate is steady.
_RATE_WINDOW = 3.0


@contextmanager
def progress_line(plan: Plan) -> Iterator[Callable[[RecordingProgress], None] | None]:
    """Show elapsed time, size and rate on one line of standard error, if that is a terminal.

    The line appears with the first call of the function that is yielded. A thread draws it: a terminal that takes nothing (Ctrl-S, a
    stalled ssh) does not hold up the recording, and misses some of it.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.text import Text

    from ptttool.cli.terminal.live import live_line

    latest: list[RecordingProgress] = []
    news, done = threading.Event(), threading.Event()

    def draw() -> None:
        samples: deque[tuple[float, int]] = deque([(0.0, 0)])
        with suppress(OSError), live_line() as live:  # the terminal is gone
            while news.wait() and not done.is_set():
                news.clear()
                progress = latest[-1]
                samples.append((progress.elapsed, progress.size))
                while len(samples) > 2 and progress.elapsed - samples[0][0] > _RATE_WINDOW:
                    samples.popleft()
                live.update(Text(progress_text(plan, progress, samples[0])), refresh=True)

    drawer = threading.Thread(target=draw, daemon=True)

    def show(progress: RecordingProgress) -> None:
        latest[:] = [progress]
        if not drawer.ident:
            drawer.start()
        news.set()

    try:
        yield show
    finally:
        done.set()
        news.set()
        if drawer.ident:
            drawer.join()


@contextmanager
def window_line() -> Iterator[Callable[[Search], None] | None]:
    """Show how many windows were looked at on one line of standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.text import Text

    from ptttool.cli.terminal.live import live_line

    with live_line() as live:

        def show(search: Search) -> None:
            share = "" if search.share is None else f", {search.share:.3g} % of the time"
            with suppress(OSError):  # the terminal is gone; the search ends by its signal
                live.update(Text(f"{search.windows:,} windows, {search.tlps:,} TLPs{share}; not found yet (Ctrl-C stops)"), refresh=True)

        yield show


def progress_text(plan: Plan, progress: RecordingProgress, since: tuple[float, int]) -> str:
    """Format the line; ``since`` is the elapsed time and the size some seconds ago, for the rate."""
    passed = progress.elapsed - since[0]
    rate = (progress.size - since[1]) / passed if passed > 0 else 0.0
    total = "" if plan.seconds is None else f" of {plan.seconds:g} s"
    end = "stopping, perf writes the rest" if progress.stopping else "Ctrl-C stops"
    name = f"{plan.device.name} on CPU {plan.cpu}"
    if not progress.tracing:
        return f"{name}: perf starts ({end})"
    return f"{name}: {progress.elapsed:.1f} s{total}, {mebibytes(progress.size)}, {mebibytes(rate)}/s ({end})"


def mebibytes(size: float) -> str:
    """Format a size: ``12.3 MiB``."""
    return f"{size / (1 << 20):.1f} MiB"
