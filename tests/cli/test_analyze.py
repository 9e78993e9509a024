"""``ptttool analyze``: any analysis of any recording."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ptttool
from ptttool.cli.main import main
from ptttool.documents import to_json
from tests.support import captures

TLPS = captures.FOLDER / "6.12" / "m-8dw-port10-type7-dir2.data"
PACKETS = ["--protocol", "riscv-encap", "-p", "srcid_bits=6", "fixtures/etrace/median-basic.bin"]


def document(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    assert main(["analyze", *arguments, "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    listed = {each["name"]: each for each in document(capsys, "--list")["analyses"]}
    assert sorted(listed) == ptttool.ANALYSES.names()
    assert listed["summary"]["columns"] == ["kind", "requester", "payload_bytes", "time"]
    assert main(["analyze", "--list"]) == 0
    shown = capsys.readouterr().out
    assert all(each["meaning"] in shown for each in listed.values())


def test_the_result_is_that_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "summary", str(TLPS))
    assert (found["path"], found["protocol"], found["analysis"], found["diagnostics"]) == (str(TLPS), "hisi-ptt", "summary", [])
    with ptttool.open(TLPS) as recording:
        assert found["result"] == to_json(recording.analyze("summary"))
    assert document(capsys, "summary", str(TLPS), "--jobs", "2") == found
    reads = document(capsys, "summary", str(TLPS), "--where", "kind = 'MRd'")["result"]
    assert reads["kinds"] == {"MRd": found["result"]["kinds"]["MRd"]}
    assert document(capsys, "elements", *PACKETS)["result"]["records"] == 277
    odd = document(capsys, "elements", *PACKETS, "--where", "channel = 5")["result"]
    assert odd["channels"] == {"5": odd["records"]}


def test_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "summary", str(TLPS)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["records", "5,569"] in lines
    assert ["MWr", "4,930", "1,205,812"] in lines


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["elements", str(TLPS)], "missing-columns"),
        (["sumary", str(TLPS)], "unknown-analysis"),
        (["summary"], "missing-argument"),
        (["summary", str(TLPS), "--where", "knd = 1"], "unknown-column"),
    ],
)
def test_wrong_usage(arguments: list[str], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert document(capsys, *arguments, code=2)["error"]["code"] == code


def test_which_columns_are_missing(capsys: pytest.CaptureFixture[str]) -> None:
    error = document(capsys, "elements", str(TLPS), code=2)["error"]
    assert error["columns"] == ["size", "channel", "protocol", "flags"]


def test_a_damaged_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What could be read is summed up, then the exit code says that it was not all."""
    cut = tmp_path / "cut.data"
    cut.write_bytes(TLPS.read_bytes()[:100_000])
    found = document(capsys, "summary", str(cut), code=6)
    assert 0 < found["result"]["records"] < 5569
    assert found["error"]["code"] == "truncated"
    assert "truncated" in {each["code"] for each in found["diagnostics"]}
    assert main(["analyze", "summary", str(cut)]) == 6
    shown = capsys.readouterr()
    assert f"{found['result']['records']:,}" in shown.out and "error" in shown.err


def test_standard_input() -> None:
    command = [sys.executable, "-m", "ptttool", "analyze", "summary", "-", "--json"]
    done = subprocess.run(command, input=TLPS.read_bytes(), capture_output=True, check=True)
    assert json.loads(done.stdout)["result"]["records"] == 5569
