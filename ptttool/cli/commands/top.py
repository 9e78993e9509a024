"""``ptttool top``: a live view of the TLPs of a root port."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from ptttool.capture.event.terms import Direction
from ptttool.cli.app import DemoOption, JsonOption, SysfsOption, app
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.options.event import AuxSizeOption, CpuOption, DirectionOption, EventTerms, ForceEventOption
from ptttool.cli.options.units import parse_duration, parse_size
from ptttool.cli.terminal.interrupts import tidy_end
from ptttool.cli.terminal.talk import json_line, note, print_diagnostics, print_line
from ptttool.errors import UsageError
from ptttool.wording import clean, in_words

if TYPE_CHECKING:
    from ptttool.api.live import Sample
    from ptttool.capture.plan import Plan
    from ptttool.machine.model import Machine

# Cells of a line that goes to no terminal.
_WIDE = 120


EXAMPLES = (
    Example("ptttool top --rootport nvme0 --rootport ens2", "A live view of two root ports; q ends it.", needs_terminal=True, on_demo=True),
    Example("ptttool top --rootport nvme0 --batch --count 2", "Two samples as plain text, for a log.", on_demo=True),
)


class _EventTerms(EventTerms, frozen=True):
    """The options that say what to look at: by default in both directions."""

    direction: DirectionOption = Direction.BOTH


@app.command("top", stage=Stage.TRACE, rank=30, examples=EXAMPLES)
def top(
    what: _EventTerms,
    force: ForceEventOption = False,
    interval: Annotated[str, typer.Option("--interval", metavar="TIME", help="From the begin of one sample to that of the next.")] = "1s",
    window: Annotated[str, typer.Option("--window", metavar="TIME", help="How long each sample records.")] = "50ms",
    count: Annotated[int | None, typer.Option("--count", "-n", metavar="N", help="End after N samples.")] = None,
    batch: Annotated[bool, typer.Option("--batch", "-b", help="Print one sample after the other, as is done without a terminal.")] = False,
    aux_size: AuxSizeOption = None,
    cpu: CpuOption = None,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Show live who moves how much, by recording again and again.

    Each sample lists the TLPs by requester, class and direction: TLPs and bytes a second of the window, bytes that were asked for, mean
    payload, and how long reads take, in ticks of the Time field. It says what share of the time was seen: between two windows, nothing is.
    Where the kernel has the hisi_pcie PMU, its counters of the whole interval stand above the table.

    Default: the root port with devices behind it, if there is only one.

    Keys: q quits, p pauses, s and < choose the column to sort by, r reverses, / filters, ? shows the keys. --json prints one line for each
    sample.
    On a recorded machine (--demo, --sysfs) the same recording is replayed each time.
    """
    from ptttool.api.capture import choose_event, plan_recording
    from ptttool.api.live import Sampling, samples
    from ptttool.machine.discovery import open_source, require_machine

    machine = require_machine(open_source(sysfs, demo), tune=False)
    if not what.rootport and what.requester is None:
        what = replace(what, rootport=[_only_port(machine)])
    options = what.asked(force=force)
    sampling = Sampling(parse_duration(interval, "--interval"), parse_duration(window, "--window"), count)
    size = parse_size(aux_size, "--aux-size") if aux_size is not None else None
    chosen = choose_event(options, machine, ask_driver=True)
    plan = plan_recording(chosen, duration=sampling.window, cpu=cpu, aux_size=size)
    stop, hold = Event(), Event()
    taken = samples(plan, sampling, stop=stop, hold=hold)
    is_screen = not (batch or json) and sys.stdout.isatty() and sys.stdin.isatty()
    if not is_screen:
        print_diagnostics(plan.diagnostics)
    with tidy_end():
        if is_screen:
            _on_screen(plan, taken, stop, hold)
        else:
            _one_by_one(taken, json=json)


def _only_port(machine: Machine) -> str:
    """Return the root port that has something behind it; raise a UsageError that names them where there are several."""
    from ptttool.machine.resolve import traced_names

    ports = traced_names(machine)
    if len(ports) == 1:
        return str(next(iter(ports)))
    names = [clean(name[0]) for name in ports.values()]
    hint = f"--rootport {in_words(names[:12], 'or')}" if names else "'ptttool filters' lists them"
    raise UsageError("nothing to trace: no root port and no requester", hint=hint, code="no-filter", ports=[str(port) for port in ports])


def _one_by_one(taken: Iterator[Sample], *, json: bool) -> None:
    """Print samples as they come; Ctrl-C ends them."""
    from ptttool.cli.views.top.columns import sample_lines

    width = shutil.get_terminal_size((_WIDE, 24)).columns if sys.stdout.isatty() else _WIDE
    try:
        for number, sample in enumerate(taken):
            if json:
                sys.stdout.write(json_line(sample))
            else:
                if number:
                    print_line("")
                elif sample.replay_of is not None:
                    note(f"a replay: each sample is the recording that was made with: {clean(sample.replay_of)}")
                for line in sample_lines(sample, width):
                    print_line(line)
            sys.stdout.flush()
    except KeyboardInterrupt:
        pass


def _on_screen(plan: Plan, taken: Iterator[Sample], stop: Event, hold: Event) -> None:
    from ptttool.cli.views.top.screen import TopScreen

    ports = ", ".join(str(address) for address in plan.addresses)
    replay = "" if plan.device.source is not None and plan.device.source.live else " (replay)"
    screen = TopScreen(taken, stop, hold, clean(f"ptttool top  {plan.device.name}  {ports}{replay}"))
    try:
        screen.run()
    finally:
        stop.set()
    if screen.failure is not None:
        raise screen.failure
