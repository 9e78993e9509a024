"""Read and write the value of one tune attribute; errors of the system become ours."""

from __future__ import annotations

import errno
from typing import Any, ClassVar

from msgspec import Struct, field
from msgspec.structs import force_setattr

from ptttool.errors import AccessError, DeviceError, HardwareError, PtttoolError
from ptttool.machine.model import PttDevice
from ptttool.machine.sources.contract import Source
from ptttool.tune.attributes import meaning
from ptttool.wording import as_root


def root_only() -> str:
    """Return the hint for a tune file that may not be opened."""
    return f"tune files are for root alone (mode 0600): {as_root()}, or give it the capability CAP_DAC_OVERRIDE"


class Reading(Struct, frozen=True):
    """One tune attribute.

    Parameters
    ----------
    attribute : str
        Its name.
    value : int or None
        Its value; null if it could not be read.
    meaning : str or None
        What it does; null for one that the kernel documentation does not describe.
    problem : str or None
        Why there is no value.
    error : PtttoolError or None
        The same as an error.
    """

    json_name: ClassVar = "AttributeDocument"
    json_hides: ClassVar = ("error",)

    attribute: str = field(name="name")
    value: int | None = None
    meaning: str | None = None
    problem: str | None = None
    error: PtttoolError | None = None

    def __post_init__(self) -> None:
        """Take the words."""
        force_setattr(self, "meaning", meaning(self.attribute))
        force_setattr(self, "problem", None if self.error is None else self.error.message)


def attribute_names(device: PttDevice) -> list[str]:
    """List the attributes in a device's ``tune`` folder, sorted.

    The driver names its files as C identifiers are named. Anything else in a copied folder, such as an editor's backup, is ignored.

    Returns
    -------
    list of str
        Empty where there is no such folder.

    Raises
    ------
    DeviceError
        The device is gone.
    AccessError
        The folder cannot be listed.
    """
    source = source_of(device)
    try:
        return [name for name in source.names(f"{device.sysfs}/tune") if name.isascii() and name.isidentifier()]
    except FileNotFoundError:
        try:
            source.names(device.sysfs)
        except FileNotFoundError:
            raise _gone(device.name, device) from None
        return []
    except PermissionError:
        raise AccessError(f"{device.name}: the tune folder cannot be listed", hint=root_only(), device=device.name) from None


def read_value(device: PttDevice, attribute: str) -> int:
    """Read the value of an attribute.

    Raises
    ------
    AccessError
        The file cannot be read.
    HardwareError
        The device did not answer in time, or the file does not hold a number.
    DeviceError
        The device is gone.
    """
    try:
        text = source_of(device).read(f"{device.sysfs}/tune/{attribute}")
    except OSError as error:
        raise _explain(error, device, attribute, "reading it") from None
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 9:
        raise HardwareError(
            f"{device.name}/{attribute}: {text!r} was read, which is not a value", code="odd-value", device=device.name, attribute=attribute
        )
    return int(digits)


def read_attributes(device: PttDevice) -> list[Reading]:
    """Read every attribute of a device. One that cannot be read has its error instead of a value."""
    readings = []
    for attribute in attribute_names(device):
        try:
            readings.append(Reading(attribute, read_value(device, attribute)))
        except (AccessError, HardwareError) as error:
            readings.append(Reading(attribute, error=error))
    return readings


def source_of(device: PttDevice) -> Source:
    """Return the machine of a device; raise DeviceError for a device from a file."""
    if device.source is None:
        raise DeviceError(
            f"{device.name} was read from a file, not from a machine", hint="find the machine first", code="no-machine", device=device.name
        )
    return device.source


def write_value(device: PttDevice, attribute: str, value: int) -> None:
    """Write an attribute once and compare it with what is read back.

    Raises
    ------
    AccessError, HardwareError, DeviceError
        As :func:`read_value`; ``mismatch``: another value is read back.
    """
    try:
        # With a line end, as echo writes it.
        source_of(device).write(f"{device.sysfs}/tune/{attribute}", f"{value}\n")
    except OSError as error:
        raise _explain(error, device, attribute, f"writing {value}") from None
    got = read_value(device, attribute)
    if got != value:
        raise HardwareError(
            f"{device.name}/{attribute}: {value} was written, {got} is read back",
            hint="another program may be tuning this device, or the hardware does not take the value",
            code="mismatch",
            device=device.name,
            attribute=attribute,
            wanted=value,
            got=got,
        )


def _explain(error: OSError, device: PttDevice, attribute: str, doing: str) -> PtttoolError:
    """Turn an error of the system into one of ours. ``doing``: what was tried."""
    name = f"{device.name}/{attribute}"
    facts: dict[str, Any] = {"device": device.name, "attribute": attribute}
    match error.errno:
        case errno.EACCES | errno.EPERM:
            return AccessError(f"{name}: {doing} is not permitted", hint=root_only(), **facts)
        case errno.EROFS:
            return AccessError(
                f"{name}: the file system is mounted read-only",
                hint="in a container, run this on the host instead, or mount /sys for writing",
                code="read-only",
                **facts,
            )
        case errno.ETIMEDOUT:
            return HardwareError(
                f"{name}: the hardware did not answer in time (ETIMEDOUT) while {doing}",
                hint="try again; if it stays, the device hangs",
                code="timeout",
                **facts,
            )
        case errno.EINVAL:
            return HardwareError(f"{name}: the driver refuses {doing} (EINVAL)", code="refused", **facts)
        case errno.ENOENT | errno.ENODEV:
            return _gone(name, device)
        case _:
            return HardwareError(f"{name}: {doing} failed: {error.strerror or error}", code="io-error", **facts)


def _gone(what: str, device: PttDevice) -> DeviceError:
    return DeviceError(f"{what} is gone", hint="was the driver unloaded? see 'ptttool list'", code="device-gone", device=device.name)
