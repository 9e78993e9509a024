"""Messages with their answers, and unknown TLP types."""

from __future__ import annotations

from ptttool.generate import tlps
from ptttool.generate.link import Process
from ptttool.generate.themes import REGISTERS, Scene, theme
from ptttool.generate.tlps import Tlp

VENDOR = 0x19E5
# Nanoseconds before the first unknown type: a reader that guesses the format from the first records sees known types only.
UNKNOWN_FROM = 20_000.0
UNKNOWN_CODES = (0x03, 0x12, 0x2F, 0x5A, 0x6F)


@theme(9000)
def page_request(scene: Scene) -> Process:
    """Request a page; the host answers."""
    function, host = scene.second, scene.host
    page = scene.buffer()
    yield function.send(tlps.message(0x04, tlps.TO_ROOT, function.id, dw2=page >> 32, dw3=page & 0xFFFF_F000 | 0b011))
    yield 2000
    yield host.send(tlps.message(0x05, tlps.BY_ID, host.id, dw2=function.id << 16))


@theme(7000)
def wired_interrupt(scene: Scene) -> Process:
    """Assert INTA, and deassert it when the CPU has read a register."""
    function = scene.remote
    yield function.send(tlps.message(0x20, tlps.LOCAL, function.id))
    yield from scene.host.read(function, REGISTERS + 0x20000)
    yield function.send(tlps.message(0x24, tlps.LOCAL, function.id))


@theme(7000)
def time_measurement(scene: Scene) -> Process:
    """Measure time (PTM): a request, and a response with data, as every response but the first has."""
    yield scene.endpoint.send(tlps.message(0x52, tlps.LOCAL, scene.endpoint.id))
    yield 200
    yield scene.host.send(tlps.message(0x53, tlps.LOCAL, scene.host.port, dw2=1, dw3=int(scene.link.now), data_words=1))


@theme(9000)
def power_management(scene: Scene) -> Process:
    """Report latencies, wake up, then turn off."""
    host, function = scene.host, scene.endpoint
    yield function.send(tlps.message(0x10, tlps.LOCAL, function.id, dw3=0x8801_8801))
    yield function.send(tlps.message(0x18, tlps.TO_ROOT, function.id))
    yield 300
    yield host.send(tlps.message(0x12, tlps.LOCAL, host.port, dw3=0xF))
    yield host.send(tlps.message(0x19, tlps.BROADCAST, host.port))
    yield 300
    yield function.send(tlps.message(0x1B, tlps.GATHERED, function.id))


@theme(15_000)
def slot_power(scene: Scene) -> Process:
    """Set the power limit of the slot."""
    yield scene.host.send(tlps.message(0x50, tlps.LOCAL, scene.host.port, data_words=1))


@theme(8000)
def vendor_message(scene: Scene) -> Process:
    """Send a vendor-defined message: to the root complex with data, or to a function without."""
    function, host = scene.endpoint, scene.host
    if scene.link.rng.random() < 0.5:
        yield function.send(tlps.message(0x7F, tlps.TO_ROOT, function.id, dw2=VENDOR, data_words=4))
    else:
        yield host.send(tlps.message(0x7E, tlps.BY_ID, host.port, dw2=function.id << 16 | VENDOR))


@theme(15_000)
def unknown(scene: Scene) -> Process:
    """Send an unknown TLP type."""
    yield max(0.0, UNKNOWN_FROM - scene.link.now)
    code = scene.link.rng.choice(UNKNOWN_CODES)
    yield scene.endpoint.send(Tlp(16, code << 24 | 1, scene.endpoint.id << 16, 0, scene.link.rng.randrange(1 << 16)))
