"""The CoreSight trace sources that a perf.data describes, as packet protocols want them."""

from __future__ import annotations

from ptttool.decoders.opencsd.sources import Source
from ptttool.perfdata.model import Contents
from ptttool.recording.auxtrace import CS_ETM
from ptttool.recording.cs_etm import TraceUnit, parse_cs_etm

# Of ETMIDR: the architecture, and its value for a PTM.
_ARCHITECTURE, _PTM = 0xF00, 0x300


def sources_of(contents: Contents) -> tuple[tuple[Source, ...], str | None]:
    """The trace unit of every CPU, and why there are not more of them; none where the recording is of something else.

    ``contents``: of the whole recording.
    """
    if contents.auxtrace_type != CS_ETM:
        return (), None
    metadata = parse_cs_etm(contents.auxtrace_priv, contents.hardware_ids)
    sources = (Source(f"CPU {unit.cpu}", _kind(unit), unit.configuration, cpu=unit.cpu, sink=unit.sink) for unit in metadata.units)
    return tuple(sources), metadata.damage


def _kind(unit: TraceUnit) -> str:
    if unit.kind == "ETMv4":
        return "etm4"
    if unit.kind == "ETE":
        return "ete"
    return "ptm" if unit.registers.get("ETMIDR", 0) & _ARCHITECTURE == _PTM else "etm3"
