"""A model of devices on a link, which knows what it did: drives that run commands, and network controllers that move packets.

Only what crosses the link is modelled. Memory of rings, lists and data never overlaps.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ptttool.table.batch import Batch
from ptttool.table.values import Values
from ptttool.tlp.columns import KINDS, TLP_SCHEMA

PAGE, SECTOR = 4096, 512


@dataclass
class Tlp:
    """What the analysis looks at; `size` is Length in bytes."""

    kind: str
    requester: int
    address: int = 0
    size: int = 4
    enabled: int | None = None
    """Bytes that are not disabled at the end, where they are fewer."""
    byte_count: int = 0
    time: int = 0
    is_data: bool = False


@dataclass
class Truth:
    """What the devices did."""

    commands: int = 0
    read: int = 0
    written: int = 0
    interrupts: int = 0
    rx_packets: int = 0
    rx_bytes: int = 0
    tx_frames: int = 0
    tx_bytes: int = 0


@dataclass
class Memory:
    """Gives pages of memory that are used for nothing else."""

    random: random.Random
    taken: set[int] = field(default_factory=set)

    def pages(self, count: int = 1) -> int:
        """Return the address of that many pages in a row."""
        while True:
            first = self.random.randrange(1 << 8, 1 << 24)
            pages = range(first - 1, first + count + 1)  # one free on either side
            if not self.taken.intersection(pages):
                self.taken.update(pages)
                return first * PAGE


def pieces(
    kind: str, requester: int, address: int, size: int, most: int, enabled: int | None = None, *, is_data: bool = True
) -> Iterator[Tlp]:
    """Cut a transfer at multiples of `most`. `enabled`: bytes of the transfer that are not disabled, at its end."""
    end = address + size
    left = size if enabled is None else enabled
    while address < end:
        part = min(most - address % most, end - address)
        yield Tlp(kind, requester, address, part, min(part, left), is_data=is_data)
        left -= part
        address += part


@dataclass
class Ring:
    """A ring of slots."""

    base: int
    slots: int
    size: int
    next: int = 0

    def slot(self) -> int:
        """Return the address of the next slot."""
        address = self.base + self.next * self.size
        self.next = (self.next + 1) % self.slots
        return address


@dataclass
class Command:
    """A command: the pieces of its memory, each within a page, and where its list is read."""

    is_read: bool
    memory: list[tuple[int, int]]
    listed: tuple[int, int] | None
    queue: int = 0
    entry: Tlp | None = None


class Drive:
    """A drive as the emulated one: it works on each entry when it fetches it, and reads lists to the end of their page.

    Parameters
    ----------
    random_, memory
        Where numbers and memory come from.
    requester : int
        Its ID.
    queues, depth : int
        Number of queue pairs, and entries of each.
    shadows : bool
        Whether it has shadow doorbells.
    payload, request : int
        Largest data of a write, and of a read.
    """

    def __init__(
        self, random_: random.Random, memory: Memory, requester: int, *, queues: int = 1, depth: int = 64, shadows: bool = True,
        payload: int = 256, request: int = 512,
    ) -> None:  # fmt: skip
        self.random, self.requester, self.payload, self.request = random_, requester, payload, request
        self.submission = [Ring(memory.pages(-(-depth * 64 // PAGE)), depth, 64) for _ in range(queues)]
        self.completion = [Ring(memory.pages(-(-depth * 16 // PAGE)), depth, 16) for _ in range(queues)]
        self.depth = depth
        self.doorbells = memory.pages(2) if shadows else None
        self.small_pool, self.large_pool = memory.pages(), memory.pages()
        self.buffers = [memory.pages() for _ in range(48)]
        self.extent = memory.pages(64)
        self.truth = Truth()
        self.pairs: list[tuple[Tlp, Tlp]] = []
        self.peak = 0

    def command(self, *, is_read: bool, size: int, offset: int = 0, contiguous: bool = False) -> Command:
        """Return a command for so many bytes; `offset`: of its memory in the first page; `contiguous`: its memory is in one piece."""
        count = -(-(offset + size) // PAGE)
        start = self.random.randrange(64 - count) * PAGE + self.extent
        pages = [start + PAGE * number for number in range(count)] if contiguous else self.random.sample(self.buffers, count)
        memory, left, at = [], size, offset
        for page in pages:
            memory.append((page + at, min(PAGE - at, left)))
            left -= memory[-1][1]
            at = 0
        where = None
        if count > 2 and not contiguous:
            where = self.small_pool + 256 * self.random.randrange(16) if count <= 33 else self.large_pool
        return Command(
            is_read, memory, None if where is None else self.list_of(where, count - 1), self.random.randrange(len(self.submission))
        )

    def list_of(self, where: int, entries: int) -> tuple[int, int]:
        """Return what is read of a list."""
        return where, PAGE - where % PAGE

    def run(self, commands: list[Command], in_flight: int) -> Iterator[Tlp]:
        """Yield the TLPs of commands, so many at a time at most; they end in any order."""
        waiting, under_way = list(reversed(commands)), list[Command]()
        most = min(in_flight, self.depth - 1)
        while waiting or under_way:
            burst = [waiting.pop() for _ in range(min(self.random.randint(0, most), len(waiting), most - len(under_way)))]
            yield from self.take(burst)
            under_way += burst
            self.peak = max(self.peak, len(under_way))
            for _ in range(self.random.randint(0, len(under_way))):
                yield from self.complete(under_way.pop(self.random.randrange(len(under_way))))
            if burst:
                self.truth.interrupts += 1
                yield Tlp("MWr", self.requester, 0x8090040)

    def take(self, commands: list[Command]) -> Iterator[Tlp]:
        """Yield the TLPs by which commands are taken."""
        for command in commands:
            yield from self.fetch([command])
            if command.listed is not None:
                yield from pieces("MRd", self.requester, *command.listed, self.request, is_data=False)
            yield from self.data_of(command)
            yield from self.doorbell(command.queue * 8)

    def fetch(self, commands: list[Command]) -> Iterator[Tlp]:
        """Yield the fetch of commands of one queue."""
        ring = self.submission[commands[0].queue]
        address = ring.slot()
        for _ in commands[1:]:
            ring.slot()
        entry = Tlp("MRd", self.requester, address, 64 * len(commands))
        for command in commands:
            command.entry = entry
        self.truth.commands += len(commands)
        yield entry

    def data_of(self, command: Command) -> Iterator[Tlp]:
        """Yield the reads of a command's data."""
        if not command.is_read:
            for address, size in command.memory:
                self.truth.written += size
                yield from pieces("MRd", self.requester, address, size, self.request)

    def doorbell(self, offset: int) -> Iterator[Tlp]:
        """Yield how a shadow doorbell is looked at."""
        if self.doorbells is not None:
            yield Tlp("MWr", self.requester, self.doorbells + PAGE + offset)
            yield Tlp("MRd", self.requester, self.doorbells + offset)

    def complete(self, command: Command) -> Iterator[Tlp]:
        """Yield the TLPs by which a command ends."""
        if command.is_read:
            for address, size in command.memory:
                self.truth.read += size
                yield from pieces("MWr", self.requester, address, size, self.payload)
        yield from self.doorbell(command.queue * 8 + 4)
        done = Tlp("MWr", self.requester, self.completion[command.queue].slot(), 16)
        assert command.entry is not None
        self.pairs.append((command.entry, done))
        yield done


class EagerDrive(Drive):
    """A drive that fetches several entries at once, reads no more of a list than there is, and works on commands in any order."""

    def list_of(self, where: int, entries: int) -> tuple[int, int]:
        """Return what is read of a list."""
        return where, 8 * entries

    def take(self, commands: list[Command]) -> Iterator[Tlp]:
        """Yield the TLPs by which commands are taken."""
        by_queue: dict[int, list[Command]] = {}
        for command in commands:
            by_queue.setdefault(command.queue, []).append(command)
        for queue, group in by_queue.items():
            while group:
                ring = self.submission[queue]
                count = min(
                    len(group),
                    self.random.choice((1, 1, 2, 4, 7)) if ring.next else 1,
                    ring.slots - ring.next,
                    (PAGE - ring.next * 64 % PAGE) // 64,
                )
                yield from self.fetch(group[:count])
                group = group[count:]
        for command in commands:
            if command.listed is not None:
                yield from pieces("MRd", self.requester, *command.listed, self.request, is_data=False)
        for command in self.random.sample(commands, len(commands)):
            yield from self.data_of(command)


class Controller:
    """A network controller as the emulated one: a descriptor is fetched, and written back, for each packet."""

    def __init__(self, random_: random.Random, memory: Memory, requester: int, *, depth: int = 256) -> None:
        self.random, self.requester = random_, requester
        self.receive = Ring(memory.pages(-(-depth * 16 // PAGE)), depth, 16)
        self.transmit = Ring(memory.pages(-(-depth * 16 // PAGE)), depth, 16)
        self.buffers = [memory.pages() for _ in range(24)]
        self.truth = Truth()

    def run(self, packets: list[tuple[bool, int, bool]]) -> Iterator[Tlp]:
        """Yield the TLPs of packets: whether each is received, its size, and whether a sent one has a context."""
        for is_received, size, has_context in packets:
            yield from self.received(size) if is_received else self.sent(size, has_context=has_context)
            if not self.random.randrange(3):
                self.truth.interrupts += 1
                yield Tlp("MWr", self.requester, 0x8090040)

    def received(self, size: int) -> Iterator[Tlp]:
        """Yield the TLPs of a received packet."""
        slot = self.receive.slot()
        yield Tlp("MRd", self.requester, slot, 16)
        yield from pieces(
            "MWr", self.requester, self.random.choice(self.buffers) + self.random.choice((64, 2112)), -(-size // 4) * 4, 256, size
        )
        yield Tlp("MWr", self.requester, slot, 16)
        yield Tlp("MWr", self.requester, slot + 8)
        self.truth.rx_packets += 1
        self.truth.rx_bytes += size

    def sent(self, size: int, *, has_context: bool) -> Iterator[Tlp]:
        """Yield the TLPs of a packet that is sent."""
        for is_context in (True, False) if has_context else (False,):
            slot = self.transmit.slot()
            yield Tlp("MRd", self.requester, slot, 16)
            if not is_context:
                yield from pieces("MRd", self.requester, self.random.choice(self.buffers) + 64, -(-size // 4) * 4, 512, size)
            yield Tlp("MWr", self.requester, slot + 12)
        self.truth.tx_frames += 1
        self.truth.tx_bytes += size


@dataclass
class Way:
    """How a controller reports packets: bytes of an entry, writes of it, and what its packets look like in memory."""

    driver: str
    entry: int
    work: int = 64
    ahead: int = 4
    """Descriptors of buffers that it reads at once."""
    writes: int = 1
    """Writes of an entry that report a packet."""
    header: int = 0
    line: int = 1
    is_strided: bool = False
    """Whether packets lie side by side, a stride of 64 bytes each."""
    compressed: int = 0
    """Packets that are reported together, at most: an entry, and one more for every eight of them."""
    in_place: bool = False
    """Whether the entry is written to where the descriptor was."""
    state: int = 0
    """Bytes of a write to one place behind each entry."""


WAYS = {
    "mlx5": Way("mlx5_core", 64),
    "mlx5-128": Way("mlx5_core", 128),
    "mlx5-strided": Way("mlx5_core", 64, line=64, is_strided=True),
    "mlx5-compressed": Way("mlx5_core", 64, compressed=20),
    "bnxt": Way("bnxt_en", 32, work=16),
    "bnxt-halves": Way("bnxt_en", 16, work=16, writes=2),
    "hns3": Way("hns3", 32, work=32, in_place=True),
    "virtio": Way("virtio-pci", 8, work=16, ahead=1, header=12, state=2),
    "virtio-packed": Way("virtio-pci", 16, work=16, ahead=1, header=12, in_place=True),
}


class QueueController:
    """A network controller that reports packets otherwise than Intel's do, in one of :data:`WAYS`; events are in a ring of their own."""

    def __init__(
        self, random_: random.Random, memory: Memory, requester: int, *, depth: int = 256, way: Way = WAYS["mlx5"], payload: int = 256,
        request: int = 512, offsets: tuple[int, ...] = (64, 2112),
    ) -> None:  # fmt: skip
        self.random, self.requester, self.way, self.payload, self.request = random_, requester, way, payload, request
        self.offsets = offsets

        def ring(size: int) -> Ring:
            return Ring(memory.pages(-(-depth * size // PAGE)), depth, size)

        self.receive, self.transmit, self.events = ring(way.work), ring(way.work), ring(64)
        self.completion, self.done = (self.receive, self.transmit) if way.in_place else (ring(way.entry), ring(way.entry))
        self.state = memory.pages()
        self.buffers = [memory.pages(3) for _ in range(24)]
        self.strides, self.stride = memory.pages(64), 0
        self.fetched, self.waiting = 0, 0
        self.truth = Truth()

    def run(self, packets: list[tuple[bool, int]]) -> Iterator[Tlp]:
        """Yield the TLPs of packets: whether each is received, and its size."""
        for is_received, size in packets:
            yield from self.received(size) if is_received else self.sent([size])
        yield from self.flush()

    def buffer(self, size: int) -> int:
        """Return where a packet goes."""
        if not self.way.is_strided:
            return int(self.random.choice(self.buffers) + self.random.choice(self.offsets))
        if self.stride + size > 64 * PAGE:
            self.stride = 0
        at = self.strides + self.stride
        self.stride += -(-size // 64) * 64
        return at

    def received(self, size: int) -> Iterator[Tlp]:
        """Yield the TLPs of a received packet."""
        way = self.way
        if not self.fetched % way.ahead:
            ahead = self.receive.base + self.fetched % self.receive.slots * way.work
            yield Tlp("MRd", self.requester, ahead, way.work * way.ahead)
        self.fetched += 1
        at = self.buffer(size)
        filled = -(-(size + way.header) // max(way.line, 4)) * max(way.line, 4)
        yield from pieces("MWr", self.requester, at, filled, self.payload, size + way.header if way.line == 1 else None)
        self.truth.rx_packets += 1
        self.truth.rx_bytes += size
        self.waiting += 1
        if self.waiting >= self.random.randint(1, max(way.compressed, 1)):
            yield from self.flush()

    def flush(self) -> Iterator[Tlp]:
        """Yield the entries of the packets that wait for them."""
        way, count = self.way, self.waiting
        self.waiting = 0
        for number in range(count * way.writes):
            slot = self.completion.slot()
            # Of entries that are reported together, the first one, the next one, and then every eighth are written.
            if not way.compressed or number < 2 or number % 8 == 0:
                yield Tlp("MWr", self.requester, slot, way.entry)
        if count:
            yield from self.event(0)

    def event(self, place: int) -> Iterator[Tlp]:
        """Yield what follows on entries."""
        if self.way.state:
            yield Tlp("MWr", self.requester, self.state + place, 4, self.way.state)
        if not self.random.randrange(3):
            if self.way.driver == "mlx5_core":
                yield Tlp("MWr", self.requester, self.events.slot(), 64)
            self.truth.interrupts += 1
            yield Tlp("MWr", self.requester, 0x8090040)

    def sent(self, sizes: list[int]) -> Iterator[Tlp]:
        """Yield the TLPs of frames that are sent, for which there is one entry."""
        for size in sizes:
            slot = self.transmit.slot()
            yield Tlp("MRd", self.requester, slot, self.way.work)
            at = self.random.choice(self.buffers) + self.random.choice((64, 130))
            yield from pieces("MRd", self.requester, at, -(-size // 4) * 4, self.request, size)
            self.truth.tx_frames += 1
            self.truth.tx_bytes += size
        if self.way.driver != "hns3":
            yield Tlp("MWr", self.requester, self.done.slot() if not self.way.in_place else slot, self.way.entry)
            yield from self.event(4)


def mixed(random_: random.Random, streams: list[Iterator[Tlp]]) -> list[Tlp]:
    """Return the TLPs of several devices, each in its order, with times."""
    left, tlps, time = list(streams), list[Tlp](), 0
    while left:
        stream = random_.choice(left)
        for _ in range(random_.randint(1, 5)):
            tlp = next(stream, None)
            if tlp is None:
                left.remove(stream)
                break
            time += random_.randint(0, 40)
            tlp.time = time
            tlps.append(tlp)
    return tlps


def batch_of(tlps: list[Tlp], first: int = 0) -> Batch:
    """Return TLPs as the decoder gives them; `first`: number of the first one in its recording."""

    def column(values: list[int], dtype: Any) -> Values:
        return Values(np.array(values, dtype=dtype))

    dws = [tlp.size // 4 for tlp in tlps]
    columns = {
        "index": Values(range(first, first + len(tlps))),
        "kind": column([KINDS.index(tlp.kind) for tlp in tlps], "u1"),
        "requester": column([tlp.requester for tlp in tlps], "u2"),
        "address": column([tlp.address for tlp in tlps], "u8"),
        "length_dw": column(dws, "u2"),
        "requested_bytes": column([tlp.size if tlp.enabled is None else tlp.enabled for tlp in tlps], "u2"),
        "byte_count": column([tlp.byte_count for tlp in tlps], "u2"),
        "lower_address": column([tlp.address & 0x7F if tlp.kind == "CplD" else 0 for tlp in tlps], "u1"),
        "time": column([tlp.time & 0xFFFFFFFF for tlp in tlps], "u4"),
        "offset": Values(range(first * 32, (first + len(tlps)) * 32, 32)),
        "cpu": column([0] * len(tlps), "i4"),
    }
    return Batch(TLP_SCHEMA.select(tuple(columns)), len(tlps), columns)
