"""Streams of one packet trace decoded in several processes at once, with their elements in the order of the recording.

A stream is decoded in order, so a process takes whole streams: each has every ``jobs``-th one. A process decodes ahead until its pipe is
full; this process takes from each what is next in the recording. Memory stays bounded.
"""

from __future__ import annotations

import heapq
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ptttool.errors import WorkersError
from ptttool.pipeline.streams import Decoded, StreamDecoder

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

# Seconds that a process may take to end.
_PATIENCE = 2.0


def decoded_elsewhere(opened: Callable[[], StreamDecoder], jobs: int) -> Iterator[Decoded]:
    """Yield what a StreamDecoder does, decoded by `jobs` processes.

    Parameters
    ----------
    opened : callable
        Opens the recording; it can be pickled.
    jobs : int
        Number of processes.

    Raises
    ------
    WorkersError
        A process was killed.
    Exception
        Whatever decoding raises in a process.
    """
    lanes = [_Lane(opened, number, jobs) for number in range(jobs)]
    try:
        yield from heapq.merge(*lanes, key=lambda each: (each.chunk, each.stream))
    finally:
        for lane in lanes:
            lane.close()


class _Lane:
    """A process that decodes every ``jobs``-th stream. Its pipe ends with it."""

    def __init__(self, opened: Callable[[], StreamDecoder], number: int, jobs: int) -> None:
        import multiprocessing

        # Not by fork: threads of libraries may be running here.
        context = multiprocessing.get_context("spawn")
        theirs: Connection[Any, Any]
        self._connection: Connection[Any, Any]
        self._connection, theirs = context.Pipe(duplex=False)
        self._process: SpawnProcess = context.Process(target=_decode, args=(theirs, opened, number, jobs), daemon=True)
        # Ctrl-C goes to all processes of a terminal: a new one cannot ignore it yet.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def __iter__(self) -> Iterator[Decoded]:
        while True:
            try:
                answer = self._connection.recv()
            except (EOFError, OSError):
                raise WorkersError(
                    "a worker was killed, perhaps because memory ran out",
                    hint="--jobs 1 decodes in one process",
                    code="worker-killed",
                ) from None
            if answer is None:
                return
            if isinstance(answer, BaseException):
                raise answer
            yield answer

    def close(self) -> None:
        self._connection.close()
        self._process.kill()
        self._process.join(_PATIENCE)


def _decode(connection: Connection[Any, Any], opened: Callable[[], StreamDecoder], number: int, jobs: int) -> None:
    """Decode every `jobs`-th stream, from `number` on; the pipe takes the elements, then None or the error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    try:
        decoder = opened()
        with decoder.source:
            for each in decoder.decoded(lambda stream: stream % jobs == number):
                if len(each.elements):
                    connection.send(each)
        connection.send(None)
    except BrokenPipeError:  # the reader has enough
        return
    except Exception as error:  # raised again where the elements are read
        with suppress(OSError):
            connection.send(error)
