"""``ptttool decode`` of packet traces: files of every kind, formats of every kind, parameters, damage."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ptttool.cli.main import main
from ptttool.decoders.riscv.encap.framing import EncapSettings
from tests import ROOT
from tests.decoders.coresight.frames import FSYNC, frames
from tests.decoders.riscv.encap_encoder import normal, synchronisation
from tests.support.recordings import auxtrace_info, build_perfdata
from tests.toys import toy_protocol as toy

FORM = EncapSettings(srcid_bits=6, type_bits=2)
# The first example of the E-Trace specification's chapter 13: source 1, type 2.
EXAMPLE = bytes.fromhex("06813204000002")
PARAMETERS = ["--protocol", "riscv-encap", "-p", "srcid_bits=6", "-p", "type_bits=2"]


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """Three packets of two sources, and null packets."""
    path = tmp_path / "trace.bin"
    path.write_bytes(EXAMPLE + normal(FORM, 0x155, 9, channel=2) + bytes(3) + EXAMPLE)
    return path


def printed(capsys: pytest.CaptureFixture[str], arguments: list[str], code: int = 0) -> str:
    assert main(["decode", *arguments]) == code
    return capsys.readouterr().out


def objects(text: str) -> list[dict[str, Any]]:
    """JSON lines without what is absent."""
    found = (json.loads(line) for line in text.splitlines())
    return [{key: value for key, value in each.items() if value is not None} for each in found]


def test_table(raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, [*PARAMETERS, str(raw)]).splitlines()
    assert lines[0].split() == ["index", "size", "channel", "timestamp", "kind", "details"]
    assert lines[1].split() == ["0", "7", "1", "custom", "packet=normal", "flow=0", "type=2", "payload=3204000002", "raw=06813204000002"]
    assert lines[3].split() == ["11", "3", "custom", "packet=null", "idle=3", "alignment=0"]
    assert len(lines) == 5


def test_json_lines_leave_out_what_is_absent(raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = objects(printed(capsys, [*PARAMETERS, "--json", str(raw)]))
    assert found[0] == {
        "index": 0, "size": 7, "channel": 1, "protocol": "riscv-encap", "kind": "custom", "packet": "normal", "flow": 0, "type": 2,
        "payload": "3204000002", "raw": "06813204000002",
    }  # fmt: skip
    assert found[2] == {"index": 11, "size": 3, "protocol": "riscv-encap", "kind": "custom", "packet": "null", "idle": 3, "alignment": 0}
    assert objects(printed(capsys, [*PARAMETERS, "--to", "jsonl", "--no-raw", str(raw)]))[0].keys() == found[0].keys() - {"raw"}


def test_files_of_each_format_say_the_same(raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for suffix in ("csv", "parquet", "jsonl", "txt"):
        assert main(["decode", *PARAMETERS, "-o", str(tmp_path / f"out.{suffix}"), str(raw)]) == 0
        assert "4 elements written" in capsys.readouterr().err
    parquet = pl.read_parquet(tmp_path / "out.parquet")
    assert parquet["index"].to_list() == [0, 7, 11, 14]
    assert parquet["channel"].to_list() == [1, 2, None, 1]
    assert parquet["raw"][0] == EXAMPLE
    assert pl.read_parquet_metadata(tmp_path / "out.parquet")["ptttool.srcid_bits"] == "6"
    csv = pl.read_csv(tmp_path / "out.csv", infer_schema=False)
    assert csv.columns == parquet.columns
    assert csv["payload"].to_list()[0] == "3204000002"
    assert (tmp_path / "out.txt").read_text() == printed(capsys, [*PARAMETERS, str(raw)])


def test_limit_and_channel(raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [each["index"] for each in objects(printed(capsys, [*PARAMETERS, "--json", "--limit", "2", str(raw)]))] == [0, 7]
    assert [each["index"] for each in objects(printed(capsys, [*PARAMETERS, "--json", "--channel", "0x1", str(raw)]))] == [0, 14]
    both = ["--channel", "1", "--channel", "2", "--limit", "2"]
    assert [each["index"] for each in objects(printed(capsys, [*PARAMETERS, "--json", *both, str(raw)]))] == [0, 7]
    assert printed(capsys, [*PARAMETERS, "--json", "--channel", "9", str(raw)]) == ""
    assert main(["decode", *PARAMETERS, "--channel", "x", str(raw)]) == 2


def test_several_files_are_named(raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.bin"
    other.write_bytes(EXAMPLE)
    found = objects(printed(capsys, [*PARAMETERS, "--json", str(other), str(raw)]))
    assert [(each["file"], each["index"]) for each in found] == [(str(other), 0), *((str(raw), index) for index in (0, 7, 11, 14))]
    limited = objects(printed(capsys, [*PARAMETERS, "--json", "--limit", "2", str(other), str(raw)]))
    assert limited == found[:2]


def test_standard_input(raw: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ptttool", "decode", *PARAMETERS, "--json", "-"], input=raw.read_bytes(), capture_output=True, check=True
    )
    assert [each["index"] for each in objects(done.stdout.decode())] == [0, 7, 11, 14]


def test_parameters_from_a_file(raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "encoder.scf"
    path.write_text("# a trace unit\n[encap]\nsrcid_bits = 0x6\ntype_bits=4 ; wrong\n")
    found = printed(capsys, ["--protocol", "riscv-encap", "--params", str(path), "-p", "type_bits=2", "--json", str(raw)])
    assert objects(found)[0]["payload"] == "3204000002"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-p", "srcid_bits=17"], "srcid_bits=17"),
        (["-p", "srcid_bit=6"], "srcid_bits"),
        (["-p", "srcid_bits"], "srcid_bits"),
        (["-p", "start=middle"], "packet or anywhere"),
        (["--to", "xml"], "xml"),
        (["--json", "--to", "csv"], "exclude"),
        (["--input", "elf"], "elf"),
        (["-o", "x.doc"], ".doc"),
    ],
)
def test_wrong_usage(raw: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    assert main(["decode", "--protocol", "riscv-encap", *arguments, str(raw)]) == 2
    assert said in capsys.readouterr().err


def test_protocols_that_are_none_of_these(raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "--protocol", "riscv-encup", str(raw)]) == 2
    assert "did you mean riscv-encap" in capsys.readouterr().err
    assert main(["decode", str(raw)]) == 6
    assert "--protocol" in capsys.readouterr().err
    assert main(["decode", "--input", "raw", str(raw)]) == 2
    assert "--protocol" in capsys.readouterr().err


def test_strict_ends_at_its_offset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trace.bin"
    path.write_bytes(b"\x01\x02" * 5 + b"\x81\x00" + synchronisation(EncapSettings()) + b"\x01\x03")
    assert objects(printed(capsys, ["--protocol", "riscv-encap", "--json", str(path)]))[-1]["flags"] == "resynced"
    assert main(["decode", "--protocol", "riscv-encap", "--strict", "--json", str(path)]) == 6
    found = objects(capsys.readouterr().out)
    assert [each["index"] for each in found[:-1]] == [0, 2, 4, 6, 8]
    assert found[-1]["error"]["code"] == "strict"
    assert found[-1]["error"]["offset"] == 10


def coresight(**more: Any) -> bytes:
    """A recording with CoreSight trace; what it has of the trace units is another test's."""
    return build_perfdata(name="cs_etm/@tmc_etr0/", auxtrace_type=3, info=auxtrace_info(3, 0, 11 << 32 | 1, 0), **more)


def test_perf_data_by_its_type_of_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "perf.data"
    first, second = frames([(0x10, b"first")]), frames([(0x11, b"second")])
    path.write_bytes(coresight(chunks=[(0, 0, first), (1, 0, second), (0, 16, first)]))
    found = objects(printed(capsys, ["--json", str(path)]))
    data = [each for each in found if each.get("packet") == "data"]
    assert [(each["cpu"], each["index"], each["channel"], bytes.fromhex(each["payload"])) for each in data] == [
        (0, 0, 0x10, b"first"), (1, 0, 0x11, b"second"), (0, 16, 0x10, b"first"),
    ]  # fmt: skip
    assert printed(capsys, [str(path)]).splitlines()[0].split()[0] == "cpu"


def test_perf_data_in_several_processes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "perf.data"
    data = b"".join(frames([(0x10 + number, bytes([number]) * 7)]) for number in range(64))
    path.write_bytes(coresight(chunks=[(cpu, part * len(data), data) for part in range(20) for cpu in range(3)]))
    alone = printed(capsys, ["--to", "csv", "--jobs", "1", str(path)])
    assert len(alone.splitlines()) > 20 * 3 * 64
    assert printed(capsys, ["--to", "csv", "--jobs", "2", str(path)]) == alone


def test_perf_data_on_standard_input_taken_for_raw_trace(tmp_path: Path) -> None:
    data = coresight(chunks=[(0, 0, frames([(0x10, b"first")]))])
    command = [sys.executable, "-m", "ptttool", "decode", "--protocol", "coresight-16", "--json", "-"]
    refused = subprocess.run(command, input=data, capture_output=True, timeout=60, check=False)
    assert refused.returncode == 6
    error = json.loads(refused.stdout)["error"]
    assert (error["code"], error["offset"]) == ("not-raw", 0)
    mended = subprocess.run([*command, *error["hint"].split()], input=data, capture_output=True, timeout=60, check=True)
    assert b'"payload":"6669727374"' in mended.stdout.replace(b" ", b"")


def test_perf_data_of_something_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(coresight(chunks=[(0, 0, bytes(64))]))
    assert main(["decode", "--protocol", "riscv-encap", str(path)]) == 6
    assert "CoreSight ETM, not of riscv-encap" in capsys.readouterr().err
    path.write_bytes(build_perfdata([(0, 0, bytes(64))], auxtrace_type=4))
    assert main(["decode", str(path)]) == 6
    assert "Arm SPE" in capsys.readouterr().err
    path.write_bytes(build_perfdata([], info=b"", name="cycles", pmu_type=4))
    assert main(["decode", "--protocol", "riscv-encap", str(path)]) == 6
    assert "no AUX trace" in capsys.readouterr().err


def test_a_type_of_trace_that_nobody_knows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(build_perfdata([(0, 0, EXAMPLE)], auxtrace_type=99, name="rvtrace/event=1/"))
    assert objects(printed(capsys, [*PARAMETERS, "--json", str(path)]))[0]["payload"] == "3204000002"
    assert main(["decode", "--json", str(path)]) == 6
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "other-pmu"


@pytest.mark.parametrize(
    ("flags", "broken"), [(0, []), (1, [32]), (4, [32]), (2, []), (8, [])], ids=["none", "truncated", "partial", "overwrite", "collision"]
)
def test_flags_of_aux_events(tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: int, broken: list[int]) -> None:
    """The kernel's own marks of lost trace: no ID is known behind them."""
    path = tmp_path / "perf.data"
    payload = frames([(0x10, bytes(29))]) + bytes(32)
    path.write_bytes(coresight(chunks=[(0, 0, payload)], aux_events=[(0, 0, 32, flags, 2_000_000_000), (0, 32, 32, 0, 3_000_000_000)]))
    found = objects(printed(capsys, ["--json", str(path)]))
    assert [each["index"] for each in found if each.get("reason") == "discontinuity"] == broken
    assert sum(each["size"] for each in found) == len(payload)


def test_a_gap_between_payloads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "perf.data"
    piece = frames([(0x10, bytes(14))])
    path.write_bytes(coresight(chunks=[(0, 0, piece), (0, 4096, piece), (0, 4112, piece)]))
    found = objects(printed(capsys, ["--json", str(path)]))
    assert [each["index"] for each in found if each.get("reason") == "discontinuity"] == [4096]


def test_trace_without_frames(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(coresight(chunks=[(0, 0, bytes(64))], aux_events=[(0, 0, 64, 0x100, 2_000_000_000)]))
    assert main(["decode", str(path)]) == 6
    assert "TRBE" in capsys.readouterr().err


def test_damaged_perf_data_gives_what_there_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "perf.data"
    content = coresight(chunks=[(0, 0, 64 * frames([(0x10, bytes(14))]))])
    end = content.index(64 * frames([(0x10, bytes(14))])) + 512
    path.write_bytes(content[:end])
    assert main(["decode", "--json", str(path)]) == 6
    found = objects(capsys.readouterr().out)
    assert sum(each["size"] for each in found[:-1]) == 512
    assert found[-1]["error"]["code"] == "truncated"


def test_perf_data_from_standard_input(tmp_path: Path) -> None:
    content = coresight(chunks=[(0, 0, frames([(0x10, b"piped")]))])
    done = subprocess.run(
        [sys.executable, "-m", "ptttool", "decode", "--input", "perf", "--json", "-"], input=content, capture_output=True, check=True
    )
    assert objects(done.stdout.decode())[0]["payload"] == b"piped".hex()
    refused = subprocess.run(
        [sys.executable, "-m", "ptttool", "decode", "--protocol", "coresight-16", "-"], input=content, capture_output=True, check=False
    )
    assert refused.returncode == 6
    assert b"perf.data" in refused.stderr


def test_a_big_stream_is_the_same_in_pieces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """More than is fed at a time, cut inside packets."""
    path = tmp_path / "trace.bin"
    packet = normal(EncapSettings(), 0x123456, 24)
    path.write_bytes(b"\x01\xff" + packet * (300_000 // len(packet)))
    target = tmp_path / "out.parquet"
    assert main(["decode", "--protocol", "riscv-encap", "-o", str(target), str(path)]) == 0
    capsys.readouterr()
    found = pl.read_parquet(target)
    assert found["index"].to_list() == [0, *range(2, 2 + len(packet) * (found.height - 1), len(packet))]
    assert found["raw"][1:].unique().to_list() == [packet]


def test_a_protocol_of_another_package(tmp_path: Path) -> None:
    """One file, and its name among the entry points: it is listed and decodes."""
    (tmp_path / "toy_protocol.py").write_text(Path(toy.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    about = tmp_path / "toy_protocol-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-protocol\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[ptttool.protocols]\ntoy = toy_protocol\n")

    def run(*arguments: str, data: bytes = b"") -> subprocess.CompletedProcess[str]:
        import os

        return subprocess.run(
            [sys.executable, "-m", "ptttool", *arguments], input=data.decode("latin-1"), capture_output=True, check=False, text=True,
            encoding="latin-1", env={**os.environ, "PYTHONPATH": str(tmp_path)},
        )  # fmt: skip

    assert "toy" in [each["name"] for each in json.loads(run("decode", "--protocols", "--json").stdout)["protocols"]]
    found = objects(run("decode", "--protocol", "toy", "-p", "longest=3", "--json", "-", data=b"\x02hi\x00").stdout)
    assert [(each["length"], each["payload"]) for each in found] == [(2, "6869"), (0, "")]
    mixed = frames([(0x10, b"\x03on"), (0x11, b"\x01!"), (0x10, b"e")])
    behind = objects(run("decode", "--protocol", "toy", "-p", "longest=3", "-p", "framing=coresight-16", "--json", "-", data=mixed).stdout)
    assert [(each["channel"], each["payload"]) for each in behind if "length" in each] == [(0x10, b"one".hex()), (0x11, b"!".hex())]
    assert sum(each["size"] for each in behind) == 16
    missing = run("decode", "--protocol", "toy", "-", data=b"\x00")
    assert missing.returncode == 2
    assert "longest" in missing.stderr
    (tmp_path / "toy_protocol.py").write_text("import no_such_module\n")
    broken = run("decode", "--protocol", "toy", "-", data=b"\x00")
    assert broken.returncode == 8
    for line in ("import no_such_module", "raise SystemExit(3)"):
        (tmp_path / "toy_protocol.py").write_text(line)
        listed = run("decode", "--protocols", "--json")
        assert listed.returncode == 0
        assert "riscv-etrace" in [each["name"] for each in json.loads(listed.stdout)["protocols"]]
        assert "toy cannot be loaded" in listed.stderr
    assert "protocol toy cannot be loaded" in broken.stderr
    # Others are not concerned.
    assert run("decode", "--protocol", "riscv-encap", "-", data=b"\x01\x02").returncode == 0


def test_list_of_protocols(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "--protocols", "--json"]) == 0
    listed = {each["name"]: each for each in json.loads(capsys.readouterr().out)["protocols"]}
    assert {"coresight-16", "hisi-ptt", "riscv-encap"} <= set(listed)
    srcid = next(each for each in listed["riscv-encap"]["parameters"] if each["name"] == "srcid_bits")
    assert (srcid["type"], srcid["default"], srcid["minimum"], srcid["maximum"], srcid["mandatory"]) == ("int", 0, 0, 16, False)
    assert listed["hisi-ptt"]["command"] == "ptttool decode --protocol hisi-ptt"
    assert main(["decode", "--protocols"]) == 0
    text = capsys.readouterr().out
    assert "srcid_bits" in text
    assert "0 to 16 (default 0)" in text


def test_binary_is_not_for_a_terminal(raw: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    assert main(["decode", *PARAMETERS, "--to", "parquet", str(raw)]) == 6


def test_output_over_the_recording(raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", *PARAMETERS, "--force", "--to", "csv", "-o", str(raw), str(raw)]) == 2
    assert raw.read_bytes().startswith(EXAMPLE)


def test_info_of_coresight(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Version 1: an ETMv4 with a register more than has a name, and an ETE."""
    etmv4 = [0x4040404040404040, 0, 9, 0xC1, 0x10, 0x28000EA1, 0x4100F422, 0x488, 0, 0xCC, 1, 0xABC]
    ete = [0x5050505050505050, 1, 9, 0xC1, 0x12, 0x28000EA1, 0x4100FFF3, 0x488, 0, 0xCC, 0x47705A13, 1]
    words = [1, 11 << 32 | 2, 0, *etmv4, *ete]
    path = tmp_path / "perf.data"
    path.write_bytes(build_perfdata([(0, 0, 8 * FSYNC)], name="cs_etm//", info=auxtrace_info(3, *words)))
    assert main(["info", "--json", str(path)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["protocol"] == "coresight-16"
    assert document["event"] == "cs_etm//"
    units = document["trace_units"]["trace_units"]
    assert [(unit["cpu"], unit["kind"], unit["trace_id"], unit["more"]) for unit in units] == [
        (0, "ETMv4", 0x10, [0xABC]),
        (1, "ETE", 0x12, []),
    ]
    assert units[1]["registers"]["TRCDEVARCH"] == "0x47705a13"
    assert document["trace_units"]["damage"] is None
    assert document["streams"] == [{"cpu": 0, "payloads": 1, "bytes": 32, "aux_events": 1}]
    assert main(["info", str(path)]) == 0
    text = capsys.readouterr().out
    assert "ETMv4" in text
    assert "TRCIDR0=0x28000ea1" in text


def test_what_else_is_read_is_not_overwritten(raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    described = tmp_path / "unit.csv"
    described.write_text("srcid_bits=6\ntype_bits=2\n")
    assert main(["decode", "--protocol", "riscv-encap", "--params", str(described), str(raw), "-o", str(described), "--force"]) == 2
    assert described.read_text() == "srcid_bits=6\ntype_bits=2\n"
    image, folder = tmp_path / "image.csv", tmp_path / "snapshot"
    image.write_bytes(bytes(16))
    folder.mkdir()
    (folder / "snapshot.ini").write_text("[device_list]\na=a.ini\n")
    (folder / "a.ini").write_text("[device]\nname=a\nclass=core\n")
    given = ["-p", "unit=etm4", *(f"-p{name}=0x10" for name in ("TRCIDR0", "TRCIDR2", "TRCCONFIGR"))]
    for more, output in ((f"memory={image}@0x1000", image), (f"snapshot={folder}", folder / "a.csv")):
        arguments = ["decode", "--protocol", "opencsd", *given, "-p", more, str(raw), "-o", str(output), "--force"]
        assert main([*arguments, "--json", "--to", "jsonl"]) == 2
        assert json.loads(capsys.readouterr().out)["error"]["code"] == "output-is-input"
    assert image.read_bytes() == bytes(16)


def test_a_file_of_parameters_serves_every_layer(raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What it says of the packets behind a framing says nothing of the framing; on the command line it is a mistake."""
    described = tmp_path / "unit.scf"
    described.write_text("srcid_bits=6\ntype_bits=2\niaddress_width_p=64\narch_p=0\n")
    for protocol in ("riscv-encap", "riscv-etrace"):
        assert main(["decode", "--protocol", protocol, "--params", str(described), "--json", str(raw)]) == 0
    capsys.readouterr()
    assert main(["decode", *PARAMETERS, "-p", "iaddress_width_p=64", str(raw)]) == 2
    assert "iaddress_width_p" in capsys.readouterr().err


def test_some_protocols(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "--protocols", "etmv2", "riscv-encap", "--json"]) == 0
    assert [each["name"] for each in json.loads(capsys.readouterr().out)["protocols"]] == ["etmv2", "riscv-encap"]
    assert main(["decode", "--protocols", "ETMv3"]) == 2
    assert "did you mean etmv2" in capsys.readouterr().err


def test_not_enough_memory(raw: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("ptttool.pipeline.streams.StreamDecoder.decoded", fail)
    assert main(["decode", *PARAMETERS, str(raw)]) == 9
    assert "not enough memory" in capsys.readouterr().err


def test_standard_output_that_is_closed(raw: Path) -> None:
    command = [sys.executable, "-m", "ptttool", "decode", *PARAMETERS, str(raw)]
    found = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *command], capture_output=True, check=False, text=True)
    assert (found.returncode, "standard output is closed" in found.stderr) == (6, True)


def test_hints_for_what_is_no_trace(tmp_path: Path, raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "snapshot.ini").touch()
    assert main(["decode", "--protocol", "opencsd", str(tmp_path)]) == 6
    assert "one of the files in it" in capsys.readouterr().err
    assert main(["decode", "--input", "perf", *PARAMETERS, "--json", str(raw)]) == 6
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "not-perf-data"


@pytest.mark.parametrize("form", ["perf", "raw"])
def test_a_remote_recording_loses_nothing(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """1 MiB of AUX data decode to the same elements through an address as from the file."""
    path = tmp_path / "trace"
    trace = EXAMPLE * ((1 << 20) // len(EXAMPLE))
    path.write_bytes(trace if form == "raw" else build_perfdata([(0, 0, trace)], auxtrace_type=99, name="rvtrace/event=1/"))
    found = []
    for address in (str(path), f"file://{path}"):
        output = tmp_path / "output.parquet"
        printed(capsys, [*PARAMETERS, "--input", form, address, "-o", str(output), "--force"])
        found.append(pl.read_parquet(output))
    assert found[0].height == (1 << 20) // len(EXAMPLE)
    assert found[0].equals(found[1])


def test_parameters_that_do_not_fit_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """The encoder of this recording has addresses of 64 bits; the default is 32."""
    folder = ROOT / "fixtures" / "etrace"
    words = ["decode", "--protocol", "riscv-etrace", str(folder / "median-basic.bin"), "--to", "csv"]
    assert main([*words, "--params", str(folder / "median-basic.params")]) == 0
    assert capsys.readouterr().err == ""
    assert main(words) == 0
    assert "iaddress_width_p" in capsys.readouterr().err
