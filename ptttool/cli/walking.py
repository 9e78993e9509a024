"""Progress of a walk through a recording: a line on a terminal's standard error for anything that takes over a second."""

from __future__ import annotations

import os
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from ptttool.cli.talk import console

if TYPE_CHECKING:
    from ptttool.trace import Progress


class Walk(Protocol):
    """What is being read."""

    progress: Progress


PATIENCE = 1.0
_PERIOD = 0.2


@contextmanager
def shown_progress(trace: Walk) -> Iterator[None]:
    """Show bytes, records, rate and time left of what the body does with ``trace``; nothing in a pipe, nothing within a second.

    A thread looks at ``trace.progress``: the walk itself has nothing to do for it.
    """
    if not sys.stderr.isatty() or _feeds_a_program():
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(trace, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _feeds_a_program() -> bool:
    """Standard output is a pipe: its reader, a pager say, has the terminal, and a line of ours would be drawn over its own."""
    try:
        mode = os.fstat(sys.stdout.fileno()).st_mode
    except (OSError, ValueError):
        return True
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _watch(trace: Walk, done: threading.Event) -> None:
    started = time.monotonic()
    if done.wait(PATIENCE):
        return
    from rich.live import Live
    from rich.text import Text

    with Live(console=console(stderr=True), auto_refresh=False, transient=True) as live:
        while not done.wait(_PERIOD):
            live.update(Text(progress_text(trace, time.monotonic() - started), no_wrap=True, overflow="ellipsis"), refresh=True)


def progress_text(trace: Walk, elapsed: float) -> str:
    """``512.0 of 4096.0 MiB, 16777216 TLPs, 830.1 MiB/s, 4 s left``."""
    progress = trace.progress
    rate = progress.done / elapsed
    parts = [f"{progress.done / 2**20:.1f} MiB", f"{progress.records} {progress.noun}", f"{rate / 2**20:.1f} MiB/s"]
    if progress.total:
        parts[0] = f"{progress.done / 2**20:.1f} of {progress.total / 2**20:.1f} MiB"
        if rate > 0:
            parts.append(f"{max(progress.total - progress.done, 0) / rate:.0f} s left")
    return ", ".join(parts)
