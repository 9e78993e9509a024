"""What differs between Linux kernels in the sysfs of a PTT device."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Kernel:
    """One kernel release.

    The driver has the folders of filters from Linux 6.5 on, and in all of openEuler. From 6.10 on a PMU has its PCI function as parent;
    before, and in openEuler, it lies below /sys/devices without a link to it. The demo machines hold the other values.

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
    def is_openeuler(self) -> bool:
        """True for a kernel of openEuler, whose release names its own: ``.oe2203sp4``."""
        return re.search(r"\.oe\d{4}", self.release) is not None

    @property
    def has_filter_files(self) -> bool:
        """True where ``root_port_filters`` and ``requester_filters`` exist."""
        return self.version >= (6, 5) or self.is_openeuler

    @property
    def has_pmu_below_function(self) -> bool:
        """True where a PMU's folder lies in the folder of its PCI function."""
        return self.version >= (6, 10) and not self.is_openeuler

    @property
    def counter_events(self) -> dict[str, int]:
        """The events of the ``hisi_pcie`` PMU and their codes, as ``hisi_pcie_pmu.c`` has them.

        Before 6.2, what it called reads were completions of the other direction; bandwidth of writes and completions came with 6.9.
        """
        reads = {"rx_mrd": 0x0804, "tx_mrd": 0x0405} if self.version >= (6, 2) else {"rx_mrd": 0x1005, "tx_mrd": 0x2004}
        later = {"rx_mwr": 0x0104, "rx_cpl": 0x2004, "tx_mwr": 0x0105, "tx_cpl": 0x1005} if self.version >= (6, 9) else {}
        pairs = [("latency", "cnt", {"rx_mwr": 0x0010, "rx_mrd": 0x0210, "tx_mrd": 0x0011}), ("flux", "time", reads | later)]
        # The second of a pair is the other half of the same counter.
        return {
            f"{of}_{name}": code | half
            for first, second, codes in pairs
            for of, code in codes.items()
            for name, half in ((first, 0), (second, 0x10000))
        }

    @property
    def first_pmu_type(self) -> int:
        """The first number that the kernel gives to a PMU that asks for any."""
        return 8 if self.has_pmu_below_function else 6

    @property
    def mux_interval(self) -> int:
        """The content of ``perf_event_mux_interval_ms``."""
        return 4 if self.has_pmu_below_function else 0
