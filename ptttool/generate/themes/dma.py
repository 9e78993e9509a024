"""DMA: reads, writes and atomics of every form, and their errors."""

from __future__ import annotations

from ptttool.generate import tlps
from ptttool.generate.link import Process
from ptttool.generate.themes import LONGEST_PAYLOAD, Scene, theme
from ptttool.generate.tlps import ADDRESS_BITS, ID_ORDER, NO_SNOOP, RELAXED, Tlp

INTERRUPTS, UNMAPPED = 0x0809_0040, 0x38_F000_0000


@theme(150)
def dma_write(scene: Scene) -> Process:
    """Write any number of bytes at any address."""
    rng = scene.link.rng
    function = rng.choice((scene.endpoint, scene.second, scene.remote))
    attr = rng.choice((0, RELAXED, RELAXED | ID_ORDER, NO_SNOOP))
    yield from function.write(scene.buffer() + rng.randrange(64), rng.choice((1, 3, 4, 64, 200, 1000, 4032)), attr=attr)


@theme(200)
def dma_read(scene: Scene) -> Process:
    """Read any number of bytes at any address."""
    rng = scene.link.rng
    function = rng.choice((scene.endpoint, scene.second, scene.remote))
    yield from function.read(scene.buffer() + rng.randrange(64), rng.choice((1, 4, 64, 500, 1500, 4000)))


@theme(5000)
def longest_write(scene: Scene) -> Process:
    """Write 1024 DWs, for which the Length field is 0."""
    yield from scene.endpoint.write(scene.buffer(), LONGEST_PAYLOAD)


@theme(6000)
def flush(scene: Scene) -> Process:
    """Read no byte: when the completion arrives, all writes before have arrived."""
    return scene.endpoint.read_once(scene.buffer(), 0)


@theme(1500)
def interrupt(scene: Scene) -> Process:
    """Send an interrupt: a write to the address of the interrupt controller."""
    yield from scene.link.rng.choice((scene.endpoint, scene.second)).write(INTERRUPTS, 4, attr=0, vary=0)


@theme(3000)
def atomics(scene: Scene) -> Process:
    """Send an atomic request; the completion carries the old value."""
    function, host, rng = scene.endpoint, scene.host, scene.link.rng
    code = rng.choice((tlps.FETCH_ADD, tlps.SWAP, tlps.CAS))
    operand = rng.choice((4, 8, 16) if code == tlps.CAS else (4, 8))
    place = scene.buffer() + operand * rng.randrange(16)
    return function.ask(
        lambda tag: tlps.request(code, function.id, tag, place, operand, vary=ADDRESS_BITS),
        lambda tag: [tlps.completion(tlps.CPLD, host.port, function.id, tag, size=operand, byte_count=operand)],
        host.delay(),
    )


@theme(4000)
def hints(scene: Scene) -> Process:
    """Write with a Steering Tag instead of a tag, read with one instead of byte enables; at times with a TPH prefix."""
    function, rng = scene.endpoint, scene.link.rng
    steering = rng.randrange(4), rng.randrange(256)
    prefix = tlps.TPH_PREFIX << 24 | rng.randrange(256) << 16 if rng.random() < 0.5 else 0
    yield function.send(
        tlps.request(tlps.MWR, function.id, 0, scene.buffer(), 64, steering=steering, prefix=prefix, attr=RELAXED, vary=ADDRESS_BITS)
    )
    yield from function.read_once(scene.buffer(), 64, steering=steering, prefix=prefix)


@theme(4000)
def address_spaces(scene: Scene) -> Process:
    """Read in the address space of a process (PASID)."""
    return scene.second.read_once(scene.buffer(), 128, prefix=tlps.PASID_PREFIX << 24 | scene.link.rng.randrange(1, 1 << 10))


@theme(7000)
def translation(scene: Scene) -> Process:
    """Translate an address (ATS) and use it; at times the host then invalidates the translation."""
    function, host, place = scene.second, scene.host, scene.buffer()
    yield from function.read_once(place, 8, more=tlps.TRANSLATION_REQUEST)
    yield function.send(tlps.request(tlps.MWR, function.id, 0, place, 256, more=tlps.TRANSLATED, vary=ADDRESS_BITS))
    if scene.link.rng.random() < 0.5:
        yield host.send(tlps.message(0x01, tlps.BY_ID, host.id, dw2=function.id << 16, data_words=2))
        yield 400
        yield function.send(tlps.message(0x02, tlps.BY_ID, function.id, dw2=host.id << 16 | 1, dw3=1))


@theme(6000)
def poison(scene: Scene) -> Process:
    """Write poisoned data, and send the error message about it."""
    function = scene.endpoint
    yield function.send(tlps.request(tlps.MWR, function.id, 0, scene.buffer(), 64, more=tlps.POISONED, vary=ADDRESS_BITS))
    yield 100
    yield function.send(tlps.message(0x30, tlps.TO_ROOT, function.id))


@theme(6000)
def digest(scene: Scene) -> Process:
    """Write with an ECRC, in another traffic class."""
    function = scene.remote
    yield function.send(tlps.request(tlps.MWR, function.id, 0, scene.buffer(), 128, tc=3, more=tlps.DIGEST, vary=ADDRESS_BITS))


@theme(8000)
def failing_read(scene: Scene) -> Process:
    """Read an unmapped address (UR), or one that fails half-way (CA)."""
    function, host = scene.endpoint, scene.host
    unsupported = scene.link.rng.random() < 0.5
    place = UNMAPPED if unsupported else scene.buffer()
    status = tlps.UNSUPPORTED if unsupported else tlps.ABORT

    def answers(tag: int) -> list[Tlp]:
        good = [] if unsupported else tlps.read_completions(host.port, function.id, tag, place, 512, 256)[:1]
        left = 512 - 256 * len(good)
        last = tlps.completion(
            tlps.CPL, host.port, function.id, tag, status=status, byte_count=left, lower_address=(place + 512 - left) & 0x7F
        )
        return [*good, last]

    yield from function.ask(
        lambda tag: tlps.request(tlps.MRD, function.id, tag, place, 512, vary=0 if unsupported else ADDRESS_BITS),
        answers,
        host.delay(),
    )
    yield function.send(tlps.message(0x31 if unsupported else 0x33, tlps.TO_ROOT, function.id))
