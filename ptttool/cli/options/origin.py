"""Where a recording comes from: the machine, and what is not known of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

from ptttool.capture.names import sidecar_path
from ptttool.cli.terminal.talk import note, warn
from ptttool.diagnostics import Severity
from ptttool.errors import UsageError
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.machine.model import Machine
    from ptttool.pipeline.recording import OpenRecording


def machine_of(recording: OpenRecording, sysfs: Path | None, demo: bool, *, details: bool = False) -> Machine | None:
    """Return the machine that was recorded: the user's, by which directions of TLPs are then found, else that of the sidecar.

    What is not known for want of a sidecar is reported on standard error.

    Parameters
    ----------
    recording : OpenRecording
        The recording.
    sysfs, demo
        The options.
    details : bool
        Whether addresses and settings of the functions of a machine are read, too; a sidecar has them already.
    """
    from ptttool.pipeline.recording import traced_part

    is_named = sysfs is not None or demo
    if is_named:
        recording.topology = traced_part(_machine(sysfs, demo, details=details), recording)
    say_what_is_lacking(recording, is_named=is_named)
    return recording.machine


_SAID: WeakSet[OpenRecording] = WeakSet()


def say_what_is_lacking(recording: OpenRecording, path: str | None = None, *, is_named: bool = False) -> None:
    """Report once that names of devices, or directions of TLPs, are not known, and the sidecar that would tell them.

    Parameters
    ----------
    recording : OpenRecording
        The recording; its topology is the machine's that is known.
    path : str or None
        Its name, where there are several.
    is_named : bool
        Whether the user has named a machine.
    """
    if recording in _SAID or not recording.is_ptt:
        return
    _SAID.add(recording)
    sidecar, problem = (None, None) if is_named else recording.beside
    lacks_buses = recording.lacks_buses
    if problem is None and not lacks_buses:
        return
    reason = None if problem is None else problem.message
    if sidecar is None and problem is None and not is_named and recording.path != "-":
        reason = f"there is no {sidecar_path(recording.path)}"
    lacking = ["no names of devices"] if sidecar is None and not is_named else []
    lacking += ["the direction of TLPs is not known, which --downstream BUSES would tell"] if lacks_buses else []
    text = ": ".join(part for part in (path, reason, " and ".join(lacking)) if part)
    (warn if lacks_buses or (problem is not None and problem.severity is Severity.WARNING) else note)(clean(text))


def _machine(sysfs: Path | None, demo: bool, *, details: bool) -> Machine:
    from ptttool.machine.discovery import open_source, require_machine

    source = open_source(sysfs, demo)
    machine = require_machine(source, tune=False)
    if details:
        from ptttool.machine.details.read import with_details

        return with_details(source, machine)
    return machine


def check_paths(paths: Sequence[str]) -> None:
    """Raise a UsageError if standard input is to be read more than once."""
    if list(paths).count("-") > 1:
        raise UsageError("standard input can be read only once", code="stdin-twice")
