"""Processes that work for this one.

Nothing here imports numpy: a pool can be started before anything else is imported, and its processes start meanwhile.

Each worker has its own socket, so EOF reports its death: with one queue for all, a worker that is killed in the middle of an answer leaves
the others, and the reader, waiting for ever (docs/decisions/0002-worker-pool.md). Large buffers of an answer (arrays, Parquet pages) do not
go through the socket: the worker writes them to anonymous memory, and this process maps it.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from ptttool.errors import WorkersError
from ptttool.pipeline.workers.failure import sendable
from ptttool.pipeline.workers.memory import keep_memory
from ptttool.pipeline.workers.start import Child

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

# Input sizes in bytes above which one more worker pays for its start-up: to write the trace in another format, and to add it up.
WORTH_A_WRITER, WORTH_AN_ADDER = 128 << 20, 1 << 30
# Imported by each worker while it starts.
_PRELOAD = ("ptttool.pipeline.work",)
# Tasks that a worker has at a time: the second one keeps it busy while this process does other work.
_QUEUED = 2
# Larger tasks are not queued: while a worker waits for its answer to be read, its socket accepts only about 200 KiB.
_SMALL_TASK = 1 << 15
# Buffers of an answer that are larger go through memory of both processes.
_LARGE_BUFFER = 1 << 12
# Still larger ones are mapped, each by itself, and the others copied: what stays of an answer does not hold the memory of the rest.
_MAPPED_BUFFER = 1 << 20


def available_cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


def jobs_worth_it(size: int, worth: int) -> int:
    """Return the number of processes that pay for their start-up.

    Parameters
    ----------
    size : int
        Size of the input in bytes.
    worth : int
        Bytes for each process; 0: one process only.
    """
    return max(1, min(available_cores(), size // worth if worth else 1))


class Promise(Protocol[R_co]):
    """The result of a task, now or later.

    Attributes
    ----------
    size : int
        Bytes that the result took on its way to this process; 0 before it is here, or where none were needed.
    """

    size: int

    def result(self) -> R_co:
        """Wait for the result. Raises the task's own error, or WorkersError."""

    def cancel(self) -> object:
        """Drop the task, unless it has been started."""


class Workers:
    """Whatever runs tasks: a pool of processes, a cluster; this class itself is no other process. A context manager.

    Attributes
    ----------
    jobs : int
        How many tasks can run at once; where it is 1, nothing is submitted.
    batch_bytes : int
        Bytes of trace that make a task; 0: one unit.
    reduces : bool
        Whether the workers merge results, too: then :meth:`reduce` is to be used.
    """

    jobs: int = 1
    batch_bytes: int = 0
    reduces: bool = False

    def submit(self, function: Callable[..., R], *arguments: Any) -> Promise[R]:
        """Have a function called; it, its arguments and its result can be pickled."""
        raise NotImplementedError

    def reduce(self, promises: Sequence[Promise[R]], merge: Callable[[R, R], R], done: Callable[[int], None]) -> R | None:
        """Merge results, neighbours first, into one.

        Parameters
        ----------
        promises : sequence of Promise
            The results to merge, in order.
        merge : callable
            Merges two neighbours.
        done : callable
            Is called with the position of each promise that has its result.

        Returns
        -------
        object
            The merged result; None without promises.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Release the workers; unfinished tasks are dropped."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


ALONE = Workers()
"""The default wherever workers are optional."""


class Pool(Workers):
    """Processes on this machine. Methods may be called from several threads.

    Parameters
    ----------
    jobs : int
        Processes at most. As many as there are cores are started at once, more when there are tasks for them.
    preload : sequence of str
        Modules that each process imports while it starts.
    """

    def __init__(self, jobs: int, preload: Sequence[str] = ()) -> None:
        self.jobs = jobs
        self._preload = tuple(preload)
        self._crew: list[_Worker] = []
        self._pending: deque[_Task[Any]] = deque()
        self._lock = threading.RLock()
        for _ in range(min(jobs, available_cores())):
            self._crew.append(_Worker(self._preload))

    def submit(self, function: Callable[..., R], *arguments: Any) -> Promise[R]:
        """Have a function called by one of the processes."""
        task: _Task[R] = _Task(self, function, arguments)
        with self._lock:
            self._pending.append(task)
            self._collect(0)
            self._hand_out()
        return task

    def _progress(self, task: _Task[Any]) -> None:
        """Wait until a task has its answer."""
        while True:
            with self._lock:
                if task.answer is not None:
                    return
                self._hand_out()
                self._collect(None)
                self._hand_out()

    def _hand_out(self) -> None:
        """Give pending tasks to the workers that have the fewest."""
        while self._pending:
            if self._pending[0].cancelled:
                self._pending.popleft()
                continue
            free = min(self._crew, key=lambda worker: len(worker.tasks), default=None)
            if (free is None or free.tasks) and len(self._crew) < self.jobs and all(worker.ready for worker in self._crew):
                free = _Worker(self._preload)
                self._crew.append(free)
            # A process that has not started yet gets only one task, because it does not read a second one from its socket.
            task = self._pending[0]
            queued = _QUEUED if len(task.message) <= _SMALL_TASK and free is not None and free.ready else 1
            if free is None or len(free.tasks) >= queued:
                return
            self._pending.popleft()
            free.tasks.append(task)
            try:
                free.connection.send_bytes(task.message)
            except OSError:
                raise lost_worker(free.process) from None

    def _collect(self, timeout: float | None) -> None:
        """Take the answers that have arrived; wait for one up to `timeout` seconds (None: for ever)."""
        from multiprocessing.connection import wait

        awaited = {worker.connection: worker for worker in self._crew if worker.tasks or not worker.ready}
        for connection in wait([*awaited], timeout) if awaited else ():
            worker = awaited[connection]  # type: ignore[index]
            try:
                answer, size = _received(worker.connection)
            except (EOFError, OSError):
                raise lost_worker(worker.process) from None
            if worker.ready:
                task = worker.tasks.popleft()
                task.answer, task.size = answer, size
            elif answer[0]:
                worker.ready = True
            else:
                raise answer[1]

    def close(self) -> None:
        """Kill the processes: they hold nothing that would be lost."""
        for worker in self._crew:
            worker.process.kill()
            worker.connection.close()
        for worker in self._crew:
            worker.process.end()
        self._crew.clear()


class _Worker:
    """One process and its tasks, oldest first; `ready` once it has imported what it needs."""

    def __init__(self, preload: tuple[str, ...]) -> None:
        self.process = Child(_serve, preload)
        self.connection = self.process.connection
        self.tasks: deque[_Task[Any]] = deque()
        self.ready = False


def lost_worker(process: Child) -> WorkersError:
    """Make the error for a process that ended before its work was done."""
    outcome = process.outcome()
    return WorkersError(
        f"a process that worked on the recording has ended ({outcome})",
        hint="the kernel kills processes when memory runs out: see dmesg; --jobs 1 does the work in one process",
        code="worker-killed",
        outcome=outcome,
    )


class _Task(Generic[R]):
    """A call for a worker; `answer` is whether it succeeded, and the result or the error."""

    def __init__(self, pool: Pool, function: Callable[..., R], arguments: tuple[Any, ...]) -> None:
        self.message = pickle.dumps((function, arguments), pickle.HIGHEST_PROTOCOL)
        self.cancelled = False
        self.size = 0
        self.answer: tuple[bool, Any] | None = None
        self._pool = pool

    def result(self) -> R:
        self._pool._progress(self)
        assert self.answer is not None
        good, value = self.answer
        if not good:
            raise value
        result: R = value
        return result

    def cancel(self) -> None:
        self.cancelled = True


def workers_for(paths: Iterable[str], jobs: int | None, worth: int = 0) -> Workers:
    """Return the workers for recordings.

    Parameters
    ----------
    paths : iterable of str
        The recordings, files or folders.
    jobs : int or None
        Number of processes; None: as many as the size of the largest recording pays for.
    worth : int
        Bytes that pay for one process, as for :func:`jobs_worth_it`.
    """
    if jobs is None:
        jobs = jobs_worth_it(max(map(_size_of, paths), default=0), worth)
    return Pool(jobs, _PRELOAD) if jobs > 1 else ALONE


def _size_of(path: str) -> int:
    """Return the size of a recording, a file or a folder, in bytes; 0 if it is unknown (an error is reported when it is opened)."""
    try:
        if os.path.isdir(path):  # noqa: PTH112
            return sum(entry.stat().st_size for entry in os.scandir(path) if entry.is_file())
        return os.stat(path).st_size if path != "-" else 0  # noqa: PTH116
    except OSError:
        return 0


def _import(names: tuple[str, ...]) -> None:
    import importlib

    for name in names:
        importlib.import_module(name)


def _serve(connection: Connection[Any, Any], preload: tuple[str, ...]) -> None:
    """Run tasks until the other end of the socket is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    keep_memory()
    try:
        _send(connection, _answer(_import, (preload,)))
        while True:
            function, arguments = connection.recv()
            _send(connection, _answer(function, arguments))
    except (EOFError, OSError):
        return


def _answer(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    try:
        return True, function(*arguments)
    except Exception as error:
        return False, sendable(error)


def _send(connection: Connection[Any, Any], answer: tuple[bool, Any]) -> None:
    """Send an answer, its large buffers through memory of its own: a copy instead of four."""
    from multiprocessing.reduction import send_handle

    views: list[memoryview] = []

    def stays(buffer: pickle.PickleBuffer) -> bool:
        view = buffer.raw()
        if view.nbytes <= _LARGE_BUFFER:
            return True
        views.append(view)
        return False

    try:
        message = pickle.dumps(answer, 5, buffer_callback=stays)
        memory = _filled(views) if views else None
    except Exception as error:  # a result that cannot be pickled, or not enough memory
        message, memory = pickle.dumps((False, WorkersError(f"{type(error).__name__}: {error}", code="no-answer"))), None
        views.clear()
    connection.send((message, [view.nbytes for view in views]))
    if memory is not None:
        try:
            send_handle(connection, memory, os.getppid())
        finally:
            os.close(memory)


def _filled(views: Sequence[memoryview]) -> int:
    """Return the descriptor of anonymous memory that holds the buffers."""
    memory = os.memfd_create("answer")
    try:
        for view, position in zip(views, _positions([view.nbytes for view in views]), strict=True):
            done = 0
            while done < view.nbytes:
                done += os.pwrite(memory, view[done:], position + done)
    except BaseException:
        os.close(memory)
        raise
    return memory


def _positions(sizes: Sequence[int]) -> Iterator[int]:
    """Yield where buffers are in the memory of an answer: those that are mapped begin where a map can."""
    import mmap

    position = 0
    for size in sizes:
        if size >= _MAPPED_BUFFER:
            position += -position % mmap.ALLOCATIONGRANULARITY
        yield position
        position += size


def _received(connection: Connection[Any, Any]) -> tuple[Any, int]:
    """Receive an answer; return it, and its size in bytes. Raises EOFError or OSError if the worker is gone."""
    import mmap
    from multiprocessing.reduction import recv_handle

    answer = connection.recv()
    if isinstance(answer, WorkersError):  # the worker cannot start
        raise answer
    message, sizes = answer
    whole = len(message) + sum(sizes)
    if not sizes:
        return pickle.loads(message), whole
    memory = recv_handle(connection)
    buffers: list[mmap.mmap | bytearray] = []
    try:
        for size, position in zip(sizes, _positions(sizes), strict=True):
            if size >= _MAPPED_BUFFER:
                # Populated at once: faults, a page at a time, take longer. The map lives as long as what is made of it.
                flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
                buffers.append(mmap.mmap(memory, size, flags=flags, offset=position))
                continue
            copy = bytearray(size)
            done = 0
            while done < size:
                done += os.preadv(memory, [memoryview(copy)[done:]], position + done)
            buffers.append(copy)
    finally:
        os.close(memory)
    return pickle.loads(message, buffers=buffers), whole
