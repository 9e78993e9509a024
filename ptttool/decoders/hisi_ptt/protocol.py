"""The protocol of the HiSilicon PTT device, for the list of protocols: its records are no packets, and another command decodes them."""

from __future__ import annotations

from ptttool.decoders.contract import PROTOCOLS, Protocol
from ptttool.decoders.parameters import Parameter
from ptttool.recording.auxtrace import HISI_PTT

PROTOCOLS.add(
    "hisi-ptt",
    Protocol(
        name="hisi-ptt",
        meaning="PCIe TLP headers of the HiSilicon PTT device",
        parameters=(
            Parameter("input", "choice", "records in a dump without a container: --input", choices=("4dw", "8dw"), optional=True),
            Parameter("pattern", "choice", "layout of spare header bits: --pattern", choices=("legacy", "v1"), optional=True),
        ),
        auxtrace=(HISI_PTT,),
        default_for=(HISI_PTT,),
        elsewhere="ptttool decode",
    ),
)
