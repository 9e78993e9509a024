"""The protocol of the HiSilicon PTT device: TLP headers in records of one size."""

from __future__ import annotations

from ptttool.decoders.contract import RecordProtocol, register
from ptttool.decoders.decoded import Splitter
from ptttool.decoders.hisi_ptt.splitter import HisiPttSettings, TlpSplitter
from ptttool.recording.auxtrace import HISI_PTT
from ptttool.recording.opening import Source
from ptttool.tlp.columns import TLP_SCHEMA

NAME = "hisi-ptt"


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
        return TlpSplitter(source, settings, file=file, strict=strict)
