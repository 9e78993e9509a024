"""What the commands ``tune …`` print with ``--json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ptttool.diagnostics import Diagnostic
from ptttool.documents import OMIT_NONE, ErrorBody, document
from ptttool.machine.model import Machine, PttDevice
from ptttool.machine.topology import endpoints_behind, is_empty
from ptttool.tune.attributes import meaning
from ptttool.tune.driver import Change, TunePlan
from ptttool.tune.journal.records import ChangeRecord
from ptttool.tune.journal.unfinished import UnfinishedAttribute
from ptttool.tune.profiles.match import DiffRow, ProfileDiff
from ptttool.tune.profiles.snapshot import Snapshot
from ptttool.tune.repair.recovery import RecoverAction, Recovery
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
    """A profile compared with a machine.

    Parameters
    ----------
    profile : str
        The profile's file.
    equal : bool
        True if the machine has every value of the profile.
    rows : list of DiffRow
        One for each attribute of the profile.
    left_alone : list of AttributeNameDocument
        What the profile does not name.
    """

    profile: str
    equal: bool
    rows: list[DiffRow]
    left_alone: list[AttributeNameDocument]

    @classmethod
    def of(cls, diff: ProfileDiff) -> TuneDiffDocument:
        """Make the document of a comparison."""
        return cls(diff.profile, diff.equal, list(diff.rows), _names(diff.left_alone))


@dataclass(frozen=True)
class CutOffChangeDocument:
    """A change of tune attributes, as the journal has it.

    Parameters
    ----------
    number : int
        Its number.
    command : str
        The command that made it.
    user : str
        Who made it.
    login : str or None
        Who had logged in, where that is somebody else.
    pid : int
        Its process.
    started : str
        Date and time in UTC, ISO 8601.
    undoing_failed : bool
        True if the command itself could not restore the old values.
    """

    number: int
    command: str
    user: str
    login: str | None
    pid: int
    started: str
    undoing_failed: bool

    @classmethod
    def of(cls, change: ChangeRecord) -> CutOffChangeDocument:
        """Make the document of a change."""
        author = change.author
        return cls(change.number, author.command, author.user, author.login, author.pid, author.started, change.failed)


@document("tune-recover")
@dataclass(frozen=True)
class TuneRecoverDocument:
    """Changes of tune attributes that were cut off, and what was done about them.

    Parameters
    ----------
    action : RecoverAction or None
        What was done; null if it was only looked at.
    dry_run : bool
        True if nothing was written.
    settled : bool
        True if nothing is left to decide on.
    cut_off : list of CutOffChangeDocument
        Changes that left attributes half done.
    attributes : list of UnfinishedAttribute
        Their attributes, as they were found.
    before_boot : list of CutOffChangeDocument
        Changes that were cut off before the machine was started again: the attributes have their power-on values.
    under_way : list of CutOffChangeDocument
        Changes that other processes are making now.
    changes : list of ChangeDocument
        What was written, or would be.
    left : list of UnfinishedAttribute
        Attributes that are still to be decided on.
    diagnostics : list of Diagnostic
        What was odd.
    """

    action: RecoverAction | None
    dry_run: bool
    settled: bool
    cut_off: list[CutOffChangeDocument]
    attributes: list[UnfinishedAttribute]
    before_boot: list[CutOffChangeDocument]
    under_way: list[CutOffChangeDocument]
    changes: list[ChangeDocument]
    left: list[UnfinishedAttribute]
    diagnostics: list[Diagnostic]

    @classmethod
    def of(cls, recovery: Recovery) -> TuneRecoverDocument:
        """Make the document of what recovering did."""
        found = recovery.unfinished
        return cls(
            recovery.action,
            not recovery.done,
            recovery.settled,
            [CutOffChangeDocument.of(change) for change in found.changes],
            list(found.attributes),
            [CutOffChangeDocument.of(change) for change in found.before_boot],
            [CutOffChangeDocument.of(change) for change in found.under_way],
            [ChangeDocument.of(change) for change in recovery.changes],
            list(recovery.left),
            list(recovery.diagnostics),
        )


def _names(pairs: Sequence[tuple[str, str | None]]) -> list[AttributeNameDocument]:
    return [AttributeNameDocument(device, attribute) for device, attribute in pairs]
