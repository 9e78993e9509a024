"""A simulated PCIe link: processes that take turns, two wires, and a list of what went over them.

A process is a generator. It yields how long it sleeps, in nanoseconds, or a :class:`Queue` that it waits in. Time is that of the
simulation; nothing here looks at a clock.
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
    """A TLP that has passed the root port. ``time``: nanoseconds."""

    time: float
    inbound: bool
    tlp: Tlp


class Wire:
    """One direction of a link. ``rate``: bytes per nanosecond."""

    def __init__(self, rate: float) -> None:
        self._per_byte = 1 / rate
        self._free = 0.0

    def carry(self, now: float, size: int) -> float:
        """When a TLP of ``size`` bytes that is ready now has passed."""
        self._free = max(now, self._free) + (size + FRAMING) * self._per_byte
        return self._free


class Link:
    """The link of one root port. ``sent``: what went over it, nearly in order: the backlog of a wire lies in the future.

    ``v1``: tags may have 14 bits, since the records will have room for them. ``closing``: nothing new shall be begun.
    """

    def __init__(self, rng: random.Random, rate: float, *, v1: bool = False) -> None:
        self.rng = rng
        self.v1 = v1
        self.now = 0.0
        self.closing = False
        self.sent: list[Sent] = []
        self._inbound, self._outbound = Wire(rate), Wire(rate)
        self._agenda: list[tuple[float, int, Process]] = []
        self._order = count()

    def inbound(self, tlp: Tlp) -> float:
        """Send towards the root port; gives how long it takes until the TLP has passed."""
        passed = self._inbound.carry(self.now, tlp.size)
        self.sent.append(Sent(passed, True, tlp))
        return passed - self.now

    def outbound(self, tlp: Tlp) -> float:
        """Send towards the devices; gives how long it takes until the TLP has passed."""
        passed = self._outbound.carry(self.now, tlp.size)
        self.sent.append(Sent(passed, False, tlp))
        return passed - self.now

    def start(self, process: Process, delay: float = 0.0) -> None:
        """Let a process begin."""
        heappush(self._agenda, (self.now + delay, next(self._order), process))

    def wake(self, queue: Queue) -> None:
        """Let the first that waits in the queue go on."""
        if queue:
            self.start(queue.popleft())

    def together(self, processes: Iterable[Process]) -> Process:
        """Begin them all; over when all are."""
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
        """Until so many TLPs were sent; then what was begun is brought to its end."""
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
