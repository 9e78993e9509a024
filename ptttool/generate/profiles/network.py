"""A network adapter with virtual functions: packets to and from memory, of many requesters, at any byte address."""

from __future__ import annotations

from collections.abc import Callable

from ptttool.generate.functions import Function, Host
from ptttool.generate.link import Process
from ptttool.generate.profiles import profile

PHYSICAL = (0x0200, 0x0201)
VIRTUAL = tuple(range(0x0208, 0x0208 + 30))
# Sizes of packets; one that stands here more often is chosen more often.
PACKETS = (64, 64, 64, 90, 128, 256, 590, 1514, 1514, 1514, 1514, 9014)
RING = 256
REGISTERS, RINGS, BUFFERS, INTERRUPTS = 0x80_2000_0000, 0x5000_0000, 0x28_0000_0000, 0x0809_0040


class _Port:
    """The rings of one function: addresses of its descriptors and completions, and its doorbells."""

    def __init__(self, function: Function, place: int) -> None:
        self.function = function
        self.rng = function.link.rng
        self.ring = RINGS + place * 0x20000
        self.doorbell = REGISTERS + place * 0x1000
        self.received = self.transmitted = 0

    def buffer(self) -> int:
        """Return the address of a random half page of memory."""
        return BUFFERS + self.rng.randrange(1 << 20) * 4096 + self.rng.choice((0, 2048))

    def complete(self, entry: int) -> Process:
        """Write an entry of a completion queue, at times followed by an interrupt."""
        yield from self.function.write(entry, 64, attr=0, vary=0)
        if self.rng.random() < 0.2:
            yield from self.function.write(INTERRUPTS, 4, attr=0, vary=0)

    def receive(self) -> Process:
        """Receive a packet from the network."""
        if self.received % 16 == 0:  # the driver has added buffers: their descriptors are read
            yield from self.function.host.write(self.doorbell)
            yield from self.function.read(self.ring + self.received % RING * 16, 256, attr=0, vary=0)
        left = self.rng.choice(PACKETS)
        while left:
            part = min(left, 2048 - 64)
            yield from self.function.write(self.buffer() + 64, part)
            left -= part
        yield from self.complete(self.ring + 0x8000 + self.received % RING * 64)
        self.received += 1

    def transmit(self) -> Process:
        """Send a packet to the network; its headers and its data have any address."""
        host, place = self.function.host, self.transmitted % RING
        self.transmitted += 1
        if self.rng.random() < 0.3:  # the descriptor comes with the doorbell
            yield from host.write(self.doorbell + 0x800, 64)
        else:
            yield from host.write(self.doorbell + 0x10)
            yield self.rng.uniform(100, 300)
            yield from self.function.read(self.ring + 0x10000 + place * 64, 64, attr=0, vary=0)
        size = self.rng.choice(PACKETS)
        yield from self.function.read(self.buffer() + self.rng.randrange(2, 128), min(size, 66))
        if size > 66:
            yield from self.function.read(self.buffer() + self.rng.randrange(64), min(size, 1514) - 66)
        yield self.rng.uniform(300, 800)
        yield from self.complete(self.ring + 0x18000 + place * 64)


def _again_and_again(port: _Port, packet: Callable[[], Process], gap: float) -> Process:
    while not port.function.link.closing:
        yield port.rng.expovariate(1 / gap)
        yield from packet()


@profile("network", "a network adapter with 30 virtual functions: packets of all sizes at any address, in and out", "0000:00:11.0", 15.75)
def start(host: Host) -> None:
    """Start all functions: physical ones are busier than virtual ones, which differ from each other."""
    for place, id in enumerate((*PHYSICAL, *VIRTUAL)):
        port = _Port(Function(host, id), place)
        gap = 500.0 if id in PHYSICAL else host.link.rng.uniform(1000, 12_000)
        for _ in range(2):
            host.link.start(_again_and_again(port, port.receive, gap))
            host.link.start(_again_and_again(port, port.transmit, gap))
