"""Tune profiles: TOML files with the tune attributes of all PTT devices of a machine, to edit and to keep under version control.

::

    version = 1

    [devices.hisi_ptt0_0]
    qos_tx_cpl = 1

A profile has no date, so two profiles of an unchanged machine are equal files.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from enum import StrEnum
from pathlib import Path
from typing import Any

from ptttool.budget import over_budget
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import AccessError, DeviceError, InputError
from ptttool.files.atomic import output_file
from ptttool.files.standard import standard_input
from ptttool.machine.model import Machine, PttDevice
from ptttool.tune.attributes import LARGEST, clamp, clamped_value, find_attribute, suggest
from ptttool.tune.budget import MAX_DOTS, MAX_PROFILE_BYTES
from ptttool.tune.driver import Change, OnChange, Setting, TunePlan, plan_changes
from ptttool.tune.session import tuning
from ptttool.tune.values import attribute_names, read_value, source_of
from ptttool.wording import html_table, shortened

VERSION = 1
# A number of TOML has 64 bits.
_LARGEST_NUMBER = (1 << 63) - 1
# Keys that are named in a message.
_MOST_NAMED = 8


class RowState(StrEnum):
    """The result of comparing an attribute with a profile."""

    SAME = "same"
    DIFFERS = "differs"
    MISSING = "missing"


@dataclass(frozen=True)
class Profile:
    """A profile as it was read.

    Parameters
    ----------
    path : str
        Its file, for messages.
    devices : Mapping[str, Mapping[str, int]]
        Values, 0 to 2, by device and attribute.
    clamped : Mapping[str, int]
        Values in the file above 2, by key (``devices.hisi_ptt0_0.qos_tx_p``).
    """

    path: str
    devices: Mapping[str, Mapping[str, int]]
    clamped: Mapping[str, int] = field(default_factory=dict)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """One for each value that was clamped."""
        shown = {key: str(value) if value < 10**24 else "a number of more than 24 digits" for key, value in self.clamped.items()}
        return tuple(clamped_value(f"{self.path}: {key}", value) for key, value in shown.items())


@dataclass(frozen=True)
class Snapshot:
    """The attributes of a machine.

    Parameters
    ----------
    devices : Mapping[str, Mapping[str, int]]
        Values by device and attribute.
    hostname, kernel : str or None
        The machine's name and the release of its kernel.
    diagnostics : tuple of Diagnostic
        One for each device without attributes.
    """

    devices: Mapping[str, Mapping[str, int]]
    hostname: str | None = None
    kernel: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def text(self) -> str:
        """The profile of the machine: the text of its file."""
        import tomli_w

        machine = "".join([f" of {self.hostname}" if self.hostname else "", f", Linux {self.kernel}" if self.kernel else ""])
        # Keep the comment on one line of printable text, whatever the host name contains.
        machine = "".join(letter if letter.isprintable() else "?" for letter in machine)
        head = f"# Tune profile{machine}: every tune attribute of every PTT device, 0 to {LARGEST}.\n"
        return (
            head + "# Use: ptttool tune diff FILE, ptttool tune apply FILE\n" + tomli_w.dumps({"version": VERSION, "devices": self.devices})
        )

    def _repr_html_(self) -> str:
        rows = [(device, attribute, value) for device, values in self.devices.items() for attribute, value in values.items()]
        return html_table(("PTT device", "Attribute", "Value"), rows, caption=self.hostname)


@dataclass(frozen=True)
class Match:
    """A profile compared with the devices and attributes of a machine.

    Parameters
    ----------
    settings : tuple of Setting
        The values to set, in the order of the profile.
    missing : tuple of (str, str or None)
        Pairs that the machine does not have: the device, and the attribute or None for the whole device.
    left_alone : tuple of (str, str or None)
        Devices and attributes that the profile does not name, in the same form.
    """

    settings: tuple[Setting, ...]
    missing: tuple[tuple[str, str | None], ...]
    left_alone: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class DiffRow:
    """One line of a comparison.

    Parameters
    ----------
    device : str
        Name of the device.
    attribute : str or None
        Name of the attribute; null for a device without any in the profile.
    profile : int or None
        The profile's value.
    machine : int or None
        The machine's value; null if the state is ``missing``.
    state : RowState
        The result.
    """

    device: str
    attribute: str | None
    profile: int | None
    machine: int | None
    state: RowState


@dataclass(frozen=True)
class ProfileDiff:
    """A profile compared with the values of a machine.

    Parameters
    ----------
    profile : str
        The profile's file.
    rows : tuple of DiffRow
        One for each attribute of the profile.
    left_alone : tuple of (str, str or None)
        Devices and attributes that the profile does not name; they are no difference.
    diagnostics : tuple of Diagnostic
        Values that were clamped.
    """

    profile: str
    rows: tuple[DiffRow, ...]
    left_alone: tuple[tuple[str, str | None], ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def equal(self) -> bool:
        """True if the machine has every value of the profile."""
        return all(row.state == RowState.SAME for row in self.rows)

    def _repr_html_(self) -> str:
        rows = [(row.device, row.attribute, row.profile, row.machine, row.state) for row in self.rows]
        return html_table(("PTT device", "Attribute", "Profile", "Machine", "Result"), rows)


def take_snapshot(machine: Machine) -> Snapshot:
    """Read every attribute of a machine.

    Raises
    ------
    AccessError, HardwareError, DeviceError
        An attribute cannot be read.
    """
    values: dict[str, dict[str, int]] = {}
    diagnostics: list[Diagnostic] = []
    for device in machine.devices:
        names = attribute_names(device)
        if names:
            values[device.name] = {name: read_value(device, name) for name in names}
        else:
            message = f"{device.name} has no tune attributes: it is not in the profile"
            diagnostics.append(Diagnostic(Severity.INFO, "no-tune-attributes", message, where=device.name))
    return Snapshot(values, machine.hostname, machine.kernel, tuple(diagnostics))


def write_profile(path: str | Path, snapshot: Snapshot, *, force: bool = False) -> None:
    """Write a profile. The file appears complete or not at all.

    Parameters
    ----------
    path : str or Path
        Its file.
    snapshot : Snapshot
        From :func:`take_snapshot`.
    force : bool
        Overwrite an existing file.

    Raises
    ------
    OutputError
        The file exists, or cannot be written.
    """
    with output_file(path, force=force) as output:
        output.write(snapshot.text.encode())


def save_profile(path: str | Path, machine: Machine, *, force: bool = False) -> Snapshot:
    """Save the attributes of a machine as a profile. If one cannot be read, nothing is saved.

    The parameters are those of :func:`write_profile`. The errors are those of :func:`write_profile` and :func:`take_snapshot`.
    """
    snapshot = take_snapshot(machine)
    write_profile(path, snapshot, force=force)
    return snapshot


def load_profile(path: str | Path) -> Profile:
    """Read a profile from a file; ``-`` is standard input.

    Raises
    ------
    InputError
        There is no such file, or it is not a profile.
    AccessError
        The file cannot be read.
    """
    try:
        if str(path) == "-":
            return parse_profile(standard_input().read(MAX_PROFILE_BYTES + 1), "standard input")
        with Path(path).open("rb") as file:
            return parse_profile(file.read(MAX_PROFILE_BYTES + 1), str(path))
    except PermissionError as error:
        raise AccessError(f"{path}: {error.strerror}") from None
    except FileNotFoundError:
        raise InputError(path, "no such file", hint="make one with 'ptttool tune save FILE'", code="no-such-file") from None
    except OSError as error:
        raise InputError(path, error.strerror or str(error)) from None


def parse_profile(data: bytes, path: str) -> Profile:
    """Parse the bytes of a profile; ``path`` is used in messages.

    Raises
    ------
    InputError
        The bytes are not a profile; the message names the line or the key.
    """
    if len(data) > MAX_PROFILE_BYTES:
        raise over_budget(path, "the profile", MAX_PROFILE_BYTES, "bytes", hint="is it a tune profile?")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(path, "not UTF-8 text: not a tune profile", offset=error.start, code="not-a-profile") from None
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > MAX_DOTS:
            raise over_budget(path, f"line {number}", MAX_DOTS, "dots", hint="is it a tune profile?")
    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise InputError(path, "not valid TOML: nested too deeply", code="bad-toml") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(path, f"not valid TOML: {error}", code="bad-toml") from None
    except ValueError:  # Python's limit on the digits of a number
        raise InputError(path, "not valid TOML: a number has too many digits", code="bad-toml") from None
    return _checked(document, path)


def plan_profile(profile: Profile, devices: Sequence[PttDevice], *, ignore_missing: bool = False) -> TunePlan:
    """Plan what applying a profile would change; write nothing.

    Parameters
    ----------
    profile : Profile
        The profile.
    devices : Sequence[PttDevice]
        All devices of the machine.
    ignore_missing : bool
        Skip what the machine does not have; the plan lists it.

    Raises
    ------
    DeviceError
        The machine does not have a device.
    InputError
        The machine does not have an attribute.
    AccessError, HardwareError
        An old value cannot be read.
    """
    matched = match_profile(profile, devices, _known(devices), ignore_missing=ignore_missing)
    skipped = (name if attribute is None else f"{name}/{attribute}" for name, attribute in matched.missing)
    missing = [Diagnostic(Severity.WARNING, "missing", f"{what} is not on this machine: skipped", where=what) for what in skipped]
    return TunePlan(
        changes=plan_changes(matched.settings),
        diagnostics=(*profile.diagnostics, *missing),
        missing=matched.missing,
        left_alone=matched.left_alone,
    )


def apply_profile(
    profile: Profile,
    devices: Sequence[PttDevice],
    *,
    ignore_missing: bool = False,
    dry_run: bool = False,
    on_change: OnChange | None = None,
    journal: bool | str | os.PathLike[str] = True,
) -> TunePlan:
    """Set the attributes of a machine to the values of a profile: all of them, or none if one fails.

    The parameters are those of :func:`plan_profile` and :func:`~ptttool.tune.driver.set_attributes`, and so are the errors.
    """
    if dry_run or not devices:
        return plan_profile(profile, devices, ignore_missing=ignore_missing)
    with tuning(source_of(devices[0]), f"Python: apply {profile.path}", journal=journal) as session:
        return plan_profile(profile, devices, ignore_missing=ignore_missing).apply(on_change, session=session)


def diff_profile(profile: Profile, devices: Sequence[PttDevice]) -> ProfileDiff:
    """Compare a profile with the values of a machine.

    Parameters
    ----------
    profile : Profile
        The profile.
    devices : Sequence[PttDevice]
        All devices of the machine.

    Raises
    ------
    AccessError, HardwareError, DeviceError
        A value cannot be read.
    """
    matched = match_profile(profile, devices, _known(devices), ignore_missing=True)
    rows = compare(profile, matched, plan_changes(matched.settings))
    return ProfileDiff(profile.path, tuple(rows), matched.left_alone, profile.diagnostics)


def match_profile(
    profile: Profile, devices: Sequence[PttDevice], known: Mapping[str, Sequence[str]], *, ignore_missing: bool = False
) -> Match:
    """Compare a profile with devices and their attributes.

    Parameters
    ----------
    profile : Profile
        The profile.
    devices : Sequence[PttDevice]
        All devices of the machine.
    known : Mapping[str, Sequence[str]]
        Their attributes, by device.
    ignore_missing : bool
        Do not raise an error for what the machine does not have.

    Raises
    ------
    DeviceError
        The machine does not have a device.
    InputError
        It does not have an attribute, or the profile names one twice with different values.
    """
    by_name = {device.name: device for device in devices}
    settings: dict[tuple[str, str], Setting] = {}
    missing: list[tuple[str, str | None]] = []
    for name, wanted in profile.devices.items():
        if name not in by_name:
            missing.append((name, None))
            continue
        for asked, value in wanted.items():
            attribute = find_attribute(known[name], asked)
            if attribute is None:
                missing.append((name, asked))
                continue
            key = f"devices.{name}.{asked}"
            if settings.setdefault((name, attribute), Setting(by_name[name], attribute, value)).value != value:
                reason = f"{key}: {attribute} occurs twice, under both its names, with different values"
                raise InputError(profile.path, reason, code="attribute-twice", key=key)
    if missing and not ignore_missing:
        raise _missing_error(profile, missing, by_name, known)
    alone: list[tuple[str, str | None]] = []
    for name in by_name:
        if name not in profile.devices:
            alone.append((name, None))
        else:
            alone += [(name, attribute) for attribute in known[name] if (name, attribute) not in settings]
    return Match(tuple(settings.values()), tuple(missing), tuple(alone))


def compare(profile: Profile, matched: Match, changes: Sequence[Change]) -> list[DiffRow]:
    """Make a row for every attribute of a profile, missing ones last; ``changes`` are those that applying the profile would make."""
    rows = [
        DiffRow(change.device.name, change.attribute, change.new, change.old, RowState.DIFFERS if change.differs else RowState.SAME)
        for change in changes
    ]
    for name, attribute in matched.missing:
        wanted = profile.devices[name] if attribute is None else {attribute: profile.devices[name][attribute]}
        rows += [DiffRow(name, asked, value, None, RowState.MISSING) for asked, value in wanted.items()] or [
            DiffRow(name, None, None, None, RowState.MISSING)
        ]
    return rows


def _known(devices: Sequence[PttDevice]) -> dict[str, list[str]]:
    return {device.name: attribute_names(device) for device in devices}


def _checked(document: dict[str, Any], path: str) -> Profile:
    """Check every key and value of a document."""

    def wrong(key: str, reason: str, hint: str | None = None) -> InputError:
        return InputError(path, f"{key}: {reason}", hint=hint, code="bad-profile", key=key)

    if not document:
        raise InputError(path, "empty: not a tune profile", hint="make one with 'ptttool tune save FILE'", code="not-a-profile")
    version = document.pop("version", None)
    if version is None:
        raise wrong("version", "missing; not a tune profile", hint=f"a profile starts with the line: version = {VERSION}")
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= _LARGEST_NUMBER:
        raise wrong("version", f"{_shown(version)} is not a version")
    if version > VERSION:
        raise wrong("version", f"{version} is newer than the version that this ptttool reads, {VERSION}")
    devices = document.pop("devices", {})
    if document:
        raise wrong(next(iter(document)), "unknown key", hint="tune attributes belong below [devices.NAME]")
    if not isinstance(devices, dict):
        raise wrong("devices", "not a table", hint="write [devices.NAME] and the tune attributes below it")
    found: dict[str, dict[str, int]] = {}
    clamped: dict[str, int] = {}
    for device, attributes in devices.items():
        if not isinstance(attributes, dict):
            raise wrong(f"devices.{device}", "not a table", hint=f"write [devices.{device}] and the tune attributes below it")
        found[device] = {}
        for attribute, value in attributes.items():
            key = f"devices.{device}.{attribute}"
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST_NUMBER:
                raise wrong(key, f"{_shown(value)} is not a value", hint=f"a value is one of 0, 1, {LARGEST}, without quotes")
            found[device][attribute] = clamp(value)
            if value > LARGEST:
                clamped[key] = value
    return Profile(path, found, clamped)


def _shown(value: object) -> str:
    """Return a value of a document for a message; deep lists and tables have no short form."""
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and abs(value) > _LARGEST_NUMBER:
        return "a number of more than 64 bits"
    if isinstance(value, date | time):
        return f"the date or time {value.isoformat()}"
    return shortened(repr(value))


def _missing_error(
    profile: Profile, missing: Sequence[tuple[str, str | None]], devices: Mapping[str, object], known: Mapping[str, Sequence[str]]
) -> DeviceError | InputError:
    gone = [name for name, attribute in missing if attribute is None]
    if gone:
        there = f"its PTT devices: {', '.join(devices)}" if devices else "it has no PTT device"
        return DeviceError(
            f"{profile.path}: this machine has no {', '.join(gone)}",
            hint=f"{there}; for a profile of another machine, --ignore-missing skips what is missing",
            code="profile-device-missing",
            missing=gone,
        )
    keys = [f"devices.{name}.{attribute}" for name, attribute in missing]
    named = [(name, attribute) for name, attribute in missing if attribute is not None][:_MOST_NAMED]
    hints = dict.fromkeys(suggest(known[name], attribute) for name, attribute in named)
    more = f" and {len(keys) - _MOST_NAMED} more" if len(keys) > _MOST_NAMED else ""
    return InputError(
        profile.path,
        f"{', '.join(keys[:_MOST_NAMED])}{more}: no such tune attribute on this machine",
        hint="; ".join(hints) + "; --ignore-missing skips what is missing",
        code="profile-attribute-missing",
        keys=keys,
    )
