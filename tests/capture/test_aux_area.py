"""How large the AUX area is, and when the trace ends with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptttool.capture import aux_area as module
from ptttool.capture.aux_area import LARGEST_CHOSEN, aux_area, available_memory
from ptttool.capture.checks.host import Rights
from ptttool.diagnostics import Severity
from ptttool.machine.discovery import read_machine
from ptttool.machine.model import Machine
from ptttool.machine.sources.files import MemoryFiles
from ptttool.machine.sources.recorded import RecordedSource
from ptttool.testing import kunpeng

MIB, GIB = 1 << 20, 1 << 30
OUTPUT = Path("perf.data")


def machine_of(kernel: str, memory: int | None = None) -> Machine:
    tree = kunpeng(kernel).tree()
    files = {path: attribute.show() for path, attribute in tree.files.items()} | {"/udev.txt": tree.database().encode()}
    if memory is not None:
        files["/proc/meminfo"] = f"MemTotal: 999 kB\nMemAvailable:   {memory >> 10} kB\n".encode()
    return read_machine(RecordedSource(MemoryFiles(files, tree.links), "a machine"))


@pytest.mark.parametrize(
    ("memory", "seconds", "full", "size", "chosen_by", "severity"),
    [
        (512 * GIB, None, None, LARGEST_CHOSEN, "driver", "warning"),
        (512 * GIB, 10.0, 1.8e9, LARGEST_CHOSEN, "driver", "warning"),
        (512 * GIB, 0.05, 1.8e9, 256 * MIB, "duration", "info"),
        (512 * GIB, 0.05, None, 2 * GIB, "duration", "info"),
        (512 * GIB, 1e-6, 1.8e9, 64 * MIB, "duration", "info"),
        # Enough for a link full of data, and not for twice as much.
        (512 * GIB, 1.0, 1.8e9, 2 * GIB, "driver", "info"),
        (7 * GIB, None, 1.8e9, 1 * GIB, "memory", "warning"),
        (300 * MIB, None, None, 64 * MIB, "memory", "warning"),
        (10 * MIB, None, None, 16 * MIB, "memory", "warning"),
        (None, 10.0, 1.8e9, 64 * MIB, "memory-unknown", "warning"),
    ],
)
def test_largest_sensible(memory: int | None, seconds: float | None, full: float | None, size: int, chosen_by: str, severity: str) -> None:
    machine = machine_of("5.10.0-216.0.0.115.oe2203sp4.aarch64", memory)
    chosen, late = aux_area(machine, machine.devices[0], None, OUTPUT, full=full, link="16.0 GT/s PCIe x16", seconds=seconds)
    assert late is not None
    assert (chosen, late.code, late.severity, late.details["chosen_by"]) == (size, "late-commit", Severity(severity), chosen_by)
    assert late.details["seconds"] == (None if full is None else size / full)


def test_what_is_asked_for_wins() -> None:
    machine = machine_of("6.1", 512 * GIB)
    size, late = aux_area(machine, machine.devices[0], 32 * MIB, OUTPUT, full=1e9, seconds=10)
    assert late is not None
    assert (size, late.details["aux_size"], late.details["chosen_by"], late.severity) == (32 * MIB, 32 * MIB, "asked", Severity.WARNING)
    assert aux_area(machine, machine.devices[0], 32 * MIB, OUTPUT, full=1e9, seconds=0.01)[1].severity is Severity.INFO  # type: ignore[union-attr]


@pytest.mark.parametrize("kernel", ["6.12", "6.8.0"])
def test_with_other_drivers_it_is_a_buffer(kernel: str) -> None:
    machine = machine_of(kernel, 512 * GIB)
    assert aux_area(machine, machine.devices[0], None, OUTPUT) == (64 * MIB, None)
    assert aux_area(machine, machine.devices[0], None, OUTPUT, default=GIB) == (GIB, None)


@pytest.mark.parametrize(
    ("free", "lockable", "size", "chosen_by"), [(3 * GIB, None, 512 * MIB, "disk"), (None, 100 * MIB, 64 * MIB, "locked-memory")]
)
def test_disk_and_locked_memory_of_the_running_machine(
    free: int | None, lockable: int | None, size: int, chosen_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = machine_of("6.1", 512 * GIB)
    monkeypatch.setattr(type(machine.devices[0].source), "live", True)
    monkeypatch.setattr(module, "free_bytes", lambda _: free)
    rights = Rights(0, 2, mlock_kb=None if lockable is None else lockable >> 10, memlock=0)
    monkeypatch.setattr(module, "read_rights", lambda _: rights)
    chosen, late = aux_area(machine, machine.devices[0], None, OUTPUT)
    assert late is not None
    assert (chosen, late.details["chosen_by"]) == (size, chosen_by)


def test_damaged_meminfo() -> None:
    for text in (b"", b"MemAvailable: many kB\n", b"MemAvailable: 12345678901234567890 kB\n", b"\xff\x00"):
        assert available_memory(RecordedSource(MemoryFiles({"/proc/meminfo": text}, {}), "x")) is None
