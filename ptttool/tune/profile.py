"""Tune profiles: the tune attributes of all PTT devices of a machine in a TOML file that people read, edit and keep under version control.

::

    version = 1

    [devices.hisi_ptt0_0]
    qos_tx_cpl = 1

No date is in it: a profile saved twice of an unchanged machine is the same file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ptttool.errors import AccessError, DeviceError, InputError
from ptttool.machine.model import Machine
from ptttool.tune.attributes import LARGEST, Change, Setting, clamp, find_attribute, near_misses

VERSION = 1
# A profile of the largest machine has a few kilobytes.
MAX_BYTES = 1 << 16
SAME, DIFFERS, MISSING = "same", "differs", "missing"


@dataclass(frozen=True)
class Profile:
    """A profile as read. ``devices``: device name to attribute to value, 0..2; ``clamped``: the keys whose value was larger, with it."""

    path: str
    devices: Mapping[str, Mapping[str, int]]
    clamped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Match:
    """A profile held against a machine.

    ``settings``: what it asks for, profile order; ``missing``: its devices and tune attributes that the machine does not have, as (device,
    attribute or None); ``left_alone``: the machine's that it does not speak of, likewise.
    """

    settings: tuple[Setting, ...]
    missing: tuple[tuple[str, str | None], ...]
    left_alone: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class Row:
    """One line of a comparison. ``state``: :data:`SAME`, :data:`DIFFERS`, or :data:`MISSING` (``machine`` is None then)."""

    device: str
    attribute: str | None
    profile: int | None
    machine: int | None
    state: str


def dumps(values: Mapping[str, Mapping[str, int]], *, hostname: str | None = None, kernel: str | None = None) -> str:
    """A profile's text. ``values``: device name to attribute to value."""
    import tomli_w

    where = "".join([f" of {hostname}" if hostname else "", f", Linux {kernel}" if kernel else ""])
    # A comment is one line of printable text: a host name has no right to more.
    where = "".join(letter if letter.isprintable() else "?" for letter in where)
    head = f"# Tune profile{where}: every tune attribute of every PTT device, 0 to {LARGEST}.\n"
    return head + "# Use: ptttool tune diff FILE, ptttool tune apply FILE\n" + tomli_w.dumps({"version": VERSION, "devices": values})


def load(path: str) -> Profile:
    """Read a profile from a file; ``-`` is standard input. Raises InputError, AccessError."""
    import sys

    try:
        if path == "-":
            return loads(sys.stdin.buffer.read(MAX_BYTES + 1), "standard input")
        with Path(path).open("rb") as file:
            return loads(file.read(MAX_BYTES + 1), path)
    except PermissionError as error:
        raise AccessError(f"{path}: {error.strerror}") from None
    except FileNotFoundError:
        raise InputError(path, "no such file", hint="make one with 'ptttool tune save FILE'", code="no-such-file") from None
    except OSError as error:
        raise InputError(path, error.strerror or str(error)) from None


def loads(data: bytes, path: str) -> Profile:
    """Read a profile's bytes; ``path`` is for messages. Raises InputError that names the line or the key."""
    if len(data) > MAX_BYTES:
        raise InputError(path, f"larger than {MAX_BYTES} bytes: no tune profile")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(path, "not UTF-8 text: no tune profile", offset=error.start) from None
    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise InputError(path, "not valid TOML: nested too deeply", code="bad-toml") from None
    except ValueError as error:  # TOMLDecodeError, or Python's own refusal of a number of thousands of digits
        raise InputError(path, f"not valid TOML: {error}", code="bad-toml") from None
    return _checked(document, path)


def _checked(document: dict[str, Any], path: str) -> Profile:
    if not document:
        raise InputError(path, "empty: no tune profile", hint="make one with 'ptttool tune save FILE'")
    version = document.pop("version", None)
    if version is None:
        raise InputError(
            path, "version: missing; no tune profile", hint=f"a profile starts with the line: version = {VERSION}", key="version"
        )
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise InputError(path, f"version: {version!r} is no version", key="version")
    if version > VERSION:
        raise InputError(path, f"version: {version} is newer than this ptttool, which knows {VERSION}", key="version")
    devices = document.pop("devices", {})
    if document:
        raise InputError(
            path, f"{next(iter(document))}: unknown key", hint="attributes belong below [devices.NAME]", key=next(iter(document))
        )
    if not isinstance(devices, dict):
        raise InputError(path, "devices: not a table", hint="write [devices.NAME] and the tune attributes below it", key="devices")
    found: dict[str, dict[str, int]] = {}
    clamped: dict[str, int] = {}
    for device, attributes in devices.items():
        if not isinstance(attributes, dict):
            raise InputError(
                path,
                f"devices.{device}: not a table",
                hint=f"write [devices.{device}] and the tune attributes below it",
                key=f"devices.{device}",
            )
        found[device] = {}
        for attribute, value in attributes.items():
            key = f"devices.{device}.{attribute}"
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                shown = "a table" if isinstance(value, dict) else repr(value)
                raise InputError(path, f"{key}: {shown} is no value", hint=f"a value is one of 0, 1, {LARGEST}, without quotes", key=key)
            found[device][attribute] = clamp(value)
            if value > LARGEST:
                clamped[key] = value
    return Profile(path, found, clamped)


def match(profile: Profile, machine: Machine, known: Mapping[str, Sequence[str]], *, ignore_missing: bool = False) -> Match:
    """Hold a profile against a machine. ``known``: device name to the tune attributes it has.

    Raises DeviceError for a device, InputError for a tune attribute that the machine has not, unless ``ignore_missing``.
    """
    devices = {device.name: device for device in machine.devices}
    settings: dict[tuple[str, str], Setting] = {}
    missing: list[tuple[str, str | None]] = []
    for name, wanted in profile.devices.items():
        if name not in devices:
            missing.append((name, None))
            continue
        for asked, value in wanted.items():
            attribute = find_attribute(known[name], asked)
            if attribute is None:
                missing.append((name, asked))
                continue
            key = f"devices.{name}.{asked}"
            if settings.setdefault((name, attribute), Setting(devices[name], attribute, value)).value != value:
                raise InputError(profile.path, f"{key}: {attribute} is there twice, by both its names, with different values", key=key)
    if missing and not ignore_missing:
        raise _missing_error(profile, missing, devices, known)
    alone = [
        (name, attribute)
        for name in devices
        for attribute in ([None] if name not in profile.devices else [e for e in known[name] if (name, e) not in settings])
    ]
    return Match(tuple(settings.values()), tuple(missing), tuple(alone))


def _missing_error(
    profile: Profile, missing: Sequence[tuple[str, str | None]], devices: Mapping[str, object], known: Mapping[str, Sequence[str]]
) -> DeviceError | InputError:
    gone = [name for name, attribute in missing if attribute is None]
    if gone:
        there = f"here are {', '.join(devices)}" if devices else "here is none"
        return DeviceError(
            f"{profile.path}: this machine has no {', '.join(gone)}",
            hint=f"{there}; for a profile of another machine, --ignore-missing passes over what is missing",
            code="profile-device-missing",
            missing=gone,
        )
    keys = [f"devices.{name}.{attribute}" for name, attribute in missing]
    hints = dict.fromkeys(near_misses(known[name], attribute) for name, attribute in missing if attribute is not None)
    return InputError(
        profile.path,
        f"{', '.join(keys)}: no such tune attribute on this machine",
        hint="; ".join(hints) + "; --ignore-missing passes over what is missing",
        code="profile-attribute-missing",
        keys=keys,
    )


def compare(profile: Profile, matched: Match, changes: Sequence[Change]) -> list[Row]:
    """A row for every tune attribute of the profile, missing ones last. ``changes``: what applying the profile would do."""
    rows = [Row(c.device.name, c.attribute, c.new, c.old, DIFFERS if c.changes else SAME) for c in changes]
    for name, attribute in matched.missing:
        attributes = profile.devices[name] if attribute is None else {attribute: profile.devices[name][attribute]}
        rows += [Row(name, asked, value, None, MISSING) for asked, value in attributes.items()] or [Row(name, None, None, None, MISSING)]
    return rows
