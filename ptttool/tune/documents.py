"""What the commands ``tune …`` print with ``--json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ptttool.documents import OMIT_NONE, ErrorBody, document
from ptttool.machine.model import Machine, PttDevice
from ptttool.machine.topology import endpoints_behind, is_empty
from ptttool.tune.attributes import meaning
from ptttool.tune.driver import Change, TunePlan
from ptttool.tune.profiles.match import DiffRow, ProfileDiff
from ptttool.tune.profiles.snapshot import Snapshot
from ptttool.tune.values import Reading


@dataclass(frozen=True)
class EndpointDocument:
    """A PCI function behind a root port.

    Parameters
    ----------
    address : str
        Its PCI address.
    name : str
        Vendor and device in words.
    kernel_names : list of str
        The kernel's names for what is on the function.
    """

    address: str
    name: str
    kernel_names: list[str]


@dataclass(frozen=True)
class RootPortDocument:
    """A root port that the tune attributes of a device act on.

    Parameters
    ----------
    address : str
        Its PCI address.
    behind : list of EndpointDocument or None
        The functions behind it that are not bridges; null where it is not known what is behind it.
    """

    address: str
    behind: list[EndpointDocument] | None


def root_ports(machine: Machine, device: PttDevice) -> list[RootPortDocument]:
    """List the root ports that a device's attributes act on."""
    return [
        RootPortDocument(
            str(port.address),
            None
            if is_empty(machine, port.address) is None
            else [EndpointDocument(str(f.address), f.name, list(f.kernel_names)) for f in endpoints_behind(machine, port.address)],
        )
        for port in device.root_ports
    ]


@dataclass(frozen=True)
class AttributeDocument:
    """One tune attribute.

    Parameters
    ----------
    name : str
        Its name.
    value : int or None
        Its value; null if it could not be read.
    meaning : str or None
        What it does; null for one that the kernel documentation does not describe.
    problem : str or None
        Why there is no value.
    """

    name: str
    value: int | None
    meaning: str | None
    problem: str | None


@dataclass(frozen=True)
class DeviceAttributesDocument:
    """The tune attributes of one PTT device.

    Parameters
    ----------
    name : str
        Name of the device.
    attributes : list of AttributeDocument
        Its attributes.
    ports_known : bool
        False where the kernel does not say which root ports are of this device: some of them are of another one.
    root_ports : list of RootPortDocument
        The root ports that the attributes act on.
    """

    name: str
    attributes: list[AttributeDocument]
    ports_known: bool
    root_ports: list[RootPortDocument]


@document("tune-show")
@dataclass(frozen=True)
class TuneShowDocument:
    """The tune attributes of PTT devices.

    Parameters
    ----------
    devices : list of DeviceAttributesDocument
        The devices.
    error : ErrorBody or None
        Why a value could not be read; the first reason.
    """

    devices: list[DeviceAttributesDocument]
    error: ErrorBody | None = field(default=None, metadata=OMIT_NONE)

    @classmethod
    def of(cls, machine: Machine, readings: Sequence[tuple[PttDevice, Sequence[Reading]]]) -> TuneShowDocument:
        """Make the document of what was read of some devices of a machine."""
        devices = [
            DeviceAttributesDocument(
                device.name,
                [
                    AttributeDocument(one.attribute, one.value, meaning(one.attribute), None if one.error is None else one.error.message)
                    for one in found
                ],
                device.ports_known,
                root_ports(machine, device),
            )
            for device, found in readings
        ]
        failure = next((one.error for _, found in readings for one in found if one.error is not None), None)
        return cls(devices, None if failure is None else ErrorBody.of(failure))


@document("tune-get")
@dataclass(frozen=True)
class TuneGetDocument:
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


@dataclass(frozen=True)
class ChangeDocument:
    """The change of one tune attribute.

    Parameters
    ----------
    device, attribute : str
        Its names.
    old, new : int
        Its values before and after.
    changed : bool
        False if it had the new value already.
    asked : str or None
        The value as it was given.
    """

    device: str
    attribute: str
    old: int
    new: int
    changed: bool
    asked: str | None = field(default=None, metadata=OMIT_NONE)

    @classmethod
    def of(cls, change: Change, asked: str | None = None) -> ChangeDocument:
        """Make the document of a change."""
        return cls(change.device.name, change.attribute, change.old, change.new, change.differs, asked)


@document("tune-set")
@dataclass(frozen=True)
class TuneSetDocument:
    """What setting tune attributes changed.

    Parameters
    ----------
    device : str
        Name of the device.
    dry_run : bool
        True if nothing was written.
    changes : list of ChangeDocument
        One for each attribute that was named.
    ports_known : bool
        False where the kernel does not say which root ports are of this device.
    root_ports : list of RootPortDocument
        The root ports that the attributes act on.
    """

    device: str
    dry_run: bool
    changes: list[ChangeDocument]
    ports_known: bool
    root_ports: list[RootPortDocument]

    @classmethod
    def of(cls, machine: Machine, device: PttDevice, plan: TunePlan) -> TuneSetDocument:
        """Make the document of changes of a device."""
        changes = [ChangeDocument.of(change, plan.asked[change.attribute]) for change in plan.changes if change.device.name == device.name]
        return cls(device.name, not plan.done, changes, device.ports_known, root_ports(machine, device))


@document("tune-set-all")
@dataclass(frozen=True)
class TuneSetAllDocument:
    """What setting tune attributes of every device changed.

    Parameters
    ----------
    dry_run : bool
        True if nothing was written.
    devices : list of TuneSetDocument
        Each device.
    """

    dry_run: bool
    devices: list[TuneSetDocument]

    @classmethod
    def of(cls, machine: Machine, plan: TunePlan) -> TuneSetAllDocument:
        """Make the document of changes of all devices of a machine."""
        return cls(not plan.done, [TuneSetDocument.of(machine, device, plan) for device in machine.devices])


@document("tune-save")
@dataclass(frozen=True)
class TuneSaveDocument:
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

    @classmethod
    def of(cls, file: str, snapshot: Snapshot) -> TuneSaveDocument:
        """Make the document of a saved profile."""
        return cls(file, snapshot.devices)


@dataclass(frozen=True)
class AttributeNameDocument:
    """Names a tune attribute, or a whole device.

    Parameters
    ----------
    device : str
        Name of the device.
    attribute : str or None
        Name of the attribute; null for the whole device.
    """

    device: str
    attribute: str | None


@document("tune-apply")
@dataclass(frozen=True)
class TuneApplyDocument:
    """What applying a profile changed.

    Parameters
    ----------
    profile : str
        The profile's file.
    dry_run : bool
        True if nothing was written.
    changes : list of ChangeDocument
        One for each attribute of the profile.
    missing : list of AttributeNameDocument
        What this machine does not have.
    left_alone : list of AttributeNameDocument
        What the profile does not name.
    """

    profile: str
    dry_run: bool
    changes: list[ChangeDocument]
    missing: list[AttributeNameDocument]
    left_alone: list[AttributeNameDocument]

    @classmethod
    def of(cls, profile: str, plan: TunePlan) -> TuneApplyDocument:
        """Make the document of a profile's changes."""
        changes = [ChangeDocument.of(change) for change in plan.changes]
        return cls(profile, not plan.done, changes, _names(plan.missing), _names(plan.left_alone))


@document("tune-diff")
@dataclass(frozen=True)
class TuneDiffDocument:
    """A profile compared with a machine, or with a second profile.

    Parameters
    ----------
    profile : str
        The profile's file.
    equal : bool
        True if the machine has every value of the profile, or if two profiles have the same values.
    rows : list of DiffRow
        One for each attribute of the profile; of two profiles, for each attribute of either.
    left_alone : list of AttributeNameDocument
        What the profile does not name; empty for two profiles.
    other : str or None
        The second profile's file; null for the machine.
    """

    profile: str
    equal: bool
    rows: list[DiffRow]
    left_alone: list[AttributeNameDocument]
    other: str | None = None

    @classmethod
    def of(cls, diff: ProfileDiff) -> TuneDiffDocument:
        """Make the document of a comparison."""
        return cls(diff.profile, diff.equal, list(diff.rows), _names(diff.left_alone), diff.other)


def _names(pairs: Sequence[tuple[str, str | None]]) -> list[AttributeNameDocument]:
    return [AttributeNameDocument(device, attribute) for device, attribute in pairs]
