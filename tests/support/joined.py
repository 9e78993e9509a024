"""Simulated runs of a drive, as the kernel's tracepoints and as TLPs show them, with what is true of each command."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

import numpy as np

from ptttool.analyses.joined.order import QueueEntries
from tests.support.tracepoints import COMPLETE, ENTRY, SETUP, TAKEN, Sample, complete, entry, setup, taken

TICK_NS = 4
BEGIN_NS = 10**12
HANDLED_NS = 60
"""From a completion entry to the handler of its interrupt."""


class Command(NamedTuple):
    """A command: times in ns, and the numbers of its TLPs."""

    queue: int
    identifier: int
    thread: int
    blocks: int
    setup: int
    fetch: int
    entry: int
    complete: int


class Run(NamedTuple):
    """A run: its commands by time of submission."""

    commands: list[Command]
    turned: bool = False

    def samples(self) -> list[Sample]:
        """Return what the kernel shows. Commands that end at one time were taken at once."""
        found = [
            Sample(SETUP, one.setup, setup(one.queue, one.identifier, blocks=one.blocks), one.queue, one.thread) for one in self.commands
        ]
        groups: dict[tuple[int, int], list[Command]] = {}
        for one in sorted(self.commands, key=lambda one: one.entry):
            groups.setdefault((one.queue, one.complete), []).append(one)
        for (queue, time), group in groups.items():
            found += [Sample(TAKEN, time + number, taken(queue), queue) for number in range(len(group))]
            ended = group[::-1] if self.turned else group
            found += [
                Sample(COMPLETE, time + len(group) + number, complete(queue, one.identifier), queue) for number, one in enumerate(ended)
            ]
            found.append(Sample(ENTRY, group[0].entry + HANDLED_NS, entry(40 + queue, b"nvme0q%d" % queue), queue))
        return sorted(found, key=lambda one: one.time)

    def ticks(self, ns: int) -> int:
        return (ns - BEGIN_NS) // TICK_NS

    def entries(self, first: int = 0, last: int = 1 << 62, bits: int = 32) -> list[QueueEntries]:
        """Return the queues of a trace from one time until another; `bits`: of the Time field."""
        events = sorted(
            [(one.fetch, 0, one) for one in self.commands if first <= one.fetch < last]
            + [(one.entry, 1, one) for one in self.commands if first <= one.entry < last]
        )
        at, seen, before = [], 0, None
        for time, _, _ in events:
            ticks = self.ticks(time)
            if before is not None:
                seen += (ticks - before) % (1 << bits)
            before = ticks
            at.append(seen)
        found = []
        for queue in sorted({one.queue for _, _, one in events}):
            rows = [
                [(number, at[number]) for number, (_, kind, one) in enumerate(events) if kind == side and one.queue == queue]
                for side in (0, 1)
            ]
            arrays = [np.array(side, dtype=np.int64).reshape(-1, 2) for side in rows]
            found.append(QueueEntries(0x100, queue, arrays[0][:, 0], arrays[0][:, 1], arrays[1][:, 0], arrays[1][:, 1]))
        return found

    def interrupts(self) -> np.ndarray[Any, Any]:
        """Return ticks of the interrupts of a whole trace: one for all completion entries that are taken at once."""
        start = min(one.fetch for one in self.commands)
        first = {(one.queue, one.complete): one.entry for one in sorted(self.commands, key=lambda one: -one.entry)}
        return np.array([self.ticks(time + 4) - self.ticks(start) for time in sorted(first.values())])

    def rung(self, queue: int) -> np.ndarray[Any, Any]:
        """Return ticks of the tail doorbells of a whole trace: they begin before the first fetch."""
        start = min(one.fetch for one in self.commands)
        return np.array([self.ticks(one.setup + 20) - self.ticks(start) for one in self.commands if one.queue == queue])

    def on_wire(self, queue: int) -> dict[int, int]:
        """Return ticks from fetch to completion entry by time of submission."""
        return {one.setup: self.ticks(one.entry) - self.ticks(one.fetch) for one in self.commands if one.queue == queue}


def run_of(seed: int, *, commands: int = 60, queues: int = 2, depth: int = 4, turned: bool = False) -> Run:
    """Return a random run: each queue has one CPU and a number of threads, and up to `depth` commands at a time.

    In a queue, fetches are in the order of submissions, and what is taken is in the order of completion entries.
    """
    random = Random(seed)
    found: list[Command] = []
    for queue in range(1, queues + 1):
        now, fetched, written, open_ = BEGIN_NS + random.randrange(1000), 0, 0, list[Command]()
        unused = list(range(depth))
        for _ in range(commands):
            now += random.choice((50, 5000, 200_000))
            if not unused or (open_ and random.random() < 0.5):
                # Some or all that are open end, taken at once.
                ending = random.sample(open_, random.randint(1, len(open_)))
                done = []
                for one in ending:
                    written = max(written, now, one.fetch) + random.randrange(40, 4000, 4)
                    done.append(one._replace(entry=written))
                now = written + random.randrange(100, 20_000)
                found += [one._replace(complete=now) for one in done]
                now += 2 * len(done) + 2
                open_ = [one for one in open_ if one not in ending]
                unused += [one.identifier for one in ending]
            identifier = unused.pop(0)
            fetched = max(fetched, now) + random.randrange(40, 3000, 4)
            open_.append(Command(queue, identifier, 100 + queue, random.choice((8, 32)), now, fetched, 0, 0))
        for one in open_:
            written = max(written, now, one.fetch) + random.randrange(40, 4000, 4)
            found.append(one._replace(entry=written, complete=written + 500))
    return Run(sorted(found, key=lambda one: one.setup), turned)
