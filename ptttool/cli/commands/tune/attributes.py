"""``ptttool tune show``, ``get`` and ``set``: the values of tune attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ptttool.cli.app import DemoOption, JsonOption, SysfsOption
from ptttool.cli.commands.tune.group import JOURNAL, DryRunOption, NoJournalOption, carry_out, tune
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.options.device import DEVICE_HELP, DeviceArgument, OneDeviceArgument, choose_device
from ptttool.cli.terminal.talk import PrintedError, outlive_reader, print_diagnostics, print_json, print_line
from ptttool.errors import DeviceError, UsageError
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.machine.model import Machine, PttDevice


_SHOW = (
    Example("ptttool tune show", "All tune attributes with values, meaning and the root ports they act on.", on_demo=True),
    Example("ptttool tune show hisi_ptt0_0", "Those of one PCIe core.", on_demo=True),
)


@tune.command("show", stage=Stage.TUNE, rank=10, examples=_SHOW)
def show(
    device: OneDeviceArgument = None,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Show every tune attribute: value, meaning, root ports it acts on.

    Only root can read values. Without them the rest is shown, and the exit code is 4.
    """
    from ptttool.cli.views.tune.attributes import print_readings
    from ptttool.cli.views.unfinished import print_unfinished
    from ptttool.machine.discovery import open_source, require_machine
    from ptttool.tune.values import read_attributes

    source = open_source(sysfs, demo)
    machine = require_machine(source, tune=False)
    print_unfinished(source)
    chosen = machine.devices if device is None else (choose_device(machine, device, quiet=json),)
    readings = [(one, read_attributes(one)) for one in chosen]
    failure = next((one.error for _, attributes in readings for one in attributes if one.error is not None), None)
    if json:
        from ptttool.documents import ErrorBody
        from ptttool.tune.documents import DeviceAttributesDocument, TuneShowDocument, root_ports

        devices = (
            DeviceAttributesDocument(one.name, tuple(attributes), one.ports_known, root_ports(machine, one)) for one, attributes in readings
        )
        print_json(TuneShowDocument(tuple(devices), None if failure is None else ErrorBody.of(failure)))
    else:
        for number, (one, attributes) in enumerate(readings):
            if number:
                print_line("")
            print_readings(machine, one, attributes)
    if failure is not None:
        raise PrintedError(failure) if json else failure


_GET = (
    Example("ptttool tune get hisi_ptt0_0 qos_tx_cpl", "One number, for a script.", on_demo=True),
    Example("ptttool tune get hisi_ptt0_0", "Lines that 'ptttool tune set' takes.", on_demo=True),
)


@tune.command("get", stage=Stage.TUNE, rank=20, examples=_GET)
def get(
    device: DeviceArgument,
    attributes: Annotated[list[str] | None, typer.Argument(help="The tune attributes; without any, all.", metavar="ATTRIBUTE")] = None,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Print values for scripts.

    Of one attribute it is the bare number, of several they are lines ATTRIBUTE=VALUE.

    The lines are what "tune set" takes. All values are read before the first is printed.
    """
    from ptttool.cli.views.unfinished import print_unfinished
    from ptttool.machine.discovery import open_source, require_machine
    from ptttool.tune.attributes import resolve_attributes
    from ptttool.tune.values import attribute_names, read_value

    source = open_source(sysfs, demo)
    chosen = choose_device(require_machine(source, tune=False), device, quiet=json)
    print_unfinished(source)
    names = attribute_names(chosen)
    values = {name: read_value(chosen, name) for name in resolve_attributes(chosen.name, names, attributes or names)}
    if json:
        from ptttool.tune.documents import TuneGetDocument

        print_json(TuneGetDocument(chosen.name, values))
    elif attributes is not None and len(attributes) == 1:
        print_line(str(next(iter(values.values()))))
    else:
        for name, value in values.items():
            print_line(clean(f"{name}={value}"))


_SET = (
    Example("ptttool tune set hisi_ptt0_0 qos_tx_p=2 qos_tx_np=0", "Two attributes, both or none.", on_demo=True),
    Example("ptttool tune set --dry-run hisi_ptt0_0 qos_tx_p=2", "What would be written.", on_demo=True),
)


@tune.command("set", stage=Stage.TUNE, rank=30, examples=_SET, files=JOURNAL)
def set_(
    device: Annotated[str | None, typer.Argument(help=f"{DEVICE_HELP} Not with --all.", metavar="DEVICE")] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Argument(help="A tune attribute and its new value, from 0 to 2.", metavar="ATTRIBUTE=VALUE"),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Set them on every PTT device of the machine.")] = False,
    dry_run: DryRunOption = False,
    no_journal: NoJournalOption = False,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Set tune attributes of one device, or of all with --all.

    Values are decimal numbers; one above 2 becomes 2, as in the hardware. Anything else is refused before anything is written. Every
    write is read back. If one fails, or on Ctrl-C or another signal, those already written are restored. A tune attribute that has the
    value already is not written again.

    One process at a time changes the tune attributes of a machine: another one waits, and after some seconds says who changes them. Each
    change is in a journal before its first write: "tune recover" finds one that was cut off.

    A tune attribute acts on all root ports of its PCIe core. Nothing set here outlives a reboot or a reload of the
    driver; "tune export" makes a profile permanent.
    """
    from ptttool.cli.views.tune.attributes import note_result, print_changes, print_ports
    from ptttool.cli.views.unfinished import print_unfinished
    from ptttool.machine.discovery import open_source, require_machine
    from ptttool.tune.driver import plan_values
    from ptttool.tune.session import tuning

    outlive_reader(is_result=json or dry_run)
    name, texts = _device_and_assignments(device, assignments or [], every)
    source = open_source(sysfs, demo)
    machine = require_machine(source, tune=False)
    chosen = machine.devices if name is None else (_device_to_set(machine, name, quiet=json),)
    if dry_run:
        print_unfinished(source)
        plan = plan_values(chosen, texts)
        print_diagnostics(plan.diagnostics)
    else:
        with tuning(source, f"tune set {'--all' if name is None else name} {' '.join(texts)}", journal=not no_journal) as session:
            plan = carry_out(session, plan_values(chosen, texts))
    if json:
        from ptttool.tune.documents import TuneSetAllDocument, TuneSetDocument, root_ports

        documents = [TuneSetDocument(one.name, dry_run, plan.changes_of(one), one.ports_known, root_ports(machine, one)) for one in chosen]
        print_json(TuneSetAllDocument(dry_run, tuple(documents)) if every else documents[0])
    else:
        print_changes(plan.changes, dry_run=dry_run)
        for one in chosen:
            print_ports(machine, one)
    note_result(source, plan, journal=not no_journal)


def _device_and_assignments(device: str | None, assignments: list[str], every: bool) -> tuple[str | None, list[str]]:
    """Tell the device, which comes first, from the assignments; None for all devices."""
    usage = "ptttool tune set DEVICE ATTRIBUTE=VALUE..., or ptttool tune set --all ATTRIBUTE=VALUE..."
    if every and device is not None and "=" not in device:
        raise UsageError(f"--all stands for every device, and {device!r} for one", hint="leave one of them out", code="device-and-all")
    if device is not None and "=" in device:
        if not every:
            raise UsageError(f"{device!r} is not a device", hint=f"the device comes first: {usage}", code="device-needed")
        assignments = [device, *assignments]
        device = None
    if device is None and not every:
        raise UsageError("which PTT device, and which values?", hint=usage, code="device-needed")
    if not assignments:
        raise UsageError("no tune attribute is given", hint=usage, code="assignment-needed")
    return device, assignments


def _device_to_set(machine: Machine, name: str, *, quiet: bool) -> PttDevice:
    try:
        return choose_device(machine, name, quiet=quiet)
    except DeviceError as error:
        if name.strip().lower() in ("all", "*"):
            error.hint = "--all sets every device; a profile can have other values for each: ptttool tune apply FILE"
        raise
