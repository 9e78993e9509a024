"""Assumptions on the machine, and those that this self-test cannot decide."""

from __future__ import annotations

import os
from typing import Final

from ptttool.machine.model import Machine, PttDevice
from ptttool.machine.unusable.untraceable import untraceable_of
from ptttool.selftest.document import Judged, Verdict
from ptttool.tune.attributes import LARGEST
from ptttool.wording import in_words

CONFIRMED, REFUTED, NOT_TESTED = Verdict
_TUNE_FILES: Final = frozenset({"qos_tx_cpl", "qos_tx_np", "qos_tx_p", "rx_alloc_buf_level", "tx_alloc_buf_level"})
_NAMED: Final = 8

UNDECIDED: Final = (
    Judged(
        "A10", "filter race", "no open of another event changes a filter that is in force", NOT_TESTED,
        "it takes somebody else who opens the device at the wrong moment: that is not provoked",
    ),
    Judged(
        "A15", "place of the tap", "completions are recorded before they wait for the link", NOT_TESTED,
        "it takes many reads of a device at once, which a read-only load does not bring",
    ),
)  # fmt: skip
"""Assumptions that nothing here decides."""


def judge_tune(device: PttDevice | None, *, written: bool) -> Judged:
    """A17: tune attributes hold 0 to 2, and keep what is written."""
    texts = "A17", "tune", "tune attributes read 0, 1 or 2, and keep what is written"
    if device is None or not device.tune:
        return Judged(*texts, NOT_TESTED, "no tune attribute was read")
    values = {one.name: one.value for one in device.tune}
    said = ", ".join(f"{name} {'?' if value is None else value}" for name, value in values.items())
    if any(value is None or not 0 <= value <= LARGEST for value in values.values()):
        return Judged(*texts, REFUTED, said, details=values)
    if not written:
        return Judged(*texts, NOT_TESTED, f"{said}; read only: --tune writes the same values back", details=values)
    return Judged(*texts, CONFIRMED, f"{said}: each was written back and read the same", details=values)


def judge_sysfs(machine: Machine | None, device: PttDevice | None) -> Judged:
    """A18: the names in sysfs."""
    texts = "A18", "sysfs", "the device has the five tune files, filter folders and a cpumask"
    if machine is None or device is None:
        return Judged(*texts, NOT_TESTED, "the recordings come from a folder")
    missing = sorted(_TUNE_FILES - {one.name for one in device.tune})
    further = sorted({one.name for one in device.tune} - _TUNE_FILES)
    lacks = [*missing, *(() if device.ports_known else ("filter folders",)), *(() if device.cpus else ("cpumask",))]
    details = {
        "missing": lacks, "further": further, "pattern": "pattern" in device.format, "page_bytes": os.sysconf("SC_PAGE_SIZE"),
        "pci": None if device.pci is None else str(device.pci),
    }  # fmt: skip
    said = f"pages of {os.sysconf('SC_PAGE_SIZE') >> 10} KiB, {'with' if 'pattern' in device.format else 'without'} the term pattern"
    if lacks or further:
        parts = [f"without {in_words(lacks)}"] if lacks else []
        parts += [f"with {in_words(further)}"] if further else []
        return Judged(*texts, REFUTED, f"{', '.join(parts)}; {said}", details=details)
    return Judged(*texts, CONFIRMED, said, details=details)


def judge_reach(machine: Machine | None) -> Judged:
    """A19: the machine says which endpoints no PTT device traces."""
    texts = "A19", "reach", "it is known which endpoints a PTT device traces"
    if machine is None:
        return Judged(*texts, NOT_TESTED, "the recordings come from a folder")
    if not all(device.ports_known for device in machine.devices):
        return Judged(*texts, NOT_TESTED, "this kernel does not say which root ports are of which device")
    out = untraceable_of(machine, next((device.source for device in machine.devices), None))
    details = {"untraceable": [str(one.address) for one in out[:_NAMED]], "count": len(out)}
    if not out:
        return Judged(*texts, CONFIRMED, "all that are known can be traced", details=details)
    names = ", ".join(f"{one.address} {one.name} ({one.reason})" for one in out[:_NAMED])
    more = f" and {len(out) - _NAMED:,} more" if len(out) > _NAMED else ""
    return Judged(*texts, CONFIRMED, f"all but {len(out):,}: {names}{more}", details=details)
