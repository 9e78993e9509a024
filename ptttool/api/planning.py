"""Plan recordings for questions, as the command ``plan`` does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from ptttool.api.capture import choose_event
from ptttool.capture.event.choose import ChosenEvent, EventOptions
from ptttool.machine.model import Machine
from ptttool.planner.plan import DEFAULT_SECONDS, CapturePlan, PlannedRun, plan_runs
from ptttool.planner.runs import Run, parse_purposes, split

__all__ = ["CapturePlan", "PlannedRun", "plan_for", "traced_runs"]


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
    root_ports: Iterable[str] = (),
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
    root_ports : Iterable of str
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
        Bytes of the AUX area; by default as the link asks for.
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
    options = EventOptions(root_ports=tuple(root_ports), requester=requester, device=device, pattern=pattern, force=force)  # type: ignore[arg-type]
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
