"""``ptttool selftest``: live under umockdev with the stand-in perf, whose device records the reads that were really made."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import ptttool
from ptttool.api.selftest import judge_recordings
from ptttool.capture.device.tracers import running_processes
from ptttool.cli.main import main
from ptttool.documents import read_json
from ptttool.machine.measured import MeasuredMachines
from ptttool.selftest.run import TRIALS
from tests.cli.test_trace import STANDIN
from tests.standin import as_root
from tests.support import machines
from tests.support.machines import NEW, OLD, REPOSITORY


@dataclass
class Machine:
    """A recorded machine as if it ran here, with a PTT device that records coded reads."""

    folder: Path
    dump: list[str]

    def run(
        self, *arguments: str, wrong: str = "nothing", case: str = "good", command: str = "selftest", **more: str
    ) -> subprocess.CompletedProcess[str]:
        words, environment = self.started(*arguments, wrong=wrong, case=case, command=command, **more)
        return subprocess.run(words, capture_output=True, text=True, cwd=self.folder, env=environment, timeout=240)

    def started(self, *arguments: str, wrong: str, case: str, command: str, **more: str) -> tuple[list[str], dict[str, str]]:
        """The words and the environment that it is started with."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(REPOSITORY),
            "PATH": f"{STANDIN}:{os.environ['PATH']}",
            "STANDIN_CASE": case,
            "STANDIN_DEVICE": wrong,
            "STANDIN_PYTHON": sys.executable,
            "PTTTOOL_RUNTIME_DIR": str(self.folder / "locks"),
            "PTTTOOL_STATE_DIR": str(self.folder / "state"),
            **more,
        }
        return [*self.dump, sys.executable, str(STANDIN / "as_root.py"), command, *arguments], environment


@contextmanager
def held(name: str, folder: Path) -> Iterator[None]:
    """Hold a lock as another process."""
    code = f"from ptttool.files.locks import hold\nwith hold({name!r}, purpose='x', subject='x'):\n    print(1, flush=True); input()"
    environment = {**os.environ, "PTTTOOL_RUNTIME_DIR": str(folder)}
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "dump").mkdir()
    return Machine(tmp_path, machines.umockdev(NEW, tmp_path / "dump"))


def body_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(done.stdout)
    assert "Traceback" not in done.stderr
    return body


def verdicts(body: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["verdict"] for one in body["judged"]}


def test_all_of_it(machine: Machine) -> None:
    archive = machine.folder / "selftest.tar.gz"
    done = machine.run("--json", "-o", str(archive), "--anonymize", "--tune", wrong="so")
    body = body_of(done)
    assert done.returncode == 0
    assert [one["name"] for one in body["recordings"]] == sorted(one.name for one in TRIALS)
    assert all(one["reads"] == 4096 for one in body["recordings"])
    by_verdict = {verdict: {name for name, each in verdicts(body).items() if each == verdict} for verdict in ("confirmed", "refuted")}
    assert by_verdict["refuted"] == set()
    # A2 needs reads that are quicker than 11 bits turn round: a machine that is busy has too few.
    assert {"A1", "A3", "A4", "A5", "A7", "A8", "A9", "A11", "A14", "A17", "A18", "A19"} == by_verdict["confirmed"] - {"A2"}
    assert body["clocks"]["8dw"]["low_ns"] <= 4.0007 <= body["clocks"]["8dw"]["high_ns"]
    kept = read_json(json.loads(Path(body["kept"]).read_text(encoding="utf-8")), MeasuredMachines)
    assert kept.entries[0].clocks["8dw"].tick_ns == body["clocks"]["8dw"]["tick_ns"]
    assert kept.entries[0].in_order is True
    assert archive.stat().st_mode & 0o777 == 0o600
    with tarfile.open(archive) as tar:
        result = tar.extractfile("machine/selftest/result.json")
        assert result is not None
        assert json.load(result)["archive"] == str(archive)
        assert {f"machine/selftest/{one.name}.data" for one in TRIALS} <= set(tar.getnames())
        tar.extractall(machine.folder / "unpacked", filter="data")
    data = machine.folder / "unpacked" / "machine" / "selftest" / "8dw-out-np.data"
    assert b"secret-host" not in data.read_bytes()
    with ptttool.open(data) as recording:
        assert recording.to_polars(["kind"])["kind"].unique().to_list() == ["CfgRd0"]
    # The archive is judged elsewhere as it was here.
    again = judge_recordings(data.parent)
    by_name = verdicts(body)
    assert {one.name for one in again.judged if one.verdict.value != by_name[one.name]} == {"A17", "A18", "A19"}


@pytest.mark.parametrize("name", ["there.tar.gz", "nowhere/a.tar.gz", "."])
def test_an_archive_that_cannot_be_written_is_told_before_it_records(machine: Machine, name: str) -> None:
    (machine.folder / "there.tar.gz").write_text("mine", encoding="utf-8")
    done = machine.run("-o", name)
    assert done.returncode == 6
    assert "recording 8dw" not in done.stderr
    assert (machine.folder / "there.tar.gz").read_text(encoding="utf-8") == "mine"


@pytest.mark.slow
def test_an_archive_that_is_not_written_takes_no_result_along(machine: Machine) -> None:
    done = machine.run("-o", "/dev/full", "--json")
    body = body_of(done)
    assert (done.returncode, body["diagnostics"][-1]["code"], body["archive"]) == (6, "disk-full", None)
    assert verdicts(body)["A1"] == "confirmed"


@pytest.mark.parametrize(("ending", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_the_signal_that_stops_it_is_its_exit_code(machine: Machine, ending: signal.Signals, status: int) -> None:
    words, environment = machine.started("--json", wrong="nothing", case="good", command="selftest")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=machine.folder, env=environment) as process:
        assert process.stderr is not None
        while "2 of 7" not in process.stderr.readline():
            assert process.poll() is None
        mine = (one for one in running_processes() if as_root.working_directory(one.pid) == machine.folder)
        os.kill(next(one.pid for one in mine if one.arguments[1:3] == (str(STANDIN / "as_root.py"), "selftest")), ending)
        out, _ = process.communicate(timeout=60)
    body = json.loads(out)
    assert process.returncode == status
    assert "interrupted" in [one["code"] for one in body["diagnostics"]]
    assert verdicts(body)["A1"] == "confirmed"


@pytest.mark.slow
def test_what_is_refuted_ends_with_1(machine: Machine) -> None:
    done = machine.run("nvme0", wrong="order")
    assert done.returncode == 1
    assert "refuted" in {line.split()[2] for line in done.stdout.splitlines() if line.startswith("A3 ")}


@pytest.mark.parametrize(
    ("arguments", "more", "status"),
    [
        (["no-such-device"], {}, 3),
        ([], {"STANDIN_RIGHTS": "user"}, 4),
    ],
)
def test_what_it_refuses(machine: Machine, arguments: list[str], more: dict[str, str], status: int) -> None:
    done = machine.run(*arguments, "--json", **more)
    assert done.returncode == status
    error = json.loads(done.stdout)["error"]
    assert error["exit_code"] == status
    assert "Traceback" not in done.stderr
    assert not (machine.folder / "state" / "machine.json").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (["--load", "write"], 2, "unknown-load"),
        (["--anonymize"], 2, "no-archive"),
        (["--from", "x", "--tune"], 2, "from-excludes"),
        (["--from", "x", "--load", "read"], 2, "from-excludes"),
        (["--from", "x", "--force"], 2, "from-excludes"),
        (["--from", "nothing-here"], 6, "no-folder"),
        (["--from", "."], 6, "no-recordings"),
    ],
)
def test_wrong_usage(
    arguments: list[str], status: int, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["selftest", *arguments, "--json"]) == status
    assert json.loads(capsys.readouterr().out)["error"]["code"] == code


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "case", "status", "code"),
    [([], "disk-full", 6, "disk-full"), ([], "killed", 5, "perf-killed"), (["--load", "read"], "good", 4, "disk-unreadable")],
)
def test_what_was_recorded_is_judged(machine: Machine, arguments: list[str], case: str, status: int, code: str) -> None:
    done = machine.run(*arguments, "--json", case=case)
    body = body_of(done)
    assert done.returncode == status
    assert code in [one["code"] for one in body["diagnostics"]]
    assert len(body["recordings"]) == (len(TRIALS) + 1 if case == "good" else 0)
    assert verdicts(body)["A1"] == ("confirmed" if case == "good" else "not tested")


def test_a_device_that_is_held(machine: Machine) -> None:
    with held("device-hisi_ptt0_0", machine.folder / "locks"):
        done = machine.run("0_0", "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (75, "locked")


def test_a_function_that_goes_away(machine: Machine) -> None:
    path = machine.folder / "dump" / "kunpeng-6.12.umockdev"
    text = path.read_text(encoding="utf-8")
    begin = text.index("P: /devices/platform/4010000000.pcie/pci0000:00/0000:00:10.0/0000:01:00.0\n")
    end = text.index("\n\n", begin)
    lines = [line for line in text[begin:end].split("\n") if not line.startswith("H: config=")]
    path.write_text(text[:begin] + "\n".join(lines) + text[end:], encoding="utf-8")
    done = machine.run("0000:01:00.0", "--json")
    body = body_of(done)
    assert done.returncode == 3
    assert [one["code"] for one in body["diagnostics"] if one["severity"] != "info"] == ["reads-ended"]
    assert [one["reads"] for one in body["recordings"]] == [0]
    assert set(verdicts(body).values()) <= {"not tested", "confirmed"}


def test_from_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    anchors = REPOSITORY / "fixtures" / "anchors"
    for name in ("anchors-8dw-dir1.data", "anchors-8dw-dir1.reads.json", "anchors-8dw-dir3.data"):
        shutil.copy(anchors / name, tmp_path / name)
    assert main(["selftest", "--from", str(tmp_path), "--json"]) == 0
    assert verdicts(json.loads(capsys.readouterr().out))["A1"] == "confirmed"
    (tmp_path / "anchors-8dw-dir3.data").write_bytes(b"PERFILE2")
    assert main(["calibrate", "--from", str(tmp_path), "--json"]) == 6
    body = json.loads(capsys.readouterr().out)
    assert verdicts(body)["A1"] == "confirmed"
    assert body["diagnostics"][0]["where"].endswith("anchors-8dw-dir3.data")


def test_damaged_readings_are_told_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    anchors = REPOSITORY / "fixtures" / "anchors"
    for name in ("anchors-8dw-dir1.data", "anchors-8dw-dir1.reads.json", "anchors-8dw-dir3.data"):
        shutil.copy(anchors / name, tmp_path / name)
    beside = tmp_path / "anchors-8dw-dir3.reads.json"
    good = (anchors / beside.name).read_text(encoding="utf-8")
    damages = "", "[]", "{}", '{"bdf": "0000:01:00.0"}', "[" * 100_000, good.replace("0000:01:00.0", "../x")
    for damage in damages:
        beside.write_text(damage, encoding="utf-8")
        assert main(["selftest", "--from", str(tmp_path), "--json"]) == 6
        body = json.loads(capsys.readouterr().out)
        assert [(one["code"], one["where"]) for one in body["diagnostics"]] == [
            ("readings-damaged", str(beside.with_name("anchors-8dw-dir3.data")))
        ]
        assert verdicts(body)["A1"] == "confirmed"
        assert [one["name"] for one in body["recordings"]] == ["anchors-8dw-dir1"]


def test_readings_that_are_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(REPOSITORY / "fixtures" / "anchors" / "anchors-8dw-dir1.data", tmp_path / "a.data")
    beside = tmp_path / "a.reads.json"
    os.mkfifo(beside)
    writer = os.open(beside, os.O_RDWR)
    try:
        assert main(["selftest", "--from", str(tmp_path), "--json"]) == 6
    finally:
        os.close(writer)
    assert [one["code"] for one in json.loads(capsys.readouterr().out)["diagnostics"]] == ["readings-unreadable"]
    beside.unlink()
    beside.symlink_to(tmp_path / "nowhere")
    assert main(["selftest", "--from", str(tmp_path), "--json"]) == 6
    assert [one["code"] for one in json.loads(capsys.readouterr().out)["diagnostics"]] == ["readings-unreadable"]


def test_recordings_without_readings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(REPOSITORY / "fixtures" / "anchors" / "anchors-8dw-dir3.data", tmp_path)
    assert main(["selftest", "--from", str(tmp_path), "--json"]) == 6
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "no-readings"


def test_times_that_run_backwards(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    anchors = REPOSITORY / "fixtures" / "anchors"
    shutil.copy(anchors / "anchors-8dw-dir1.data", tmp_path)
    body = json.loads((anchors / "anchors-8dw-dir1.reads.json").read_text(encoding="utf-8"))
    body["reads"][3][3] = body["reads"][3][2] - 1
    (tmp_path / "anchors-8dw-dir1.reads.json").write_text(json.dumps(body), encoding="utf-8")
    assert main(["selftest", "--from", str(tmp_path), "--json"]) == 6
    assert [one["code"] for one in json.loads(capsys.readouterr().out)["diagnostics"]] == ["readings-damaged"]


@pytest.mark.slow
def test_where_only_the_driver_knows_the_device(tmp_path: Path) -> None:
    (tmp_path / "dump").mkdir()
    machine = Machine(tmp_path, machines.umockdev(OLD, tmp_path / "dump"))
    done = machine.run("--json", wrong="so", STANDIN_DRIVER="1")
    body = body_of(done)
    assert body["device"] == "hisi_ptt0_0"
    assert verdicts(body)["A1"] == "confirmed"
    assert "4dw-other-port" not in [one["name"] for one in body["recordings"]]
    # Filters are computed there.
    assert (done.returncode, verdicts(body)["A18"]) == (1, "refuted")


# ---- trace --anchors


ANCHORED = ["trace", "--rootport", "0000:00:10.0", "--anchors", "--duration", "2", "-o", "own.data"]


def clock_of(machine: Machine, *arguments: str) -> tuple[dict[str, Any] | None, str]:
    """The clock in the sidecar, and what was said."""
    done = machine.run(*arguments, command="trace")
    assert "Traceback" not in done.stderr
    return json.loads((machine.folder / "own.data.ptttool.json").read_text(encoding="utf-8"))["clock"], done.stderr


@pytest.mark.parametrize("event", [["--type", "np", "--direction", "outbound"], ["--completions", "a"]], ids=["requests", "completions"])
def test_a_recording_gets_its_own_clock(machine: Machine, event: list[str]) -> None:
    clock, _ = clock_of(machine, *ANCHORED[1:], "--format", "8dw", *event)
    assert clock is not None
    assert clock["low_ns"] <= 4.0007 <= clock["high_ns"]
    assert clock["anchors"] >= 8
    assert clock["source"] == "anchors"
    with ptttool.open(machine.folder / "own.data") as recording:
        time = recording.analyze("bandwidth").time
    assert (time.tick_ns, time.tick_from) == (clock["tick_ns"], "sidecar")


def test_11_bits_that_turn_round_unseen_give_no_clock(machine: Machine) -> None:
    clock, said = clock_of(machine, *ANCHORED[1:], "--format", "4dw", "--type", "np", "--direction", "outbound")
    assert clock is None
    assert "no clock of its own" in said


def test_an_event_without_such_reads(machine: Machine) -> None:
    done = machine.run(*ANCHORED[1:], "--format", "8dw", "--type", "p", "--json", command="trace")
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (2, "no-anchors")
    assert not (machine.folder / "own.data").exists()


def test_a_replay_has_no_clock_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ANCHORED, "--demo", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "no-anchors"
