"""A GPU: long bursts of reads and writes, tags of more than 8 bits, and a CPU that fills queues through a window."""

from __future__ import annotations

from ptttool.generate.functions import PAGE, Function, Host
from ptttool.generate.link import Process
from ptttool.generate.profiles import profile
from ptttool.generate.tlps import ID_ORDER, RELAXED

FUNCTION = 0x0300
PAYLOAD, REQUEST = 512, 4096
COPIES = (16, 64, 256)
# Contiguous pages of a copy.
RUN = 16
WINDOW, COMMANDS, FENCES, BUFFERS, INTERRUPTS = 0x90_0000_0000, 0x6000_0000, 0x6100_0000, 0x30_0000_0000, 0x0809_0040
ORDERING = RELAXED | ID_ORDER


def _copies(gpu: Function, queue: int) -> Process:
    """Process a queue of copies, to or from the GPU, each ordered by the CPU."""
    link, rng, done = gpu.link, gpu.link.rng, 0
    while not link.closing:
        yield from gpu.host.write(WINDOW + queue * 0x1000 + 0x90, 8)
        yield rng.uniform(300, 600)
        yield from gpu.read(COMMANDS + queue * 0x10000 + done % 512 * 128, 128, attr=0, vary=0)
        inwards = rng.random() < 0.5
        for _ in range(rng.choice(COPIES) // RUN):
            place = BUFFERS + rng.randrange(1 << 20) * PAGE
            yield from gpu.read(place, RUN * PAGE, attr=ORDERING) if inwards else gpu.write(place, RUN * PAGE, attr=ORDERING)
        yield from gpu.write(FENCES + queue * 64, 16, attr=0, vary=0)
        if rng.random() < 0.3:
            yield from gpu.write(INTERRUPTS, 4, attr=0, vary=0)
        done += 1
        yield rng.expovariate(1 / 3000)


def _window(gpu: Function) -> Process:
    """Write constants from the CPU through the window, a cache line at a time, and read a register now and then."""
    link, rng, host = gpu.link, gpu.link.rng, gpu.host
    while not link.closing:
        place = WINDOW + 0x1000_0000 + rng.randrange(1 << 10) * PAGE
        for line in range(rng.choice((1, 4, 16))):
            yield from host.write(place + 64 * line, 64)
        yield from host.read(gpu, WINDOW + rng.choice((0x400, 0x404, 0x9400)))
        yield rng.expovariate(1 / 2000)


@profile("gpu", "a GPU: long bursts of large reads and writes, tags of 10 bits (14 with pattern v1)", "0000:00:12.0", 31.5, payload=PAYLOAD)
def start(host: Host) -> None:
    """Start four queues of copies, and the CPU's window."""
    tags = range(1024, 4096) if host.link.v1 else range(256, 1024)
    gpu = Function(host, FUNCTION, tags=tags, payload=PAYLOAD, request=REQUEST)
    for queue in range(4):
        host.link.start(_copies(gpu, queue), host.link.rng.uniform(0, 2000))
    host.link.start(_window(gpu))
