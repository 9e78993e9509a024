"""What the commands ``tune …`` print with ``--json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from msgspec import Struct

from ptttool.documents import ErrorBody, document
from ptttool.machine.model import Machine, PttDevice
from ptttool.machine.topology import endpoints_behind, is_empty
from ptttool.pci import PciAddress
from ptttool.tune.driver import Change
from ptttool.tune.values import Reading


class EndpointDocument(Struct, frozen=True):
    """A PCI function behind a root port.

    Parameters
    ----------
    address : PciAddress
        Its PCI address.
    name : str
        Vendor and device in words.
    kernel_names : tuple of str
        The kernel's names for what is on the function.
    """

    address: PciAddress
    name: str
    kernel_names: tuple[str, ...]


class RootPortDocument(Struct, frozen=True):
    """A root port that the tune attributes of a device act on.

    Parameters
    ----------
    address : PciAddress
        Its PCI address.
    behind : tuple of EndpointDocument or None
        The functions behind it that are not bridges; null where it is not known what is behind it.
    """

    address: PciAddress
    behind: tuple[EndpointDocument, ...] | None


def root_ports(machine: Machine, device: PttDevice) -> tuple[RootPortDocument, ...]:
    """List the root ports that a device's attributes act on."""
    return tuple(
        RootPortDocument(
            port.address,
            None
            if is_empty(machine, port.address) is None
            else tuple(EndpointDocument(f.address, f.name, f.kernel_names) for f in endpoints_behind(machine, port.address)),
        )
        for port in device.root_ports
    )


class DeviceAttributesDocument(Struct, frozen=True):
    """The tune attributes of one PTT device.

    Parameters
    ----------
    name : str
        Name of the device.
    attributes : tuple of Reading
        Its attributes.
    ports_known : bool
        False where the kernel does not say which root ports are of this device: some of them are of another one.
    root_ports : tuple of RootPortDocument
        The root ports that the attributes act on.
    """

    name: str
    attributes: tuple[Reading, ...]
    ports_known: bool
    root_ports: tuple[RootPortDocument, ...]


@document("tune-show")
class TuneShowDocument(Struct, frozen=True):
    """The tune attributes of PTT devices.

    Parameters
    ----------
    devices : tuple of DeviceAttributesDocument
        The devices.
    error : ErrorBody or None
        Why a value could not be read; the first reason.
    """

    json_omits_none: ClassVar = ("error",)

    devices: tuple[DeviceAttributesDocument, ...]
    error: ErrorBody | None = None


@document("tune-get")
class TuneGetDocument(Struct, frozen=True):
    """Values of tune attributes.

    Parameters
    ----------
    device : str
        Name of the device.
    values : Mapping[str, int]
        Values by attribute.
    """

    device: str
    values: Mapping[str, int]


@document("tune-set")
class TuneSetDocument(Struct, frozen=True):
    """What setting tune attributes changed.

    Parameters
    ----------
    device : str
        Name of the device.
    dry_run : bool
        True if nothing was written.
    changes : tuple of Change
        One for each attribute that was named.
    ports_known : bool
        False where the kernel does not say which root ports are of this device.
    root_ports : tuple of RootPortDocument
        The root ports that the attributes act on.
    """

    device: str
    dry_run: bool
    changes: tuple[Change, ...]
    ports_known: bool
    root_ports: tuple[RootPortDocument, ...]


@document("tune-set-all")
class TuneSetAllDocument(Struct, frozen=True):
    """What setting tune attributes of every device changed.

    Parameters
    ----------
    dry_run : bool
        True if nothing was written.
    devices : tuple of TuneSetDocument
        Each device.
    """

    dry_run: bool
    devices: tuple[TuneSetDocument, ...]


@document("tune-save")
class TuneSaveDocument(Struct, frozen=True):
    """A profile that was saved.

    Parameters
    ----------
    file : str
        Its file.
    devices : Mapping[str, Mapping[str, int]]
        Values by device and attribute.
    """

    file: str
    devices: Mapping[str, Mapping[str, int]]
