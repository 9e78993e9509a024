"""Builds the program in ``program/`` and records what a RISC-V hart executes of it, for ``fixtures/riscv/``.

Run by hand: ``python -m tests.decoders.riscv.record_program``. Needs riscv64-linux-gnu-gcc, qemu-system-riscv64 and
qemu-system-riscv32 (made with GCC 12.2 and QEMU 7.2). QEMU runs one instruction per translation block and logs every block before it
runs, and every trap.

A recording has a line for each step: ``PRIVILEGE ADDRESS``, an instruction that was begun, or ``trap KIND CAUSE EPC TVAL``, KIND
``exception`` or ``interrupt``, numbers hexadecimal. Where an exception's EPC is the instruction on the line before, that one did not
retire.

The other programs are built of ``program/small.c`` and are not run: they are for how programs are read.
"""

from __future__ import annotations

import lzma
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests import ROOT

SOURCES = Path(__file__).parent / "program"
FIXTURES = ROOT / "fixtures" / "riscv"
# Of each recording: bits, what the compiler is told.
BUILDS = {"program": (64, ("-march=rv64gc", "-mabi=lp64d")), "program32": (32, ("-march=rv32imac_zicsr", "-mabi=ilp32"))}
GCC = "riscv64-linux-gnu-gcc"
# What the compiler and the linker are told; the last has line numbers of some parts listed by address and of others not, as LLVM does.
SMALL = {
    "pie": "-gdwarf-5 -fpie -pie -Wl,--no-dynamic-linker",
    "dwarf4": "-gdwarf-4 -fno-pic -no-pie -static",
    "stripped": "-fno-pic -no-pie -static -s",
    "mixed": "-gdwarf-5 -fno-pic -no-pie -static",
}
COMPILER = (
    GCC, "-g", "-O1", "-mcmodel=medany", "-ffreestanding", "-fno-builtin", "-fno-pic", "-fno-stack-protector",
    f"-ffile-prefix-map={SOURCES}=.", f"-Wa,--debug-prefix-map={SOURCES}=.", "-Wall", "-Wextra",
)  # fmt: skip
LINKER = (GCC, "-static", "-no-pie", "-nostdlib", "-nostartfiles", "-Wl,--build-id=none", "-T", SOURCES / "link.ld")
MACHINE = ("-machine", "virt", "-bios", "none", "-nographic", "-m", "16", "-icount", "shift=0", "-singlestep", "-d", "exec,int,nochain")
BEGIN = 0x8000_0000  # before it the machine's own ROM runs
_BLOCK = re.compile(r"Trace \d+: \S+ \[[0-9a-f]+/([0-9a-f]+)/([0-9a-f]+)/")
# An interrupt waits, or a device is to be accessed: the block that was logged has not run, or runs again.
_STOPPED = re.compile(r"Stopped execution of TB chain before \S+ \[([0-9a-f]+)\]|cpu_io_recompile: rewound execution of TB to ([0-9a-f]+)")
_TRAP = re.compile(r"riscv_cpu_do_interrupt: hart:0, async:(\d), cause:([0-9a-f]+), epc:0x([0-9a-f]+), tval:0x([0-9a-f]+)")


def build(program: Path, options: tuple[str, ...], folder: Path) -> None:
    for source in ("start.S", "main.c"):
        # Object files of one name each: the names are in the program.
        subprocess.run([*COMPILER, *options, "-c", source, "-o", folder / f"{source}.o"], cwd=SOURCES, check=True)
    subprocess.run([*LINKER, *options, "start.S.o", "main.c.o", "-o", program.absolute()], cwd=folder, check=True)
    program.chmod(0o644)


def steps(log: Iterator[str]) -> Iterator[str]:
    """Lines of a recording."""
    block: tuple[int, int] | None = None
    begun = False

    def executed() -> Iterator[str]:
        if block is not None and begun:
            yield f"{block[0]} {block[1]:x}"

    for line in log:
        if found := _BLOCK.match(line):
            yield from executed()
            address, flags = (int(each, 16) for each in found.groups())
            block = (flags & 3, address)  # the lowest bits of a block's flags are its privilege level
            begun = begun or address == BEGIN
        elif found := _STOPPED.match(line):
            assert block is not None
            assert block[1] == int(found[1] or found[2], 16)
            block = None
        elif found := _TRAP.match(line):
            yield from executed()
            block = None
            cause, epc, tval = (int(each, 16) for each in found.groups()[1:])
            yield f"trap {('exception', 'interrupt')[int(found[1])]} {cause:x} {epc:x} {tval:x}"
        else:
            raise ValueError(f"QEMU's log has a line of an unknown kind: {line}")
    yield from executed()


def build_small(name: str) -> None:
    """Run where the sources lie, so that the names of files are short."""
    path = FIXTURES / f"{name}.elf"
    common = [GCC, "-O1", "-march=rv64gc", "-mabi=lp64d", "-ffreestanding", "-Wall", "-Wextra", f"-ffile-prefix-map={SOURCES}=."]
    common += [f"-Wa,--debug-prefix-map={SOURCES}=.", *SMALL[name].split()]
    with tempfile.TemporaryDirectory() as folder:
        parts = []
        for source in ("small.c", "other.S") if name == "mixed" else ("small.c",):
            parts.append(f"{folder}/{source}.o")
            subprocess.run([*common, "-c", source, "-o", parts[-1]], cwd=SOURCES, check=True)
        if name in ("mixed", "dwarf4"):
            subprocess.run(["riscv64-linux-gnu-objcopy", "--remove-section=.debug_aranges", parts[0]], check=True)
        subprocess.run([*common, "-nostdlib", "-nostartfiles", "-Wl,--build-id=none", *parts, "-o", path], check=True)
    removal = [f"--remove-section={section}" for section in (".comment", ".riscv.attributes", ".eh_frame")]
    subprocess.run(["riscv64-linux-gnu-objcopy", *removal, path], check=True)
    path.chmod(0o644)


def record(name: str) -> None:
    bits, options = BUILDS[name]
    program = FIXTURES / f"{name}.elf"
    with tempfile.TemporaryDirectory() as folder:
        build(program, options, Path(folder))
        log = Path(folder) / "log"
        subprocess.run([f"qemu-system-riscv{bits}", *MACHINE, "-D", log, "-kernel", program], check=True, timeout=60)
        with log.open() as lines:
            found = list(steps(lines))
    packed = lzma.compress("".join(f"{line}\n" for line in found).encode(), preset=9 | lzma.PRESET_EXTREME)
    (FIXTURES / f"{name}.steps.xz").write_bytes(packed)
    print(f"{name}: {len(found)} steps, {len(packed)} bytes")


if __name__ == "__main__":
    FIXTURES.mkdir(exist_ok=True)
    for each in BUILDS:
        record(each)
    for each in SMALL:
        build_small(each)
