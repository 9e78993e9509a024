"""Find machines and their PTT devices; read and set tune attributes.

The examples use the recorded machine that comes with ptttool (``demo=True``), which needs no hardware and no root. What is written to it
lasts as long as the object that :func:`find_machine` returns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

from ptttool.api import listed
from ptttool.doctor.examine import Examination, examine
from ptttool.machine.details.read import with_details
from ptttool.machine.discovery import open_source, require_machine
from ptttool.machine.model import Machine, PttDevice
from ptttool.machine.resolve import find_device as find_device_of
from ptttool.tune.attributes import resolve_attributes
from ptttool.tune.driver import Change, ChangeState, OnChange, TunePlan, set_attributes
from ptttool.tune.journal.history import History, read_history
from ptttool.tune.persist.export import Export, export_profile
from ptttool.tune.profiles.match import ProfileDiff, apply_profile, diff_profile, diff_profiles
from ptttool.tune.profiles.named import find_profile
from ptttool.tune.profiles.snapshot import Snapshot, save_profile
from ptttool.tune.repair.recovery import RecoverAction, Recovery, recover
from ptttool.tune.repair.undo import Undo, undo
from ptttool.tune.values import attribute_names, read_value, source_of

__all__ = [
    "Change",
    "ChangeState",
    "Examination",
    "Export",
    "History",
    "Machine",
    "ProfileDiff",
    "PttDevice",
    "RecoverAction",
    "Recovery",
    "Snapshot",
    "TunePlan",
    "Undo",
    "apply_tune_profile",
    "diff_tune_profile",
    "examine_machine",
    "export_tune_profile",
    "find_device",
    "find_devices",
    "find_machine",
    "recover_tune_attributes",
    "save_tune_profile",
    "set_tune_attributes",
    "tune_attributes",
    "tune_history",
    "undo_tune_changes",
]


def find_machine(sysfs: str | Path | None = None, *, demo: bool = False, tune: bool = False, details: bool = False) -> Machine:
    """Find a machine with its PTT devices and PCI functions.

    What cannot be read is left out; the diagnostics of the machine and of its devices say so.

    Parameters
    ----------
    sysfs : str or Path, optional
        A recorded or mounted machine: a folder or tar archive that holds ``sys``, such as an sosreport, or a sysfs. Without it: the machine
        this runs on.
    demo : bool
        Take the recorded machine that comes with ptttool.
    tune : bool
        Read the values of the tune attributes, too. Otherwise the devices have only their names.
    details : bool
        Read the addresses of the functions and of memory, and the settings of the links, too; most of that needs root.

    Returns
    -------
    Machine
        A machine with at least one PTT device.

    Raises
    ------
    DeviceError
        There is no PTT device; the code says why: ``no-device``, ``driver-not-loaded``, ``not-bound``, ``no-driver``,
        ``iommu-translates``.
    UsageError
        Both a folder and the demo machine are asked for.
    InputError
        It is not a recorded machine.
    AccessError
        It cannot be read.
    MissingPackageError
        There is no libudev, which the machine this runs on needs.

    Examples
    --------
    >>> machine = find_machine(demo=True)
    >>> [device.name for device in machine.devices]
    ['hisi_ptt0_0', 'hisi_ptt0_2', 'hisi_ptt2_0']
    >>> [str(port.address) for port in machine.devices[0].root_ports]
    ['0000:00:10.0', '0000:00:11.0', '0000:00:12.0']
    """
    source = open_source(sysfs, demo)
    machine = require_machine(source, tune=tune)
    return with_details(source, machine) if details else machine


def find_devices(sysfs: str | Path | None = None, *, demo: bool = False) -> tuple[PttDevice, ...]:
    """Find the PTT devices of a machine.

    Parameters and errors are those of :func:`find_machine`.

    Examples
    --------
    >>> [(device.name, device.cpus) for device in find_devices(demo=True)]
    [('hisi_ptt0_0', (0, 1)), ('hisi_ptt0_2', (0, 1)), ('hisi_ptt2_0', (2, 3))]
    """
    return find_machine(sysfs, demo=demo).devices


def examine_machine(
    device: str | None = None,
    sysfs: str | Path | None = None,
    *,
    demo: bool = False,
    aux_size: int | None = None,
    output: str | Path = "perf.data",
) -> Examination:
    """Check whether a trace would work, as the command ``doctor`` does. Nothing is changed.

    Parameters
    ----------
    device : str, optional
        Examine this PTT device alone: its name, its PCI address, or what it traces (``nvme0``).
    sysfs, demo
        As in :func:`find_machine`. What a recorded machine does not hold is unknown.
    aux_size : int
        Bytes of the AUX area that a trace would have.
    output : str or Path
        The file that a trace would write.

    Returns
    -------
    Examination
        ``works`` says whether a trace would work, None if that is not known; ``answers`` has the checks with cause and fix.

    Raises
    ------
    DeviceError
        The machine has PTT devices, and none of that name.
    UsageError
        The size of the AUX area is not possible, or both a folder and the demo machine are asked for.
    InputError, AccessError, MissingPackageError
        As in :func:`find_machine`.

    Examples
    --------
    >>> found = examine_machine(demo=True)
    >>> print(found.works)
    None
    >>> [answer.check for answer in found.answers if answer.status == "ok"]
    ['hardware', 'kernel-config', 'iommu', 'driver', 'kernel-fixes', 'cpus', 'counters', 'journal', 'plug-ins']
    """
    return examine(open_source(sysfs, demo), device, aux_size=aux_size, output=Path(output))


def find_device(machine: Machine, name: str | None = None) -> PttDevice:
    """Find one PTT device of a machine.

    Parameters
    ----------
    machine : Machine
        The machine.
    name : str, optional
        ``hisi_ptt0_2``, ``0_2`` or its PCI address; or a function that it traces, such as ``nvme0``. Without it: the only device of the
        machine.

    Raises
    ------
    DeviceError
        There is no such device or function, or no device traces it.
    UsageError
        There are several devices, and no name is given; or the name is ambiguous.

    Examples
    --------
    >>> find_device(find_machine(demo=True), "nvme1").name
    'hisi_ptt0_2'
    >>> find_device(find_machine(demo=True), "0000:00:09.0").name
    'hisi_ptt0_2'
    """
    return find_device_of(machine, name)


def tune_attributes(device: PttDevice, names: str | Sequence[str] | None = None) -> dict[str, int]:
    """Read tune attributes of a device.

    Parameters
    ----------
    device : PttDevice
        A device of a machine.
    names : str or Sequence[str], optional
        The attributes; all without it.

    Returns
    -------
    dict of str to int
        Values, 0 to 2, by the device's own names of the attributes.

    Raises
    ------
    UsageError
        The device has no attribute of that name.
    AccessError
        Only root can read them.
    HardwareError
        The device did not answer in time.
    DeviceError
        The device is gone or has no tune attributes.

    Examples
    --------
    >>> device = find_devices(demo=True)[0]
    >>> tune_attributes(device, ["qos_tx_p", "qos_tx_np"])
    {'qos_tx_p': 1, 'qos_tx_np': 1}
    """
    every = attribute_names(device)
    return {name: read_value(device, name) for name in resolve_attributes(device.name, every, every if names is None else listed(names))}


def set_tune_attributes(
    device: PttDevice | Sequence[PttDevice],
    values: Mapping[str, int] | str | Sequence[str],
    *,
    dry_run: bool = False,
    on_change: OnChange | None = None,
    journal: bool | str | PathLike[str] = True,
) -> TunePlan:
    """Set tune attributes of a device, or the same of several devices, all or none.

    Everything is checked and read first, alone on the machine. Only what differs is written, and every written value is read back. If
    that fails, or on Ctrl-C, the attributes already written get their old values back. The change is in a journal, so that
    :func:`recover_tune_attributes` finds it if this process is killed.

    Parameters
    ----------
    device : PttDevice or sequence of PttDevice
        A device of a machine, or several.
    values : Mapping[str, int], str or Sequence[str]
        Values by attribute, or texts such as ``qos_tx_p=2``. A value above 2 becomes 2, as in the hardware.
    dry_run : bool
        Check and read everything, write nothing.
    on_change : callable, optional
        Called with each :class:`Change`: before it is written, after it was read back, and after it was restored (see its ``state``).
    journal : bool, str or path
        Whether to note the change in the machine's journal; a path is the folder of another journal.

    Returns
    -------
    TunePlan
        The changes with old and new values, and a diagnostic for each value that was clamped.

    Raises
    ------
    UsageError
        A name or a value is wrong.
    BusyError
        Another process changes tune attributes of the machine.
    AccessError, OutputError
        ``no-journal``: the journal cannot be written. Nothing was changed.
    AccessError, HardwareError, DeviceError, InterruptedByUserError
        A value could not be read or written. ``details["restored"]`` says whether the old values are back.

    Examples
    --------
    >>> device = find_devices(demo=True)[0]
    >>> plan = set_tune_attributes(device, {"qos_tx_p": 2, "qos_tx_np": 1})
    >>> [(change.attribute, change.old, change.new, change.state.value) for change in plan.changes]
    [('qos_tx_p', 1, 2, 'written'), ('qos_tx_np', 1, 1, 'planned')]
    >>> tune_attributes(device)["qos_tx_p"]
    2
    """
    values = listed(values) if isinstance(values, str) else values
    return set_attributes(device, values, dry_run=dry_run, on_change=on_change, journal=journal)


def save_tune_profile(path: str | Path, machine: Machine, *, force: bool = False) -> Snapshot:
    """Save the tune attributes of a machine as a profile, a TOML file.

    Parameters
    ----------
    path : str or Path
        The file.
    machine : Machine
        The machine.
    force : bool
        Overwrite an existing file.

    Returns
    -------
    Snapshot
        The values that were saved.

    Raises
    ------
    OutputError
        The file exists, or cannot be written.
    AccessError, HardwareError, DeviceError
        A value could not be read; nothing is saved.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "before.toml"
    >>> sorted(save_tune_profile(path, find_machine(demo=True)).devices)
    ['hisi_ptt0_0', 'hisi_ptt0_2', 'hisi_ptt2_0']
    """
    return save_profile(path, machine, force=force)


def apply_tune_profile(
    path: str | Path,
    machine: Machine,
    *,
    ignore_missing: bool = False,
    dry_run: bool = False,
    on_change: OnChange | None = None,
    journal: bool | str | PathLike[str] = True,
) -> TunePlan:
    """Set the tune attributes of a machine to the values of a profile, all or none.

    Devices and attributes that the profile does not name stay as they are.

    Parameters
    ----------
    path : str or Path
        The profile: a file, or the name of one that comes with ptttool, such as ``storage``.
    machine : Machine
        The machine.
    ignore_missing : bool
        Skip devices and attributes of the profile that the machine does not have.
    dry_run, on_change, journal
        As in :func:`set_tune_attributes`.

    Returns
    -------
    TunePlan
        The changes, what the machine does not have, and what the profile does not name.

    Raises
    ------
    InputError
        The file is not a profile, or names an attribute that the machine does not have.
    DeviceError
        It names a device that the machine does not have.
    BusyError, AccessError, HardwareError, OutputError, InterruptedByUserError
        As in :func:`set_tune_attributes`.

    Examples
    --------
    >>> machine, path = find_machine(demo=True), getfixture("tmp_path") / "before.toml"
    >>> snapshot = save_tune_profile(path, machine)
    >>> plan = set_tune_attributes(machine.devices[0], {"qos_tx_p": 2})
    >>> [(change.label, change.new) for change in apply_tune_profile(path, machine).changes if change.differs]
    [('hisi_ptt0_0/qos_tx_p', 1)]
    """
    profile = find_profile(path, source_of(machine.devices[0]))
    return apply_profile(profile, machine.devices, ignore_missing=ignore_missing, dry_run=dry_run, on_change=on_change, journal=journal)


def recover_tune_attributes(
    machine: Machine,
    action: RecoverAction | str | None = None,
    *,
    force: bool = False,
    dry_run: bool = False,
    on_change: OnChange | None = None,
    journal: bool | str | PathLike[str] = True,
) -> Recovery:
    """Find the changes of tune attributes that were cut off (by SIGKILL, or by a device that did not answer), and repair them.

    Parameters
    ----------
    machine : Machine
        The machine.
    action : RecoverAction or str, optional
        ``restore`` writes the old values, ``complete`` the new ones, ``keep`` takes the values as they are. Without it, nothing is done.
    force : bool
        Overwrite values that somebody else has set since.
    dry_run, on_change, journal
        As in :func:`set_tune_attributes`.

    Returns
    -------
    Recovery
        What was cut off, what was written, and what is left.

    Raises
    ------
    BusyError, AccessError, HardwareError, OutputError, InterruptedByUserError
        As in :func:`set_tune_attributes`.

    Examples
    --------
    >>> recover_tune_attributes(find_machine(demo=True)).settled
    True
    """
    chosen = None if action is None else RecoverAction(action)
    return recover(source_of(machine.devices[0]), chosen, force=force, dry_run=dry_run, on_change=on_change, journal=journal)


def diff_tune_profile(path: str | Path, machine: Machine, *, other: str | Path | None = None) -> ProfileDiff:
    """Compare a profile with the tune attributes of a machine, or with another profile.

    Parameters
    ----------
    path : str or Path
        The profile: a file, or the name of one that comes with ptttool, such as ``storage``.
    machine : Machine
        The machine.
    other : str or Path, optional
        A second profile to compare with, instead of the machine's values.

    Returns
    -------
    ProfileDiff
        One row for each attribute of the profile; ``equal`` is True if the machine has every value of it, or if both profiles have the
        same values.

    Raises
    ------
    InputError
        The file is not a profile.
    AccessError, HardwareError, DeviceError
        A value could not be read.

    Examples
    --------
    >>> machine, path = find_machine(demo=True), getfixture("tmp_path") / "before.toml"
    >>> snapshot = save_tune_profile(path, machine)
    >>> diff_tune_profile(path, machine).equal
    True
    """
    source = source_of(machine.devices[0])
    if other is not None:
        return diff_profiles(find_profile(path, source), find_profile(other, source), machine.devices)
    return diff_profile(find_profile(path, source), machine.devices)


def export_tune_profile(path: str | Path, machine: Machine, target: str = "udev", *, ignore_missing: bool = False) -> Export:
    """Return what makes a profile permanent: the text of a rule of udev, of a service of systemd, and others. Nothing is written.

    Parameters
    ----------
    path : str or Path
        The profile: a file, or the name of one that comes with ptttool, such as ``storage``.
    machine : Machine
        The machine that it is for.
    target : str
        What sets the values: ``udev``, ``systemd``, ``tmpfiles``, ``tuned`` or ``ansible``.
    ignore_missing : bool
        Leave out what the machine does not have.

    Raises
    ------
    UsageError
        The target is unknown, or the profile has no value for this machine.
    InputError
        The file is not a profile, or names an attribute that the machine does not have.
    DeviceError
        It names a device that the machine does not have.

    Examples
    --------
    >>> export = export_tune_profile("storage", find_machine(demo=True), "tmpfiles")
    >>> print(export.files[0].text.splitlines()[1])
    w /sys/bus/event_source/devices/hisi_ptt0_0/tune/qos_tx_cpl - - - - 2
    """
    profile = find_profile(path, source_of(machine.devices[0]))
    return export_profile(target, profile, machine.devices, ignore_missing=ignore_missing)


def tune_history(machine: Machine, *, journal: bool | str | PathLike[str] = True) -> History:
    """Read who changed which tune attributes of a machine, as the journal has it.

    Parameters
    ----------
    machine : Machine
        The machine.
    journal : bool, str or path
        As in :func:`set_tune_attributes`.

    Raises
    ------
    AccessError, InputError
        The journal cannot be read.

    Examples
    --------
    >>> tune_history(find_machine(demo=True)).changes
    ()
    """
    return read_history(source_of(machine.devices[0]), journal)


def undo_tune_changes(
    machine: Machine,
    count: int = 1,
    *,
    force: bool = False,
    dry_run: bool = False,
    on_change: OnChange | None = None,
    journal: bool | str | PathLike[str] = True,
) -> Undo:
    """Write the values from before the last changes of tune attributes, all or nothing.

    Parameters
    ----------
    machine : Machine
        The machine. Its journal has the changes; the recorded machine that comes with ptttool has none.
    count : int
        How many changes.
    force : bool
        Overwrite values that somebody else has set since; leave out what the machine does not have any more.
    dry_run, on_change, journal
        As in :func:`set_tune_attributes`.

    Raises
    ------
    UsageError
        The journal has fewer changes since the machine was started.
    HardwareError, DeviceError
        A change is half done; somebody else has set an attribute since; an attribute is gone.
    BusyError, AccessError, OutputError, InputError, InterruptedByUserError
        As in :func:`set_tune_attributes`.

    Examples
    --------
    >>> import tarfile, ptttool
    >>> folder = getfixture("tmp_path")
    >>> with tarfile.open(Path(ptttool.__file__).with_name("demo") / "machine.tar.gz") as archive:
    ...     archive.extractall(folder / "machine", filter="data")
    >>> machine = find_machine(folder / "machine")
    >>> plan = set_tune_attributes(machine.devices[0], {"qos_tx_p": 2}, journal=folder / "journal")
    >>> undone = undo_tune_changes(machine, journal=folder / "journal")
    >>> [(change.attribute, change.old, change.new) for change in undone.changes]
    [('qos_tx_p', 2, 1)]
    """
    return undo(source_of(machine.devices[0]), count, force=force, dry_run=dry_run, on_change=on_change, journal=journal)
