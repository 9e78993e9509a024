"""The kernel's events beside a trace: which tracepoints a second ``perf record`` records, and of which devices.

The tracepoints of a kernel are the folders of ``events`` in its tracefs (Linux document trace/events); the file ``format`` of one names
its fields, and filters compare these (section "Event filtering").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from ptttool.capture.cpu import interrupts_of, traced_functions
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import UsageError
from ptttool.machine.model import Machine
from ptttool.machine.sources.contract import Source, or_none
from ptttool.pci import PciAddress
from ptttool.wording import in_words

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "nvme": ("nvme:nvme_setup_cmd", "nvme:nvme_complete_rq", "nvme:nvme_sq"),
    "block": ("block:block_rq_issue", "block:block_rq_complete"),
    "irq": ("irq:irq_handler_entry", "irq:irq_handler_exit"),
    "net": ("napi:napi_poll", "net:netif_receive_skb", "net:net_dev_xmit"),
    "mmio-stacks": ("rwmmio:rwmmio_read", "rwmmio:rwmmio_write"),
}
"""The tracepoints of each group that ``--with`` names."""
TRACEFS: Final = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
"""Where a kernel's tracefs is mounted."""
LEFT_OUT: Final = "kernel-events-left-out"
"""Code of the diagnostic for events that were asked for and cannot be recorded."""
# Of each CPU, in perf's own words; perf's default of 512 KiB holds some 4,000 events.
_BUFFER = "2M"
_WITH_STACKS = "mmio-stacks"
# The kernel copies a filter of one page (perf_event_set_filter).
_LONGEST_FILTER = 4000
# The kernel's MKDEV.
_MINOR_BITS = 20


class Tracepoint(Struct, frozen=True):
    """One tracepoint that is recorded.

    Parameters
    ----------
    event : str
        Its name, such as ``nvme:nvme_setup_cmd``.
    filter : str
        The condition on its fields; empty where all are recorded.
    stacks : bool
        Whether the kernel's stack is recorded with each.
    """

    event: str
    filter: str = ""
    stacks: bool = False

    @property
    def is_possible(self) -> bool:
        """Whether it can be one: a file can say anything."""
        name = re.fullmatch(r"\w{1,64}:\w{1,64}", self.event, re.ASCII)
        return name is not None and re.fullmatch(r"[ -~]{0,4096}", self.filter) is not None


class KernelEvents(Struct, frozen=True):
    """The kernel's events that were recorded beside a trace.

    Parameters
    ----------
    file : str
        The name of their file, in the folder of the recording.
    events : tuple of Tracepoint
        What was recorded.
    covers : bool
        Whether they were seen on before the trace began, and were on until it had ended.
    """

    file: str
    events: tuple[Tracepoint, ...]
    covers: bool

    @property
    def is_possible(self) -> bool:
        """Whether names are those of a file in the folder, and of tracepoints: a sidecar can say anything."""
        return bool(self.file) and "/" not in self.file and "\0" not in self.file and all(one.is_possible for one in self.events)


class TracepointPlan(Struct, frozen=True):
    """What a second perf records beside a trace.

    Parameters
    ----------
    events : tuple of Tracepoint
        The tracepoints; none where nothing that was asked for can be recorded.
    left_out : tuple of Diagnostic
        What was asked for and cannot be recorded, with the reason.
    """

    events: tuple[Tracepoint, ...] = ()
    left_out: tuple[Diagnostic, ...] = ()

    def command(self, output: str, options: Sequence[str] = ()) -> list[str]:
        """Return the command that records them on all CPUs, with perf's own clock, as that of the trace.

        No build IDs are collected (``-B``): that would read the whole file at the end, and write into the cache of root.
        """
        words = ["perf", "record", "-a", "-B", "-m", _BUFFER]
        for one in self.events:
            words += ["-e", f"{one.event}/call-graph=fp/" if one.stacks else one.event]
            words += ["--filter", one.filter] if one.filter else []
        return [*words, "-o", output, *options]


def parse_groups(asked: Iterable[str]) -> tuple[str, ...]:
    """Return groups in the order of :data:`GROUPS`.

    Raises
    ------
    UsageError
        There is no such group (``unknown-events``).
    """
    names = {name.strip().lower() for name in asked}
    unknown = sorted(names - set(GROUPS))
    if unknown:
        raise UsageError(f"--with: {unknown[0]!r} is no group of events", hint=f"there are {in_words(GROUPS)}", code="unknown-events")
    return tuple(name for name in GROUPS if name in names)


def find_tracepoints(source: Source, machine: Machine, addresses: Iterable[PciAddress], groups: Iterable[str]) -> TracepointPlan:
    """Return the plan for the kernel's events beside a trace.

    Parameters
    ----------
    source : Source
        The machine.
    machine : Machine
        What was read of it.
    addresses : iterable of PciAddress
        The root ports, or the requester, that are traced: events are filtered to them and what is behind them, where their fields tell.
    groups : iterable of str
        Of :data:`GROUPS`.

    Returns
    -------
    TracepointPlan
        Of a recorded machine, which has no tracefs, all events that were asked for.
    """
    traced = _Traced(source, machine, traced_functions(machine, addresses))
    folder = tracefs_of(source)
    if isinstance(folder, Diagnostic):
        return TracepointPlan((), (folder,))
    events: list[Tracepoint] = []
    left_out: list[Diagnostic] = []
    for group in groups:
        condition = _CONDITIONS[group](traced)
        if condition is None:
            left_out.append(_left_out(group, GROUPS[group], f"nothing that is traced has {_OF[group]}"))
            continue
        missing = [] if folder is None else [name for name in GROUPS[group] if not _is_there(source, folder, name)]
        if missing:
            left_out.append(_left_out(group, missing, f"this kernel does not have {in_words(missing)}"))
        for name in GROUPS[group]:
            if name not in missing:
                own = condition.replace("name ==", "dev_name ==") if name == "napi:napi_poll" else condition
                events.append(Tracepoint(name, own if len(own) <= _LONGEST_FILTER else "", group == _WITH_STACKS))
    return TracepointPlan(tuple(events), tuple(left_out))


def tracefs_of(source: Source) -> str | Diagnostic | None:
    """Return the folder of a machine's tracefs; why it cannot be used; or None for a recorded machine, which has none."""
    if not source.live:
        return None
    reason = "tracefs is not mounted"
    for folder in TRACEFS:
        try:
            if source.names(f"{folder}/events"):
                return folder
        except PermissionError:
            reason = f"{folder} may not be read: that takes root"
        except OSError:
            continue
    hint = "mount -t tracefs nodev /sys/kernel/tracing" if "mounted" in reason else None
    return Diagnostic(Severity.WARNING, "no-tracefs", f"no event of the kernel can be recorded: {reason}", hint)


def missing_in(source: Source, folder: str) -> dict[str, list[str]]:
    """Return by group the tracepoints that a kernel does not have."""
    missing = {group: [name for name in names if not _is_there(source, folder, name)] for group, names in GROUPS.items()}
    return {group: names for group, names in missing.items() if names}


def _is_there(source: Source, folder: str, event: str) -> bool:
    return or_none(source.names, f"{folder}/events/{event.replace(':', '/')}") is not None


def _left_out(group: str, events: Sequence[str], why: str) -> Diagnostic:
    amount = "not all of its events are recorded" if len(events) < len(GROUPS[group]) else "nothing is recorded"
    message = f"--with {group}: {amount}: {why}"
    hint = _HINTS.get(group) if why.startswith("this kernel") else None
    return Diagnostic(Severity.WARNING, LEFT_OUT, message, hint, details={"group": group, "events": list(events)})


_OF = {"nvme": "an NVMe drive", "block": "a disk", "net": "a network interface", "irq": "an interrupt", _WITH_STACKS: "registers"}
_HINTS = {
    "nvme": "modprobe nvme-core",
    _WITH_STACKS: "a kernel has them that was built with CONFIG_TRACE_MMIO_ACCESS (arm64, Linux 6.0 and later)",
}


class _Traced(Struct, frozen=True):
    """What is traced."""

    source: Source
    machine: Machine
    functions: list[PciAddress]

    @property
    def names(self) -> list[str]:
        """The kernel's names for what is on the functions."""
        return [name for address in self.functions for name in self.machine.functions[address].kernel_names]


def _any_of(terms: Iterable[str]) -> str | None:
    return " || ".join(terms) or None


def _drives(traced: _Traced) -> str | None:
    """Select controllers: ``ctrl_id`` is the number in the name of one."""
    found = (re.fullmatch(r"nvme([0-9]{1,9})", name, re.ASCII) for name in traced.names)
    return _any_of(dict.fromkeys(f"ctrl_id == {int(one[1])}" for one in found if one))


def _disks(traced: _Traced) -> str | None:
    """Select disks by device number. Requests to one path of several (``nvme0c0n1``) have none: then all are recorded."""
    if any(re.fullmatch(r"nvme\d+c\d+n\d+", name, re.ASCII) for name in traced.names):
        return ""
    numbers: list[int] = []
    for name in traced.names:
        text = or_none(traced.source.read, f"/sys/class/block/{name}/dev") or ""
        match = re.fullmatch(r"([0-9]{1,4}):([0-9]{1,7})", text.strip(), re.ASCII)
        numbers += [] if match is None else [int(match[1]) << _MINOR_BITS | int(match[2])]
    if numbers or traced.source.live:
        return _any_of(f"dev == {number}" for number in numbers)
    return ""  # what a recorded machine does not hold is not known


def _interrupts(traced: _Traced) -> str | None:
    """Select interrupts; those in a row are one range."""
    numbers = sorted({number for address in traced.functions for number in interrupts_of(traced.source, address)})
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    if not ranges:
        return None if traced.source.live else ""
    return _any_of(f"irq == {low}" if low == high else f"(irq >= {low} && irq <= {high})" for low, high in ranges)


def _interfaces(traced: _Traced) -> str | None:
    """Select interfaces. Names with other characters would need quoting: then all are recorded."""
    names = [name for name in traced.names if or_none(traced.source.names, f"/sys/class/net/{name}") is not None]
    if any(not re.fullmatch(r"[\w.@-]{1,32}", name, re.ASCII) for name in names):
        return ""
    return _any_of(f'name == "{name}"' for name in names)


def _all(_: _Traced) -> str | None:
    """Select nothing: addresses of registers are virtual, and do not tell the device."""
    return ""


_CONDITIONS: Mapping[str, Callable[[_Traced], str | None]] = {
    "nvme": _drives,
    "block": _disks,
    "irq": _interrupts,
    "net": _interfaces,
    _WITH_STACKS: _all,
}
