"""What sits at the two ends of a link: PCI functions that do DMA, and the host, which serves them and uses their registers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from ptttool.generate import tlps
from ptttool.generate.link import Link, Process, Queue
from ptttool.generate.tlps import ADDRESS_BITS, RELAXED, Tlp

PAGE = 4096
# Read Completion Boundary of the host, bytes.
BOUNDARY = 64
# What a completion of a request for one word has for a tag: whatever the request had.
Answers = Callable[[int], Iterable[Tlp]]


def pieces(address: int, size: int, limit: int) -> Iterator[tuple[int, int]]:
    """Address and size of the parts of a transfer: none crosses a multiple of ``limit``, a power of two up to 4096."""
    while size > 0:
        part = min(size, limit - address % limit)
        yield address, part
        address, size = address + part, size - part


class Tags:
    """The tags of a requester that are free, longest unused first. ``vary``: bits that may be turned in all of them at once."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self.free = deque(numbers)
        self.waiting = Queue()
        self.vary = min(len(numbers), 256) - 1


class Requester:
    """Who sends requests and gets completions. ``send``, ``receive``: the link's two ways as seen from here."""

    def __init__(self, link: Link, id: int, tags: Sequence[int], send: Callable[[Tlp], float], receive: Callable[[Tlp], float]) -> None:
        self.link = link
        self.id = id
        self.tags = Tags(tags)
        self.send = send
        self.receive = receive

    def ask(self, request: Callable[[int], Tlp], answers: Answers, delay: float) -> Process:
        """A request as soon as a tag is free, and its completions after ``delay``; then the tag is free again."""
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

    ``id``: what requests of its CPUs carry; ``port``: what completes DMA reads. ``payload``: bytes of a completion, at most.
    """

    def __init__(self, link: Link, port: int, *, id: int = 0x0000, payload: int = 256, latency: float = 350.0) -> None:
        super().__init__(link, id, range(32), link.outbound, link.inbound)
        self.port = port
        self.payload = payload
        self.latency = latency

    def delay(self) -> float:
        """How long memory takes to answer: mostly little, at times much."""
        rng = self.link.rng
        return self.latency + rng.expovariate(1 / 60) + (rng.uniform(500, 2000) if rng.random() < 0.01 else 0)

    def limit(self) -> int:
        """What the completions of a read are cut at: mostly the largest payload."""
        return self.payload if self.link.rng.random() < 0.9 else max(BOUNDARY, self.payload // 2)

    def write(self, address: int, size: int = 4) -> Process:
        """A CPU's write of a register: posted."""
        yield self.send(tlps.request(tlps.MWR, self.id, 0, address, size))

    def read(self, function: Function, address: int, size: int = 4) -> Process:
        """A CPU's read of a register."""
        vary = self.tags.vary
        return self.ask(
            lambda tag: tlps.request(tlps.MRD, self.id, tag, address, size, vary_tag=vary),
            lambda tag: tlps.read_completions(function.id, self.id, tag, address, size, BOUNDARY, vary_tag=vary),
            self.link.rng.uniform(300, 700),
        )


class Function(Requester):
    """A PCI function. ``payload``, ``request``: its Max_Payload_Size and Max_Read_Request_Size, bytes."""

    def __init__(self, host: Host, id: int, *, tags: Sequence[int] = range(256), payload: int = 256, request: int = 512) -> None:
        super().__init__(host.link, id, tags, host.link.inbound, host.link.outbound)
        self.host = host
        self.payload = payload
        self.request = request

    def write(self, address: int, size: int, *, attr: int = RELAXED, vary: int = ADDRESS_BITS) -> Process:
        """A DMA write, in pieces. ``vary``: bits of the address that copies may change."""
        for at, part in pieces(address, size, self.payload):
            yield self.send(tlps.request(tlps.MWR, self.id, 0, at, part, attr=attr, vary=vary))

    def read(self, address: int, size: int, *, attr: int = RELAXED, vary: int = ADDRESS_BITS) -> Process:
        """A DMA read, in pieces that are under way at the same time."""
        return self.link.together(self._read(at, part, attr, vary) for at, part in pieces(address, size, self.request))

    def _read(self, address: int, size: int, attr: int, vary: int) -> Process:
        host, vary_tag = self.host, self.tags.vary
        limit = host.limit()
        return self.ask(
            lambda tag: tlps.request(tlps.MRD, self.id, tag, address, size, attr=attr, vary=vary, vary_tag=vary_tag),
            lambda tag: tlps.read_completions(host.port, self.id, tag, address, size, limit, attr=attr, vary_tag=vary_tag),
            host.delay(),
        )
