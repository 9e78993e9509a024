"""CoreSight trace (ETMv4, ETE, ETMv3, PTM, STM, ITM) decoded into generic elements by libopencsd.

Frames are taken apart by :mod:`ptttool.decoders.coresight.frames`; every trace ID has a decode tree of the library of its own. So indexes
are of the very bytes: the library's own deformatter counts from the ID's byte on and does not count the last byte of a frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from ptttool.decoders.contract import NO_FRAMING, PROTOCOLS, Decoder, Protocol
from ptttool.decoders.element_batch import Batch
from ptttool.decoders.elements import CUSTOM
from ptttool.decoders.opencsd.decoder import NAME, OpencsdDecoder, Undescribed
from ptttool.decoders.opencsd.elements import FIELDS
from ptttool.decoders.opencsd.library import library
from ptttool.decoders.opencsd.snapshot import Snapshot, read_snapshot
from ptttool.decoders.opencsd.sources import REGISTERS, UNITS, Memory, Source, is_core
from ptttool.decoders.parameters import Parameter, Settings, files_of, number_of
from ptttool.errors import UsageError
from ptttool.recording.auxtrace import CS_ETM


@lru_cache(maxsize=8)
def _snapshot(path: str) -> Snapshot:
    return read_snapshot(path)


def _images(text: str | None) -> tuple[Memory, ...]:
    """``FILE@ADDRESS,…``."""
    found = []
    for path, address in files_of(text or ""):
        number = number_of(address or "")
        if not path or number is None or not 0 <= number < 1 << 64:
            word = path if address is None else f"{path}@{address}"
            raise UsageError(f"memory={word}: no FILE@ADDRESS", hint="such as memory=kernel.bin@0xffffffc000081000", code="bad-parameter")
        found.append(Memory(Path(path), number))
    return tuple(found)


def _described(settings: Settings) -> tuple[Source, ...]:
    """Sources that a recording and a snapshot describe. Raises UsageError where nothing does and no unit is given, either."""
    sources: list[Source] = list(settings.get("sources") or ())
    if settings["snapshot"] is not None:
        sources += _snapshot(settings["snapshot"]).sources
    if not sources and settings["unit"] is None:
        raise UsageError(
            f"{NAME} needs to be told of the trace units",
            hint="-p snapshot=FOLDER, or -p unit=etm4 -p TRCCONFIGR=0x… and so on; a perf.data of CoreSight trace tells by itself",
            code="missing-parameter",
        )
    return tuple(sources)


def _complete(source: Source, settings: Settings) -> Source:
    """With what is given for all sources."""
    core = settings["core"] or source.core
    return replace(source, core=core, memory=(*source.memory, *_images(settings["memory"])))


def _given(settings: Settings, trace_id: int | None) -> Source | None:
    """The source that parameters describe."""
    if settings["unit"] is None:
        return None
    registers = {name: settings[name] for name in REGISTERS if settings[name] is not None}
    register, bit = UNITS[settings["unit"]].trace_id
    registers.setdefault(register, 0)  # without frames there need not be one
    if trace_id is not None:
        registers[register] = registers[register] & ~(0x7F << bit) | trace_id << bit
    name = settings["unit"] if trace_id is None else f"trace ID {trace_id:#04x}"
    return Source(name, settings["unit"], registers)


def _make(settings: Settings) -> Decoder:
    """For bytes of one source."""
    sources = _described(settings)
    wanted = settings["source"]
    if wanted is not None:
        sources = tuple(source for source in sources if wanted in (source.name, str(source.trace_id), f"{source.trace_id:#x}"))
    elif settings.get("cpu") is not None:
        # Another CPU's registers would decode it into anything.
        sources = tuple(source for source in sources if source.cpu in (None, settings["cpu"]))
    given = None if wanted is not None else _given(settings, None)
    if given is not None and len(sources) != 1:
        sources = (given,)
    if len(sources) != 1:
        known = ", ".join(f"{source.name} ({source.trace_id:#04x})" for source in _described(settings))
        raise UsageError(
            f"{NAME}: bytes without frames are of one source: which one?",
            hint=f"-p source=…: {known}" if known else "-p unit=… describes one, without source=",
            code="missing-parameter",
        )
    return OpencsdDecoder(_complete(sources[0], settings))


def _make_for(settings: Settings, trace_id: int) -> Decoder:
    """For the bytes of a trace ID."""
    sources = [source for source in _described(settings) if source.trace_id == trace_id]
    # CPUs with sinks of their own may have the same IDs.
    cpu = settings.get("cpu")
    sink = next((source.sink for source in _described(settings) if source.cpu == cpu and cpu is not None), None)
    sources.sort(key=lambda source: (source.cpu != cpu, source.sink != sink))
    source = sources[0] if sources else _given(settings, trace_id)
    return Undescribed() if source is None else OpencsdDecoder(_complete(source, settings))


def _check(settings: Settings) -> None:
    """Before there is any byte: the library is there, something is described, and what parameters describe is whole.

    A unit that a snapshot has half of matters when bytes of it come.
    """
    library()
    if settings["core"] is not None and not is_core(settings["core"]):
        raise UsageError(f"core={settings['core']}: not known", hint="such as Cortex-A53 or ARMv8.3-A", code="bad-parameter")
    _described(settings)
    framed = settings["framing"] != NO_FRAMING
    if framed and settings["snapshot"] is not None and not _snapshot(settings["snapshot"]).framed:
        raise UsageError(f"{settings['snapshot']}: its trace is without frames", hint="-p framing=none", code="no-frames")
    given = _given(settings, 1 if framed else None)
    if given is not None:
        given.words()


def _remarks(batch: Batch, _: Settings) -> Iterator[str]:
    """Trace IDs of no source that is described."""
    rows = (batch.kind == CUSTOM) & (batch.protocol == batch.protocols.index(NAME)) if NAME in batch.protocols else None
    for channel in () if rows is None else np.unique(batch.channel[rows]).tolist():
        yield f"trace ID {channel:#04x}: nothing describes its source, its bytes are shown raw"


PARAMETERS = (
    Parameter("snapshot", "text", "folder with a snapshot.ini: trace units, their registers, memory of the cores", optional=True,
              reads="folder"),
    Parameter("memory", "text", "images of memory: FILE@ADDRESS, several with commas; behind those of a snapshot", optional=True,
              reads="files"),
    Parameter("core", "text", "the cores, such as Cortex-A53 or ARMv8.3-A; by default a snapshot's, or the newest", optional=True),
    Parameter("source", "text", "without frames: name or trace ID of the snapshot's source that the bytes are of", optional=True),
    Parameter("unit", "choice", "kind of the trace units that neither a snapshot nor a recording describes", optional=True,
              choices=tuple(UNITS)),
    *(Parameter(name, "int", "register of those units", None, 0, 0xFFFF_FFFF, optional=True) for name in REGISTERS),
)  # fmt: skip

PROTOCOLS.add(
    NAME,
    Protocol(
        name=NAME,
        meaning="CoreSight trace of cores and software (ETMv4, ETE, ETMv3, PTM, STM, ITM), decoded by libopencsd",
        make=_make,
        make_for=_make_for,
        described=True,
        check=_check,
        framings=("coresight-16", "none"),
        parameters=PARAMETERS,
        fields=FIELDS,
        remarks=_remarks,
        resync="at the trace unit's next synchronisation packets; behind frames also where perf begins anew (four FF FF FF 7F)",
        auxtrace=(CS_ETM,),
    ),
)
