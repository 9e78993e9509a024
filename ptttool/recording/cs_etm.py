"""What perf keeps of CoreSight trace units in PERF_RECORD_AUXTRACE_INFO: registers of every CPU's, to decode their trace with.

Source: ``tools/perf/util/cs-etm.h`` of the Linux sources. The words: version, PMU type << 32 | number of CPUs, snapshot; then for each CPU
a magic number for the kind of trace unit, the CPU, the number of words that follow (not in version 0), and registers in a fixed order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ptttool.perfdata.model import HardwareId

# PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK of an AUX event's flags, and PERF_AUX_FLAG_CORESIGHT_FORMAT_RAW: trace of one source, without frames.
FORMAT_MASK, FORMAT_RAW = 0xFF00, 0x0100
# By magic number: the kind of trace unit, and its registers in order; TS_SOURCE came later than the others.
_UNITS: dict[int, tuple[str, tuple[str, ...]]] = {
    0x3030_3030_3030_3030: ("ETMv3/PTM", ("ETMCR", "ETMTRACEIDR", "ETMCCER", "ETMIDR")),
    0x4040_4040_4040_4040: (
        "ETMv4", ("TRCCONFIGR", "TRCTRACEIDR", "TRCIDR0", "TRCIDR1", "TRCIDR2", "TRCIDR8", "TRCAUTHSTATUS", "TS_SOURCE"),
    ),
    0x5050_5050_5050_5050: (
        "ETE",
        ("TRCCONFIGR", "TRCTRACEIDR", "TRCIDR0", "TRCIDR1", "TRCIDR2", "TRCIDR8", "TRCAUTHSTATUS", "TRCDEVARCH", "TS_SOURCE"),
    ),
}  # fmt: skip
# Registers of a CPU in version 0, which does not count them.
_VERSION_0 = {"ETMv3/PTM": 4, "ETMv4": 7}
# Set in a trace ID register where there was no ID when perf wrote it.
_NO_TRACE_ID = 1 << 7
# IDs of sources; 0 and those from 0x70 on mean something else.
_TRACE_IDS = range(1, 0x70)
# Of the number in AUX_OUTPUT_HW_ID (include/linux/coresight-pmu.h): trace ID, sink (from minor version 1 on), version.
_HARDWARE_TRACE_ID = 0xFF
_SINK, _MINOR, _MAJOR = 8, 56, 60
_SINK_MASK, _VERSION_MASK = 0xFFFF_FFFF, 0xF
_TRACE_ID = {"ETMv3/PTM": "ETMTRACEIDR", "ETMv4": "TRCTRACEIDR", "ETE": "TRCTRACEIDR"}


@dataclass(frozen=True)
class TraceUnit:
    """The trace unit of one CPU. ``registers``: by name, those that perf wrote; ``more``: words behind them that have no name here.

    ``assigned``: the trace ID in an AUX_OUTPUT_HW_ID record of the CPU: from version 2 of the metadata on the kernel assigns them.
    ``sink``: number of the sink, in which alone that is the only one with this ID; None where that is not told.
    """

    cpu: int
    kind: str
    registers: Mapping[str, int]
    more: tuple[int, ...] = ()
    assigned: int | None = None
    sink: int | None = None

    @property
    def trace_id(self) -> int | None:
        """The trace ID that the kernel has assigned, or, where it tells none, that the register has; None where there is none."""
        if self.assigned is not None:
            return self.assigned
        register = self.registers.get(_TRACE_ID[self.kind])
        if register is None or register & _NO_TRACE_ID or register & 0x7F not in _TRACE_IDS:
            return None
        return register & 0x7F

    @property
    def configuration(self) -> dict[str, int]:
        """The registers, with the trace ID that counts."""
        return {**self.registers, _TRACE_ID[self.kind]: self.trace_id or 0}

    def as_json(self) -> dict[str, Any]:
        """With registers as hexadecimal text."""
        registers = {name: f"{value:#x}" for name, value in self.registers.items()}
        return {"cpu": self.cpu, "kind": self.kind, "trace_id": self.trace_id, "registers": registers, "more": list(self.more)}


@dataclass(frozen=True)
class CsEtm:
    """The metadata of a recording. ``damage``: why there is no more of it; None where it is whole."""

    version: int
    pmu_type: int
    cpus: int
    snapshot: bool
    units: tuple[TraceUnit, ...]
    damage: str | None = None

    def as_json(self) -> dict[str, Any]:
        """For ``ptttool info --json``."""
        return {
            "version": self.version,
            "pmu_type": self.pmu_type,
            "cpus": self.cpus,
            "snapshot": self.snapshot,
            "trace_units": [unit.as_json() for unit in self.units],
            "damage": self.damage,
        }


def parse_cs_etm(words: Sequence[int], hardware_ids: Iterable[HardwareId] = ()) -> CsEtm:
    """The metadata in an AUXTRACE_INFO's private words; what is damaged or unknown ends it and is told.

    ``hardware_ids``: of the recording; a CPU's first counts, the others repeat it.
    """
    assigned: dict[int | None, tuple[int, int | None]] = {}
    for found in hardware_ids:
        value = found.value
        # In another major version these fields are something else.
        if not value >> _MAJOR & _VERSION_MASK and value & _HARDWARE_TRACE_ID in _TRACE_IDS:
            sink = value >> _SINK & _SINK_MASK if value >> _MINOR & _VERSION_MASK else None
            assigned.setdefault(found.cpu, (value & _HARDWARE_TRACE_ID, sink))
    if len(words) < 3:
        return CsEtm(0, 0, 0, False, (), f"{len(words)} words, too few for a header")
    version, pmu_type, cpus, snapshot = words[0], words[1] >> 32, words[1] & 0xFFFF_FFFF, bool(words[2])

    def ended(units: list[TraceUnit], damage: str | None) -> CsEtm:
        return CsEtm(version, pmu_type, cpus, snapshot, tuple(units), damage)

    units: list[TraceUnit] = []
    if version > 2:
        return ended(units, f"version {version} is not known")
    at = 3
    while at < len(words) and len(units) < cpus:
        known = _UNITS.get(words[at])
        if known is None:
            return ended(units, f"word {at}: {words[at]:#x} begins no trace unit")
        kind, names = known
        head = 2 if version == 0 else 3
        if at + head > len(words):
            return ended(units, f"word {at}: the trace unit is cut off")
        count = _VERSION_0.get(kind, 0) if version == 0 else words[at + 2]
        if not count:
            return ended(units, f"word {at}: {kind} in version {version}")
        values = words[at + head : at + head + count]
        if len(values) < count:
            return ended(units, f"word {at}: {count} registers, of which {len(values)} are there")
        cpu = words[at + 1]
        registers = dict(zip(names, values, strict=False))
        units.append(TraceUnit(cpu, kind, registers, tuple(values[len(names) :]), *assigned.get(cpu, (None, None))))
        at += head + count
    return ended(units, None if len(units) == cpus else f"{len(units)} of {cpus} CPUs are there")
