"""Every kind of TLP, rare ones and failing ones among them, over a quiet stream of ordinary DMA."""

from __future__ import annotations

from ptttool.generate.functions import Function, Host
from ptttool.generate.link import Process
from ptttool.generate.profiles import profile
from ptttool.generate.themes import LONGEST_PAYLOAD, THEMES, Scene, Theme

# An endpoint of two functions, and a function behind a switch.
ENDPOINT, SECOND, BEHIND_SWITCH = 0x0100, 0x0101, 0x0300
# Every theme comes for the first time so early, nanoseconds: also a short recording holds all.
EARLY = 5000.0


def _again_and_again(scene: Scene, theme: Theme) -> Process:
    rng = scene.link.rng
    yield rng.uniform(0, min(theme.gap, EARLY))
    while not scene.link.closing:
        yield from theme.act(scene)
        yield rng.expovariate(1 / theme.gap)


@profile("mixed", "every kind of TLP: DMA, configuration, I/O, atomics, messages, errors, and a few unknown codes", "0000:00:10.0", 7.88)
def start(host: Host) -> None:
    """All themes, side by side."""
    many = range(1024, 2048) if host.link.v1 else range(256, 1024)
    scene = Scene(
        host,
        Function(host, ENDPOINT, tags=many, payload=LONGEST_PAYLOAD, request=4096),
        Function(host, SECOND),
        Function(host, BEHIND_SWITCH, tags=range(32), payload=128, request=256),
    )
    for theme in THEMES:
        host.link.start(_again_and_again(scene, theme))
