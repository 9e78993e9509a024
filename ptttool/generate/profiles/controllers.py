"""Network controllers that report packets in different ways: one profile each. Formats and their sources are in docs/workloads.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from ptttool.generate.functions import Function, Host
from ptttool.generate.link import Process
from ptttool.generate.profiles import profile

FUNCTIONS: Final = (0x0200, 0x0201)
# Sizes of packets without their frame check sequence; one that stands here more often is chosen more often.
PACKETS: Final = (60, 60, 66, 90, 350, 590, 1514, 1514, 1514, 1514)
SLOTS: Final = 512
REGISTERS, RINGS, INTERRUPTS = 0x80_3000_0000, 0x5800_0000, 0x0809_0040
# Of received packets and of sent ones.
RECEIVED, SENT = 0x28_0000_0000, 0x2C_0000_0000
# Places in the memory of a function: descriptors and entries of received packets and of sent ones, events, and indexes.
FUNCTION_BYTES, RING_BYTES = 0x10_0000, 0x2_0000
RECEIVE, REPORTS, TRANSMIT, DONE, EVENTS, INDEXES = range(0, 6 * RING_BYTES, RING_BYTES)


class Kind(Struct, frozen=True):
    """How a controller reports packets.

    Parameters
    ----------
    work, ahead : int
        Bytes of a descriptor, and how many of buffers are read at once.
    entry, writes : int
        Bytes of a write that reports a packet, and how many such writes there are for one.
    sent : int
        Bytes of the entry of a frame that was sent; 0 for none.
    frames : int
        Frames that one entry reports, at most.
    header, line : int
        Bytes in front of a packet in memory; both are filled up to lines of so many bytes.
    event : int
        Bytes of an event in front of an interrupt; 0 for none.
    in_place : bool
        Whether entries are written to where descriptors were.
    has_index : bool
        Whether an index of 2 bytes follows on an entry.
    """

    work: int
    ahead: int
    entry: int
    sent: int
    writes: int = 1
    frames: int = 1
    header: int = 0
    line: int = 1
    event: int = 0
    in_place: bool = False
    has_index: bool = False


KINDS: Final = {
    "mlx5": Kind(64, 4, 64, 64, frames=4, line=64, event=64),
    "bnxt": Kind(16, 4, 32, 16),
    "hns3": Kind(32, 4, 32, 0, in_place=True),
    "virtio": Kind(16, 1, 8, 8, header=12, has_index=True),
}


class _Port:
    """One function: what it has received and sent."""

    def __init__(self, function: Function, place: int, kind: Kind) -> None:
        self.function, self.kind = function, kind
        self.rng = function.link.rng
        self.memory = RINGS + place * FUNCTION_BYTES
        self.doorbell = REGISTERS + place * 0x1000
        self.received = self.transmitted = self.done = self.waiting = self.events = 0

    def slot(self, ring: int, number: int, size: int) -> int:
        """Return the address of a slot of a ring."""
        return self.memory + ring + number % SLOTS * size

    def report(self, ring: int, number: int, size: int) -> Process:
        """Write an entry, and at times an interrupt."""
        kind, write = self.kind, self.function.write
        yield from write(self.slot(ring, number, size), size, attr=0, vary=0)
        if kind.has_index:
            yield from write(self.memory + INDEXES + (0x1000 if ring == DONE else 0) + 2, 2, attr=0, vary=0)
        if self.rng.random() < 0.2:
            if kind.event:
                yield from write(self.slot(EVENTS, self.events, kind.event), kind.event, attr=0, vary=0)
                self.events += 1
            yield from write(INTERRUPTS, 4, attr=0, vary=0)

    def receive(self) -> Process:
        """Receive a packet from the network, into a buffer of its own."""
        kind, function = self.kind, self.function
        if self.received % kind.ahead == 0:  # the driver has added buffers: their descriptors are read
            yield from function.host.write(self.doorbell)
            yield from function.read(self.slot(RECEIVE, self.received, kind.work), kind.work * kind.ahead, attr=0, vary=0)
        size = -(-(self.rng.choice(PACKETS) + kind.header) // kind.line) * kind.line
        yield from function.write(RECEIVED + self.rng.randrange(1 << 19) * 2048 + 256, size)
        for number in range(kind.writes):
            ring = RECEIVE if kind.in_place else REPORTS
            yield from self.report(ring, self.received * kind.writes + number, kind.entry)
        self.received += 1

    def transmit(self) -> Process:
        """Send a frame to the network."""
        kind, function = self.kind, self.function
        yield from function.host.write(self.doorbell + 8)
        yield self.rng.uniform(100, 300)
        yield from function.read(self.slot(TRANSMIT, self.transmitted, kind.work), kind.work, attr=0, vary=0)
        self.transmitted += 1
        yield from function.read(SENT + self.rng.randrange(1 << 19) * 2048 + self.rng.randrange(2, 300), self.rng.choice(PACKETS))
        yield self.rng.uniform(300, 800)
        self.waiting += 1
        if kind.sent and self.rng.randrange(kind.frames) < self.waiting:
            yield from self.report(DONE, self.done, kind.sent)
            self.done, self.waiting = self.done + 1, 0


def _again_and_again(port: _Port, packet: Callable[[], Process], gap: float) -> Process:
    while not port.function.link.closing:
        yield port.rng.expovariate(1 / gap)
        yield from packet()


def _start(kind: Kind) -> Callable[[Host], None]:
    def start(host: Host) -> None:
        for place, id in enumerate(FUNCTIONS):
            port = _Port(Function(host, id), place, kind)
            host.link.start(_again_and_again(port, port.receive, 500.0))
            host.link.start(_again_and_again(port, port.transmit, 700.0))

    return start


for _name, _text in (
    ("mlx5", "a network controller as ConnectX: entries of 64 bytes in rings of their own, one for several frames sent"),
    ("bnxt", "a network controller as NetXtreme-E: entries of 16 bytes, two for a received packet"),
    ("hns3", "a network controller as HNS3: descriptors of 32 bytes, written back in place"),
    ("virtio", "a network controller as virtio: used rings with elements of 8 bytes and an index"),
):
    profile(_name, _text, "0000:00:11.0", 15.75)(_start(KINDS[_name]))
