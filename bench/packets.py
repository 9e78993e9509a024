"""How fast packet traces are decoded, in bytes of trace a second, on one core: ``python -m bench.packets``.

Each trace is a piece of synthetic packets, generated with a fixed seed and repeated: the mix of packets is that of programs (mostly near
branches, small differences, small values), with about four bytes a packet. What the commands put out is added up before anything is timed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rich.table import Table

from bench.commands import MIB, Command, Measurement, run
from bench.inputs import PTTTOOL
from ptttool.cli.terminal.talk import console
from ptttool.decoders.riscv.encap.encoder import normal
from ptttool.decoders.riscv.encap.framing import Format
from tests.decoders.coresight.frames import frames
from tests.decoders.etmv2.encoder import Encoder

HERE = Path(__file__).parent
SIZE, QUICK, ROUNDS = 64 * MIB, MIB, 5
# Bytes of packets that are generated.
_PIECE = MIB // 4
# Runs a command with one core to run on.
_ONE_CORE = "import os, sys; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); os.execvp(sys.argv[1], sys.argv[1:])"
_ETMV2 = ("-p", "data_addr=yes", "-p", "data_value=yes", "-p", "contextid_bytes=4", "-p", "isa=arm")


@dataclass(frozen=True)
class Speed:
    """One line of the table. ``trace``: the input. ``wanted``: bytes a second, at least. ``output``: a Parquet file of elements, if any."""

    name: str
    work: str
    command: Command
    trace: Path
    wanted: float
    output: Path | None = None

    @property
    def size(self) -> int:
        """Bytes of trace."""
        return self.trace.stat().st_size

    def rate(self, measured: Measurement) -> float | None:
        """Bytes a second, of the median."""
        return None if measured.median is None else self.size / measured.median

    def problem(self, measured: Measurement) -> str | None:
        """Why the figures would be of wrong work; None where every byte of the trace is in what came out."""
        if measured.error is not None:
            return measured.error
        if self.output is None:
            found, wanted = measured.report["bytes"], sum(len(data) for _, data in _contents()) * (self.size // len(_coresight()))
        else:
            import polars as pl

            found, wanted = pl.scan_parquet(self.output).select(pl.col("size").sum()).collect().item(), self.size
        return None if found == wanted else f"{wanted} bytes expected, {found} found"


def speeds(folder: Path, size: int) -> Iterator[Speed]:
    """What is measured, on traces of about ``size`` bytes that are generated in ``folder``."""
    for name, work, protocol, parameters in (
        ("etrace", "E-Trace behind encapsulation to Parquet", "riscv-etrace", ()),
        ("etmv2", "ETMv2 to Parquet", "etmv2", _ETMV2),
    ):
        trace, output = _repeated(folder, name, _etrace() if name == "etrace" else _etmv2(), size), folder / f"{name}.parquet"
        words = (*PTTTOOL, "decode", "--protocol", protocol, *parameters, str(trace), "-o", str(output), "--force")
        yield Speed(name, work, Command(name, (sys.executable, "-c", _ONE_CORE, *words), trace.name), trace, 5e6, output)
    trace = _repeated(folder, "coresight", _coresight(), size)
    command = Command("deformat", (sys.executable, str(HERE / "deformat.py"), str(trace)), trace.name, reports=True)
    yield Speed("deformat", "CoreSight frames taken apart, in process", command, trace, 200e6)


def _repeated(folder: Path, name: str, piece: bytes, size: int) -> Path:
    path = folder / f"{name}.trace"
    with path.open("wb") as file:
        for _ in range(-(-size // len(piece))):
            file.write(piece)
    return path


@cache
def _etrace() -> bytes:
    """te_inst packets of the default parameters, each behind a header of one byte.

    Sign extension makes the fields after the address (notify, updiscon, irreport: all as the address's sign says) cost nothing.
    """
    chance = random.Random(1)
    data = bytearray()
    count = 0
    while len(data) < _PIECE:
        if count % 256 == 0:  # format 3, start: branch, privilege, address
            value, bits = 0b0011 | 1 << 4 | 3 << 5 | 0x4000_0000 << 7, 38
        else:
            near = chance.randrange(-64, 64) if chance.random() < 0.7 else chance.randrange(-(1 << 15), 1 << 15)
            room = chance.choice((0, 1, 3, 7, 7, 15, 31))
            branches = chance.randint(room // 2 + 1, room) if room else 0
            # Format 2 has an address alone, format 1 branches before it.
            value = 1 | branches << 2 | chance.getrandbits(branches) << 7 | near << 7 + room if room else 2 | near << 2
            bits = 8
            while not -(1 << bits - 1) <= value < 1 << bits - 1:
                bits += 8
        data += normal(Format(), value & (1 << bits) - 1, bits, flow=2)
        count += 1
    return bytes(data)


@cache
def _etmv2() -> bytes:
    """Branches, transfers with and without addresses, load misses and their data."""
    chance = random.Random(2)
    encoder = Encoder()
    target, address = 0x8000, 0x2000_0000
    while len(encoder.data) < _PIECE:
        what = chance.random()
        address = address + chance.choice((4, 8, -4, 64, 4096, 1 << 16)) & 0xFFFF_FFFF
        value = chance.choice((0, 1, 5, 200, 1000, 1 << 31, chance.getrandbits(32)))
        if what < 0.3:
            target = target + chance.choice((4, -16, 64, -4096, 1 << 20, -(1 << 20))) & 0xFFFF_FFFC
            encoder.branch(target)
        elif what < 0.85:
            encoder.transfer(value, address if chance.random() < 0.7 else None, goes_on=chance.random() < 0.3)
        elif what < 0.92:
            encoder.miss(chance.randint(1, 3), address)
        elif what < 0.99:
            encoder.miss_data(chance.randint(1, 3), value)
        else:
            encoder.context(value)
    return bytes(encoder.data)


def _contents() -> list[tuple[int, bytes]]:
    """What three sources have, in turn."""
    chance = random.Random(3)
    return [(chance.choice((0x10, 0x11, 0x12)), chance.randbytes(chance.randint(1, 60))) for _ in range(_PIECE // 32)]


@cache
def _coresight() -> bytes:
    return frames(_contents())


def measure(found: Sequence[Speed], rounds: int) -> dict[str, Measurement]:
    """Run everything once without being timed, look at what came out, and then in rounds."""
    measured = {speed.name: Measurement(speed.command) for speed in found}
    for speed in found:
        run(measured[speed.name], timed=False)
        measured[speed.name].error = speed.problem(measured[speed.name])
    for _ in range(rounds):
        for each in measured.values():
            run(each, timed=True)
    return measured


def as_json(found: Sequence[Speed], measured: dict[str, Measurement]) -> list[dict[str, object]]:
    """Rows for the document of results."""
    rows: list[dict[str, object]] = []
    for speed in found:
        rate = speed.rate(measured[speed.name])
        met = None if rate is None else rate >= speed.wanted
        rows.append({
            "name": speed.name, "work": speed.work, "bytes": speed.size, "bytes_per_second": rate, "wanted": speed.wanted, "met": met,
            **measured[speed.name].as_json(),
        })  # fmt: skip
    return rows


def table(found: Sequence[Speed], measured: dict[str, Measurement]) -> Table:
    """The rows for people."""
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("Work", "MB/s", "Wanted", "Met", "Peak MiB", ""):
        shown.add_column(name, justify="right" if name in ("MB/s", "Wanted", "Peak MiB") else "left")
    for speed in found:
        each = measured[speed.name]
        rate = speed.rate(each)
        met = rate is not None and rate >= speed.wanted
        shown.add_row(
            speed.work, "" if rate is None else f"{rate / 1e6:.1f}", f"≥ {speed.wanted / 1e6:g}", "yes" if met else "no",
            f"{each.peak / MIB:.0f}" if each.peak else "", each.error or "", style=None if met else "red",
        )  # fmt: skip
    return shown


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure. The exit code is 1 where something failed or put out something else than it was given."""
    parser = argparse.ArgumentParser(prog="python -m bench.packets", description="Measure how fast packet traces are decoded.")
    parser.add_argument("-o", "--output", type=Path, help="a file for the rows as JSON")
    parser.add_argument("--data", type=Path, default=HERE / "data", help="folder for traces, kept (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often everything is run (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="small traces and one round: for tests, the figures mean nothing")
    options = parser.parse_args(arguments)
    options.data.mkdir(parents=True, exist_ok=True)
    found = tuple(speeds(options.data, QUICK if options.quick else SIZE))
    measured = measure(found, 1 if options.quick else options.rounds)
    if options.output is not None:
        options.output.write_text(json.dumps(as_json(found, measured), indent=2) + "\n")
    console().print(table(found, measured))
    return 1 if any(each.error for each in measured.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
