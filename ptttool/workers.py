"""Processes that work for this one. Nothing here imports numpy: they can be started before anything else is, and begin while it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

R = TypeVar("R")

# Bytes of trace for which it pays to have another process, which takes as long to begin as it takes to work on so much.
WORTH_A_WORKER = 64 << 20


def available_cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


def jobs_worth_it(size: int) -> int:
    """As many jobs as there are cores, but no more than a recording of ``size`` bytes is worth."""
    return max(1, min(available_cores(), size // WORTH_A_WORKER))


class Workers:
    """``jobs`` processes; none where it is 1: then there is nobody to submit to. A context manager."""

    # Bytes of trace that are worked on in one go; 0: one unit.
    batch_bytes = 0
    # Whether results are put together by the workers, too.
    reduces = False

    def __init__(self, jobs: int = 1) -> None:
        self.jobs = jobs
        self._pool: ProcessPoolExecutor | None = None
        if jobs > 1:
            import multiprocessing
            from concurrent.futures import ProcessPoolExecutor

            # Not by fork: polars' threads may be running here.
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(os.getpid(),))
            for _ in range(jobs):
                self._pool.submit(_get_ready)

    def submit(self, function: Callable[..., R], *arguments: Any) -> Future[R]:
        """Have a function called by one of them."""
        assert self._pool is not None, "no workers"
        return self._pool.submit(function, *arguments)

    def reduce(self, futures: Sequence[Future[R]], merge: Callable[[R, R], R], done: Callable[[int], None]) -> R | None:
        """What the futures hold, neighbours merged until one is left. ``done``: told the numbers of those that have ended."""
        raise NotImplementedError

    def close(self) -> None:
        """Let them go, once they have finished what they are at."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


ALONE = Workers()
"""Nobody: the work is done where it is asked for."""


def workers_for(path: str, jobs: int | None, *, worth: bool = True) -> Workers:
    """Workers for a recording: ``jobs`` of them, or, where nobody said how many, as many as it is large enough for.

    ``worth``: whether more than one may be worth it at all.
    """
    if jobs is not None:
        return Workers(jobs)
    if not worth:
        return Workers()
    return Workers(jobs_worth_it(size_of(path)))


def size_of(path: str) -> int:
    """Bytes of a recording, a file or a folder; 0 where that cannot be seen: what is wrong is told when it is opened."""
    try:
        if os.path.isdir(path):  # noqa: PTH112
            return sum(entry.stat().st_size for entry in os.scandir(path) if entry.is_file())
        return os.stat(path).st_size if path != "-" else 0  # noqa: PTH116
    except OSError:
        return 0


def _begin(parent: int) -> None:
    """Once in every process: it leaves Ctrl-C to the one that started it, and ends with it, however that ends."""
    import ctypes
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)


def _get_ready() -> None:
    """Import what the work needs."""
    import ptttool.selection  # noqa: F401
