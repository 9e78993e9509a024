"""There is a PTT device at all."""

from __future__ import annotations

import platform
from collections.abc import Iterator

from ptttool.doctor.contract import Finding, check, failed, not_recorded, ok
from ptttool.doctor.facts import Facts
from ptttool.wording import counted, in_words


@check("hardware", order=10)
def hardware(facts: Facts) -> Iterator[Finding]:
    """Look for PCI functions with the ID of a PTT device."""
    if facts.functions:
        addresses = [str(one.address) for one in facts.functions]
        yield ok(f"{counted(len(addresses), 'PTT device')} (19e5:a12e): {in_words(addresses)}", functions=addresses)
    elif facts.machine.devices:  # a copy without PCI functions
        yield ok(f"{counted(len(facts.machine.devices), 'PMU')} of PTT devices; PCI functions are not recorded")
    elif not facts.machine.functions and not facts.live:
        yield not_recorded("PCI functions")
    else:
        processor = f" (its processor is {platform.machine()})" if facts.live and platform.machine() != "aarch64" else ""
        yield failed(
            "no-device",
            f"no PCI function has the ID 19e5:a12e on {facts.machine.origin}{processor}",
            "PTT is a part of the PCIe cores of Kunpeng 930 processors; a virtual machine sees it only if its host passes it on",
            details={"processor": platform.machine() if facts.live else None},
        )
