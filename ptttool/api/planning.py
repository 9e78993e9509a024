"""Plan recordings for questions, as the command ``plan`` does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from ptttool.api import listed
from ptttool.api.capture import choose_event, plan_recording, record
from ptttool.capture.event.choose import ChosenEvent, EventOptions
from ptttool.capture.keep import Recorded
from ptttool.capture.series.record import plan_series, record_series
from ptttool.diagnostics import Diagnostic
from ptttool.errors import PtttoolError
from ptttool.machine.model import Machine
from ptttool.planner.check import CheckedRun, PlanCheck, check_recordings, not_in_recording
from ptttool.planner.plan import DEFAULT_SECONDS, CapturePlan, PlannedRun, plan_runs
from ptttool.planner.runs import Run, parse_purposes, split

__all__ = ["CapturePlan", "PlannedRun", "RecordedPlan", "plan_for", "record_plan", "traced_runs"]


@dataclass(frozen=True)
class RecordedPlan:
    """The recordings of a plan.

    Parameters
    ----------
    recordings : tuple of Recorded
        The recordings, in order; each has its ``path``.
    series : Path or None
        The file that stands for them where a plan has several runs.
    missing : tuple of str
        Names of the runs that were not recorded.
    checks : tuple of PlanCheck
        Whether what was planned is in the recordings.
    failure : PtttoolError or None
        Why a series ended early.
    """

    recordings: tuple[Recorded, ...]
    series: Path | None
    missing: tuple[str, ...]
    checks: tuple[PlanCheck, ...]
    failure: PtttoolError | None = None

    @property
    def ok(self) -> bool:
        """Whether all runs were recorded, and everything is in them that the purposes cannot do without."""
        return not self.missing and not_in_recording(self.checks) is None


def record_plan(
    plan: CapturePlan,
    *,
    command: Iterable[str] = (),
    cpu: int | None = None,
    keep_command: bool = False,
    force: bool = False,
    report: Callable[[Diagnostic], None] | None = None,
) -> RecordedPlan:
    """Record the runs of a plan, one after another, and look whether what was planned is in the recordings.

    Parameters
    ----------
    plan : CapturePlan
        The plan, of :func:`plan_for`.
    command : Iterable of str
        The command to run while recording, once for each run. Without it each run lasts as long as the plan says.
    cpu : int, optional
        The CPU that records.
    keep_command, force : bool
        As for :func:`~ptttool.api.capture.plan_recording`.
    report : Callable, optional
        Called with each diagnostic as soon as it is known.

    Returns
    -------
    RecordedPlan
        The recordings and what is in them.

    Raises
    ------
    PtttoolError
        The first run failed: nothing was recorded.

    Examples
    --------
    >>> import tempfile
    >>> from ptttool.api.machine import find_machine
    >>> folder = tempfile.TemporaryDirectory()
    >>> plan = plan_for(find_machine(demo=True), "payload", root_ports=["nvme0"], output=f"{folder.name}/x.data")
    >>> done = record_plan(plan)
    >>> [one.path.name for one in done.recordings], done.series.name, done.ok
    (['x.1-inbound.data', 'x.2-outbound-cpl.data'], 'x.series.json', True)
    >>> folder.cleanup()
    """
    words = tuple(command)
    seconds = None if words else plan.seconds
    plans = [
        plan_recording(
            one.chosen,
            output=plan.output,
            duration=seconds,
            command=words,
            cpu=cpu,
            aux_size=plan.aux_size,
            keep_command=keep_command,
            force=force,
        )
        for one in plan.runs
    ]
    names = [one.run.name for one in plan.runs]
    series: Path | None = None
    missing: tuple[str, ...] = ()
    failure: PtttoolError | None = None
    if len(plans) == 1:
        recorded = [(plans[0], record(plans[0], report=report))]
    else:
        plans = plan_series(plans, names)
        done = record_series(plans, names, plan.output, lambda _, each: record(each, report=report), purposes=plan.purposes, report=report)
        recorded, series, failure = list(done.recorded), done.path, done.failure
        missing = tuple(run.name for run in done.series.missing)
    runs = {each.output: one.run for each, one in zip(plans, plan.runs, strict=True)}
    checked = [CheckedRun(runs[each.output], one.path, each.machine) for each, one in recorded]
    checks = tuple(check_recordings(plan.purposes, plan.wanted, checked))
    return RecordedPlan(tuple(one for _, one in recorded), series, missing, checks, failure)


def traced_runs(options: EventOptions, choose: Callable[[EventOptions], ChosenEvent]) -> tuple[list[Run], list[ChosenEvent]]:
    """Return the runs that options take, and their events: outbound, one for each type, unless ``force`` builds one event of all.

    Parameters
    ----------
    options : EventOptions
        What to trace.
    choose : Callable
        Builds the event of options on a machine.

    Raises
    ------
    UsageError
        A request cannot be traced, or a name is ambiguous.
    DeviceError
        A name is unknown, or no PTT device traces it.
    """
    run = Run(options.types, options.direction, options.completions, options.format)
    runs = [run] if options.force else split(run)
    return runs, [choose(replace(options, types=each.types)) for each in runs]


def plan_for(
    machine: Machine,
    purposes: str | Iterable[str],
    *,
    root_ports: str | Iterable[str] = (),
    requester: str | None = None,
    device: str | None = None,
    duration: float = DEFAULT_SECONDS,
    output: str | Path = "perf.data",
    aux_size: int | None = None,
    write_speed: float | None = None,
    pattern: str | None = None,
    force: bool = False,
    override: Callable[[list[Run]], list[Run]] = list,
    ask_driver: bool = False,
) -> CapturePlan:
    """Plan recordings that answer questions: which events, how much they can produce, what they cannot show.

    Parameters
    ----------
    machine : Machine
        The machine that names are looked up on.
    purposes : str or Iterable of str
        Names of analyses, such as ``latency``.
    root_ports : str or Iterable of str
        Root ports by PCI address. An endpoint, by address or name, selects its root port.
    requester : str, optional
        A single function to trace, instead of root ports.
    device : str, optional
        The PTT device; by default that of the root port or requester.
    duration : float
        Seconds of each recording.
    output : str or Path
        Where the recording goes: the free space there is part of the plan.
    aux_size : int, optional
        Bytes of the AUX area; by default as the link asks for, or, where the trace ends when it is full, as much as is sensible.
    write_speed : float, optional
        Bytes a second that can be written to the output.
    pattern, force
        As for :func:`~ptttool.api.capture.build_event`.
    override : Callable
        Replaces parts of the runs that the plan has chosen.
    ask_driver : bool
        As for :func:`~ptttool.api.capture.build_event`.

    Returns
    -------
    CapturePlan
        ``runs`` are the recordings to make, ``command_line`` is the command that makes them, ``limits`` says what they cannot show.

    Raises
    ------
    UsageError
        An analysis is unknown (``unknown-analysis``) or not of TLPs (``no-tlps``); a name is ambiguous.
    DeviceError
        A name is unknown, or no PTT device traces it.

    Examples
    --------
    >>> from ptttool.api.machine import find_machine
    >>> plan = plan_for(find_machine(demo=True), "payload", root_ports=["nvme0"])
    >>> for planned in plan.runs:
    ...     print(planned.run.name, planned.chosen.built)
    inbound hisi_ptt0_0/filter=0x80001,type=7,direction=0,format=0/
    outbound-cpl hisi_ptt0_0/filter=0x80001,type=4,direction=1,format=0/
    """
    names = parse_purposes(purposes if isinstance(purposes, str) else ",".join(purposes))
    options = EventOptions(root_ports=listed(root_ports), requester=requester, device=device, pattern=pattern, force=force)  # type: ignore[arg-type]
    return plan_runs(
        names,
        options,
        lambda each: choose_event(each, machine, ask_driver=ask_driver),
        seconds=duration,
        output=Path(output),
        aux_size=aux_size,
        write_speed=write_speed,
        override=override,
    )
