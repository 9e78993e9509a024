"""Names of devices for shown parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptttool.analyses.shown import Names, no_names
from ptttool.machine.topology import functions_by_id
from ptttool.pci import PciAddress

if TYPE_CHECKING:
    from ptttool.machine.model import Machine


def names_of(machine: Machine | None) -> Names:
    """Return the names of a machine's functions: what the kernel calls them, such as ``nvme0``, else what the PCI names say.

    Parameters
    ----------
    machine : Machine or None
        The machine; without it nothing has a name.
    """
    if machine is None:
        return no_names
    functions = functions_by_id(machine)

    def name(identity: str) -> str:
        address = PciAddress.try_parse(identity)
        function = None if address is None else functions.get(address.routing_id)
        return identity if function is None else function.called or identity

    return name
