"""What the terms ``type``, ``direction`` and ``format`` of a PTT event mean: which TLPs are traced, on which way.

From the kernel's document on the device (Documentation/trace/hisi-ptt.rst, "2. Type" to "4. Format"): its tables hold, not its example.
Inbound is from the device to the root port. CPL A: completions of CHI, DMA and native non-posted requests but for CPL B. CPL B:
completions of DMA remote-to-local and peer-to-peer requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

TYPES = {"p": 1, "np": 2, "cpl": 4}
TYPE_WORDS = {"p": "posted", "np": "non-posted", "cpl": "completion"}
FORMATS = {"4dw": 0, "8dw": 1}
INBOUND, OUTBOUND, BOTH = "inbound", "outbound", "both"


@dataclass(frozen=True)
class Flow:
    """Which TLPs are traced, by their way: of ``P``, ``NP``, ``CPL``; inbound completions come as ``CPL A`` and ``CPL B``."""

    inbound: tuple[str, ...] = ()
    outbound: tuple[str, ...] = ()

    def of_types(self, types: Iterable[str]) -> Flow:
        """What is left of it when only some types are traced."""
        wanted = {name.upper() for name in types}
        return Flow(
            tuple(group for group in self.inbound if group.split()[0] in wanted),
            tuple(group for group in self.outbound if group in wanted),
        )

    def __bool__(self) -> bool:
        return bool(self.inbound or self.outbound)


_OUT = ("P", "NP", "CPL")
DIRECTIONS: Mapping[str, Mapping[int, Flow]] = {
    "4dw": {
        0: Flow(inbound=("P", "NP", "CPL A", "CPL B")),
        1: Flow(outbound=_OUT),
        2: Flow(inbound=("P", "NP", "CPL B"), outbound=_OUT),
        3: Flow(inbound=("CPL A",), outbound=_OUT),
    },
    "8dw": {
        0: Flow(),  # reserved: the driver takes it, what the device does is not documented
        1: Flow(outbound=_OUT),
        2: Flow(inbound=("P", "NP", "CPL B")),
        3: Flow(inbound=("CPL A",)),
    },
}
"""The document's two tables of the ``direction`` term ("3. Direction"), by format and value."""

NUMBERS = {
    ("4dw", INBOUND, None): 0,
    ("4dw", OUTBOUND, None): 1,
    ("4dw", BOTH, None): 2,
    ("4dw", BOTH, "b"): 2,
    ("4dw", BOTH, "a"): 3,
    ("8dw", OUTBOUND, None): 1,
    ("8dw", INBOUND, None): 2,
    ("8dw", INBOUND, "b"): 2,
    ("8dw", INBOUND, "a"): 3,
}
"""Format, direction and choice of completions to the value of the direction term; what is not here means nothing."""
