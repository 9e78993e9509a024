"""What perf stores of CoreSight trace units in PERF_RECORD_AUXTRACE_INFO: registers of every CPU, which decoding needs.

Source: ``tools/perf/util/cs-etm.h`` of the Linux sources. The 64-bit numbers are: version, PMU type << 32 | number of CPUs, snapshot; then
for each CPU a magic number for the kind of trace unit, the CPU, the count of registers (not in version 0), and registers in a fixed order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import ClassVar

from msgspec import Struct

from ptttool.documents import Hex
from ptttool.perfdata.model import HardwareId


class UnitKind(StrEnum):
    """Kind of a trace unit."""

    ETMV3 = "ETMv3/PTM"
    ETMV4 = "ETMv4"
    ETE = "ETE"


# By magic number: the kind of trace unit, and its registers in order; TS_SOURCE was added to later versions of perf.
_UNITS: dict[int, tuple[UnitKind, tuple[str, ...]]] = {
    0x3030_3030_3030_3030: (UnitKind.ETMV3, ("ETMCR", "ETMTRACEIDR", "ETMCCER", "ETMIDR")),
    0x4040_4040_4040_4040: (
        UnitKind.ETMV4,
        ("TRCCONFIGR", "TRCTRACEIDR", "TRCIDR0", "TRCIDR1", "TRCIDR2", "TRCIDR8", "TRCAUTHSTATUS", "TS_SOURCE"),
    ),
    0x5050_5050_5050_5050: (
        UnitKind.ETE,
        ("TRCCONFIGR", "TRCTRACEIDR", "TRCIDR0", "TRCIDR1", "TRCIDR2", "TRCIDR8", "TRCAUTHSTATUS", "TRCDEVARCH", "TS_SOURCE"),
    ),
}
# The newest version that is known, and the size of the header.
_NEWEST, _HEADER = 2, 3
# Number of registers of a CPU in version 0, which does not store it.
_VERSION_0 = {UnitKind.ETMV3: 4, UnitKind.ETMV4: 7}
# Set in a trace ID register that had no ID when perf wrote it.
_NO_TRACE_ID = 1 << 7
# IDs of sources; 0 and those from 0x70 on mean something else.
_TRACE_IDS = range(1, 0x70)
# Fields of the number in AUX_OUTPUT_HW_ID (include/linux/coresight-pmu.h): trace ID, sink (from minor version 1 on), version.
_HARDWARE_TRACE_ID = 0xFF
_SINK, _MINOR, _MAJOR = 8, 56, 60
_SINK_MASK, _VERSION_MASK = 0xFFFF_FFFF, 0xF
_TRACE_ID: dict[str, str] = {UnitKind.ETMV3: "ETMTRACEIDR", UnitKind.ETMV4: "TRCTRACEIDR", UnitKind.ETE: "TRCTRACEIDR"}


class TraceUnit(Struct, frozen=True):
    """The CoreSight trace unit of one CPU.

    Parameters
    ----------
    cpu : int
        The CPU.
    kind : str
        Kind of trace unit.
    trace_id : int or None
        Trace ID of its packets.
    registers : Mapping[str, Hex]
        Its registers by name, in hexadecimal.
    more : tuple of int
        Numbers of perf's metadata that have no name here.
    sink : int or None
        Number of the sink, among whose sources the ID is unique; None where the recording does not say.
    """

    json_name: ClassVar = "TraceUnitBody"
    json_hides: ClassVar = ("sink",)

    cpu: int
    kind: str
    trace_id: int | None
    registers: Mapping[str, Hex]
    more: tuple[int, ...] = ()
    sink: int | None = None

    @property
    def configuration(self) -> dict[str, int]:
        """The registers, with the trace ID that is in use."""
        return {**self.registers, _TRACE_ID[self.kind]: self.trace_id or 0}


class CsEtm(Struct, frozen=True):
    """What perf kept of CoreSight trace units.

    Parameters
    ----------
    version : int
        Version of the metadata.
    pmu_type : int
        Type number of the PMU.
    cpus : int
        Number of CPUs that the header states.
    snapshot : bool
        Whether the recording was made in snapshot mode.
    trace_units : tuple of TraceUnit
        The trace units.
    damage : str or None
        Why there are no more of them.
    """

    json_name: ClassVar = "CoreSightBody"

    version: int
    pmu_type: int
    cpus: int
    snapshot: bool
    trace_units: tuple[TraceUnit, ...]
    damage: str | None = None


def parse_cs_etm(numbers: Sequence[int], hardware_ids: Iterable[HardwareId] = ()) -> CsEtm:
    """Parse the metadata in the numbers of an AUXTRACE_INFO record.

    Parameters
    ----------
    numbers : sequence of int
        The 64-bit numbers.
    hardware_ids : iterable of HardwareId, optional
        The recording's AUX_OUTPUT_HW_ID records. The first one of a CPU is used, the others repeat it.

    Returns
    -------
    CsEtm
        With the trace units before the first that is damaged or unknown.
    """
    if len(numbers) < _HEADER:
        return CsEtm(0, 0, 0, False, (), f"{len(numbers)} words, too few for a header")
    version, pmu_type, cpus, snapshot = numbers[0], numbers[1] >> 32, numbers[1] & 0xFFFF_FFFF, bool(numbers[2])
    units: list[TraceUnit] = []
    damage = f"version {version} is not known" if version > _NEWEST else None
    if damage is None:
        try:
            _parse_units(numbers, version, cpus, _assigned(hardware_ids), units)
        except ValueError as error:
            damage = str(error)
    return CsEtm(version, pmu_type, cpus, snapshot, tuple(units), damage)


def _assigned(hardware_ids: Iterable[HardwareId]) -> dict[int | None, tuple[int, int | None]]:
    """Return the trace ID and the sink of each CPU, as far as AUX_OUTPUT_HW_ID records name them."""
    assigned: dict[int | None, tuple[int, int | None]] = {}
    for hardware_id in hardware_ids:
        value = hardware_id.value
        # In another major version these fields are something else.
        if not value >> _MAJOR & _VERSION_MASK and value & _HARDWARE_TRACE_ID in _TRACE_IDS:
            sink = value >> _SINK & _SINK_MASK if value >> _MINOR & _VERSION_MASK else None
            assigned.setdefault(hardware_id.cpu, (value & _HARDWARE_TRACE_ID, sink))
    return assigned


def _parse_units(
    numbers: Sequence[int], version: int, cpus: int, assigned: Mapping[int | None, tuple[int, int | None]], units: list[TraceUnit]
) -> None:
    """Append the trace units. Raises ValueError at the first that is damaged or unknown."""
    at = _HEADER
    while at < len(numbers) and len(units) < cpus:
        kind, names = _UNITS.get(numbers[at], (None, ()))
        if kind is None:
            raise ValueError(f"word {at}: {numbers[at]:#x} does not begin a trace unit")
        head = 2 if version == 0 else 3
        if at + head > len(numbers):
            raise ValueError(f"word {at}: the trace unit is cut off")
        count = _VERSION_0.get(kind, 0) if version == 0 else numbers[at + 2]
        if not count:
            raise ValueError(f"word {at}: {kind} in version {version}")
        values = numbers[at + head : at + head + count]
        if len(values) < count:
            raise ValueError(f"word {at}: {count} registers, of which {len(values)} are there")
        cpu = numbers[at + 1]
        registers = {name: Hex(value) for name, value in zip(names, values, strict=False)}
        assigned_id, sink = assigned.get(cpu, (None, None))
        trace_id = _trace_id(registers.get(_TRACE_ID[kind])) if assigned_id is None else assigned_id
        units.append(TraceUnit(cpu, kind, trace_id, registers, tuple(values[len(names) :]), sink))
        at += head + count
    if len(units) < cpus:
        raise ValueError(f"{len(units)} of {cpus} CPUs are there")


def _trace_id(register: int | None) -> int | None:
    """Return the trace ID in a register; None where it has none."""
    return None if register is None or register & _NO_TRACE_ID or register & 0x7F not in _TRACE_IDS else register & 0x7F
