"""``ptttool info`` on real recordings, on made ones, and on what is none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ptttool.api.machine import find_machine
from ptttool.capture.sidecar import Sidecar, part_of, save
from ptttool.cli.main import main
from tests.support import captures
from tests.support.recordings import build_perfdata, words_4dw, words_8dw


def info_json(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert main(["info", "--json", str(path), *options]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_a_real_recording(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """20000 reads of 4 KiB: as many submission entries fetched and completion entries written, by the workload's own count."""
    path = captures.path_of("workloads/w-randread-4dw", tmp_path)
    document = info_json(path, capsys)
    assert list(document["formats"]) == ["4DW"]
    assert document["explanation"]["fields"]["direction"] == 2
    assert document["records"] == sum(kind["records"] for kind in document["kinds"].values())
    assert document["records"] == sum(value["records"] for value in document["classes"].values())
    assert document["payload_bytes"] == sum(one["payload_bytes"] for one in document["requesters"])
    assert document["kinds"]["MRd"]["records"] >= 20000
    assert document["problems"] == []
    assert document["diagnostics"] == []


def test_names_come_from_the_machine_that_is_given(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    path = captures.path_of("6.12/m-8dw-port10-type7-dir2", tmp_path)
    assert main(["info", str(path)]) == 0
    without = capsys.readouterr().out
    assert "nvme0" not in without
    assert main(["info", str(path), "--demo"]) == 0
    shown = capsys.readouterr().out
    assert "of root port 0000:00:10.0" in shown
    row = next(line for line in shown.splitlines() if line.startswith("01:00.0"))
    assert "nvme0, nvme0n1  Red Hat, Inc. QEMU NVM Express Controller" in row


@pytest.mark.parametrize("columns", ["30", "60", "80", "200"])
def test_numbers_are_whole_at_any_width(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    path = captures.path_of("6.12/m-8dw-port10-type7-dir2", tmp_path)
    assert main(["info", str(path), "--demo"]) == 0
    tables = capsys.readouterr().out.partition("\nDirection ")[2].partition("\nnote ")[0]
    document = info_json(path, capsys)
    shown = set(tables.split())
    for kind in document["kinds"].values():
        assert f"{kind['records']:,}" in shown
    for requester in document["requesters"]:
        assert f"{requester['directions']['inbound']['payload_bytes']:,}" in shown
    cut = [word for word in shown if word.endswith("…") and word[0].isdigit()]
    assert cut == []


def test_an_empty_recording_is_no_error_but_a_failure_of_the_trace(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    document = info_json(captures.path_of("6.12/x-idle", tmp_path), capsys)
    assert document["records"] == 0
    assert document["time"] == {"first": None, "last": None, "smallest": None, "largest": None}
    assert [finding["code"] for finding in document["signs_of_loss"]] == ["empty-trace"]
    assert document["signs_of_loss"][0]["details"]["causes"]


def test_a_spoilt_recording_of_an_older_driver(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """3264 real records, 88128 all-zero ones, as the recording's own log has it."""
    document = info_json(captures.path_of("6.1/x-control", tmp_path), capsys)
    assert document["findings"]["zero_records"] == 88128
    assert document["records"] == 3264
    assert "spoilt-restarts" in [finding["code"] for finding in document["signs_of_loss"]]


def test_raw_dumps(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "dump.bin"
    path.write_bytes(words_8dw(100) + b"\xff" * 7)
    document = info_json(path, capsys, "--input", "8dw")
    assert (document["mode"], document["records"], document["formats"]) == ("raw", 100, {"8DW": 1})
    assert document["findings"]["tail_bytes"] == 7
    path.write_bytes(words_4dw(100))
    assert info_json(path, capsys, "--input", "4dw")["records"] == 100
    assert main(["info", "--input", "5dw", str(path)]) == 2


def test_standard_input(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ptttool", "info", "--json", "-"]
    data = captures.content("6.12/x-pipe")
    piped = subprocess.run(command, input=data, capture_output=True, check=True)
    with captures.path_of("6.12/x-pipe", tmp_path).open("rb") as file:
        read = subprocess.run(command, stdin=file, capture_output=True, check=True)
    counts = [json.loads(done.stdout)["kinds"] for done in (piped, read)]
    assert counts[0] == counts[1]
    assert counts[0]["MWr"]["records"] > 4000


def test_a_cut_recording_gives_what_it_holds_and_fails(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    whole = build_perfdata([(0, 0, words_8dw(1000)), (0, 32000, words_8dw(1000))])
    path = tmp_path / "cut.data"
    path.write_bytes(whole[: whole.rindex(words_8dw(1000)) + 320])
    assert main(["info", "--json", str(path)]) == 6
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert document["records"] == 1010
    assert document["problems"][0]["details"]["offset"] == document["error"]["offset"] > 0
    assert str(path) in said.err
    assert "offset 0x" in said.err


def test_control_characters_stay_out_of_the_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "evil.data"
    path.write_bytes(build_perfdata([(0, 0, words_8dw(4))], name="hisi_ptt0_0/\x1b]0;owned\x07filter=1/"))
    assert main(["info", str(path)]) == 0
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err
    assert "\\x1b]0;owned\\x07" in shown.out


@pytest.mark.parametrize("content", [b"", b"hello\n", os.urandom(4096), b"\0" * 4096], ids=["empty", "text", "random", "zeros"])
def test_what_is_no_recording(capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert main(["info", str(path)]) == 6
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"ptttool: error: {path}")


def test_another_pmu(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "spe.data"
    path.write_bytes(build_perfdata([(0, 0, bytes(64))], auxtrace_type=4))
    assert main(["info", str(path)]) == 6
    assert "Arm SPE" in capsys.readouterr().err


def test_no_such_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["info", str(tmp_path / "none")]) == 6
    assert "no such file" in capsys.readouterr().err


def test_zeros_without_end_take_no_memory(tmp_path: Path) -> None:
    """A sparse dump of 512 MiB: nothing in it, and no more of it is held than of any other."""
    path = tmp_path / "zeros"
    with path.open("wb") as file:
        file.truncate(512 << 20)
    code = (
        "import sys; from ptttool.cli.main import main; main(sys.argv[1:]);"  # ru_maxrss would be that of these tests
        "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, "info", "--input", "8dw", str(path)], capture_output=True, text=True, check=True)
    assert int(done.stderr.split()[-1]) < 250 << 10


def test_as_many_requesters_as_wanted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = captures.path_of("6.12/s-4dw-ports-dir0", tmp_path)
    requesters = [one["requester"] for one in info_json(path, capsys)["requesters"]]
    assert main(["info", str(path), "--top", "1"]) == 0
    shown = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line]
    assert requesters[0] in shown
    assert not set(requesters[1:]) & set(shown)
    assert "others" in shown


@pytest.mark.parametrize(
    ("seconds", "lasted", "expected", "words"),
    [
        # perf's answers: the wall time has no part in it.
        (0.5, 99.0, (0.5, None), "Traced for 0.5 s:"),
        # Of an older version, without proof that this is all that was traced; perf.data spans 1.3 s.
        (None, 1.0, (None, 1.0), "at least 1 s"),
        # The same of a trace that was not seen to begin: the life of perf, not the trace.
        (None, 46.0, (None, None), None),
        (None, None, (None, None), None),
    ],
)
def test_a_rate_needs_the_time_of_the_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seconds: float | None, lasted: float | None, expected: object, words: str | None
) -> None:
    path = Path(shutil.copy(captures.path_of("6.12/m-8dw-port10-type7-dir2", tmp_path), tmp_path / "x.data"))
    began = datetime(2026, 11, 22, 18, 0, tzinfo=UTC)
    ended = None if lasted is None else (began + timedelta(seconds=lasted)).isoformat()
    machine = part_of(find_machine(demo=True), find_machine(demo=True).devices[0])
    save(path, Sidecar(machine=machine, started=began.isoformat(), ended=ended, seconds=seconds))
    document = info_json(path, capsys)
    assert (document["elapsed"], document["elapsed_at_least"]) == expected
    assert main(["info", str(path)]) == 0
    shown = capsys.readouterr().out
    assert ("Traced for" in shown) == (words is not None)
    assert (words or "") in shown
    assert ("TLPs/s" in shown) == (seconds is not None)
