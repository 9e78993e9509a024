"""CoreSight trace (ETMv4, ETE, ETMv3, PTM, STM, ITM) decoded into generic elements by libopencsd.

:mod:`ptttool.decoders.coresight.frames` decodes the frames; every trace ID has its own decode tree of the library. So offsets are exact:
the library's own deformatter counts from the byte of the ID on, and leaves out the last byte of a frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs

from ptttool.decoders.contract import NO_FRAMING, ByteProtocol, Decoder, StreamContext, register
from ptttool.decoders.elements.arrays import Elements
from ptttool.decoders.elements.model import CUSTOM
from ptttool.decoders.opencsd.decoder import NAME, OpencsdDecoder, Undescribed
from ptttool.decoders.opencsd.elements import FIELDS
from ptttool.decoders.opencsd.library import library
from ptttool.decoders.opencsd.snapshot import Snapshot, read_snapshot
from ptttool.decoders.opencsd.sources import REGISTERS, UNITS, Memory, Source, is_core
from ptttool.decoders.parameters import Parameter, Paths, Settings, Type, Values, choice, files_of, number_of, text
from ptttool.errors import UsageError
from ptttool.recording.auxtrace import CS_ETM

# Sources that a message names.
_MOST_NAMED = 16


@lru_cache(maxsize=8)
def _snapshot(path: str) -> Snapshot:
    return read_snapshot(path)


@dataclass(frozen=True, kw_only=True)
class OpencsdSettings(Settings):
    """What describes the trace sources, besides the recording.

    Parameters
    ----------
    registers : Mapping[str, int]
        Registers of :data:`~.sources.REGISTERS` that are given, each with a parameter of its name.
    """

    snapshot: str | None = text(
        "folder with a snapshot.ini: trace units, their registers, memory of the cores", optional=True, paths=Paths.FOLDER
    )
    memory: str | None = text(
        "images of memory: FILE@ADDRESS, several with commas; behind those of a snapshot", optional=True, paths=Paths.FILES
    )
    core: str | None = text("the cores, such as Cortex-A53 or ARMv8.3-A; by default a snapshot's, or the newest", optional=True)
    source: str | None = text("without frames: name or trace ID of the snapshot's source that the bytes are of", optional=True)
    unit: str | None = choice("kind of the trace units that neither a snapshot nor a recording describes", UNITS, optional=True)
    registers: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """Return the parameters, with one for each register."""
        about: dict[str, Any] = {
            "type": Type.INT,
            "meaning": "register of those units",
            "minimum": 0,
            "maximum": 0xFFFF_FFFF,
            "optional": True,
        }
        registers = (Parameter(name=name, **about) for name in REGISTERS)
        return (*super().parameters(), *registers)

    @classmethod
    def of(cls, values: Values) -> OpencsdSettings:
        """Make the settings of the values of all parameters."""
        registers = {name: value for name in REGISTERS if isinstance(value := values[name], int)}
        return replace(super().of(values), registers=registers)


def _images(value: str | None) -> tuple[Memory, ...]:
    """Return the images that ``FILE@ADDRESS,…`` names."""
    images = []
    for path, address in files_of(value or ""):
        number = number_of(address or "")
        if not path or number is None or not 0 <= number < 1 << 64:
            word = path if address is None else f"{path}@{address}"
            raise UsageError(
                f"memory={word} is not FILE@ADDRESS", hint="such as memory=kernel.bin@0xffffffc000081000", code="bad-parameter"
            )
        images.append(Memory(Path(path), number))
    return tuple(images)


def _described(settings: OpencsdSettings, context: StreamContext) -> tuple[Source, ...]:
    """Return the sources that a recording and a snapshot describe.

    Raises
    ------
    UsageError
        Nothing describes a source, and no unit is given either.
    """
    sources = [source for source in context.sources if isinstance(source, Source)]
    if settings.snapshot is not None:
        sources += _snapshot(settings.snapshot).sources
    if not sources and settings.unit is None:
        raise UsageError(
            f"{NAME} needs a description of the trace units",
            hint="-p snapshot=FOLDER, or -p unit=etm4 -p TRCCONFIGR=0x… and so on; a perf.data of CoreSight trace has it",
            code="missing-parameter",
        )
    return tuple(sources)


def _complete(source: Source, settings: OpencsdSettings) -> Source:
    """Return a source with what is given for all sources."""
    return structs.replace(source, core=settings.core or source.core, memory=(*source.memory, *_images(settings.memory)))


def _given(settings: OpencsdSettings, trace_id: int | None) -> Source | None:
    """Return the source that parameters describe."""
    if settings.unit is None:
        return None
    registers = dict(settings.registers)
    register, bit = UNITS[settings.unit].trace_id
    registers.setdefault(register, 0)  # without frames it is optional
    if trace_id is not None:
        registers[register] = registers[register] & ~(0x7F << bit) | trace_id << bit
    name = settings.unit if trace_id is None else f"trace ID {trace_id:#04x}"
    return Source(name, settings.unit, registers)


@register
class OpencsdProtocol(ByteProtocol[OpencsdSettings]):
    """Decoding by libopencsd, for the registry."""

    name = NAME
    meaning = "CoreSight trace of cores and software (ETMv4, ETE, ETMv3, PTM, STM, ITM), decoded by libopencsd"
    resync = "at the trace unit's next synchronisation packets; behind frames also where perf begins anew (four FF FF FF 7F)"
    settings_type = OpencsdSettings
    fields = FIELDS
    framings = ("coresight-16", "none")
    auxtrace = (CS_ETM,)
    described = True

    def check(self, settings: OpencsdSettings, context: StreamContext) -> None:
        """Check that the library is there, that sources are described, and that what parameters describe is complete.

        A unit that a snapshot describes in part matters only when its bytes come.
        """
        library()
        if settings.core is not None and not is_core(settings.core):
            raise UsageError(f"core={settings.core} is unknown", hint="such as Cortex-A53 or ARMv8.3-A", code="bad-parameter")
        _described(settings, context)
        framed = context.framing != NO_FRAMING
        if framed and settings.snapshot is not None and not _snapshot(settings.snapshot).framed:
            raise UsageError(f"{settings.snapshot}: its trace is without frames", hint="-p framing=none", code="no-frames")
        source = _given(settings, 1 if framed else None)
        if source is not None:
            source.words()

    def decoder(self, settings: OpencsdSettings, context: StreamContext) -> OpencsdDecoder:
        """Return a decoder for bytes of one source, without frames."""
        sources = _described(settings, context)
        name = settings.source
        if name is not None:
            sources = tuple(source for source in sources if name in (source.name, str(source.trace_id), f"{source.trace_id:#x}"))
        elif context.cpu is not None:
            # The registers of another CPU would give meaningless elements.
            sources = tuple(source for source in sources if source.cpu in (None, context.cpu))
        unit = None if name is not None else _given(settings, None)
        if unit is not None and len(sources) != 1:
            sources = (unit,)
        if len(sources) != 1:
            described = _described(settings, context)
            names = ", ".join(f"{source.name} ({source.trace_id:#04x})" for source in described[:_MOST_NAMED])
            names += ", …" if len(described) > _MOST_NAMED else ""
            raise UsageError(
                f"{NAME}: bytes without frames are of one source; it is not clear of which",
                hint=f"-p source=…: {names}" if names else "-p unit=… describes one, without source=",
                code="missing-parameter",
            )
        return OpencsdDecoder(_complete(sources[0], settings))

    def channel_decoder(self, settings: OpencsdSettings, context: StreamContext, channel: int) -> Decoder:
        """Return a decoder for the bytes of one trace ID."""
        described = _described(settings, context)
        sources = [source for source in described if source.trace_id == channel]
        # CPUs with sinks of their own may have the same IDs.
        cpu = context.cpu
        sink = next((source.sink for source in described if source.cpu == cpu and cpu is not None), None)
        sources.sort(key=lambda source: (source.cpu != cpu, source.sink != sink))
        source = sources[0] if sources else _given(settings, channel)
        return Undescribed() if source is None else OpencsdDecoder(_complete(source, settings))

    def remarks(self, elements: Elements, settings: OpencsdSettings) -> Iterator[str]:
        """Yield the trace IDs of sources that nothing describes."""
        if NAME not in elements.protocols:
            return
        rows = (elements.kind == CUSTOM) & (elements.protocol == elements.protocols.index(NAME))
        for channel in np.unique(elements.channel[rows]).tolist():
            yield f"trace ID {channel:#04x}: nothing describes its source, its bytes are shown raw"
