"""Hostile ELF files, as programs of ``ptttool flow``, and traces through them."""

from __future__ import annotations

import zlib
from pathlib import Path
from struct import pack

from bench.bombs.contract import bomb

NOP = b"\x13\0\0\0"
BASE = 0x10000
ALL = 1 << 11  # SHF_COMPRESSED


class Elf:
    """Writes an ELF file, 64 bits, for RISC-V."""

    def __init__(self) -> None:
        self.body = bytearray()
        self.programs: list[bytes] = []
        self.sections: list[bytes] = [bytes(64)]
        self.names = bytearray(b"\0")

    def segment(self, offset: int, address: int, size: int) -> None:
        """Add an executable segment of bytes of the body."""
        self.programs.append(pack("<IIQQQQQQ", 1, 5, offset, address, address, size, size, 4))

    def section(self, name: bytes, data: bytes, *, type: int = 1, flags: int = 0, link: int = 0) -> int:
        """Add a section; return its number."""
        self.sections.append(
            pack("<IIQQQQIIQQ", len(self.names), type, flags, 0, 64 + len(self.body), len(data), link, 0, 1, 24 if type == 2 else 0)
        )
        self.names += name + b"\0"
        self.body += data
        return len(self.sections) - 1

    def write(self, path: Path, *, entry_size: int = 64, count: int | None = None) -> str:
        """Write the file and return its path as text."""
        names = self.section(b".shstrtab", b"")
        self.sections[names] = pack("<IIQQQQIIQQ", len(self.names) - 10, 3, 0, 0, 64 + len(self.body), len(self.names), 0, 0, 1, 0)
        self.body += self.names
        programs, sections = 64 + len(self.body), 64 + len(self.body) + 56 * len(self.programs)
        head = pack(
            "<HHIQQQIHHHHHH", 2, 243, 1, BASE, programs, sections, 0, 64, 56, len(self.programs), entry_size,
            len(self.sections) if count is None else count, names,
        )  # fmt: skip
        path.write_bytes(b"\x7fELF\2\1\1" + bytes(9) + head + self.body + b"".join(self.programs) + b"".join(self.sections))
        return str(path)


def with_code(size: int = 64) -> Elf:
    """Return a file with some code."""
    elf = Elf()
    elf.body += NOP * size
    elf.segment(64, BASE, 4 * size)
    return elf


def flow(folder: Path, elf: str) -> list[str]:
    """Return the arguments that follow an empty trace through a program."""
    trace = folder / "trace.bin"
    trace.write_bytes(bytes(256))
    return ["flow", "--json", "--elf", elf, str(trace)]


@bomb("elf-segments", "segments over the same bytes", 250)
def segments(folder: Path, size: int) -> list[str]:
    """Make a program with many segments of the same megabyte."""
    elf = Elf()
    elf.body += NOP * (1 << 20)
    for number in range(size):
        elf.segment(64, BASE + (number << 23), 4 << 20)
    return flow(folder, elf.write(folder / "program.elf"))


@bomb("elf-overlaps", "segments over the same addresses", 5000)
def overlaps(folder: Path, size: int) -> list[str]:
    """Make a program with many segments at one address, and a symbol for each."""
    elf = Elf()
    elf.body += NOP * 64
    for number in range(size):
        elf.segment(64, BASE + 2 * number, 256)
    texts = elf.section(b".strtab", b"\0a\0", type=3)
    elf.section(b".symtab", b"".join(pack("<IBBHQQ", 1, 2, 0, 1, BASE + 2 * n, 4) for n in range(size)), type=2, link=texts)
    return flow(folder, elf.write(folder / "program.elf"))


@bomb("elf-names", "symbols with one name of a megabyte", 3000)
def names(folder: Path, size: int) -> list[str]:
    """Make a program whose symbols have names without an end."""
    elf = with_code()
    texts = elf.section(b".strtab", b"A" * (700 * size), type=3)
    elf.section(b".symtab", pack("<IBBHQQ", 1, 2, 0, 1, BASE, 4) * size, type=2, link=texts)
    return flow(folder, elf.write(folder / "program.elf"))


@bomb("elf-packed", "a packed table of symbols, of zeros (MiB)", 300, 6, "over-budget")
def packed(folder: Path, size: int) -> list[str]:
    """Make a program whose symbols expand a thousandfold."""
    elf = with_code()
    packer, piece = zlib.compressobj(9), bytes(1 << 20)
    data = b"".join(packer.compress(piece) for _ in range(size)) + packer.flush()
    texts = elf.section(b".strtab", b"\0", type=3)
    elf.section(b".symtab", pack("<IIQQ", 1, 0, (size << 20) // 24 * 24, 1) + data + bytes(-len(data) % 24), type=2, flags=ALL, link=texts)
    return flow(folder, elf.write(folder / "program.elf"))


@bomb("elf-sections", "sections with one name without an end", 5000)
def sections(folder: Path, size: int) -> list[str]:
    """Make a program whose sections have names without an end."""
    elf = with_code()
    for _ in range(size):
        elf.section(b"", b"")
    elf.names += b"A" * (400 * size)
    return flow(folder, elf.write(folder / "program.elf"))


@bomb("elf-endless-sections", "2^60 sections of no size", 1)
def endless(folder: Path, size: int) -> list[str]:
    """Make a program that states a number of sections that no file can have."""
    elf = with_code(64 * size)
    elf.sections[0] = pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, 1 << 60, 0, 0, 0, 0)
    return flow(folder, elf.write(folder / "program.elf", entry_size=0, count=0))


@bomb("elf-again", "the same program again and again", 60)
def again(folder: Path, size: int) -> list[str]:
    """Name one program for many offsets."""
    elf = Elf()
    elf.body += NOP * (1 << 20)
    elf.segment(64, BASE, 4 << 20)
    path = elf.write(folder / "program.elf")
    return flow(folder, ",".join(f"{path}@{number << 24:#x}" for number in range(min(size, 64))))


def start(address: int) -> bytes:
    """Return a packet that begins trace at an address: format 3.0, behind the header of the encapsulation."""
    return b"\x45" + (0x73 | address >> 1 << 7).to_bytes(5, "little")


@bomb("flow-starts", "a trace that begins again and again in a megabyte without a jump", 2000)
def starts(folder: Path, size: int) -> list[str]:
    """Begin at many addresses of a program without jumps."""
    elf = Elf()
    elf.body += NOP * (1 << 18)
    elf.segment(64, BASE, 1 << 20)
    arguments = flow(folder, elf.write(folder / "program.elf"))
    Path(arguments[-1]).write_bytes(b"\x42\x1f\0" + b"".join(start(BASE + 4 * (number * 7919 % (1 << 17))) for number in range(size)))
    return arguments


@bomb("flow-jumps", "a trace each packet of which stands for thousands of jumps", 500)
def jumps(folder: Path, size: int) -> list[str]:
    """Go round and round a program of jumps."""
    elf = Elf()
    count = 1000
    back = (-4 * (count - 1)) & 0x1F_FFFF
    last = (back >> 20 & 1) << 31 | (back >> 1 & 0x3FF) << 21 | (back >> 11 & 1) << 20 | (back >> 12 & 0xFF) << 12 | 0x6F
    elf.body += pack("<I", 0x0040_006F) * (count - 1) + pack("<I", last)
    elf.segment(64, BASE, 4 * count)
    arguments = flow(folder, elf.write(folder / "program.elf"))
    ends = (BASE, BASE + 4 * (count - 1))
    Path(arguments[-1]).write_bytes(b"\x42\x1f\0" + b"".join(start(ends[number % 2]) for number in range(size)))
    return arguments


@bomb("flow-rounds", "a trace that goes round a loop of jumps with one branch", 4000)
def rounds(folder: Path, size: int) -> list[str]:
    """Go round a loop with as many jumps as are followed: 31 rounds for each packet of two bytes."""
    elf = Elf()
    elf.body += pack("<I", 0x0040_006F) * 10 + pack("<I", 0xFC00_0CE3)  # beq zero, zero, -40
    elf.segment(64, BASE, 4 * 11)
    arguments = flow(folder, elf.write(folder / "program.elf"))
    Path(arguments[-1]).write_bytes(b"\x42\x1f\0" + start(BASE) + b"\x41\x01" * size)
    return arguments


@bomb("flow-sources", "as many harts that each go round a loop of jumps", 250)
def harts(folder: Path, size: int) -> list[str]:
    """Give each of many harts a packet that stands for hundreds of jumps."""
    *arguments, path = rounds(folder, 0)
    packets = []
    for number in range(size):
        source = number.to_bytes(2, "little")
        packets += [b"\x45", source, start(BASE)[1:], b"\x41", source, b"\x01"]
    Path(path).write_bytes(b"".join(packets))
    return [*arguments, "-p", "srcid_bits=16", path]


@bomb("encap-sources", "packets of as many sources", 4000)
def sources(folder: Path, size: int) -> list[str]:
    """Make a trace with a packet of each source."""
    path = folder / "trace.bin"
    path.write_bytes(b"".join(b"\x01" + (number & 0xFFFF).to_bytes(2, "little") + b"\x03" for number in range(size)))
    return ["decode", "--protocol", "riscv-etrace", "-p", "srcid_bits=16", "--to", "jsonl", str(path)]


@bomb("coresight-resets", "frames of a hundred sources, then frames that break off", 4000)
def resets(folder: Path, size: int) -> list[str]:
    """Make a trace port's stream with many sources and many broken frames."""
    registers = [word for text in ("TRCIDR0=0x28000ea1", "TRCIDR2=0x488", "TRCCONFIGR=0x801") for word in ("-p", text)]
    sync, path = b"\xff\xff\xff\x7f", folder / "trace.bin"
    frames = b"".join(bytes([number << 1 | 1, *bytes(15)]) for number in range(1, 0x6F))
    path.write_bytes(sync + frames + (sync + b"\x03\0\0\0") * size)
    return ["decode", "--protocol", "opencsd", "-p", "unit=etm4", *registers, "-p", "frames=stream", "--to", "jsonl", str(path)]
