"""Where a recording comes from: the machine, and what its sidecar says of the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ptttool.cli.terminal.talk import note
from ptttool.errors import UsageError
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.machine.model import Machine
    from ptttool.pipeline.recording import Recording


@dataclass(frozen=True)
class Origin:
    """What is known of a recording besides itself.

    Parameters
    ----------
    machine : Machine or None
        The part of the machine that the recording's device can trace: of --sysfs or --demo, else of the sidecar.
    command : tuple of str or None
        The command that recorded, where a sidecar keeps it.
    started : str or None
        When, likewise.
    elapsed : float or None
        Seconds from the start of the trace to its end, likewise.
    went_offline : tuple of int
        CPUs that went offline while recording, likewise.
    """

    machine: Machine | None = None
    command: tuple[str, ...] | None = None
    started: str | None = None
    elapsed: float | None = None
    went_offline: tuple[int, ...] = ()


def origin_of(recording: Recording, sysfs: Path | None, demo: bool, *, details: bool = False) -> Origin:
    """Return where a recording comes from; directions of its TLPs are then found by that machine.

    A sidecar that cannot be used is reported on standard error.

    Parameters
    ----------
    recording : Recording
        The recording.
    sysfs, demo
        The options.
    details : bool
        Whether addresses and settings of the functions of a machine are read, too; a sidecar has them already.
    """
    from ptttool.capture.sidecar import find
    from ptttool.pipeline.recording import traced_part

    sidecar, problem = find(recording.path)
    is_named = sysfs is not None or demo
    if problem is not None and not is_named:
        note(clean(f"{problem.message}: no names of devices"))
    machine = _machine(sysfs, demo, details=details) if is_named else None if sidecar is None else sidecar.machine
    machine = recording.topology = traced_part(machine, recording)
    if sidecar is None:
        return Origin(machine)
    return Origin(machine, sidecar.command, sidecar.started, sidecar.elapsed, sidecar.went_offline)


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
