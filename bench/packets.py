"""Measure how fast packet traces are decoded, in bytes of trace per second, using one core: ``python -m bench.packets``.

Each trace repeats a piece of synthetic packets, generated with a fixed seed. The mix of packets resembles that of real programs: mostly
near branches, small differences, small values, about four bytes for each packet. The output is checked before anything is timed.
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
from ptttool.decoders.riscv.encap.framing import EncapSettings
from tests.decoders.coresight.frames import frames
from tests.decoders.etmv2.encoder import Encoder
from tests.decoders.riscv.encap_encoder import normal

HERE = Path(__file__).parent
SIZE, QUICK, ROUNDS = 64 * MIB, MIB, 5
# Bytes of packets that are generated and then repeated.
_PIECE = MIB // 4
# A program that runs a command on one core.
_ONE_CORE = "import os, sys; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); os.execvp(sys.argv[1], sys.argv[1:])"
_ETMV2 = ("-p", "data_addr=yes", "-p", "data_value=yes", "-p", "contextid_bytes=4", "-p", "isa=arm")


@dataclass(frozen=True)
class Speed:
    """One line of the table.

    Parameters
    ----------
    name, work : str
        Its name, and what is measured, for people.
    command : Command
        The command.
    trace : Path
        The input.
    wanted : float
        Smallest rate, in bytes per second.
    output : Path or None
        The Parquet file that the command writes.
    """

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
        """Return the rate in bytes per second, from the median."""
        return None if measured.median is None else self.size / measured.median

    def problem(self, measured: Measurement) -> str | None:
        """Return why the output is wrong; None if the output covers every byte of the trace."""
        if measured.error is not None:
            return measured.error
        if self.output is None:
            found, wanted = measured.report["bytes"], sum(len(data) for _, data in _contents()) * (self.size // len(_coresight()))
        else:
            import polars as pl

            found, wanted = pl.scan_parquet(self.output).select(pl.col("size").sum()).collect().item(), self.size
        return None if found == wanted else f"{wanted} bytes expected, {found} found"


def speeds(folder: Path, size: int) -> Iterator[Speed]:
    """Generate traces of about ``size`` bytes in ``folder``, and yield what is measured."""
    for name, work, protocol, parameters in (
        ("etrace", "E-Trace behind encapsulation to Parquet", "riscv-etrace", ()),
        ("etmv2", "ETMv2 to Parquet", "etmv2", _ETMV2),
    ):
        trace, output = _repeated(folder, name, _etrace() if name == "etrace" else _etmv2(), size), folder / f"{name}.parquet"
        words = (*PTTTOOL, "decode", "--protocol", protocol, *parameters, str(trace), "-o", str(output), "--force")
        yield Speed(name, work, Command(name, (sys.executable, "-c", _ONE_CORE, *words), trace.name), trace, 5e6, output)
    trace = _repeated(folder, "coresight", _coresight(), size)
    command = Command("deformat", (sys.executable, str(HERE / "deformat.py"), str(trace)), trace.name, reports=True)
    yield Speed("deformat", "CoreSight deformatter, in process", command, trace, 200e6)


def _repeated(folder: Path, name: str, piece: bytes, size: int) -> Path:
    path = folder / f"{name}.trace"
    with path.open("wb") as file:
        for _ in range(-(-size // len(piece))):
            file.write(piece)
    return path


@cache
def _etrace() -> bytes:
    """Generate te_inst packets with default parameters, each after a header of one byte.

    The fields after the address (notify, updiscon, irreport) equal the address's sign, so compression by sign extension removes them.
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
            # Format 2 has only an address; format 1 has branches before it.
            value = 1 | branches << 2 | chance.getrandbits(branches) << 7 | near << 7 + room if room else 2 | near << 2
            bits = 8
            while not -(1 << bits - 1) <= value < 1 << bits - 1:
                bits += 8
        data += normal(EncapSettings(), value & (1 << bits) - 1, bits, flow=2)
        count += 1
    return bytes(data)


@cache
def _etmv2() -> bytes:
    """Generate branches, transfers with and without addresses, load misses and their data."""
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
    """Generate data of three sources: trace IDs and bytes, in the order of the frames."""
    chance = random.Random(3)
    return [(chance.choice((0x10, 0x11, 0x12)), chance.randbytes(chance.randint(1, 60))) for _ in range(_PIECE // 32)]


@cache
def _coresight() -> bytes:
    """Generate CoreSight frames with the data of three sources."""
    return frames(_contents())


def measure(found: Sequence[Speed], rounds: int) -> dict[str, Measurement]:
    """Run every command once untimed and check its output, then in timed rounds."""
    measured = {speed.name: Measurement(speed.command) for speed in found}
    for speed in found:
        run(measured[speed.name], timed=False)
        measured[speed.name].error = speed.problem(measured[speed.name])
    for _ in range(rounds):
        for each in measured.values():
            run(each, timed=True)
    return measured


def as_json(found: Sequence[Speed], measured: dict[str, Measurement]) -> list[dict[str, object]]:
    """Return the rows for the JSON document."""
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
    """Make the table for people."""
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
    """Measure. The exit code is 1 if a command failed or its output was wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench.packets", description="Measure how fast packet traces are decoded.")
    parser.add_argument("-o", "--output", type=Path, help="a file for the rows as JSON")
    parser.add_argument("--data", type=Path, default=HERE / "data", help="folder for traces, kept (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="number of timed runs of each command (default: %(default)s)")
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
