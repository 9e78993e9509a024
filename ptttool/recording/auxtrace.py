"""Types of AUX trace in perf.data, as PERF_RECORD_AUXTRACE_INFO names them.

Source: ``tools/perf/util/auxtrace.h`` of the Linux sources, ``enum auxtrace_type``.
"""

from __future__ import annotations

CS_ETM, HISI_PTT = 3, 6
NAMES = {
    1: "Intel PT",
    2: "Intel BTS",
    CS_ETM: "CoreSight ETM",
    4: "Arm SPE",
    5: "s390 CPU-MF",
    HISI_PTT: "HiSilicon PTT",
    7: "Power VPA DTL",
}

DMA_BUFFER = 4 << 20
"""Bytes of one of the four buffers of the PTT device's ring. The driver commits whole buffers, and what is in the last one at the end."""
