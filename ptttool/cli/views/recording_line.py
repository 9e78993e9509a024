"""The line that ``ptttool trace`` shows while it records."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ptttool.cli.terminal.talk import console

if TYPE_CHECKING:
    from ptttool.capture.perf.recorder import Progress

# perf writes in steps of MiB; over this many seconds the rate is steady.
_RATE_WINDOW = 3.0


@contextmanager
def progress_line(device: str, cpu: int, seconds: float | None) -> Iterator[Callable[[Progress], None]]:
    """One line on a terminal's standard error: elapsed time, size, rate. Nothing where it is no terminal."""
    if not sys.stderr.isatty():
        yield lambda _progress: None
        return
    from rich.live import Live
    from rich.text import Text

    seen: deque[tuple[float, int]] = deque([(0.0, 0)])
    with Live(console=console(stderr=True), auto_refresh=False, transient=True) as live:

        def show(progress: Progress) -> None:
            seen.append((progress.elapsed, progress.size))
            while len(seen) > 2 and progress.elapsed - seen[0][0] > _RATE_WINDOW:
                seen.popleft()
            live.update(Text(progress_text(device, cpu, seconds, progress, seen[0])), refresh=True)

        yield show


def progress_text(device: str, cpu: int, seconds: float | None, progress: Progress, since: tuple[float, int]) -> str:
    """The line. ``since``: elapsed time and size some seconds ago."""
    passed = progress.elapsed - since[0]
    rate = (progress.size - since[1]) / passed if passed > 0 else 0.0
    total = "" if seconds is None else f" of {seconds:g} s"
    end = "stopping, perf writes the rest" if progress.stopping else "Ctrl-C stops"
    return f"{device} on CPU {cpu}: {progress.elapsed:.1f} s{total}, {mebibytes(progress.size)}, {mebibytes(rate)}/s ({end})"


def mebibytes(size: float) -> str:
    """``12.3 MiB``."""
    return f"{size / (1 << 20):.1f} MiB"
