"""The protocol of the HiSilicon PTT device: TLP headers in records of one size."""

from __future__ import annotations

from dataclasses import dataclass

from ptttool.decoders.contract import RecordProtocol, register
from ptttool.decoders.decoded import Splitter
from ptttool.decoders.hisi_ptt.splitter import TlpSplitter
from ptttool.decoders.parameters import Settings, choice, text
from ptttool.recording.auxtrace import HISI_PTT
from ptttool.recording.opening import Source
from ptttool.tlp.columns import TLP_SCHEMA
from ptttool.tlp.direction import Buses, parse_buses

NAME = "hisi-ptt"


@dataclass(frozen=True, kw_only=True)
class HisiPttSettings(Settings):
    """Parameters that a recording may not contain."""

    input: str | None = choice("format of the records of a dump without a container; --input says the same", ("4dw", "8dw"), optional=True)
    pattern: str | None = choice("layout of spare header bits, whatever the recording says", ("legacy", "v1"), optional=True)

    direction: str | None = choice(
        "directions that the recording holds, whatever it says of itself", ("inbound", "outbound", "both"), optional=True
    )
    downstream: str | None = text(
        "buses behind the traced root ports, such as 01-03,05: they tell in from out; --downstream says the same", optional=True
    )

    def __post_init__(self) -> None:
        if self.downstream is not None:
            parse_buses(self.downstream)

    @property
    def buses(self) -> Buses | None:
        """The buses behind the traced root ports; None if the parameter is not given."""
        return None if self.downstream is None else parse_buses(self.downstream)

    @property
    def eight_dw(self) -> bool | None:
        """Whether a dump holds 8DW records; None if the parameter is not given."""
        return None if self.input is None else self.input == "8dw"

    @property
    def pattern_number(self) -> int | None:
        """The header pattern; None if the recording decides."""
        return None if self.pattern is None else ("legacy", "v1").index(self.pattern)


@register
class HisiPttProtocol(RecordProtocol[HisiPttSettings]):
    """The protocol: records of 4DW (16 bytes) or 8DW (32 bytes)."""

    name = NAME
    meaning = "PCIe TLP headers of the HiSilicon PTT device"
    resync = "every record stands for itself"
    settings_type = HisiPttSettings
    schema = TLP_SCHEMA
    summary = "summary"
    layout = "tlp"
    auxtrace = (HISI_PTT,)
    default_for = (HISI_PTT,)

    def splitter(self, source: Source, settings: HisiPttSettings, *, file: str | None = None, strict: bool = False) -> Splitter:
        """Return the object that splits a recording into units."""
        raw = settings.eight_dw if source.contents.mode == "raw" else None
        return TlpSplitter(
            source, raw=raw, pattern=settings.pattern_number, file=file, strict=strict, direction=settings.direction, buses=settings.buses
        )  # fmt: skip
