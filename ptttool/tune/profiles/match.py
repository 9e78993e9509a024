"""Profiles and machines: what a profile differs in, and what applying it changes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import document
from ptttool.errors import DeviceError, InputError
from ptttool.machine.model import PttDevice
from ptttool.tune.attributes import MEANINGS, find_attribute, suggest
from ptttool.tune.driver import AttributeNames, Change, OnChange, Setting, TunePlan, plan_changes
from ptttool.tune.profiles.profile import EVERY_DEVICE, Profile
from ptttool.tune.session import tuning
from ptttool.tune.values import attribute_names, source_of
from ptttool.wording import html_table

# Keys that are named in a message.
_MOST_NAMED = 8


class RowState(StrEnum):
    """The result of comparing an attribute with a profile."""

    SAME = "same"
    DIFFERS = "differs"
    MISSING = "missing"


class Match(Struct, frozen=True):
    """A profile compared with the devices and attributes of a machine.

    Parameters
    ----------
    profile : Profile
        The profile, with values for every device below the names of the devices.
    settings : tuple of Setting
        The values to set, in the order of the profile.
    missing : AttributeNames
        What the machine does not have.
    left_alone : AttributeNames
        What the profile does not name.
    """

    profile: Profile
    settings: tuple[Setting, ...]
    missing: AttributeNames
    left_alone: AttributeNames

    def diagnostics(self, then: str) -> tuple[Diagnostic, ...]:
        """Return what is odd: values of the profile, and what the machine does not have; ``then`` says what is done about that."""
        names = [name if attribute is None else f"{name}/{attribute}" for name, attribute in self.missing]
        missing = (Diagnostic(Severity.WARNING, "missing", f"{name} is not on this machine: {then}", where=name) for name in names)
        return (*self.profile.diagnostics, *missing)


class DiffRow(Struct, frozen=True):
    """One line of a comparison.

    Parameters
    ----------
    device : str
        Name of the device.
    attribute : str or None
        Name of the attribute; null for a device without any in the profile.
    profile : int or None
        The profile's value; null if only a second profile has it.
    machine : int or None
        The machine's value, or that of a second profile; null if it has none.
    state : RowState
        The result.
    """

    device: str
    attribute: str | None
    profile: int | None
    machine: int | None
    state: RowState


@document("tune-diff")
class ProfileDiff(Struct, frozen=True, kw_only=True):
    """A profile compared with a machine, or with a second profile.

    Parameters
    ----------
    profile : str
        The profile's file.
    equal : bool
        True if the machine has every value of the profile, or if two profiles have the same values.
    rows : tuple of DiffRow
        One for each attribute of the profile; of two profiles, for each attribute of either.
    left_alone : AttributeNames
        What the profile does not name; empty for two profiles.
    other : str or None
        The second profile's file; null for the machine.
    diagnostics : tuple of Diagnostic
        Values that were clamped.
    """

    json_hides: ClassVar = ("diagnostics",)

    profile: str
    equal: bool = True
    rows: tuple[DiffRow, ...]
    left_alone: AttributeNames = AttributeNames()
    other: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()

    def __post_init__(self) -> None:
        """Look for a difference."""
        force_setattr(self, "equal", all(row.state == RowState.SAME for row in self.rows))

    def _repr_html_(self) -> str:
        rows = [(row.device, row.attribute, row.profile, row.machine, row.state) for row in self.rows]
        return html_table(("PTT device", "Attribute", *self.heads, "Result"), rows)

    @property
    def heads(self) -> tuple[str, str]:
        """The heads of the two columns of values."""
        return ("Profile", "Machine") if self.other is None else (self.profile, self.other)


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
    matched = match_profile(profile, devices, ignore_missing=ignore_missing)
    return TunePlan(
        profile=profile.path,
        changes=plan_changes(matched.settings),
        diagnostics=matched.diagnostics("skipped"),
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
    matched = match_profile(profile, devices, ignore_missing=True)
    rows = compare(matched, plan_changes(matched.settings))
    return ProfileDiff(profile=profile.path, rows=tuple(rows), left_alone=matched.left_alone, diagnostics=profile.diagnostics)


def diff_profiles(first: Profile, second: Profile, devices: Sequence[PttDevice] = ()) -> ProfileDiff:
    """Compare two profiles.

    Parameters
    ----------
    first, second : Profile
        The profiles.
    devices : Sequence[PttDevice]
        The devices of the machine they are for: values for every device stand for each of them. Without devices they stand for themselves.
    """
    by_device = _known(devices)
    before, after = (_values(on_machine(profile, by_device) if by_device else profile, by_device) for profile in (first, second))
    order = {device: place for place, device in enumerate(dict.fromkeys(device for device, _ in (*before, *after)))}
    rows = []
    for device, attribute in sorted({**before, **after}, key=lambda key: order[key[0]]):
        values = before.get((device, attribute)), after.get((device, attribute))
        state = RowState.MISSING if None in values else RowState.SAME if values[0] == values[1] else RowState.DIFFERS
        rows.append(DiffRow(device, attribute, *values, state))
    diagnostics = (*first.diagnostics, *second.diagnostics)
    return ProfileDiff(profile=first.path, rows=tuple(rows), other=second.path, diagnostics=diagnostics)


def _values(profile: Profile, by_device: Mapping[str, Sequence[str]]) -> dict[tuple[str, str], int]:
    """Return the values of a profile by device and attribute, which has one of its two names."""
    return {
        (device, find_attribute(by_device.get(device) or tuple(MEANINGS), asked) or asked): value
        for device, attributes in profile.devices.items()
        for asked, value in attributes.items()
    }


def on_machine(profile: Profile, by_device: Mapping[str, Sequence[str]]) -> Profile:
    """Return a profile in which the values for every device stand below the names of the devices.

    Parameters
    ----------
    profile : Profile
        The profile.
    by_device : Mapping[str, Sequence[str]]
        The attributes of the machine's devices, by device.
    """
    every = profile.devices.get(EVERY_DEVICE)
    if every is None:
        return profile
    devices = {name: dict(values) for name, values in profile.devices.items() if name != EVERY_DEVICE}
    for name, attributes in by_device.items():
        own = devices.setdefault(name, {}) if attributes else {}
        named = {find_attribute(attributes, attribute) or attribute for attribute in own}
        for attribute, value in every.items():
            if attributes and (find_attribute(attributes, attribute) or attribute) not in named:
                own[attribute] = value
    return replace(profile, devices=devices)


def match_profile(
    profile: Profile, devices: Sequence[PttDevice], by_device: Mapping[str, Sequence[str]] | None = None, *, ignore_missing: bool = False
) -> Match:
    """Compare a profile with devices and their attributes.

    Parameters
    ----------
    profile : Profile
        The profile.
    devices : Sequence[PttDevice]
        All devices of the machine.
    by_device : Mapping[str, Sequence[str]], optional
        Their attributes, by device; by default, they are read.
    ignore_missing : bool
        Do not raise an error for what the machine does not have.

    Raises
    ------
    DeviceError
        The machine does not have a device.
    InputError
        It does not have an attribute, or the profile names one twice with different values.
    """
    by_device = _known(devices) if by_device is None else by_device
    profile = on_machine(profile, by_device)
    by_name = {device.name: device for device in devices}
    settings: dict[tuple[str, str], Setting] = {}
    missing: list[tuple[str, str | None]] = []
    for name, values in profile.devices.items():
        if name not in by_name:
            missing.append((name, None))
            continue
        for asked, value in values.items():
            attribute = find_attribute(by_device[name], asked)
            if attribute is None:
                missing.append((name, asked))
                continue
            key = f"devices.{name}.{asked}"
            if settings.setdefault((name, attribute), Setting(by_name[name], attribute, value)).value != value:
                reason = f"{key}: {attribute} occurs twice, under both its names, with different values"
                raise InputError(profile.path, reason, code="attribute-twice", key=key)
    if missing and not ignore_missing:
        raise _missing_error(profile, missing, by_name, by_device)
    alone: list[tuple[str, str | None]] = []
    for name in by_name:
        if name not in profile.devices:
            alone.append((name, None))
        else:
            alone += [(name, attribute) for attribute in by_device[name] if (name, attribute) not in settings]
    return Match(profile, tuple(settings.values()), AttributeNames(missing), AttributeNames(alone))


def compare(matched: Match, changes: Sequence[Change]) -> list[DiffRow]:
    """Make a row for every attribute of a profile, missing ones last; ``changes`` are those that applying the profile would make."""
    rows = [
        DiffRow(change.device, change.attribute, change.new, change.old, RowState.DIFFERS if change.differs else RowState.SAME)
        for change in changes
    ]
    for name, attribute in matched.missing:
        values = matched.profile.devices[name]
        entries = values if attribute is None else {attribute: values[attribute]}
        rows += [DiffRow(name, asked, value, None, RowState.MISSING) for asked, value in entries.items()] or [
            DiffRow(name, None, None, None, RowState.MISSING)
        ]
    return rows


def _known(devices: Sequence[PttDevice]) -> dict[str, list[str]]:
    return {device.name: attribute_names(device) for device in devices}


def _missing_error(
    profile: Profile, missing: Sequence[tuple[str, str | None]], devices: Mapping[str, object], by_device: Mapping[str, Sequence[str]]
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
    hints = dict.fromkeys(suggest(by_device[name], attribute) for name, attribute in named)
    more = f" and {len(keys) - _MOST_NAMED} more" if len(keys) > _MOST_NAMED else ""
    return InputError(
        profile.path,
        f"{', '.join(keys[:_MOST_NAMED])}{more}: no such tune attribute on this machine",
        hint="; ".join(hints) + "; --ignore-missing skips what is missing",
        code="profile-attribute-missing",
        keys=keys,
    )
