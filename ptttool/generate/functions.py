"""The two ends of a link: PCI functions that do DMA, and the host, which answers them and accesses their registers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar

from ptttool.generate import tlps
from ptttool.generate.link import Link, Process, Queue
from ptttool.generate.tlps import ADDRESS_BITS, RELAXED, Tlp

PAGE = 4096
# Read Completion Boundary of the host, bytes.
BOUNDARY = 64
# Makes the completions of a request from its tag.
Answers = Callable[[int], Iterable[Tlp]]


def pieces(address: int, size: int, limit: int) -> Iterator[tuple[int, int]]:
    """Yield address and size of the parts of a transfer: no part crosses a multiple of `limit`, a power of two up to 4096."""
    while size > 0:
        part = min(size, limit - address % limit)
        yield address, part
        address, size = address + part, size - part


class Requester:
    """One that sends requests and receives completions.

    Parameters
    ----------
    link : Link
        The link.
    id : int
        Its requester ID.
    tags : sequence of int
        Its tags. The longest unused is taken first.

    Attributes
    ----------
    is_device : bool
        Whether it is below the root port.
    """

    is_device: ClassVar[bool]

    def __init__(self, link: Link, id: int, tags: Sequence[int]) -> None:
        self.link = link
        self.id = id
        self._free = deque(tags)
        self._waiting = Queue()
        # Bits that copies of a block may invert in all tags at once: the result is again a tag of the requester. Tags are in bits 15:8.
        self._vary = (min(len(tags), 256) - 1) << 8

    def send(self, tlp: Tlp) -> float:
        """Put a TLP on the link; return how long it takes, in nanoseconds."""
        return self.link.carry(tlp, inbound=self.is_device)

    def ask(self, request: Callable[[int], Tlp], answers: Answers, delay: float) -> Process:
        """Send a request as soon as a tag is free, and its completions `delay` nanoseconds later; then free the tag."""
        while not self._free:
            yield self._waiting
        tag = self._free.popleft()
        yield self.link.carry(request(tag), inbound=self.is_device, vary1=self._vary)
        yield delay
        for tlp in answers(tag):
            yield self.link.carry(tlp, inbound=not self.is_device, vary2=self._vary)
        self._free.append(tag)
        self.link.wake(self._waiting)


class Host(Requester):
    """The root complex behind a root port.

    Parameters
    ----------
    link : Link
        The link of the root port.
    port : int
        ID of the root port: the completer of DMA reads.
    id : int
        Requester ID of requests of the CPUs.
    payload : int
        Largest payload of a completion in bytes.
    latency : float
        Shortest time that memory takes to answer, in nanoseconds.
    """

    is_device = False

    def __init__(self, link: Link, port: int, *, id: int = 0x0000, payload: int = 256, latency: float = 350.0) -> None:
        super().__init__(link, id, range(32))
        self.port = port
        self.payload = payload
        self.latency = latency

    def delay(self) -> float:
        """Return how long memory takes to answer, in nanoseconds: rarely, it takes much longer."""
        rng = self.link.rng
        return self.latency + rng.expovariate(1 / 60) + (rng.uniform(500, 2000) if rng.random() < 0.01 else 0)

    def limit(self) -> int:
        """Return the size at which completions of a read are split: mostly the largest payload."""
        return self.payload if self.link.rng.random() < 0.9 else max(BOUNDARY, self.payload // 2)

    def write(self, address: int, size: int = 4) -> Process:
        """Write a register from a CPU: a posted request."""
        yield self.send(tlps.request(tlps.MWR, self.id, 0, address, size))

    def read(self, function: Function, address: int, size: int = 4) -> Process:
        """Read a register from a CPU."""
        return self.ask(
            lambda tag: tlps.request(tlps.MRD, self.id, tag, address, size),
            lambda tag: tlps.read_completions(function.id, self.id, tag, address, size, BOUNDARY),
            self.link.rng.uniform(300, 700),
        )


class Function(Requester):
    """A PCI function.

    Parameters
    ----------
    host : Host
        The host at the other end of the link.
    id : int
        Its requester and completer ID.
    tags : sequence of int
        Its tags.
    payload, request : int
        Its Max_Payload_Size and Max_Read_Request_Size in bytes.
    """

    is_device = True

    def __init__(self, host: Host, id: int, *, tags: Sequence[int] = range(256), payload: int = 256, request: int = 512) -> None:
        super().__init__(host.link, id, tags)
        self.host = host
        self.payload = payload
        self.request = request

    def write(self, address: int, size: int, *, attr: int = RELAXED, vary: int = ADDRESS_BITS) -> Process:
        """Write memory by DMA, in pieces; copies may change the bits `vary` of the address."""
        for at, part in pieces(address, size, self.payload):
            yield self.send(tlps.request(tlps.MWR, self.id, 0, at, part, attr=attr, vary=vary))

    def read(self, address: int, size: int, *, attr: int = RELAXED, vary: int = ADDRESS_BITS) -> Process:
        """Read memory by DMA, in pieces that are outstanding at the same time."""
        parts = pieces(address, size, self.request)
        return self.link.together(self.read_once(at, part, self.host.limit(), attr=attr, vary=vary) for at, part in parts)

    def read_once(
        self,
        address: int,
        size: int,
        limit: int = 256,
        *,
        attr: int = 0,
        more: int = 0,
        steering: tuple[int, int] | None = None,
        prefix: int = 0,
        vary: int = ADDRESS_BITS,
    ) -> Process:
        """Send one memory read; its completions are split at multiples of `limit`. The others are as in :func:`.tlps.request`."""
        return self.ask(
            lambda tag: tlps.request(
                tlps.MRD, self.id, tag, address, size, attr=attr, more=more, steering=steering, prefix=prefix, vary=vary
            ),
            lambda tag: tlps.read_completions(self.host.port, self.id, tag, address, size, limit, attr=attr),
            self.host.delay(),
        )
