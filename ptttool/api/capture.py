"""Build events, explain them, and record, as the commands ``event``, ``explain`` and ``trace`` do."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ptttool.api import command_words, listed
from ptttool.api.machine import find_device
from ptttool.capture.checks.host import online_cpus
from ptttool.capture.cpu import choose_cpu, occupied_on
from ptttool.capture.device.lock import hold_device
from ptttool.capture.event.build import BuiltEvent
from ptttool.capture.event.choose import ChosenEvent, EventOptions, choose, choose_without_machine
from ptttool.capture.event.decode import Explanation
from ptttool.capture.event.explain import explain, terms_for
from ptttool.capture.event.parse import parse_event, parse_number, pmu_of
from ptttool.capture.event.terms import Direction, Format, TlpType
from ptttool.capture.keep import Recorded
from ptttool.capture.perf.command import DEFAULT_AUX_SIZE
from ptttool.capture.perf.tracepoints import TracepointPlan, find_tracepoints, parse_groups
from ptttool.capture.plan import Plan, check_aux_size
from ptttool.capture.replay import replay
from ptttool.capture.sidecar import load
from ptttool.capture.unfinished.leftovers import Leftover
from ptttool.capture.unfinished.recover import RecoveredRecording, find_unfinished, recover_recording
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import InputError, PtttoolError, UsageError
from ptttool.machine.model import Machine
from ptttool.machine.pmu import is_ptt
from ptttool.perfdata.budget import MAX_DESCRIPTIONS
from ptttool.perfdata.model import Attribute, Contents
from ptttool.perfdata.problems import error_of
from ptttool.recording.identity import pmu_names, ptt_attribute
from ptttool.recording.opening import open_perfdata

if TYPE_CHECKING:
    from ptttool.capture.perf.recorder import RecordingProgress
    from ptttool.selftest.anchors import Anchors

__all__ = [
    "BuiltEvent",
    "ChosenEvent",
    "Explanation",
    "Leftover",
    "Plan",
    "Recorded",
    "RecoveredRecording",
    "Subject",
    "build_event",
    "explain_event",
    "find_unfinished",
    "plan_recording",
    "record",
    "recover_recording",
]


def build_event(
    machine: Machine | None = None,
    *,
    root_ports: str | Iterable[str] = (),
    requester: str | None = None,
    types: str | Iterable[str] = tuple(TlpType),
    direction: str = Direction.INBOUND,
    completions: str | None = None,
    format: str = Format.DW4,
    pattern: str | None = None,
    device: str | None = None,
    force: bool = False,
    ask_driver: bool = False,
) -> ChosenEvent:
    """Build the perf event that traces what the arguments describe.

    Parameters
    ----------
    machine : Machine, optional
        The machine that names are looked up on. Without one, the event is computed with the mainline driver's terms; then ``device`` and
        PCI addresses must be given.
    root_ports : str or Iterable of str
        Root ports by PCI address. An endpoint, by address or name (``nvme0``), selects its root port.
    requester : str, optional
        A single function to trace, instead of root ports.
    types : str or Iterable of str
        One or more of ``p``, ``np``, ``cpl``.
    direction : str
        ``inbound`` (from the device to the root port), ``outbound`` or ``both``.
    completions : str, optional
        ``a`` or ``b``: the inbound completions to trace if the device cannot trace all.
    format : str
        ``4dw`` (16 bytes a TLP) or ``8dw`` (32 bytes).
    pattern : str, optional
        ``legacy`` or ``v1``.
    device : str, optional
        The PTT device; by default that of the root port or requester.
    force : bool
        Build the event even if the kernel documentation excludes it, as long as the driver accepts it.
    ask_driver : bool
        Where the kernel does not say which PTT device the root port or requester belongs to (before Linux 6.5), open a disabled event on
        each candidate: only one accepts it. That needs root and devices that no process traces.

    Returns
    -------
    ChosenEvent
        ``built`` is the event, with its ``event`` string, ``config`` and ``diagnostics``.

    Raises
    ------
    UsageError
        The request cannot be traced.
    DeviceError
        A name is unknown, or no PTT device traces it.

    Examples
    --------
    >>> chosen = build_event(device="hisi_ptt0_2", root_ports=["00:10.0"], types=["p"])
    >>> print(chosen.built)
    hisi_ptt0_2/filter=0x80001,type=1,direction=0,format=0/

    On a machine, names can be given:

    >>> from ptttool.api.machine import find_machine
    >>> machine = find_machine(demo=True)
    >>> chosen = build_event(machine, root_ports=["nvme1"], types=["np", "cpl"], direction="both")
    >>> print(chosen.built)
    hisi_ptt0_2/filter=0x80100,type=6,direction=2,format=0/
    >>> [one.code for one in chosen.diagnostics]
    ['name-resolved', 'outbound-types', 'no-cpl-a']
    """
    options = EventOptions(
        root_ports=listed(root_ports),
        requester=requester,
        # TraceRequest converts the texts to enum members, and rejects unknown ones.
        types=listed(types),  # type: ignore[arg-type]
        direction=direction,  # type: ignore[arg-type]
        completions=completions,  # type: ignore[arg-type]
        format=format,  # type: ignore[arg-type]
        pattern=pattern,  # type: ignore[arg-type]
        device=device,
        force=force,
    )
    if machine is None:
        return choose_without_machine(options)
    return choose_event(options, machine, ask_driver=ask_driver)


def choose_event(options: EventOptions, machine: Machine, *, ask_driver: bool = False) -> ChosenEvent:
    """Build the event of options on a machine; parameters and errors are those of :func:`build_event`."""
    if options.device is not None or not ask_driver:
        return choose(options, machine, None if options.device is None else find_device(machine, options.device))
    source = next((one.source for one in machine.devices if one.source is not None), None)
    if source is None or not source.live or all(one.ports_known for one in machine.devices):
        return choose(options, machine)
    from ptttool.capture.ask_driver import asking_on, choose_asking

    return choose_asking(options, machine, asking_on(source))


@dataclass(frozen=True)
class Subject:
    """An event and its explanation.

    Parameters
    ----------
    kind : str
        What was given: ``event``, ``config`` or ``recording``.
    event : str or None
        The event string, if there is one.
    machine : Machine or None
        The machine that names come from: the one given, or the one in the recording's sidecar.
    explanation : Explanation
        The explanation.
    """

    kind: str
    event: str | None
    machine: Machine | None
    explanation: Explanation


def is_recording(what: str) -> bool:
    """Return whether a text names a recording, and not a config or an event string.

    A text that looks like an event string is treated as one, even if a folder has that name.
    """
    if what == "-":
        return True
    text = what.strip()
    if parse_number(text) is not None or (is_ptt(text) and "/" in text and ("=" in text or text.endswith("/"))):
        return False
    # Unlike Path.exists(), False for a name that no file can have.
    return os.path.exists(what) or not (is_ptt(text) or "=" in text or text.endswith("/"))  # noqa: PTH110


def explain_event(what: str | int | Path, machine: Machine | None = None) -> Subject:
    """Explain an event: decode it and report every contradiction in it.

    Parameters
    ----------
    what : str, int or Path
        An event string, a config (a number, or as text), or the path of a recording.
    machine : Machine, optional
        The machine with the names and the driver's filters. For a recording, the default is the machine of its sidecar.

    Raises
    ------
    UsageError
        The text does not have the shape of a PTT event.
    InputError
        The recording cannot be read, or has no PTT event.

    Examples
    --------
    >>> subject = explain_event("hisi_ptt0_2/filter=0x80100,type=7,direction=2,format=1/")
    >>> subject.explanation.flow.inbound
    ('P', 'NP', 'CPL B')
    >>> [one.code for one in subject.explanation.diagnostics]
    ['no-cpl-a']
    """
    if isinstance(what, Path) or (isinstance(what, str) and is_recording(what)):
        return _explain_recording(str(what), machine)
    config = parse_number(what.strip()) if isinstance(what, str) else what
    if config is None:
        text = str(what).strip()
        parsed = parse_event(text, terms_for(pmu_of(text), machine))
        explanation = explain(parsed.config, pmu=parsed.pmu, machine=machine, diagnostics=parsed.diagnostics)
        return Subject("event", text, machine, explanation)
    if config >> 64:
        raise UsageError(f"{what} is not a config: it has more than 64 bits", code="config-too-big")
    return Subject("config", None, machine, explain(config, machine=machine))


def _explain_recording(path: str, machine: Machine | None) -> Subject:
    attribute, pmu = event_of_recording(path)
    if machine is None:
        sidecar = load(path)
        machine = sidecar.machine if sidecar is not None else None
        # PMU type numbers change only at boot, so those in the sidecar are valid for the recording.
        devices = machine.devices if machine is not None else ()
        pmu = pmu or next((device.name for device in devices if device.pmu_type == attribute.type), None)
    return Subject("recording", attribute.name, machine, explain(attribute.config, pmu=pmu, machine=machine))


def event_of_recording(path: str) -> tuple[Attribute, str | None]:
    """Return the PTT event of a recording, and the name of its PMU or None.

    Raises
    ------
    InputError
        The recording cannot be read, or has no PTT event.
    """
    with open_perfdata(path) as source:
        contents = source.contents
        attribute = ptt_attribute(contents)
        if attribute is None:
            revision, looks = contents.revision, 0
            for _ in source.chunks():  # through a pipe the attributes come with the rest
                if contents.revision != revision and looks < MAX_DESCRIPTIONS:
                    revision, looks, attribute = contents.revision, looks + 1, ptt_attribute(contents)
                if attribute is not None:
                    break
            attribute = ptt_attribute(contents)
    if attribute is None:
        problem = next(iter(contents.problems), None)
        if problem is not None:
            raise error_of(problem, path)
        raise InputError(path, "the recording has no event of a PTT device", code="no-ptt-event")
    return attribute, _pmu(attribute, contents)


def _pmu(attribute: Attribute, contents: Contents) -> str | None:
    """Return the PMU's name: by its type number, or from the event string if the recording has no list of PMUs."""
    names = pmu_names(contents)
    if attribute.type in names:
        return names[attribute.type]
    name = pmu_of(attribute.name) if attribute.name is not None and "/" in attribute.name else ""
    return name if is_ptt(name) else None


def plan_recording(
    chosen: ChosenEvent,
    *,
    output: str | Path = "perf.data",
    duration: float | None = None,
    command: Iterable[str] = (),
    cpu: int | None = None,
    aux_size: int | None = None,
    keep_command: bool = False,
    force: bool = False,
    counters: bool = True,
    kernel_events: str | Iterable[str] = (),
) -> Plan:
    """Plan a recording without starting it. The plan's ``perf_command`` is the command that ``record`` runs.

    Parameters
    ----------
    chosen : ChosenEvent
        The event, from :func:`build_event` with a machine.
    output : str or Path
        The file to write.
    duration : float, optional
        Seconds to record. Without it and without a command: until Ctrl-C.
    command : Iterable of str
        The command to run while recording.
    cpu : int, optional
        The CPU that records; by default one of the device's cpumask that is online and has little else to do, and not CPU 0 where there is
        another. A diagnostic among ``notes`` says why (``cpu-chosen``).
    aux_size : int, optional
        Bytes of the AUX area: a power of two, at least 16 MiB. By default 64 MiB; with a driver that hands trace over only when the area is
        full, as much as is sensible, since the trace ends there (``late-commit`` among ``notes``).
    keep_command : bool
        Keep the arguments of the command in the sidecar. By default only the program and the number of arguments are kept, as arguments
        can hold passwords.
    force : bool
        Record though the file exists: it is kept as ``.old``, and replaces one of that name.
    counters : bool
        Count beside the trace, where the kernel has the ``hisi_pcie`` PMU.
    kernel_events : str or Iterable of str
        Groups of the kernel's events that a second perf records beside the trace: ``nvme``, ``block``, ``irq``, ``net``, ``mmio-stacks``.
        Events that the kernel does not have are left out, with a diagnostic.

    Raises
    ------
    UsageError
        The arguments cannot be combined, there is no such group of events, or the event was computed without a machine.
    DeviceError
        No CPU can record the device.

    Examples
    --------
    >>> from ptttool.api.machine import find_machine
    >>> machine = find_machine(demo=True)
    >>> chosen = build_event(machine, root_ports=["nvme0"], format="8dw")
    >>> print(*plan_recording(chosen, duration=10).perf_command)
    perf record -e hisi_ptt0_0/filter=0x80001,type=7,direction=2,format=1/ -C 1 -m ,64M -o perf.data -- sleep 10
    """
    notes: list[Diagnostic] = []
    groups, kernel = parse_groups(listed(kernel_events)), TracepointPlan()
    if aux_size is not None:
        check_aux_size(aux_size)
    if chosen.device is not None and chosen.machine is not None:
        from ptttool.planner.plan import area_of

        cpu, why = cpu_of(chosen, cpu)
        aux_size, late = area_of(chosen, aux_size, Path(output), duration)
        notes = [one for one in (late, why) if one is not None]
        if groups and chosen.device.source is not None:
            addresses = asked.root_ports if (asked := chosen.request).requester is None else (asked.requester,)
            kernel = find_tracepoints(chosen.device.source, chosen.machine, addresses, groups)
    size = aux_size or DEFAULT_AUX_SIZE
    return Plan(chosen, cpu or 0, size, Path(output), duration, command_words(command), keep_command, force, counters, kernel, tuple(notes))


def cpu_of(chosen: ChosenEvent, cpu: int | None) -> tuple[int, Diagnostic | None]:
    """Choose the CPU that records an event of a machine; parameters and errors are those of :func:`~ptttool.capture.cpu.choose_cpu`."""
    device, machine, asked = chosen.device, chosen.machine, chosen.request
    assert device is not None
    assert machine is not None
    online = online_cpus(device.source) if device.source is not None and device.source.live else None
    addresses = asked.root_ports if asked.requester is None else (asked.requester,)
    return choose_cpu(device, cpu, online, None if cpu is not None else occupied_on(machine, device, addresses, online))


def record(
    plan: Plan,
    *,
    progress: Callable[[RecordingProgress], None] | None = None,
    report: Callable[[Diagnostic], None] | None = None,
    command_stdout: int | None = None,
    anchors: bool = False,
) -> Recorded:
    """Record, and write a sidecar: a file beside the recording with facts that perf.data cannot hold.

    On a recorded machine, nothing is traced; instead, a bundled recording that was made there with the same event is copied.

    Parameters
    ----------
    plan : Plan
        What to record, from :func:`plan_recording`.
    progress : Callable, optional
        Called several times a second.
    report : Callable, optional
        Called with each diagnostic as soon as it is known; the result has all of them, too.
    command_stdout : int, optional
        File descriptor for the standard output of the command that runs while recording.
    anchors : bool
        Read registers of an endpoint meanwhile, ten times a second, and keep the clock that they give beside the recording.

    Returns
    -------
    Recorded
        The recording. It may be empty; the analysis ``loss`` lists possible causes.

    Raises
    ------
    BusyError
        Another run of ptttool traces the device.
    PtttoolError
        A check prevents the recording, or perf failed. Existing files are unchanged. If perf failed, ``details`` has ``perf_stderr`` and
        ``perf_exit_status``.

    Examples
    --------
    >>> import tempfile
    >>> from ptttool.api.machine import find_machine
    >>> folder = tempfile.TemporaryDirectory()
    >>> chosen = build_event(find_machine(demo=True), root_ports=["nvme0"], format="8dw")
    >>> recorded = record(plan_recording(chosen, output=f"{folder.name}/perf.data", duration=10))
    >>> recorded.size
    250132
    >>> recorded.diagnostics[0].code
    'replay'
    >>> folder.cleanup()
    """
    source = plan.device.source
    if source is not None and source.live:
        from ptttool.capture.record import record as record_live  # a replay does without perf

        with hold_device(plan.device.name, purpose=f"trace -o {plan.output}"), ExitStack() as stack:
            reads = None
            if anchors:
                from ptttool.selftest.anchors import anchoring

                reads = stack.enter_context(anchoring(plan, source))
            recorded = record_live(plan, source, progress=progress, report=report, command_stdout=command_stdout)
            return recorded if reads is None else _anchored(recorded, reads, report)
    if anchors:
        raise UsageError("--anchors: a replay has no clock of its own", hint="leave it out", code="no-anchors")
    return replay(plan, report=report)


def _anchored(recorded: Recorded, reads: Anchors, report: Callable[[Diagnostic], None] | None) -> Recorded:
    """Keep the clock that reads during a recording give, and say so."""
    from ptttool.selftest.anchors import keep_clock

    clock, said = reads.clock(recorded.path)
    if clock is not None:
        try:
            keep_clock(recorded.path, clock)
        except (PtttoolError, OSError) as error:
            why = error.message if isinstance(error, PtttoolError) else error.strerror
            said = Diagnostic(Severity.WARNING, "no-anchors", f"the clock of the recording is not kept: {why}")
    if report is not None:
        report(said)
    return replace(recorded, diagnostics=(*recorded.diagnostics, said))
