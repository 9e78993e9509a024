"""Replay: recordings that come with ptttool, for the recorded machine they were made on.

``demo/recordings/index.json`` lists them: per recording ``file`` (xz), ``device``, ``config`` (of the event), ``size`` (bytes unpacked),
``command`` (that made it), ``what`` (the traffic), ``kernel``, ``perf``, ``functions`` (address to ``vendor:device`` of the traced root
ports and all behind: they identify the machine).
"""

from __future__ import annotations

import json
import lzma
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from ptttool._version import __version__
from ptttool.capture.checks.output import require_output
from ptttool.capture.documents import PlanBody
from ptttool.capture.event.terms import DIRECTION_VALUES, FORMATS, OUTBOUND, TYPES, fields_of
from ptttool.capture.keep import Log, Recorded, Report, settle, traced_part
from ptttool.capture.perf.kernel_events import not_recorded
from ptttool.capture.plan import Plan
from ptttool.capture.sidecar import Sidecar
from ptttool.capture.unfinished.file import UnfinishedFile
from ptttool.capture.unfinished.leftovers import leftovers
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import DeviceError, InputError
from ptttool.machine.model import Machine
from ptttool.machine.pmu import root_port_value
from ptttool.pci import PciAddress

FOLDER = Path(__file__).parents[1] / "demo" / "recordings"
# Recordings that are named in a message.
_MOST_NAMED = 4


class BundledRecording(Struct, frozen=True):
    """One recording of the index; the fields are those of the JSON."""

    file: str
    device: str
    config: int
    size: int
    command: str
    what: str
    kernel: str
    perf: str
    functions: dict[str, str]

    @property
    def event(self) -> str:
        """The event string: the word of the command that names the device."""
        return next(word for word in self.command.split() if word.startswith(f"{self.device}/"))


def replay(plan: Plan, *, report: Report | None = None) -> Recorded:
    """Put the bundled recording of the same event in place, as perf would have done.

    Parameters
    ----------
    plan : Plan
        What to record; its machine is a recorded one.
    report : Callable or None
        Called with each diagnostic at once; the result has them, too.

    Raises
    ------
    DeviceError
        No recording of that event on that machine comes with ptttool.
    OutputError
        The output cannot be written.
    AccessError
        The output may not be written.
    """
    log = Log(report)
    recording = matching(plan.machine, plan.device.name, plan.chosen.built.config)
    require_output(plan.output, force=plan.force)  # the other checks are about a live machine
    log.add(*_what_it_is(plan, recording), *leftovers(plan.output.absolute().parent))
    with UnfinishedFile(plan.output) as file:
        with file.removed_on_failure():
            unpack(recording, file.through_proc)
        # CPU, AUX area and duration of the plan had no part in that recording: its own command has them.
        options = {name: value for name, value in PlanBody.options_of(plan).items() if name not in ("cpu", "aux_size", "duration")}
        content = Sidecar(
            machine=traced_part(plan),
            options=options,
            command=tuple(shlex.split(recording.command)),
            versions={"ptttool": __version__, "perf": recording.perf, "kernel": recording.kernel},
            replay_of=recording.command,
        )
        old, sidecar = settle(plan, file, content, log)
    diagnostics = tuple(log.diagnostics)
    return Recorded(path=plan.output, size=recording.size, old=old, sidecar=sidecar, replay_of=recording.command, diagnostics=diagnostics)


def _what_it_is(plan: Plan, recording: BundledRecording) -> Iterator[Diagnostic]:
    machine = plan.machine
    yield Diagnostic(
        Severity.INFO,
        "replay",
        f"{machine.origin} is a recording of a machine and cannot be traced: this is the replay of a trace made on it under "
        f"Linux {recording.kernel} ({recording.what})",
    )
    yield Diagnostic(Severity.INFO, "replay-command", f"it was recorded with: {recording.command}")
    if machine.kernel is not None and not machine.kernel.startswith(recording.kernel):
        message = f"this machine runs Linux {machine.kernel}: the recording is of the same hardware under another kernel"
        yield Diagnostic(Severity.INFO, "replay-of-another-kernel", message)
    if plan.seconds is not None:
        message = f"--duration {plan.seconds:g} had no effect: a replay is as long as its recording was"
        yield Diagnostic(Severity.INFO, "duration-without-effect", message)
    if plan.command:
        yield Diagnostic(Severity.WARNING, "command-not-run", "the command was not run")
    if plan.kernel.events:
        yield not_recorded("the bundled recording has none")


def bundled() -> list[BundledRecording]:
    """Return all of them; an InputError where the installation is damaged."""
    index = FOLDER / "index.json"
    try:
        return [BundledRecording(**one) for one in json.loads(index.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError) as error:
        raise InputError(index, f"the bundled recordings cannot be read: {error}", hint="install ptttool again") from None


def matching(machine: Machine, device: str, config: int) -> BundledRecording:
    """Return the recording of an event on a machine; a DeviceError where there is none."""
    here = [one for one in bundled() if one.device == device and _made_on(one, machine)]
    for one in here:
        if one.config == config:
            return one
    if not here:
        raise DeviceError(
            f"a recorded machine cannot be traced, and no recording of {device} of {machine.origin} comes with ptttool",
            hint="run this on the machine itself, or try --demo",
            code="not-live",
        )
    filter_value = fields_of(config)["filter"]
    near = [one for one in here if fields_of(one.config)["filter"] == filter_value]
    words = [_options(one) for one in near or here]
    more = len(words) - _MOST_NAMED
    raise DeviceError(
        "a recorded machine cannot be traced, and no recording with these options comes with ptttool",
        hint=f"there are, for example: {'; '.join(words[:_MOST_NAMED])}" + (f"; and {more} more" if more > 0 else ""),
        code="no-such-recording",
        bundled=[one.event for one in here],
    )


def _options(recording: BundledRecording) -> str:
    """Return the options of ``trace`` that ask for a recording; its event string where none do (8DW with the reserved direction 0)."""
    fields = fields_of(recording.config)
    layout = next(name for name, value in FORMATS.items() if value == fields["format"])
    asked = next(
        (one for one, value in DIRECTION_VALUES.items() if (one[0], value) == (layout, fields["direction"]) and one[2] != "b"), None
    )
    ports = [PciAddress.parse(address) for address in recording.functions]
    ports = [port for port in ports if port.bus == 0 and root_port_value(port) & fields["filter"] == root_port_value(port)]
    if asked is None or not ports:
        return recording.event
    types = ",".join(name for name, bit in TYPES.items() if fields["type"] & bit)
    words = [*(f"--rootport {port}" for port in ports), f"--type {types}", f"--direction {asked[1]}", f"--format {layout}"]
    if asked[2] is not None:
        words.append(f"--completions {asked[2]}")
    if asked[1] == OUTBOUND and "," in types:
        words.append("--force")
    return " ".join(words)


def _made_on(recording: BundledRecording, machine: Machine) -> bool:
    ports = {PciAddress.parse(address) for address in recording.functions}
    behind = {
        str(address): f"{function.vendor or 0:04x}:{function.device or 0:04x}"
        for address, function in machine.functions.items()
        if address in ports or machine.root_port_of(address) in ports
    }
    return behind == recording.functions


def unpack(recording: BundledRecording, path: Path) -> None:
    """Write the recording, byte for byte as perf wrote it, to a file.

    Raises
    ------
    OSError
        The file cannot be written.
    InputError
        The installation is damaged.
    """
    packed = FOLDER / recording.file
    try:
        with lzma.open(packed) as source, path.open("wb") as target:
            shutil.copyfileobj(source, target)
    except (lzma.LZMAError, EOFError) as error:
        raise InputError(packed, f"it cannot be unpacked: {error}", hint="install ptttool again") from None
    if path.stat().st_size != recording.size:
        raise InputError(packed, "its size is not that of the index", hint="install ptttool again")
