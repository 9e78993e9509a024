"""A plan: the runs that answer a question, what they cost, and the commands."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, Final

from msgspec import Struct, field, structs
from msgspec.structs import force_setattr

from ptttool.analyses.needs import Need
from ptttool.capture.aux_area import aux_area, driver_on
from ptttool.capture.checks.host import free_bytes
from ptttool.capture.event.choose import ChosenEvent, EventOptions
from ptttool.capture.event.terms import Flow, terms_of
from ptttool.capture.perf.command import DEFAULT_AUX_SIZE
from ptttool.capture.plan import check_aux_size
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import document
from ptttool.machine.details.read import with_details
from ptttool.machine.measured import Measured, measured_here
from ptttool.machine.model import Machine, PttDevice
from ptttool.machine.sources.contract import DEMO
from ptttool.pci import PciAddress
from ptttool.planner.counters import CounterAdvice, advise
from ptttool.planner.limits import limits_of
from ptttool.planner.runs import Run, Wanted, runs_for, wanted_for
from ptttool.planner.volume import LinkFacts, Volume, aux_size_for, link_facts, volume_of
from ptttool.wording import in_words

DEFAULT_SECONDS: Final = 10.0
"""How long each run of a plan is by default."""

# Diagnostics of an event that say what it leaves out, or that it has two types outbound: what a plan needs it for.
_ON_PURPOSE: Final = frozenset({"outbound-types", "types-not-inbound", "no-cpl-a"})


class PlannedRun(Struct, frozen=True, kw_only=True):
    """One run of a plan.

    Parameters
    ----------
    name : str
        Its name, such as ``outbound-cpl``; a series of runs has it in the names of its files.
    purposes : tuple of str
        What it is for.
    run : Run
        What is traced.
    event : str
        The event string.
    config : int
        Its 64-bit config.
    flow : Flow
        The TLPs that are traced.
    options : tuple of str
        The options of ``ptttool trace`` that record this run alone.
    volume : Volume
        How much it can produce.
    chosen : ChosenEvent
        Its event; the fields above say the same.
    """

    json_name: ClassVar = "RunBody"
    json_merges: ClassVar = ("run", "flow")
    json_hides: ClassVar = ("chosen",)

    name: str = ""
    purposes: tuple[str, ...]
    run: Run
    event: str = ""
    config: int = 0
    flow: Flow = Flow()
    options: tuple[str, ...] = ()
    volume: Volume
    chosen: ChosenEvent

    def __post_init__(self) -> None:
        """Describe the run and its event."""
        built = self.chosen.built
        fields = {"name": self.run.name, "event": built.event, "config": built.config, "flow": built.flow, "options": self.run.options}
        for name, value in fields.items():
            force_setattr(self, name, value)


@document("plan")
class CapturePlan(Struct, frozen=True, kw_only=True):
    """What ``plan --json`` prints: how to record, so that analyses answer.

    Parameters
    ----------
    purposes : tuple of str
        The analyses.
    pmu : str
        The PMU's name.
    root_ports : tuple of PciAddress
        PCI addresses of the root ports; empty for a requester.
    requester : PciAddress or None
        PCI address of the one requester.
    link : LinkFacts
        The links of the traced ports.
    runs : tuple of PlannedRun
        The runs, in order.
    seconds : float
        Duration of each run.
    aux_size : int
        Bytes of the AUX area.
    output : Path
        Where the recording goes.
    free : int or None
        Free space there.
    counters : tuple of CounterAdvice
        Counters that answer purposes without a trace.
    limits : tuple of Diagnostic
        What the recordings cannot show.
    command : tuple of str
        The arguments of the command that records.
    command_line : str
        The same as one line for a shell.
    warnings, notes : tuple of Diagnostic
        Warnings, and notes of severity ``info``.
    wanted : tuple of Wanted
        What the analyses need.
    """

    json_merges: ClassVar = ("link",)
    json_hides: ClassVar = ("wanted",)

    purposes: tuple[str, ...]
    pmu: str = field(name="device", default="")
    root_ports: tuple[PciAddress, ...] = ()
    requester: PciAddress | None = None
    link: LinkFacts
    runs: tuple[PlannedRun, ...]
    seconds: float
    aux_size: int
    output: Path
    free: int | None = field(name="free_bytes")
    counters: tuple[CounterAdvice, ...]
    limits: tuple[Diagnostic, ...]
    command: tuple[str, ...] = ()
    command_line: str = ""
    warnings: tuple[Diagnostic, ...] = ()
    notes: tuple[Diagnostic, ...] = ()
    wanted: tuple[Wanted, ...]

    def __post_init__(self) -> None:
        """Describe what the runs have in common, and write the command."""
        request, diagnostics = self.runs[0].chosen.request, self.diagnostics
        facts = {
            "pmu": self.device.name,
            "root_ports": request.root_ports,
            "requester": request.requester,
            "warnings": tuple(one for one in diagnostics if one.severity is not Severity.INFO),
            "notes": tuple(one for one in diagnostics if one.severity is Severity.INFO),
        }
        for name, value in facts.items():
            force_setattr(self, name, value)
        force_setattr(self, "command", self._command())
        force_setattr(self, "command_line", shlex.join(self.command))

    @property
    def device(self) -> PttDevice:
        """The PTT device that traces."""
        device = self.runs[0].chosen.device
        assert device is not None
        return device

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """How names were understood, and what is odd about the events; what all runs say is said once.

        What an event leaves out on purpose is not odd in a plan: :attr:`limits` has it.
        """
        unique = {
            (one.code, one.message): one for planned in self.runs for one in planned.chosen.diagnostics if one.code not in _ON_PURPOSE
        }
        return tuple(unique.values())

    def _command(self) -> tuple[str, ...]:
        of = (
            [word for port in self.root_ports for word in ("--rootport", str(port))]
            if self.requester is None
            else ["--requester", str(self.requester)]
        )
        machine = self.runs[0].chosen.machine
        name = machine.origin.removeprefix(DEMO).strip() if machine is not None and machine.origin.startswith(DEMO) else None
        demo = [] if name is None else [f"--demo={name}" if name else "--demo"]
        words = ["ptttool", "trace", *demo, *of]
        if not self.device.ports_known:
            words += ["--device", self.device.name]
        words += ["--for", ",".join(self.purposes), "--duration", f"{self.seconds:.9g}"]
        if self.aux_size != DEFAULT_AUX_SIZE:
            words += ["--aux-size", f"{self.aux_size >> 20}M"]
        return (*words, "-o", str(self.output))


def plan_runs(
    purposes: Sequence[str],
    options: EventOptions,
    choose: Callable[[EventOptions], ChosenEvent],
    *,
    seconds: float = DEFAULT_SECONDS,
    output: Path = Path("perf.data"),
    aux_size: int | None = None,
    write_speed: float | None = None,
    override: Callable[[list[Run]], list[Run]] = list,
) -> CapturePlan:
    """Plan the recordings that answer purposes.

    Parameters
    ----------
    purposes : sequence of str
        Names of analyses.
    options : EventOptions
        Which root ports, or which requester, and the device; the plan chooses everything else.
    choose : Callable
        Builds the event of options on the machine.
    seconds : float
        Duration of each run.
    output : Path
        Where the recording goes.
    aux_size : int or None
        Bytes of the AUX area; None to choose by the link and the driver.
    write_speed : float or None
        Bytes a second that can be written to the output; None where it is not known.
    override : Callable
        Replaces what the user has asked for otherwise in the runs.

    Raises
    ------
    UsageError
        A request cannot be traced.
    DeviceError
        A name is unknown, or no PTT device traces it.
    """
    if aux_size is not None:
        check_aux_size(aux_size)
    runs = override(runs_for(wanted_for(purposes)))
    needs = wanted_for(purposes, runs)
    chosen: list[ChosenEvent] = []
    for run in runs:
        each = structs.replace(options, **structs.asdict(run))
        if chosen and chosen[0].device is not None:
            each = structs.replace(each, device=chosen[0].device.name)
        chosen.append(choose(each))
    first = chosen[0]
    assert first.device is not None
    assert first.machine is not None
    machine, ports = _traced(first)
    link = link_facts(machine, ports)
    size, late = _area(machine, first.device, runs, link, aux_size, output, seconds, aux_size_for(runs, link))
    free = free_bytes(output.absolute().parent)
    return CapturePlan(
        purposes=tuple(purposes),
        wanted=tuple(needs),
        runs=tuple(
            PlannedRun(
                purposes=_purposes_of(run, needs, purposes),
                run=run,
                volume=volume_of(run, link, size, free, write_speed, commits_early=late is None),
                chosen=event,
            )
            for run, event in zip(runs, chosen, strict=True)
        ),
        link=link,
        seconds=seconds,
        aux_size=size,
        output=output,
        free=free,
        counters=tuple(advise(purposes, first.device, ports, first.request.requester, seconds)),
        limits=(
            *([] if late is None else [late]),
            *limits_of(
                purposes, needs, runs, first.request.requester, has_pattern="pattern" in terms_of(first.device), measured=_measured(first)
            ),
        ),
    )


def area_of(chosen: ChosenEvent, aux_size: int | None, output: Path, seconds: float | None) -> tuple[int, Diagnostic | None]:
    """Return the size of the AUX area for an event, and that the trace ends when it is full, where the driver makes it so.

    Parameters
    ----------
    chosen : ChosenEvent
        The event, on a device of a machine.
    aux_size : int or None
        The bytes that the user wants.
    output : Path
        Where the recording goes.
    seconds : float or None
        How long the trace is to be; None where that is not known.
    """
    assert chosen.device is not None
    assert chosen.machine is not None
    if driver_on(chosen.machine).commits_early is not False:
        return aux_size or DEFAULT_AUX_SIZE, None
    machine, ports = _traced(chosen)
    asked = chosen.request
    run = Run(asked.types, asked.direction, asked.completions, asked.format)
    return _area(machine, chosen.device, [run], link_facts(machine, ports), aux_size, output, seconds, DEFAULT_AUX_SIZE)


def _area(
    machine: Machine,
    device: PttDevice,
    runs: Sequence[Run],
    link: LinkFacts,
    asked: int | None,
    output: Path,
    seconds: float | None,
    default: int,
) -> tuple[int, Diagnostic | None]:
    rates = [volume.loads[0].bytes_per_second for run in runs if (volume := volume_of(run, link, default)).loads]
    words = None if link.rate is None else in_words(link.rate.links)
    return aux_area(machine, device, asked, output, default=default, full=max(rates, default=None), link=words, seconds=seconds)


def _traced(chosen: ChosenEvent) -> tuple[Machine, tuple[PciAddress, ...]]:
    """Return the machine with the settings of its functions, and the root ports that are traced; of a requester the one above it."""
    machine, device = chosen.machine, chosen.device
    assert machine is not None
    if device is not None and device.source is not None:
        machine = with_details(device.source, machine)
    if chosen.request.requester is None:
        return machine, chosen.request.root_ports
    port = machine.root_port_of(chosen.request.requester)
    return machine, () if port is None else (port,)


def _measured(chosen: ChosenEvent) -> Measured | None:
    """Return what the self-test has measured on the machine of an event; None where nothing was."""
    source = None if chosen.device is None else chosen.device.source
    return None if source is None else measured_here(source)[0]


def _purposes_of(run: Run, needs: Sequence[Wanted], purposes: Sequence[str]) -> tuple[str, ...]:
    """Return what a run is for: the purposes that need some of it, and those that need nothing in particular."""
    needing = {one.purpose for one in needs}
    own = {one.purpose for one in needs if one.need.format in (None, run.format) and _is_part(one.need, run.flow)}
    return tuple(purpose for purpose in purposes if purpose in own or purpose not in needing)


def _is_part(need: Need, flow: Flow) -> bool:
    return not (need.inbound or need.outbound) or bool(set(need.inbound) & set(flow.inbound) or set(need.outbound) & set(flow.outbound))
