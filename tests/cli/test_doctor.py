"""``ptttool doctor``: exit codes, what it prints, and that it runs anywhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ptttool.cli.main import main
from tests.cli.test_trace import Here
from tests.support import machines
from tests.support.machines import NEW, OLD, REPOSITORY, umockdev


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """A Kunpeng with root's rights and a perf of arm64."""
    tree = machines.copy_of(NEW, tmp_path / "machines")
    (tree / "proc" / "meminfo").write_text("MemAvailable:   32768000 kB\n")
    monkeypatch.setattr("tests.cli.test_trace.MACHINES", tmp_path / "machines")
    monkeypatch.setattr("ptttool.capture.checks.host.find_perf", lambda: arm64())
    return Here(tmp_path, monkeypatch, capsys)


def arm64() -> object:
    from ptttool.capture.perf.tool import PerfTool

    return PerfTool("/no/such/perf", "6.12.95", "arm64", True)


def codes(document: dict[str, Any]) -> dict[str, str]:
    return {check["name"]: check["findings"][0]["code"] for check in document["checks"] if check["status"] != "ok"}


def test_where_a_trace_would_work(here: Here) -> None:
    done = here.run("0_0", "--json", command="doctor")
    document = json.loads(done.stdout)
    assert (done.returncode, document["works"], document["exit_code"], document["devices"]) == (0, True, 0, ["hisi_ptt0_0"])
    assert codes(document) == {"perf-text": "perf-prints-4dw-wrong", "tracepoints": "no-tracefs"}
    done = here.run("0_0", command="doctor")
    assert (done.returncode, done.stderr) == (0, "")
    words = [line.split()[0] for line in done.stdout.splitlines() if not line.startswith(" ")][:-1]
    assert (words.index("warning"), Counter(words)) == (5, {"ok": 20, "warning": 1, "unknown": 1})


def test_what_prevents_it_gives_the_exit_code(here: Here, tmp_path: Path) -> None:
    done = here.run("0_0", "-o", str(tmp_path / "no" / "x.data"), "--json", command="doctor")
    assert (done.returncode, codes(json.loads(done.stdout))["output"]) == (6, "output-folder-missing")
    assert here.run("0_0", "--aux-size", "1G", command="doctor").returncode == 0
    assert here.run("0_0", "--aux-size", "64G", command="doctor").returncode == 2
    assert here.run("0_0", "--aux-size", "3M", command="doctor").returncode == 2
    assert here.run("9_9", command="doctor").returncode == 3
    (tmp_path / "machines" / NEW / "proc" / "meminfo").write_text("MemAvailable:   1024000 kB\n")
    assert here.run("0_0", "--aux-size", "1G", command="doctor").returncode == 5


@pytest.mark.parametrize("name", [NEW, OLD])
def test_of_a_recorded_machine(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--sysfs", str(machines.MACHINES / name), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["works"] is None
    assert {"perf", "rights", "busy", "output"} <= {one for one, code in codes(document).items() if code == "not-recorded"}


def test_here_and_under_libudev(tmp_path: Path) -> None:
    """The machine that runs the tests has no PTT device; under umockdev it has three."""
    environment = {"PTTTOOL_RUNTIME_DIR": str(tmp_path / "locks"), "PTTTOOL_STATE_DIR": str(tmp_path / "state")}
    done = machines.run(["doctor", "--json"], check=None, **environment)
    found = machines.document(done)
    if "no-device" in codes(found).values():
        assert (done.returncode, found["works"], codes(found)["hardware"]) == (3, False, "no-device")
    done = machines.run(["doctor", "--json"], prefix=umockdev(NEW, tmp_path), check=None, **environment)
    found = machines.document(done)
    assert not {"hardware", "driver", "cpus"} & set(codes(found))
    assert len(found["devices"]) == 3
    assert (done.returncode != 0) is (found["works"] is not True)
    prefix = umockdev(NEW, tmp_path)
    dump = tmp_path / f"{NEW}.umockdev"  # as with rmmod hisi_ptt
    blocks = dump.read_text().split("\n\n")
    dump.write_text("\n\n".join(block for block in blocks if not re.match(r"P: .*/hisi_ptt\d+_\d+\n", block)))
    found = machines.document(machines.run(["doctor", "--json"], prefix=prefix, check=3, **environment))
    assert codes(found)["driver"] in ("no-driver", "driver-not-loaded", "not-bound")
    assert "hardware" not in codes(found)


def test_a_device_by_what_it_traces(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--demo", "enp7s0", "--json"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["devices"] == ["hisi_ptt0_2"]
    assert "hisi_ptt0_2" in said.err
    assert main(["doctor", "--demo", "nvme9"]) == 3


def test_a_reader_that_goes_away() -> None:
    done = subprocess.run(
        ["sh", "-c", '"$0" -m ptttool doctor --demo | head -1', sys.executable],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ},
    )
    assert (done.stdout.startswith("ok"), done.stderr) == (True, "")


def test_names_from_a_tree_are_cleaned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = machines.copy_of(NEW, tmp_path)
    (tree / "proc/sys/kernel/osrelease").write_bytes(b"6.1.0\x1b[31m\n")
    assert main(["doctor", "--sysfs", str(tree)]) == 1
    assert "\x1b" not in capsys.readouterr().out
