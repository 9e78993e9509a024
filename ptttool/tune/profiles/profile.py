"""Tune profiles: TOML files with the tune attributes of all PTT devices of a machine, to edit and to keep under version control.

::

    version = 1

    [devices.hisi_ptt0_0]
    qos_tx_cpl = 1

``[devices."*"]`` has values for every device that has tune attributes; what is below the name of a device counts more. ``description`` and
``why`` are texts for people. A profile has no date, so two profiles of an unchanged machine are equal files.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import date, time
from pathlib import Path
from typing import Any

from msgspec import Struct

from ptttool.budget import over_budget
from ptttool.diagnostics import Diagnostic
from ptttool.errors import AccessError, InputError
from ptttool.files.standard import standard_input
from ptttool.tune.attributes import LARGEST, clamped_value
from ptttool.tune.budget import MAX_DOTS, MAX_PROFILE_BYTES
from ptttool.wording import shortened

VERSION = 1
_MAKE = "a profile is a TOML file: make one with 'ptttool tune save FILE'"
EVERY_DEVICE = "*"
"""In a profile: every device that has tune attributes."""
# A number of TOML has 64 bits.
_LARGEST_NUMBER = (1 << 63) - 1


class Profile(Struct, frozen=True):
    """A profile as it was read.

    Parameters
    ----------
    path : str
        Its file, for messages.
    devices : Mapping[str, Mapping[str, int]]
        Values, 0 to 2, by device and attribute; the device :data:`EVERY_DEVICE` stands for all.
    clamped : Mapping[str, int]
        Values in the file above 2, by key (``devices.hisi_ptt0_0.qos_tx_p``).
    description, why : str
        Texts for people: what the profile is for, and the reasons.
    notes : tuple of Diagnostic
        What is odd about where the values are from.
    """

    path: str
    devices: Mapping[str, Mapping[str, int]]
    clamped: Mapping[str, int] = {}
    description: str = ""
    why: str = ""
    notes: tuple[Diagnostic, ...] = ()

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What is odd: one for each value that was clamped, and the notes."""
        shown = {key: str(value) if value < 10**24 else "a number of more than 24 digits" for key, value in self.clamped.items()}
        return (*self.notes, *(clamped_value(f"{self.path}: {key}", value) for key, value in shown.items()))


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
        raise InputError(path, "no such file", hint=_MAKE, code="no-such-file") from None
    except IsADirectoryError:
        raise InputError(
            Path(path).absolute(), "a folder, not a tune profile", hint=f"{_MAKE}; --sysfs DIR names a machine", code="is-a-folder"
        ) from None
    except OSError as error:
        raise InputError(path, error.strerror or str(error)) from None


def parse_profile(data: bytes, path: str) -> Profile:
    """Parse the bytes of a profile; ``path`` is used in messages.

    Raises
    ------
    InputError
        The bytes are not a profile; the message names the line or the key.
    """
    if data.startswith(b"PERFILE2"):
        raise InputError(path, "a recording, not a tune profile", hint=_MAKE, code="not-a-profile")
    if len(data) > MAX_PROFILE_BYTES:
        raise over_budget(path, "the profile", MAX_PROFILE_BYTES, "bytes", hint="is it a tune profile?")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(path, "not UTF-8 text: not a tune profile", offset=error.start, hint=_MAKE, code="not-a-profile") from None
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > MAX_DOTS:
            raise over_budget(path, f"line {number}", MAX_DOTS, "dots", hint="is it a tune profile?")
    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise InputError(path, "not valid TOML: nested too deeply", hint=_MAKE, code="bad-toml") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(path, f"not valid TOML: {error}", hint=_MAKE, code="bad-toml") from None
    except ValueError:  # Python's limit on the digits of a number
        raise InputError(path, "not valid TOML: a number has too many digits", hint=_MAKE, code="bad-toml") from None
    return _checked(document, path)


def _checked(document: dict[str, Any], path: str) -> Profile:
    """Check every key and value of a document."""

    def wrong(key: str, reason: str, hint: str | None = None) -> InputError:
        return InputError(path, f"{key}: {reason}", hint=hint, code="bad-profile", key=key)

    if not document:
        raise InputError(path, "empty: not a tune profile", hint=_MAKE, code="not-a-profile")
    version = document.pop("version", None)
    if version is None:
        raise wrong("version", "missing; not a tune profile", hint=f"a profile starts with the line: version = {VERSION}")
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= _LARGEST_NUMBER:
        raise wrong("version", f"{_shown(version)} is not a version")
    if version > VERSION:
        raise wrong("version", f"{version} is newer than the version that this ptttool reads, {VERSION}")
    devices = document.pop("devices", {})
    texts = {key: document.pop(key, "") for key in ("description", "why")}
    for key, text in texts.items():
        if not isinstance(text, str):
            raise wrong(key, "not a text", hint=f'write {key} = "…"')
    if document:
        raise wrong(next(iter(document)), "unknown key", hint="tune attributes belong below [devices.NAME]")
    if not isinstance(devices, dict):
        raise wrong("devices", "not a table", hint="write [devices.NAME] and the tune attributes below it")
    values: dict[str, dict[str, int]] = {}
    clamped: dict[str, int] = {}
    for device, attributes in devices.items():
        if not isinstance(attributes, dict):
            raise wrong(f"devices.{device}", "not a table", hint=f"write [devices.{device}] and the tune attributes below it")
        values[device] = {}
        for attribute, value in attributes.items():
            key = f"devices.{device}.{attribute}"
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST_NUMBER:
                raise wrong(key, f"{_shown(value)} is not a value", hint=f"a value is one of 0, 1, {LARGEST}, without quotes")
            values[device][attribute] = min(value, LARGEST)
            if value > LARGEST:
                clamped[key] = value
    return Profile(path, values, clamped, **texts)


def _shown(value: object) -> str:
    """Return a value of a document for a message; deep lists and tables have no short form."""
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and abs(value) > _LARGEST_NUMBER:
        return "a number of more than 64 bits"
    if isinstance(value, date | time):
        return f"the date or time {value.isoformat()}"
    return shortened(repr(value))
