"""The driver hisi_ptt as it answers ``perf_event_open(2)`` for the recorded machine: which filters each of its devices takes.

As measured with Linux 6.1 on that machine; the lists are those of the filter files that 6.12 has.
"""

from __future__ import annotations

import errno

# By type number of the PMU: hisi_ptt0_0, hisi_ptt0_2, hisi_ptt2_0.
PORTS = {9: 0x0015, 10: 0x0500, 11: 0}
REQUESTERS = {9: {0x100, 0x200}, 10: {0x400, 0x500, 0x508, 0x600, 0x700, 0x800, 0x801}, 11: set[int]()}


class Driver:
    """Takes and refuses events, and remembers them."""

    def __init__(self) -> None:
        self.opened: list[tuple[int, int, int]] = []

    def refusal(self, type: int, config: int, *, cpu: int) -> int:
        """The error number for an event, 0 for one that is taken."""
        self.opened.append((type, config, cpu))
        value = config & 0xFFFFF
        taken = not value & 0xFFFF & ~PORTS[type] if value & 1 << 19 else value & 0xFFFF in REQUESTERS[type]
        return 0 if taken and config >> 24 & 7 else errno.EINVAL
