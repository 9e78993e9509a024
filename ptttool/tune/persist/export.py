"""Export a profile: what makes its values permanent on a machine."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import ClassVar

from msgspec import Struct

from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import document
from ptttool.errors import DeviceError, UsageError
from ptttool.files.ownership import weakness_of
from ptttool.machine.model import PttDevice
from ptttool.tune.persist.contract import TARGETS, PermanentFile, PermanentValues
from ptttool.tune.profiles.match import match_profile
from ptttool.tune.profiles.profile import Profile
from ptttool.wording import clean, own_command

# The program where this process is not ptttool's command.
PROGRAM = ("/usr/bin/ptttool",)
# Where packages, and docs/install.md, put it.
_PLACES = ("/usr/bin/ptttool", "/usr/local/bin/ptttool")
_LONGEST_LABEL = 60


@document("tune-export")
class Export(Struct, frozen=True, kw_only=True):
    """What makes a profile permanent.

    Parameters
    ----------
    target : str
        What sets the values.
    profile : str
        Name of the profile, in plain letters.
    root : Path or None
        Below which folder the files were installed; null if they were not.
    files : tuple of PermanentFile
        The files.
    activation : tuple of str
        The commands after which the values are set without a restart.
    limits : str
        What to know about it.
    diagnostics : tuple of Diagnostic
        What was odd.
    installable : bool
        Whether the files belong to the machine.
    """

    json_hides: ClassVar = ("installable",)

    target: str
    profile: str
    root: Path | None = None
    files: tuple[PermanentFile, ...]
    activation: tuple[str, ...]
    limits: str
    diagnostics: tuple[Diagnostic, ...] = ()
    installable: bool


def export_profile(
    target: str,
    profile: Profile,
    devices: Sequence[PttDevice],
    *,
    ignore_missing: bool = False,
    root: Path = Path("/"),
    program: str | None = None,
) -> Export:
    """Return what makes the values of a profile permanent on a machine; nothing is written.

    Parameters
    ----------
    target : str
        What sets the values: a name of :data:`~ptttool.tune.persist.contract.TARGETS`.
    profile : Profile
        The profile.
    devices : Sequence[PttDevice]
        All devices of the machine.
    ignore_missing : bool
        Leave out what the machine does not have.
    root : Path
        The root of the system that it is for: its ptttool is run.
    program : str or None
        The absolute path of ptttool there; None: where it is found.

    Raises
    ------
    UsageError
        ``unknown-target``; ``nothing-to-export``: the profile has no value for this machine; ``no-program``: a service would run ptttool,
        which is not below `root`; ``bad-program``: its path is not absolute.
    DeviceError, InputError
        The machine does not have what the profile names, or has a device with an odd name.
    """
    chosen = TARGETS.get(target)
    matched = match_profile(profile, devices, ignore_missing=ignore_missing)
    values: dict[str, dict[str, int]] = {}
    for setting in matched.settings:
        if not re.fullmatch(r"[A-Za-z0-9_]+", setting.device.name) or not re.fullmatch(r"[A-Za-z0-9_]+", setting.attribute):
            name = clean(f"{setting.device.name}/{setting.attribute}")
            raise DeviceError(f"{name}: not a name that the driver uses", hint="check where this sysfs comes from", code="odd-name")
        values.setdefault(setting.device.name, {})[setting.attribute] = setting.value
    if not values:
        raise UsageError(f"{clean(profile.path)}: no value for this machine", hint="give a profile with values", code="nothing-to-export")
    words = _program(target, root, program)
    permanent = PermanentValues(label_of(profile.path), values, words)
    weak = _about_program(words) if target == "systemd" and root == Path("/") else []
    return Export(
        target=target,
        profile=permanent.profile,
        files=chosen.files(permanent),
        activation=chosen.activation(permanent),
        limits=chosen.limits,
        diagnostics=(*matched.diagnostics("left out"), *weak),
        installable=chosen.installable,
    )


def label_of(path: str) -> str:
    """Return the name of a profile in plain letters, which mean nothing in any format: that of its file without the suffix."""
    label = re.sub(r"[^A-Za-z0-9._-]", "_", PurePath(path).stem)[:_LONGEST_LABEL].strip("._-")
    return label or "profile"


def _program(target: str, root: Path, program: str | None) -> tuple[str, ...]:
    """Return the command that runs ptttool on the system below a folder."""
    if program is not None:
        if not program.startswith("/"):
            raise UsageError(f"{clean(program)}: not an absolute path", hint="--program /usr/bin/ptttool", code="bad-program")
        return (program,)
    own = tuple(own_command() or PROGRAM)
    if target != "systemd" or root == Path("/"):
        return own
    places = dict.fromkeys((*_PLACES, own[0]) if len(own) == 1 else _PLACES)
    path = next((place for place in places if os.path.lexists(root / place.lstrip("/"))), None)
    if path is None:
        raise UsageError(
            f"{clean(str(root))}: the service would run ptttool, which is not there: no {' and no '.join(map(clean, places))}",
            hint="install it there first, or say where it will be: --program /usr/bin/ptttool",
            code="no-program",
        )
    return (path,)


def _about_program(program: Sequence[str]) -> list[Diagnostic]:
    weakness = weakness_of(program[0])
    if weakness is None:
        return []
    message = f"root will run {program[0]} at every start, and other users can change it: {weakness}"
    return [Diagnostic(Severity.WARNING, "weak-program", message, hint="install ptttool for all users", where=program[0])]
