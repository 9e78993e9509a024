"""The JSON document of a plan."""

from __future__ import annotations

from dataclasses import dataclass

from ptttool.analyses.link import LinkRate
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import document
from ptttool.planner.counters import CounterAdvice
from ptttool.planner.plan import CapturePlan, PlannedRun
from ptttool.planner.volume import Volume


@dataclass(frozen=True)
class RunBody:
    """One run of a plan.

    Parameters
    ----------
    name : str
        Its name, such as ``outbound-cpl``; a series of runs has it in the names of its files.
    purposes : tuple of str
        What it is for.
    types : tuple of str
        Of ``p``, ``np``, ``cpl``.
    direction : str
        ``inbound``, ``outbound`` or ``both``.
    completions : str or None
        ``a`` or ``b``.
    format : str
        ``4dw`` or ``8dw``.
    event : str
        The event string.
    config : int
        Its 64-bit config.
    inbound, outbound : tuple of str
        The TLPs that are traced.
    options : tuple of str
        The options of ``ptttool trace`` that record this run alone.
    volume : Volume
        How much it can produce.
    """

    name: str
    purposes: tuple[str, ...]
    types: tuple[str, ...]
    direction: str
    completions: str | None
    format: str
    event: str
    config: int
    inbound: tuple[str, ...]
    outbound: tuple[str, ...]
    options: tuple[str, ...]
    volume: Volume

    @classmethod
    def of(cls, planned: PlannedRun) -> RunBody:
        """Describe a run."""
        run, built = planned.run, planned.chosen.built
        return RunBody(
            name=run.name,
            purposes=planned.purposes,
            types=tuple(run.types),
            direction=run.direction,
            completions=run.completions,
            format=run.format,
            event=built.event,
            config=built.config,
            inbound=built.flow.inbound,
            outbound=built.flow.outbound,
            options=run.options,
            volume=planned.volume,
        )


@document("plan")
@dataclass(frozen=True)
class PlanDocument:
    """What ``plan --json`` prints: how to record, so that analyses answer.

    Parameters
    ----------
    purposes : tuple of str
        The analyses.
    device : str
        The PMU's name.
    root_ports : tuple of str
        PCI addresses of the root ports; empty for a requester.
    requester : str or None
        PCI address of the one requester.
    link : LinkRate or None
        What the links can carry; null where sysfs does not say it.
    max_payload, max_read_request : int
        The sizes that are set, in bytes.
    are_sizes_known : bool
        Whether these two were read; else they are those of any function after a reset.
    runs : tuple of RunBody
        The runs, in order.
    seconds : float
        Duration of each run.
    aux_size : int
        Bytes of the AUX area.
    output : str
        Where the recording goes.
    free_bytes : int or None
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
    """

    purposes: tuple[str, ...]
    device: str
    root_ports: tuple[str, ...]
    requester: str | None
    link: LinkRate | None
    max_payload: int
    max_read_request: int
    are_sizes_known: bool
    runs: tuple[RunBody, ...]
    seconds: float
    aux_size: int
    output: str
    free_bytes: int | None
    counters: tuple[CounterAdvice, ...]
    limits: tuple[Diagnostic, ...]
    command: tuple[str, ...]
    command_line: str
    warnings: tuple[Diagnostic, ...]
    notes: tuple[Diagnostic, ...]

    @classmethod
    def of(cls, plan: CapturePlan) -> PlanDocument:
        """Describe a plan."""
        said = plan.diagnostics
        return PlanDocument(
            purposes=plan.purposes,
            device=plan.device.name,
            root_ports=tuple(str(port) for port in plan.root_ports),
            requester=None if plan.requester is None else str(plan.requester),
            link=plan.link.rate,
            max_payload=plan.link.max_payload,
            max_read_request=plan.link.max_read_request,
            are_sizes_known=plan.link.are_sizes_known,
            runs=tuple(RunBody.of(planned) for planned in plan.runs),
            seconds=plan.seconds,
            aux_size=plan.aux_size,
            output=str(plan.output),
            free_bytes=plan.free,
            counters=plan.counters,
            limits=plan.limits,
            command=plan.command,
            command_line=plan.command_line,
            warnings=tuple(one for one in said if one.severity is not Severity.INFO),
            notes=tuple(one for one in said if one.severity is Severity.INFO),
        )
