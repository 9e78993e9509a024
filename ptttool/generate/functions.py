"""The two ends of a link: PCI functions that do DMA, and the host, which answers them and accesses their registers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

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


class Tags:
    """The free tags of a requester, the longest unused first.

    Parameters
    ----------
    numbers : sequence of int
        All tags of the requester.

    Attributes
    ----------
    vary : int
        Bits that can be inverted in all tags at once; the result is again a tag of the requester.
    """

    def __init__(self, numbers: Sequence[int]) -> None:
        self.free = deque(numbers)
        self.waiting = Queue()
        self.vary = min(len(numbers), 256) - 1


class Requester:
    """One that sends requests and receives completions.

    Parameters
    ----------
    link : Link
        The link.
    id : int
        Its requester ID.
    tags : sequence of int
        Its tags.
    send, receive : callable
        Put a TLP on the link, away from the requester and towards it; they return how long the TLP takes, in nanoseconds.
    """

    def __init__(self, link: Link, id: int, tags: Sequence[int], send: Callable[[Tlp], float], receive: Callable[[Tlp], float]) -> None:
        self.link = link
        self.id = id
        self.tags = Tags(tags)
        self.send = send
        self.receive = receive

    def ask(self, request: Callable[[int], Tlp], answers: Answers, delay: float) -> Process:
        """Send a request as soon as a tag is free, and its completions `delay` nanoseconds later; then free the tag."""
        tags = self.tags
        while not tags.free:
            yield tags.waiting
        tag = tags.free.popleft()
        yield self.send(request(tag))
        yield delay
        for tlp in answers(tag):
            yield self.receive(tlp)
        tags.free.append(tag)
        self.link.wake(tags.waiting)


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

    def __init__(self, link: Link, port: int, *, id: int = 0x0000, payload: int = 256, latency: float = 350.0) -> None:
        super().__init__(link, id, range(32), link.outbound, link.inbound)
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
        vary = self.tags.vary
        return self.ask(
            lambda tag: tlps.request(tlps.MRD, self.id, tag, address, size, vary_tag=vary),
            lambda tag: tlps.read_completions(function.id, self.id, tag, address, size, BOUNDARY, vary_tag=vary),
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

    def __init__(self, host: Host, id: int, *, tags: Sequence[int] = range(256), payload: int = 256, request: int = 512) -> None:
        super().__init__(host.link, id, tags, host.link.inbound, host.link.outbound)
        self.host = host
        self.payload = payload
        self.request = request

    def write(self, address: int, size: int, *, attr: int = RELAXED, vary: int = ADDRESS_BITS) -> Process:
        """Write memory by DMA, in pieces; copies may change the bits `vary` of the address."""
        for at, part in pieces(address, size, self.payload):
            yield self.send(tlps.request(tlps.MWR, self.id, 0, at, part, attr=attr, vary=vary))

    def read(self, address: int, size: int, *, attr: int = RELAXED, vary: int = ADDRESS_BITS) -> Process:
        """Read memory by DMA, in pieces that are outstanding at the same time."""
        return self.link.together(self._read(at, part, attr, vary) for at, part in pieces(address, size, self.request))

    def _read(self, address: int, size: int, attr: int, vary: int) -> Process:
        host, vary_tag = self.host, self.tags.vary
        limit = host.limit()
        return self.ask(
            lambda tag: tlps.request(tlps.MRD, self.id, tag, address, size, attr=attr, vary=vary, vary_tag=vary_tag),
            lambda tag: tlps.read_completions(host.port, self.id, tag, address, size, limit, attr=attr, vary_tag=vary_tag),
            host.delay(),
        )
