"""``ptttool decode --protocol opencsd`` on perf.data: the recording itself describes the trace units."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from ptttool.cli.main import main
from ptttool.decoders.opencsd.recorded_sources import sources_of
from ptttool.perfdata.model import Contents, Mode
from tests.decoders.coresight.frames import frames
from tests.decoders.opencsd import etm4
from tests.support.recordings import auxtrace_info, build_perfdata, record, trailer

ETMV4, ETMV3 = 0x4040_4040_4040_4040, 0x3030_3030_3030_3030
TRACE = etm4.SYNC + etm4.INFO + etm4.ON + etm4.address(0x1000) + etm4.EXECUTED
REGISTERS = {name: int(value, 0) for name, value in etm4.REGISTERS.items()}


def unit(cpu: int, trace_id: int) -> list[int]:
    """A trace unit in perf's metadata."""
    values = [REGISTERS["TRCCONFIGR"], trace_id, REGISTERS["TRCIDR0"], REGISTERS["TRCIDR1"], REGISTERS["TRCIDR2"], 0, 0xCC]
    return [ETMV4, cpu, len(values), *values]


def recording(chunks: list[tuple[int, int, bytes]], units: list[list[int]], version: int = 1, **more: Any) -> bytes:
    words = [version, 11 << 32 | len(units), 0, *(word for each in units for word in each)]
    return build_perfdata(chunks, name="cs_etm/@tmc_etr0/", auxtrace_type=3, info=auxtrace_info(3, *words), **more)


def hardware_id(cpu: int, value: int) -> bytes:
    """PERF_RECORD_AUX_OUTPUT_HW_ID."""
    return record(21, struct.pack("<Q", value) + trailer(1_500_000_000, cpu=cpu, id=1 + cpu))


def decoded(path: Path, capsys: pytest.CaptureFixture[str], *more: str) -> list[dict[str, Any]]:
    assert main(["decode", "--protocol", "opencsd", *more, "--json", str(path)]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "perf.data"


def test_registers_and_trace_ids_of_the_recording(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image = tmp_path / "program.bin"
    image.write_bytes(etm4.program(etm4.NOP, etm4.RET))
    path.write_bytes(recording([(0, 0, frames([(0x10, TRACE), (0x12, TRACE)]))], [unit(0, 0x10), unit(1, 0x12)]))
    found = decoded(path, capsys, "-p", f"memory={image}@0x1000")
    ranges = [(each["channel"], each["st_addr"], each["en_addr"]) for each in found if each["kind"] == "instr_range"]
    assert ranges == [(0x10, "0x1000", "0x1008"), (0x12, "0x1000", "0x1008")]


def test_trace_ids_that_the_kernel_assigned(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Version 2: registers without an ID, IDs in records of their own, of each event of the CPU."""
    extra = hardware_id(0, 0x10) + hardware_id(1, 0x0000_0012_3400_0012) + hardware_id(0, 0x10)
    path.write_bytes(
        recording([(0, 0, frames([(0x10, TRACE), (0x12, TRACE)])), (1, 0, b"")], [unit(0, 0x80), unit(1, 0x80)], 2, extra=extra)
    )
    found = decoded(path, capsys)
    assert [each["channel"] for each in found if each["kind"] == "addr_nacc"] == [0x10, 0x12]
    assert main(["info", "--json", str(path)]) == 0
    units = json.loads(capsys.readouterr().out)["trace_units"]["trace_units"]
    assert [each["trace_id"] for each in units] == [0x10, 0x12]


def test_no_trace_id_at_all(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path.write_bytes(recording([(0, 0, frames([(0x10, TRACE)]))], [unit(0, 0x80)], 2))
    found = decoded(path, capsys)
    assert [(each["kind"], each["size"]) for each in found if each.get("channel") == 0x10] == [("custom", len(TRACE))]
    assert main(["info", "--json", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["trace_units"]["trace_units"][0]["trace_id"] is None


def test_the_same_trace_id_in_two_sinks(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Since version 0.1 of the hardware IDs a trace ID is one of a sink's."""
    ids = [hardware_id(cpu, 1 << 56 | sink << 8 | 0x10) for cpu, sink in ((0, 1), (1, 2), (2, 2))]
    half = unit(0, 0x80)
    half[3] = 0  # TRCCONFIGR: no context IDs
    path.write_bytes(recording([(2, 0, frames([(0x10, TRACE)]))], [half, unit(1, 0x80), unit(2, 0x80)], 2, extra=b"".join(ids)))
    contents = Contents(Mode.FILE, auxtrace_type=3, auxtrace_priv=(2, 11 << 32 | 2, 0, *half, *unit(1, 0x80)))
    assert [source.sink for source in sources_of(contents)[0]] == [None, None]
    assert main(["info", "--json", str(path)]) == 0
    assert [each["trace_id"] for each in json.loads(capsys.readouterr().out)["trace_units"]["trace_units"]] == [0x10] * 3
    assert [each["channel"] for each in decoded(path, capsys) if each["kind"] == "addr_nacc"] == [0x10]


@pytest.mark.parametrize("value", [1 << 60 | 0x33, 0, 0x70])
def test_hardware_ids_that_are_none(path: Path, capsys: pytest.CaptureFixture[str], value: int) -> None:
    path.write_bytes(recording([(0, 0, b"")], [unit(0, 0x80)], 2, extra=hardware_id(0, value)))
    assert main(["info", "--json", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["trace_units"]["trace_units"][0]["trace_id"] is None


def test_a_description_that_is_not_whole(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path.write_bytes(recording([(0, 0, frames([(0x10, TRACE)]))], [unit(0, 0x10), [1, 2, 3]]))
    assert main(["decode", "--protocol", "opencsd", "--json", str(path)]) == 0
    assert "incomplete: word" in capsys.readouterr().err


def test_no_other_cpus_registers(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An AUX stream without frames is of its CPU's trace unit, or of none that is known."""
    events = [(3, 0, len(TRACE), 0x100, 2_000_000_003)]
    path.write_bytes(recording([(3, 0, TRACE)], [unit(0, 0x10)], aux_events=events))
    assert main(["decode", "--protocol", "opencsd", "-p", "framing=none", str(path)]) == 2
    assert "source=" in capsys.readouterr().err


def test_trace_of_every_cpu_without_frames(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a TRBE writes it: a CPU's AUX stream is of its own trace unit."""
    flags = [(cpu, 0, len(TRACE), 0x100, 2_000_000_000 + cpu) for cpu in (0, 1)]
    path.write_bytes(recording([(0, 0, TRACE), (1, 0, TRACE)], [unit(0, 0x10), unit(1, 0x12)], aux_events=flags))
    found = decoded(path, capsys, "-p", "framing=none")
    assert [(each["cpu"], each["channel"]) for each in found if each["kind"] == "trace_on"] == [(0, 0x10), (1, 0x12)]


@pytest.mark.parametrize(("etmidr", "kind"), [(0x411C_F300, "ptm"), (0x410C_F250, "etm3")])
def test_older_trace_units(path: Path, capsys: pytest.CaptureFixture[str], etmidr: int, kind: str) -> None:
    """A PTM is told from an ETMv3 by its ID register."""
    words = (0, 11 << 32 | 1, 0, ETMV3, 0, 0x1000, 0x10, 0, etmidr)
    contents = Contents(Mode.FILE, auxtrace_type=3, auxtrace_priv=words)
    assert [(source.unit, source.trace_id, source.cpu) for source in sources_of(contents)[0]] == [(kind, 0x10, 0)]
    assert sources_of(Contents(Mode.FILE, auxtrace_type=6)) == ((), None)
    path.write_bytes(recording([(0, 0, frames([(0x10, bytes(5) + b"\x80")]))], [[*words[3:5], 4, *words[5:]]]))
    assert [each["kind"] for each in decoded(path, capsys) if each.get("channel") == 0x10] == ["no_sync", "eo_trace"]


def test_damaged_record_of_a_hardware_id(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path.write_bytes(recording([(0, 0, frames([(0x10, TRACE)]))], [unit(0, 0x10)], extra=record(21)))
    assert main(["decode", "--protocol", "opencsd", "--json", str(path)]) == 6
    assert "AUX_OUTPUT_HW_ID record of 8 bytes is too short" in capsys.readouterr().out
