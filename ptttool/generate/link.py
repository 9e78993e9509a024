"""A simulated PCIe link: processes, two wires, and a list of the TLPs that they carried.

A process is a generator. It yields how long it sleeps, in nanoseconds, or a :class:`Queue` that it waits in. Time is simulated; no
clock is read.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Generator, Iterable
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from ptttool.generate.tlps import Tlp

# Bytes around a TLP on the wire: start and sequence number 4, LCRC 4 (128b/130b encoding).
FRAMING = 8

Process = Generator["float | Queue", None, None]


class Queue(deque[Process]):
    """Processes that wait for something, first come, first served."""


class Sent(NamedTuple):
    """A TLP and the time at which it has passed the root port, in nanoseconds.

    Attributes
    ----------
    vary1, vary2 : int
        Bits of the tag, in DW 1 of a request and in DW 2 of a completion, that copies of the TLP may change.
    """

    time: float
    inbound: bool
    tlp: Tlp
    vary1: int = 0
    vary2: int = 0


class Link:
    """The link of one root port.

    Parameters
    ----------
    rng : random.Random
        Source of every random choice.
    rate : float
        Bytes per nanosecond in each direction.
    v1 : bool
        Whether tags may have 14 bits, as header pattern v1 records them.

    Attributes
    ----------
    sent : list of Sent
        The TLPs, nearly in order: a busy wire carries a TLP later than it was sent.
    closing : bool
        Whether processes begin nothing new.
    """

    def __init__(self, rng: random.Random, rate: float, *, v1: bool = False) -> None:
        self.rng = rng
        self.v1 = v1
        self.now = 0.0
        self.closing = False
        self.sent: list[Sent] = []
        self._per_byte = 1 / rate
        self._free = {True: 0.0, False: 0.0}  # when each wire, inbound or not, is free again
        self._agenda: list[tuple[float, int, Process]] = []
        self._order = count()

    def carry(self, tlp: Tlp, *, inbound: bool, vary1: int = 0, vary2: int = 0) -> float:
        """Send a TLP towards the root port or towards the devices; return how long it takes, in nanoseconds. `vary1`, `vary2`: see Sent."""
        passed = self._free[inbound] = max(self.now, self._free[inbound]) + (tlp.size + FRAMING) * self._per_byte
        self.sent.append(Sent(passed, inbound, tlp, vary1, vary2))
        return passed - self.now

    def start(self, process: Process, delay: float = 0.0) -> None:
        """Start a process."""
        heappush(self._agenda, (self.now + delay, next(self._order), process))

    def wake(self, queue: Queue) -> None:
        """Resume the process that has waited longest in a queue."""
        if queue:
            self.start(queue.popleft())

    def together(self, processes: Iterable[Process]) -> Process:
        """Run processes side by side; end when all have ended."""
        done, left = Queue(), 0

        def counted(process: Process) -> Process:
            nonlocal left
            yield from process
            left -= 1
            if not left:
                self.wake(done)

        for process in processes:
            left += 1
            self.start(counted(process))
        if left:
            yield done

    def run(self, tlps: int) -> None:
        """Run until that many TLPs are sent and all that was begun has ended."""
        agenda, sent = self._agenda, self.sent
        while agenda:
            self.now, _, process = heappop(agenda)
            wish = next(process, None)
            if wish is None:
                continue
            if isinstance(wish, Queue):
                wish.append(process)
            else:
                heappush(agenda, (self.now + wish, next(self._order), process))
            if len(sent) >= tlps:
                self.closing = True
