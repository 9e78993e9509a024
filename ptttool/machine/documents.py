"""Machines as JSON: what ``filters --json`` prints, and the reader of what ``list --json`` prints and a recording's sidecar keeps."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ptttool.diagnostics import Diagnostic
from ptttool.documents import document, read_json
from ptttool.machine.model import VERSION, Filter, Machine, Multiselect, PciFunctions
from ptttool.wording import shortened


class NamedFilterDocument(Filter, frozen=True):
    """A value of the event term ``filter``, with the names of its PCI function.

    Parameters
    ----------
    name : str or None
        Vendor and device of the function.
    kernel_names : tuple of str or None
        The kernel's names for what is on the function; null where the function is not known.
    """

    json_name = "NamedFilterDocument"

    name: str | None = None
    kernel_names: tuple[str, ...] | None = None

    @classmethod
    def named(cls, one: Filter, machine: Machine) -> NamedFilterDocument:
        """Make the document of a filter of a machine."""
        function = machine.functions.get(one.address)
        name, names = (None, None) if function is None else (function.name, function.kernel_names)
        return cls(one.address, one.value, one.hex, one.computed, name, names)


class DeviceFiltersDocument(Struct, frozen=True):
    """What the traces of one PTT device can be restricted to.

    Parameters
    ----------
    name : str
        Name of its PMU.
    ports_known : bool
        False where the kernel does not say which root ports are of this device.
    multiselect : Multiselect
        Which filters can be combined.
    root_ports, requesters : tuple of NamedFilterDocument
        The filters.
    diagnostics : tuple of Diagnostic
        What is unknown or was computed, and why.
    """

    name: str
    ports_known: bool
    multiselect: Multiselect
    root_ports: tuple[NamedFilterDocument, ...]
    requesters: tuple[NamedFilterDocument, ...]
    diagnostics: tuple[Diagnostic, ...]


@document("filters")
class FiltersDocument(Struct, frozen=True):
    """What traces can be restricted to.

    Parameters
    ----------
    diagnostics : tuple of Diagnostic
        What is unknown of the machine as a whole.
    devices : tuple of DeviceFiltersDocument
        Filters of each PTT device.
    """

    diagnostics: tuple[Diagnostic, ...]
    devices: tuple[DeviceFiltersDocument, ...]

    @classmethod
    def of(cls, machine: Machine) -> FiltersDocument:
        """Make the document of a machine."""
        devices = tuple(
            DeviceFiltersDocument(
                name=device.name,
                ports_known=device.ports_known,
                multiselect=device.multiselect,
                root_ports=tuple(NamedFilterDocument.named(one, machine) for one in device.root_ports),
                requesters=tuple(NamedFilterDocument.named(one, machine) for one in device.requesters),
                diagnostics=device.diagnostics,
            )
            for device in machine.devices
        )
        return cls(machine.diagnostics, devices)


def from_json(body: Any) -> Machine:
    """Read a machine's document.

    Parameters
    ----------
    body : object
        What :mod:`json` made of the document.

    Raises
    ------
    ValueError
        It is something else, damaged, or of another version.
    """
    try:
        if not isinstance(body, dict):
            raise ValueError("no object")
        missing = [key for key in ("version", "origin", "devices", "functions") if key not in body]
        if missing:
            raise ValueError(f"the field {missing[0]!r} is missing")
        if body["version"] != VERSION:
            raise ValueError(f"version {shortened(repr(body['version']))}; this ptttool reads version {VERSION}")
        machine = read_json(body, Machine)
        older = {one["address"] for one in body["functions"] or () if "physical" not in one}
    except (TypeError, ValueError) as error:
        raise ValueError(f"not the description of a machine: {error}") from None
    # Older versions read the settings of virtual functions too, where the bits are reserved and 0: such settings may be of one.
    unset = {
        address: replace(function, transfers=function.transfers.without_settings())
        for address, function in machine.functions.items()
        if function.transfers is not None and function.transfers.is_unset and str(address) in older
    }
    return replace(machine, functions=PciFunctions(machine.functions | unset)) if unset else machine
