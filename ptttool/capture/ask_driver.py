"""Ask the driver which PTT device has a filter, where sysfs does not say it (before Linux 6.5).

The driver refuses an event with a filter that is not its device's (EINVAL), and takes any other. So a disabled event is opened on each
candidate; it traces nothing and is closed at once. In tests with Linux 6.1, exactly one device took each of 13 filters.

Every open changes what the driver keeps for the device (see :mod:`ptttool.capture.device.lock`), so a device that somebody traces, or is
about to trace, is not asked:

- only with the rights of root or CAP_PERFMON, and under the locks of all candidates
- only while no process holds an event of a PTT device: the kernel counts them as users of the driver (``/sys/module/hisi_ptt/refcnt``).
  Where there is no such count, no process may hold a perf event of any kind, since Linux does not show of which device it is.
- only while no process names a candidate among its arguments: it may be about to open it
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack

from msgspec import Struct
from msgspec.structs import replace

from ptttool.capture.checks import host
from ptttool.capture.checks.host import Rights
from ptttool.capture.device.lock import hold_device
from ptttool.capture.device.open_event import refusal
from ptttool.capture.device.tracers import Process, names_device
from ptttool.capture.event.build import TraceRequest, build
from ptttool.capture.event.choose import ChosenEvent, EventOptions, choose
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import BusyError, PtttoolError, UsageError
from ptttool.machine.model import Machine, PttDevice
from ptttool.machine.pmu import PMU_PREFIX
from ptttool.machine.sources.contract import Source
from ptttool.machine.topology import walk
from ptttool.wording import in_words

_REFERENCES = "/sys/module/hisi_ptt/refcnt"


Answer = tuple[PttDevice | None, str]
"""The one device that takes an event, and what the driver said. None where that is not clear, or the driver was not asked: the text, a
sentence without full stop, then says why."""


class Asking(Struct, frozen=True):
    """What the driver is asked with.

    Parameters
    ----------
    source : Source
        The machine.
    rights : Rights
        What this process may do.
    processes : Callable
        Returns the running processes but this one. ``holds_events`` of each is known, where the descriptors may be read.
    refusal : Callable
        Opens a disabled event, closes it, and returns the error number, 0 for one that was taken: see
        :func:`~ptttool.capture.device.open_event.refusal`.
    """

    source: Source
    rights: Rights
    processes: Callable[[], Iterable[Process]]
    refusal: Callable[..., int] = refusal


def ask_driver(options: EventOptions, machine: Machine, candidates: Sequence[PttDevice], asking: Asking) -> Answer:
    """Ask which of several devices takes an event.

    Parameters
    ----------
    options : EventOptions
        What to trace.
    machine : Machine
        Where names are looked up.
    candidates : sequence of PttDevice
        The devices that it may be.
    asking : Asking
        What the driver is asked with.
    """
    if not asking.source.live:
        return None, "this is not the running machine"
    if not asking.rights.may_trace:
        return None, "only root, or a process with CAP_PERFMON, may ask the driver"
    unknown = [one.name for one in candidates if one.pmu_type is None or not one.cpus]
    if unknown:
        return None, f"{in_words(unknown)} has no PMU type or no CPU that is online"
    try:
        with ExitStack() as held:
            for name in sorted(one.name for one in candidates):
                held.enter_context(hold_device(name, purpose="ask the driver"))
            reason = in_use(asking, candidates)
            return _ask(options, machine, candidates, asking) if reason is None else (None, reason)
    except BusyError as error:
        return None, error.message


def in_use(asking: Asking, candidates: Sequence[PttDevice]) -> str | None:
    """Return why a device may be in use, or about to be; None where it is not."""
    try:
        count = asking.source.read(_REFERENCES).strip()
    except OSError:
        count = None
    if count is not None and count != "0":
        return f"a process holds an event of a PTT device ({_REFERENCES} is not 0){_holders(asking.processes())}"
    for process in asking.processes():
        if any(names_device(process, one.name) for one in candidates):
            return f"{process} may be tracing, or about to"
        if count is None and process.holds_events is not False:
            what = "holds perf events, and" if process.holds_events else "may hold perf events:"
            return f"{process} {what} Linux does not show of which device"
    return None


def _holders(processes: Iterable[Process]) -> str:
    """Name the processes that hold perf events; those with an event of a PTT device among their arguments, where there are such."""
    holders = [one for one in processes if one.holds_events]
    named = [one for one in holders if any(PMU_PREFIX in word for word in one.arguments[1:])] or holders
    return f"; perf events are held by {in_words([str(one) for one in named[:3]])}" if named else ""


def _ask(options: EventOptions, machine: Machine, candidates: Sequence[PttDevice], asking: Asking) -> Answer:
    accepted: list[PttDevice] = []
    refused: list[PttDevice] = []
    for device in candidates:
        taken = True
        try:
            events = list(_events(choose(options, machine, device).request, machine, device, force=options.force))
        except PtttoolError:  # not all of the root ports can be this device's
            events, taken = [], False
        for config in events:
            assert device.pmu_type is not None
            number = asking.refusal(device.pmu_type, config, cpu=device.cpus[0])
            if number not in (0, errno.EINVAL):
                return None, f"opening an event of {device.name} failed with {errno.errorcode.get(number, number)}"
            taken = taken and number == 0
        (accepted if taken else refused).append(device)
    if len(accepted) != 1:
        return None, f"the driver was asked: {in_words([one.name for one in accepted]) or 'no device'} accepts the event"
    shared = _shared_by_empty_port(options, machine, accepted[0])
    if shared is not None:
        return None, f"the driver was asked: {accepted[0].name} accepts the event, but {shared}"
    others = f", {in_words([one.name for one in refused])} {'refuses' if len(refused) == 1 else 'refuse'} it" if refused else ""
    return accepted[0], f"asked the driver: {accepted[0].name} accepts the event{others}"


def _events(request: TraceRequest, machine: Machine, device: PttDevice, *, force: bool) -> Iterator[int]:
    """Yield the configs that the owner of a request takes: its own, and for each root port that of a requester behind it.

    Root ports of several buses can share a filter bit; a requester ID is of one function.
    """
    yield build(request, device=device, force=force).config
    requesters = {one.address for one in device.requesters}
    for port in request.root_ports:
        behind = next((one.address for one in walk(machine, port) if one.address in requesters), None)
        if behind is not None:
            yield build(replace(request, root_ports=(), requester=behind), device=device, force=force).config


def _shared_by_empty_port(options: EventOptions, machine: Machine, device: PttDevice) -> str | None:
    """Return why the answer for a root port with nothing behind it proves nothing: another port has its filter bit."""
    for port in choose(options, machine, device).request.root_ports:
        if next(walk(machine, port), None) is not None:
            continue
        values = {one.address: one.value for one in device.root_ports}
        same = [address for address, value in values.items() if address != port and value == values.get(port)]
        if same:
            return f"nothing is behind {port}, and {in_words(same)} has the same filter"
    return None


def choose_asking(options: EventOptions, machine: Machine, asking: Asking) -> ChosenEvent:
    """Choose an event as :func:`~ptttool.capture.event.choose.choose` does, and ask the driver where the device is not clear.

    Raises
    ------
    UsageError
        As there. Where the driver was not asked, or its answer is not clear, the hint says so.
    DeviceError
        As there.
    """
    try:
        return choose(options, machine)
    except UsageError as error:
        if error.code != "ambiguous-device":
            raise
        names = error.details["candidates"]
        device, message = ask_driver(options, machine, [one for one in machine.devices if one.name in names], asking)
        if device is None:
            error.hint = f"{error.hint}; {message}"
            raise
    chosen = choose(options, machine, device)
    return replace(chosen, notes=(*chosen.notes, Diagnostic(Severity.INFO, "asked-driver", message, details={"device": device.name})))


def asking_on(source: Source) -> Asking:
    """Return what the driver of a running machine is asked with."""
    return Asking(source, host.read_rights(), lambda: host.running_processes(holders=True))
