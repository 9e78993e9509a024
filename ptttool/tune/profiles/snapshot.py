"""Save the tune attributes of a machine as a profile."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from ptttool.diagnostics import Diagnostic, Severity
from ptttool.files.atomic import output_file
from ptttool.machine.model import Machine
from ptttool.tune.attributes import LARGEST
from ptttool.tune.profiles.profile import VERSION
from ptttool.tune.values import attribute_names, read_value
from ptttool.wording import html_table


class Snapshot(Struct, frozen=True):
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
