"""What is to be recorded: one event, one device, one CPU, one file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from ptttool.capture.event.choose import ChosenEvent
from ptttool.capture.names import kernel_name
from ptttool.capture.perf.command import DEFAULT_AUX_SIZE, MINIMUM_AUX_SIZE, perf_command
from ptttool.capture.perf.tracepoints import TracepointPlan
from ptttool.diagnostics import Diagnostic
from ptttool.errors import UsageError
from ptttool.machine.model import Machine, PttDevice
from ptttool.pci import PciAddress
from ptttool.wording import counted

# The driver allocates its table of pages by kcalloc (hisi_ptt_pmu_setup_aux), which gives this many bytes at most (KMALLOC_MAX_SIZE).
_PAGE_TABLE = 4 << 20


class Plan(Struct, frozen=True):
    """A recording that is to be made.

    Parameters
    ----------
    chosen : ChosenEvent
        The event, on a device of a machine.
    cpu : int
        The CPU that records; see :mod:`ptttool.capture.cpu`.
    aux_size : int
        Bytes of the AUX area.
    output : Path
        The file.
    seconds : float or None
        How long to record. None, without a command: until Ctrl-C.
    command : tuple of str
        The command to run while recording.
    keep_command : bool
        Keep the arguments of the command in the sidecar. They can hold passwords.
    force : bool
        Record though the file exists: it is kept as ``.old``, and replaces one of that name.
    counters : bool
        Count beside the trace, where the kernel has the ``hisi_pcie`` PMU.
    kernel : TracepointPlan
        The kernel's events that a second perf records beside the trace.
    notes : tuple of Diagnostic
        What was chosen, and why: the CPU; and that the trace ends when the AUX area is full, where it does.
    """

    chosen: ChosenEvent
    cpu: int
    aux_size: int = DEFAULT_AUX_SIZE
    output: Path = Path("perf.data")
    seconds: float | None = None
    command: tuple[str, ...] = ()
    keep_command: bool = False
    force: bool = False
    counters: bool = True
    kernel: TracepointPlan = TracepointPlan()
    notes: tuple[Diagnostic, ...] = ()

    def __post_init__(self) -> None:
        if self.chosen.device is None or self.chosen.machine is None:
            raise UsageError("an event that was computed without a machine cannot be recorded", code="no-machine")
        check_options(self.output, self.aux_size, self.seconds, self.command)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All that is to be reported: of the event, then what was chosen."""
        return (*self.chosen.diagnostics, *self.notes, *self.kernel.left_out)

    @property
    def machine(self) -> Machine:
        """The machine, as the sidecar keeps it."""
        assert self.chosen.machine is not None
        return self.chosen.machine

    @property
    def device(self) -> PttDevice:
        """The PTT device that traces."""
        assert self.chosen.device is not None
        return self.chosen.device

    @property
    def addresses(self) -> tuple[PciAddress, ...]:
        """The root ports, or the requester."""
        request = self.chosen.request
        return request.root_ports if request.requester is None else (request.requester,)

    @property
    def other_devices(self) -> tuple[str, ...]:
        """Other devices that the addresses may belong to, where the kernel does not say to which one they belong."""
        if self.device.ports_known:
            return ()
        addresses = set(self.addresses)
        others = (one for one in self.machine.devices if one.name != self.device.name)
        return tuple(one.name for one in others if addresses <= {entry.address for entry in one.filters})

    @property
    def perf_command(self) -> list[str]:
        """The perf command, as the user would type it."""
        return self.perf_command_to(self.output, self.command if self.seconds is None else ("sleep", f"{self.seconds:.9g}"))

    @property
    def kernel_output(self) -> Path:
        """The file of the kernel's events."""
        return self.output.with_name(kernel_name(self.output.name))

    @property
    def kernel_command(self) -> list[str] | None:
        """The command of the second perf, as the user would type it; None where nothing is recorded beside the trace."""
        return self.kernel.command(str(self.kernel_output)) if self.kernel.events else None

    @property
    def kept_command(self) -> list[str]:
        """The perf command as the sidecar keeps it: without the arguments of the user's command, unless they are to be kept."""
        if self.keep_command or len(self.command) < 2:
            return self.perf_command
        return self.perf_command_to(self.output, (self.command[0], f"[{counted(len(self.command) - 1, 'argument')}]"))

    def perf_command_to(self, output: Path, command: Sequence[str], options: Sequence[str] = ()) -> list[str]:
        """Return the perf command that writes another file and runs another command."""
        cpu, aux_size = self.cpu, self.aux_size
        return perf_command(self.chosen.built.event, output=str(output), cpu=cpu, aux_size=aux_size, options=options, command=command)


def check_options(output: Path, aux_size: int, seconds: float | None, command: Sequence[str]) -> None:
    """Refuse options that cannot be combined; the machine has no part in it.

    Raises
    ------
    UsageError
        The output is standard output, the size of the AUX area is wrong, or there are a duration and a command.
    """
    if str(output) == "-":
        message = "a recording cannot go to standard output: perf finishes it by writing its header"
        raise UsageError(message, hint="name a file with -o", code="output-is-stdout")
    check_aux_size(aux_size)
    if seconds is not None and command:
        message = "--duration and a COMMAND exclude each other: the recording lasts as long as the command"
        raise UsageError(message, code="two-durations")


def check_aux_size(size: int) -> None:
    """Refuse a size of the AUX area that the driver refuses: it needs four buffers of 4 MiB, a power of two, and a table of the pages."""
    if size < MINIMUM_AUX_SIZE:
        raise UsageError("--aux-size: the driver needs at least 16 MiB", hint="64M is a good size", code="aux-too-small")
    if size & (size - 1):
        raise UsageError("--aux-size: the driver needs a power of two", hint="such as 16M, 32M, 64M, 128M", code="aux-no-power-of-two")
    most = _PAGE_TABLE // 8 * os.sysconf("SC_PAGE_SIZE")
    if size > most:
        raise UsageError(
            f"--aux-size: the driver keeps 8 bytes for each page of the area in one piece of memory, and the kernel gives "
            f"{_PAGE_TABLE >> 20} MiB at most: that is an area of {most >> 30} GiB with pages of {os.sysconf('SC_PAGE_SIZE') >> 10} KiB",
            hint="trace one requester, or one type, for a shorter time",
            code="aux-too-large",
        )
