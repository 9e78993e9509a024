"""Show how far a sweep is."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ptttool.cli.terminal.talk import note
from ptttool.sweep.picture import figure
from ptttool.wording import clean, counted

if TYPE_CHECKING:
    from ptttool.sweep.run import SweepProgress


@contextmanager
def progress_of_sweep(*, verbose: bool) -> Iterator[Callable[[SweepProgress], None]]:
    """Show how far a sweep is: on a terminal in one line, which is removed at its end; else, if ``verbose``, a line for each run."""
    if not sys.stderr.isatty() or verbose:
        yield lambda progress: note(clean(progress_text(progress))) if verbose and progress.run is not None else None
        return
    from rich.text import Text

    from ptttool.cli.terminal.live import live_line

    live = live_line()

    def show(progress: SweepProgress) -> None:
        live.start()
        live.update(Text(clean(progress_text(progress))), refresh=True)

    try:
        yield show
    finally:
        with suppress(OSError):  # the terminal is gone
            live.stop()


def progress_text(progress: SweepProgress) -> str:
    """Say how far a sweep is."""
    since = f" for {duration(progress.elapsed)}" if progress.elapsed else ""
    if not progress.round:
        return f"{progress.setting}{since}, then {counted(progress.total, 'run')}"
    left = "" if progress.left is None else f", about {duration(progress.left)} left"
    run = progress.run
    if run is None:
        return f"run {progress.done + 1} of {progress.total}, round {progress.round} of {progress.rounds}: {progress.setting}{since}{left}"
    what = run.problem or ", ".join(f"{name} {figure(value)}" for name, value in run.metrics.items())
    return f"run {progress.done} of {progress.total}: {progress.setting}: {what} ({duration(run.seconds)}{left})"


def duration(seconds: float) -> str:
    """Return a time for people: ``0.3 s``, ``42 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = math.ceil(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
