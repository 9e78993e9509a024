"""What differs between Linux kernels in the sysfs of a PTT device."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Kernel:
    """One kernel release.

    The driver has the folders of filters from Linux 6.5 on. From 6.10 on a PMU has its PCI function as parent; before, it lies
    below /sys/devices without a link to it. The recorded machines of 6.1 and 6.12 hold the other values.

    Parameters
    ----------
    release
        As ``uname -r`` prints it: ``6.12``, ``6.12.95+deb12-arm64``.
    """

    release: str

    def __post_init__(self) -> None:
        if re.match(r"\d+\.\d+", self.release) is None:
            raise ValueError(f"{self.release!r} is not a kernel release such as '6.12'")

    @property
    def version(self) -> tuple[int, int]:
        """The first two numbers."""
        major, minor = re.findall(r"\d+", self.release)[:2]
        return int(major), int(minor)

    @property
    def has_filter_files(self) -> bool:
        """True where ``root_port_filters`` and ``requester_filters`` exist."""
        return self.version >= (6, 5)

    @property
    def has_pmu_below_function(self) -> bool:
        """True where a PMU's folder lies in the folder of its PCI function."""
        return self.version >= (6, 10)

    @property
    def first_pmu_type(self) -> int:
        """The first number that the kernel gives to a PMU that asks for any."""
        return 8 if self.has_pmu_below_function else 6

    @property
    def mux_interval(self) -> int:
        """The content of ``perf_event_mux_interval_ms``."""
        return 4 if self.has_pmu_below_function else 0
