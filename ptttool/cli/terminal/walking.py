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
    """Format progress: ``512.0 of 4096.0 MiB, 16777216 TLPs, 830.1 MiB/s, 4 s left``."""
    rate = progress.done / elapsed
    parts = [f"{progress.done / 2**20:.1f} MiB", f"{rate / 2**20:.1f} MiB/s"]
    if progress.records:  # a cluster's workers report them at the end
        parts[1:1] = [f"{progress.records} {progress.noun}"]
    if progress.total:
        parts[0] = f"{progress.done / 2**20:.1f} of {progress.total / 2**20:.1f} MiB"
        if rate > 0:
            parts.append(f"{max(progress.total - progress.done, 0) / rate:.0f} s left")
    return ", ".join(parts)
