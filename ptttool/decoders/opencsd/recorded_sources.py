"""The CoreSight trace sources that a perf.data describes, in the form that the decoder takes."""

from __future__ import annotations

from ptttool.decoders.opencsd.sources import Source
from ptttool.perfdata.model import Contents
from ptttool.recording.auxtrace import CS_ETM
from ptttool.recording.cs_etm import TraceUnit, parse_cs_etm

# The architecture in ETMIDR, and its value for a PTM.
_ARCHITECTURE, _PTM = 0xF00, 0x300


def sources_of(contents: Contents) -> tuple[tuple[Source, ...], str | None]:
    """Return the trace unit of every CPU.

    Parameters
    ----------
    contents : Contents
        Contents of the whole recording.

    Returns
    -------
    sources : tuple of Source
        The trace units; none where the recording has another type of AUX trace.
    damage : str or None
        Why the list is incomplete.
    """
    if contents.auxtrace_type != CS_ETM:
        return (), None
    metadata = parse_cs_etm(contents.auxtrace_priv, contents.hardware_ids)
    sources = (Source(f"CPU {unit.cpu}", _kind(unit), unit.configuration, cpu=unit.cpu, sink=unit.sink) for unit in metadata.trace_units)
    return tuple(sources), metadata.damage


def _kind(unit: TraceUnit) -> str:
    if unit.kind == "ETMv4":
        return "etm4"
    if unit.kind == "ETE":
        return "ete"
    return "ptm" if unit.registers.get("ETMIDR", 0) & _ARCHITECTURE == _PTM else "etm3"
