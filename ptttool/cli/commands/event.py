"""``ptttool event``: a perf event from structured options."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from ptttool.capture.event.terms import Direction, TlpType
from ptttool.cli.app import DemoOption, JsonOption, SysfsOption, app
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.options.device import choose_device
from ptttool.cli.options.event import CpuOption, EventTerms, ForceEventOption
from ptttool.cli.terminal.talk import print_diagnostics, print_json, print_line
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import DeviceError, MissingPackageError
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.capture.event.choose import EventOptions
    from ptttool.machine.model import Machine

# The first argument that is not an option starts the user's command; options after it belong to that command.
EXAMPLES = (
    Example("ptttool event --rootport nvme0", "The event string for perf record -e, of all inbound TLPs of an NVMe drive.", on_demo=True),
    Example("ptttool event --rootport nvme0 --type p --direction outbound", "Posted requests from the processor.", on_demo=True),
)


@app.command("event", stage=Stage.TRACE, rank=40, examples=EXAMPLES, context_settings={"allow_interspersed_args": False})
def event(
    what: EventTerms,
    cpu: CpuOption = None,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND", help="Command to run while recording. Without one perf records until Ctrl-C."),
    ] = None,
    force: ForceEventOption = False,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Print the perf event for what you want to trace.

    Three lines: the event string, its 64-bit config, and the whole perf command. Nothing is run.

    The machine needs no PTT device if --device is given and root ports or the requester are given by PCI address. The event is then
    computed with the bit positions of the mainline driver. If the device is present, its own bit positions and its driver's list of
    filters are used.
    """
    from ptttool.api.capture import cpu_of
    from ptttool.capture.documents import EventDocument
    from ptttool.capture.event.choose import choose, choose_without_machine
    from ptttool.capture.perf.command import DEFAULT_AUX_SIZE, perf_command
    from ptttool.planner.plan import area_of

    one_type = what.direction is Direction.OUTBOUND and not what.types and not force
    options = (replace(what, types=[TlpType.POSTED]) if one_type else what).asked(force=force, command=command)
    machine = _machine(options, sysfs, demo)
    if machine is None:
        chosen = choose_without_machine(options)
    else:
        chosen = choose(options, machine, None if options.device is None else choose_device(machine, options.device))
    device = chosen.device
    if device is not None and (device.cpus or cpu is not None):
        cpu, _ = cpu_of(chosen, cpu)
    size, late = DEFAULT_AUX_SIZE, None
    if device is not None:
        size, late = area_of(chosen, None, Path("perf.data"), None)
    words = perf_command(chosen.built.event, cpu=cpu, aux_size=size, command=command or ())
    limit = () if late is None else (late,)
    diagnostics = [*chosen.diagnostics, *limit, *(_ONE_TYPE if one_type else ()), *_all_cpus(chosen.request.device, cpu)]
    if json:
        print_json(EventDocument.of_event(chosen.request, chosen.built, words, diagnostics))
        return
    print_diagnostics(diagnostics)
    print_line(clean(chosen.built.event))
    print_line(f"{chosen.built.config:#x}")
    print_line(clean(shlex.join(words)))


def _machine(options: EventOptions, sysfs: Path | None, demo: bool) -> Machine | None:
    """Return the machine that the options are about; None where there is none and ``--device`` is enough."""
    from ptttool.machine.discovery import open_source, require_machine

    try:
        return require_machine(open_source(sysfs, demo), tune=False)
    except (DeviceError, MissingPackageError) as error:
        if sysfs is not None or demo:
            raise
        if options.device is not None:
            return None
        if error.code == DeviceError.code:
            error.hint = "with --device and PCI addresses an event is computed anyway; --sysfs reads another machine, --demo a recorded one"
        raise


_ONE_TYPE = (
    Diagnostic(
        Severity.WARNING,
        "outbound-one-type",
        "outbound, one type can be traced at a time: this is the event of p (posted); --type np and --type cpl give the others",
        hint="'ptttool trace' records them one after another",
    ),
)


def _all_cpus(pmu: str, cpu: int | None) -> list[Diagnostic]:
    if cpu is not None:
        return []
    cpumask = f"/sys/bus/event_source/devices/{pmu}/cpumask"
    message = f"perf opens the event on all CPUs (-a); one CPU of {cpumask}, given with --cpu, is enough and needs less memory"
    return [Diagnostic(Severity.INFO, "all-cpus", message)]
