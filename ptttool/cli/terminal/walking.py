"""A line of progress on a terminal's standard error, for work on a recording that takes over a second."""

from __future__ import annotations

import os
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ptttool.files.progress import Progress

PATIENCE = 1.0
_PERIOD = 0.2


@contextmanager
def shown_progress(progress: Progress) -> Iterator[None]:
    """Show bytes, records, rate and remaining time of the work in the body.

    Nothing is shown in the first second, or if standard error is not a terminal, or if standard output is a pipe. A thread reads
    ``progress``, so the work itself is not slowed down.
    """
    if not sys.stderr.isatty() or _feeds_a_program():
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(progress, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _feeds_a_program() -> bool:
    """Return whether standard output is a pipe: its reader, such as a pager, uses the terminal, and progress would overwrite its lines."""
    try:
        mode = os.fstat(sys.stdout.fileno()).st_mode
    except (OSError, ValueError):
        return True
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _watch(progress: Progress, done: threading.Event) -> None:
    started = time.monotonic()
    if done.wait(PATIENCE):
        return
    from rich.text import Text

    from ptttool.cli.terminal.live import live_line

    with live_line() as live:
        while not done.wait(_PERIOD):
            live.update(Text(progress_text(progress, time.monotonic() - started), no_wrap=True, overflow="ellipsis"), refresh=True)


def progress_text(progress: Progress, elapsed: float) -> str:
    """Format progress: ``12 %, 512.0 of 4,096.0 MiB, 16,777,216 TLPs, 830.1 MiB/s, 1:04 left``."""
    rate = progress.done / elapsed
    parts = [f"{progress.done / 2**20:,.1f} MiB", f"{rate / 2**20:,.1f} MiB/s"]
    if progress.records:  # a cluster's workers report them at the end
        parts[1:1] = [f"{progress.records:,} {progress.noun}"]
    if progress.total:
        parts[0] = f"{progress.done / 2**20:,.1f} of {progress.total / 2**20:,.1f} MiB"
        parts.insert(0, f"{min(100 * progress.done // progress.total, 100)} %")
        if rate > 0:
            parts.append(f"{clock(max(progress.total - progress.done, 0) / rate)} left")
    return ", ".join(parts)


def clock(seconds: float) -> str:
    """Format a duration as a clock does: ``0:04``, ``12:30``, ``1:02:03``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
