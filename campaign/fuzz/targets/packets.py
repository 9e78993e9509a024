"""Packet protocols: streams with their parameters, parameter files, snapshots, programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from campaign.fuzz import archive
from campaign.fuzz.targets.contract import FIXTURES, Target, add, saved

STREAM_WORDS = (b"=0\n", b"=1\n", b"=64\n", b"\x00\x00\x00\x00\x00\x80", b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f")
# Between the parameters, one a line, and the stream.
DIVIDER = b"\n--- stream\n"
# With parameters for seeds; the real streams of riscv-etrace have their own.
PROTOCOLS = {
    "coresight-16": b"frames=stream",
    "etmv2": b"data_addr=yes\ndata_value=yes\ncontextid_bytes=4",
    "riscv-encap": b"srcid_bits=6",
    "riscv-etrace": b"",
}


def split(data: bytes) -> tuple[bytes, bytes]:
    """Return the text of the parameters and the stream of an input."""
    text, divider, stream = data.partition(DIVIDER)
    return (text, stream) if divider else (b"", data)


def stream_of(protocol: str) -> Callable[[bytes, Path], None]:
    """Make the run of a protocol."""

    def run(data: bytes, place: Path) -> None:
        from ptttool.decoders.parameters import read_file
        from ptttool.decoders.stack import stack_of

        text, stream = split(data)
        decoder = stack_of(protocol, read_file(saved(text, place, "params"))).decoder()
        half = len(stream) // 2
        decoder.feed(stream[:half], offset=0)
        decoder.feed(stream[half:], offset=half)
        decoder.finish()

    return run


def command_of(protocol: str) -> Callable[[bytes, Path], list[str]]:
    """Make the command of a protocol."""

    def command(data: bytes, place: Path) -> list[str]:
        text, stream = split(data)
        files = [str(saved(stream, place)), "--params", str(saved(text, place, "params"))]
        return ["decode", *files, "--input", "raw", "--protocol", protocol, "--to", "csv", "--limit", "50"]

    return command


def etrace_seeds() -> Iterator[bytes]:
    """Take the beginnings of real streams."""
    for path in sorted((FIXTURES / "etrace").glob("*.bin")):
        yield path.with_suffix(".params").read_bytes() + DIVIDER + path.read_bytes()[:600]


def simple_seeds(protocol: str) -> Callable[[], Iterator[bytes]]:
    """Make streams of bytes that mean something to most protocols."""

    def seeds() -> Iterator[bytes]:
        yield PROTOCOLS[protocol] + DIVIDER + bytes(range(64))
        yield PROTOCOLS[protocol] + DIVIDER + b"\x00\x00\x00\x00\x00\x80\x08" * 8
        yield PROTOCOLS[protocol] + DIVIDER + b"\xff\xff\xff\x7f" + bytes(range(1, 17)) * 4

    return seeds


def flow_seeds() -> Iterator[bytes]:
    """Take pieces of a real stream."""
    whole = (FIXTURES / "riscv" / "program.bin").read_bytes()
    yield whole[:800]
    yield whole[-600:]


def run_flow(data: bytes, _place: Path) -> None:
    """Follow a stream through a program."""
    from ptttool.decoders.parameters import Given
    from ptttool.decoders.stack import stack_of

    given = {"elf": Given(str(FIXTURES / "riscv" / "program.elf"), "-p"), "iaddress_width_p": Given("64", "-p")}
    decoder = stack_of("riscv-flow", given).decoder()
    decoder.feed(data, offset=0)
    decoder.finish()


def command_flow(data: bytes, place: Path) -> list[str]:
    """Follow a stream through a program."""
    program = ["--elf", str(FIXTURES / "riscv" / "program.elf"), "-p", "iaddress_width_p=64"]
    return ["flow", *program, "--input", "raw", "--to", "jsonl", str(saved(data, place))]


def opencsd_seeds() -> Iterator[bytes]:
    """Make a stream of ETMv4."""
    from tests.decoders.opencsd import etm4

    text = "".join(f"{name}={value}\n" for name, value in {**etm4.PARAMETERS, "framing": "none"}.items())
    yield text.encode().rstrip() + DIVIDER + etm4.SYNC + etm4.INFO + etm4.ON + etm4.address(0x1000) + 3 * etm4.EXECUTED


def parameter_seeds() -> Iterator[bytes]:
    """Take real parameter files."""
    for path in sorted((FIXTURES / "etrace").glob("*.params")):
        yield path.read_bytes()
    yield b'# a remark\n[unit]\nsrcid_bits = "6"\nframing=none\n'


def run_parameters(data: bytes, place: Path) -> None:
    """Read a parameter file for every protocol."""
    from ptttool.decoders.contract import PROTOCOLS as KNOWN
    from ptttool.decoders.parameters import read_file
    from ptttool.decoders.stack import stack_of
    from ptttool.errors import PtttoolError

    given = read_file(saved(data, place))
    for name in KNOWN.names():
        # Records of one size have no stream of bytes, and OpenCSD is a process a decoder.
        if name not in ("hisi-ptt", "opencsd"):
            try:
                stack_of(name, given).decoder()
            except PtttoolError:
                continue


def command_parameters(data: bytes, place: Path) -> list[str]:
    """Decode an empty stream with a parameter file."""
    files = [str(saved(b"\x00" * 64, place, "stream")), "--params", str(saved(data, place))]
    return ["decode", *files, "--input", "raw", "--protocol", "riscv-etrace", "--to", "csv", "--limit", "5"]


def snapshot_seeds() -> Iterator[bytes]:
    """Make a snapshot."""
    yield archive.pack(
        {
            "snapshot.ini": b"[snapshot]\nversion=1.0\n[device_list]\ndevice0=cpu.ini\ndevice1=unit.ini\n[trace]\nmetadata=trace.ini\n",
            "cpu.ini": b"[device]\nname=cpu_0\nclass=core\ntype=Cortex-A53\n[regs]\nPC(size:64)=0x1000\n[dump1]\nfile=program.bin\n"
            b"address=0x1000\nlength=8\noffset=0\nspace=N\n",
            "unit.ini": b"[device]\nname=ETM_0\nclass=trace_source\ntype=ETM4.2\n[regs]\nTRCCONFIGR(0x004)=0x801\nTRCTRACEIDR(0x010)="
            b"0x10\n",
            "trace.ini": b"[trace_buffers]\nbuffers=buffer0\n[buffer0]\nname=ETB_0\nfile=trace.bin\nformat=coresight\n[source_buffers]\n"
            b"ETM_0=ETB_0\n[core_trace_sources]\ncpu_0=ETM_0\n",
            "program.bin": bytes(16),
        }
    )


def run_snapshot(data: bytes, place: Path) -> None:
    """Read a snapshot."""
    from ptttool.decoders.opencsd.snapshot import read_snapshot

    archive.write(data, place)
    _ = read_snapshot(place).framed


def command_snapshot(data: bytes, place: Path) -> list[str]:
    """Decode a little with a snapshot."""
    archive.write(data, place)
    trace = saved(bytes(64), place, "stream")
    return ["decode", str(trace), "--input", "raw", "--protocol", "opencsd", "-p", f"snapshot={place}", "--to", "csv", "--limit", "5"]


def program_seeds() -> Iterator[bytes]:
    """Take small programs."""
    for name in ("stripped", "dwarf4", "mixed", "pie"):
        yield (FIXTURES / "riscv" / f"{name}.elf").read_bytes()


def run_program(data: bytes, place: Path) -> None:
    """Look some addresses of a program up."""
    from ptttool.decoders.riscv.elf import Image, Program

    program = Program([Image(saved(data, place))])
    for address in (0, 0x1000, 0x10074, 0x80000000, 0x7FFFFFFFFFFFFFFF, (1 << 64) - 4):
        program.read(address, 4)
        program.symbol(address)
        program.line(address)


def command_program(data: bytes, place: Path) -> list[str]:
    """Follow a stream through a program."""
    stream = saved(b"\x00" * 32, place, "stream")
    return ["flow", str(stream), "--elf", str(saved(data, place)), "--to", "csv", "--limit", "5"]


for _name in PROTOCOLS:
    _seeds = etrace_seeds if _name == "riscv-etrace" else simple_seeds(_name)
    add(Target(f"packets-{_name}", _seeds, stream_of(_name), command_of(_name), STREAM_WORDS, 4096))
add(Target("packets-opencsd", opencsd_seeds, stream_of("opencsd"), command_of("opencsd"), STREAM_WORDS, 2048))
add(Target("packets-riscv-flow", flow_seeds, run_flow, command_flow, STREAM_WORDS, 4096))
add(
    Target(
        "parameters",
        parameter_seeds,
        run_parameters,
        command_parameters,
        (b"framing=", b"srcid_bits=", b"\n[x]\n", b"elf=", b"memory="),
        4096,
    )
)
add(
    Target(
        "snapshot",
        snapshot_seeds,
        run_snapshot,
        command_snapshot,
        (b"\n=== cpu.ini\n", b"\n[dump2]\n", b"0x", b"file=", b"\x00", b"/"),
        8192,
    )
)
add(Target("program", program_seeds, run_program, command_program, (b"\x7fELF", b".symtab", b".debug_line", b"\x00\x08\x00\x00"), 16384))
