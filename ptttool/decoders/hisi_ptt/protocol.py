"""The protocol of the HiSilicon PTT device, for the list of protocols; another command decodes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ptttool.decoders.contract import RecordProtocol, Splittable, StreamContext, register
from ptttool.decoders.parameters import Settings, choice
from ptttool.recording.auxtrace import HISI_PTT

NAME = "hisi-ptt"


@dataclass(frozen=True, kw_only=True)
class HisiPttSettings(Settings):
    """What the records do not say."""

    input: str | None = choice("records in a dump without a container: --input", ("4dw", "8dw"), optional=True)
    pattern: str | None = choice("layout of spare header bits: --pattern", ("legacy", "v1"), optional=True)


@register
class HisiPttProtocol(RecordProtocol[HisiPttSettings]):
    """PTT records, for the registry."""

    name = NAME
    meaning = "PCIe TLP headers of the HiSilicon PTT device"
    settings_type = HisiPttSettings
    auxtrace = (HISI_PTT,)
    default_for = (HISI_PTT,)
    elsewhere = "ptttool decode"

    def splittable(self, settings: HisiPttSettings, context: StreamContext) -> Splittable[Any]:
        """Return what splits and decodes the records."""
        raise NotImplementedError
