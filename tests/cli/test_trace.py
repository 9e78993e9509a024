"""``ptttool trace``: live under umockdev with the stand-in perf first on PATH, and replayed on recorded machines."""

from __future__ import annotations

import json
import lzma
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ptttool.capture import replay, sidecar
from ptttool.capture.device.tracers import running_processes
from ptttool.capture.names import sidecar_path
from ptttool.capture.perf.recorder import is_complete
from ptttool.capture.perf.switch import Switch
from ptttool.capture.sidecar import TracedCommand
from ptttool.cli.main import main
from ptttool.machine.measured import Measured, MeasuredClock, keep, key_of
from ptttool.machine.sources.tree import TreeSource
from ptttool.pci import PciAddress
from tests.standin import as_root
from tests.support import machines
from tests.support.machines import MACHINES, NEW, OLD, REPOSITORY

STANDIN = REPOSITORY / "tests" / "standin"
PORT = ["--rootport", "0000:00:10.0"]
EIGHT_DW = [*PORT, "--format", "8dw"]
SOME = "m-8dw-port10-type7-dir2.data.xz"


def bundled(name: str) -> bytes:
    return lzma.decompress((replay.FOLDER / name).read_bytes())


@dataclass
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


class Files:
    """Where recordings go."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.output = folder / "perf.data"
        # Tests that run at the same time trace the same device.
        self.locks = {"PTTTOOL_RUNTIME_DIR": str(folder.with_name(f"{folder.name}-locks"))}

    def files(self) -> set[str]:
        return {path.name for path in self.folder.iterdir() if path.name != "dump"}


class LiveTree(TreeSource):
    """A recorded machine that passes for the running one."""

    live = True


class Here(Files):
    """``ptttool trace`` in this process: quicker than :class:`Live`, without libudev and without signals."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> None:
        super().__init__(folder)
        self._patch, self._capture = patch, capture

    def run(self, *arguments: str, case: str = "good", command: str = "trace", **more: str) -> Done:
        with self._patch.context() as patch:
            patch.chdir(self.folder)
            patch.setattr("ptttool.machine.discovery.UdevSource", lambda: LiveTree(MACHINES / NEW))
            patch.setattr("ptttool.capture.checks.host.read_rights", as_root.read_rights)
            patch.setattr("ptttool.capture.checks.host.running_processes", as_root.processes_here)
            for name, value in {"PATH": f"{STANDIN}:{os.environ['PATH']}", "STANDIN_CASE": case, **self.locks, **more}.items():
                patch.setenv(name, value)
            status = main([command, *arguments])
        said = self._capture.readouterr()
        return Done(status, said.out, said.err)


class Live(Files):
    """The machine of a umockdev dump as if it ran here."""

    def __init__(self, folder: Path, dump: list[str]) -> None:
        super().__init__(folder)
        self._dump = dump

    def words(self, arguments: Sequence[str], terminal: str | None = None) -> list[str]:
        at = [] if terminal is None else [sys.executable, str(STANDIN / "at_terminal.py"), terminal]
        return [*self._dump, *at, sys.executable, str(STANDIN / "as_root.py"), "trace", *arguments]

    def environment(self, case: str, more: dict[str, str]) -> dict[str, str]:
        # as_root.py is run as a file: the project is found by name.
        path = {"PYTHONPATH": str(REPOSITORY), "PATH": f"{STANDIN}:{os.environ['PATH']}"}
        return {**os.environ, **path, "STANDIN_CASE": case, **self.locks, **more}

    def run(self, *arguments: str, case: str = "good", terminal: str | None = None, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.words(arguments, terminal), capture_output=True, text=True, cwd=self.folder, env=self.environment(case, more), timeout=120
        )

    def start(self, *arguments: str, case: str = "good") -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.words(arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=self.environment(case, {}),
        )

    def processes(self, word: str) -> list[int]:
        """Process ids of ptttool (``trace``) or the stand-in perf (``record``) of this test."""
        mine = (p for p in running_processes() if as_root.working_directory(p.pid) == self.folder)
        return [p.pid for p in mine if p.arguments[2:3] == (word,) and Path(p.arguments[1]).parent == STANDIN]

    def wait_for(self, path: Path) -> None:
        """Return as soon as there is such a file."""
        deadline = time.monotonic() + 120
        while not path.exists():
            assert time.monotonic() < deadline, path
            time.sleep(0.05)

    def ptttool(self) -> int:
        """The process id of ptttool, once perf has begun to write."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if any(path.stat().st_size > 4096 for path in self.folder.glob("*.part")):
                return self.processes("trace")[0]
            time.sleep(0.05)
        raise AssertionError("perf did not begin")


@pytest.fixture
def live(tmp_path: Path) -> Live:
    (tmp_path / "dump").mkdir()
    return Live(tmp_path, machines.umockdev(NEW, tmp_path / "dump"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Here:
    return Here(tmp_path, monkeypatch, capfd)


def error_of(done: Done | subprocess.CompletedProcess[str]) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(done.stdout)["error"]
    assert body["exit_code"] == done.returncode
    assert "Traceback" not in done.stderr
    return body


# ---- recording


def test_duration(live: Live) -> None:
    done = live.run(*EIGHT_DW, "--duration", "600ms", "--json")
    assert done.returncode == 0, done.stderr
    body = json.loads(done.stdout)
    assert body["command"] == ["perf", "record", "-e", body["event"], "-C", "1", "-m", ",64M", "-o", "perf.data", "--", "sleep", "0.6"]
    assert body["config"] == 0x107280001
    assert 0.5 < body["elapsed"] < 10
    assert (body["old"], body["traced"], body["stopped_by"], body["replay_of"]) == (None, None, None, None)
    assert body["summary"]["records"] == 5569
    assert body["size"] == live.output.stat().st_size
    assert live.output.read_bytes() == bundled(SOME)
    assert live.files() == {"perf.data", "perf.data.ptttool.json"}
    # Nothing is drawn where no terminal is.
    assert "MiB" not in done.stderr


def test_perf_that_cannot_turn_its_event_on_and_off(here: Here) -> None:
    """It traces for longer than the command runs: no rate."""
    done = here.run(*EIGHT_DW, "--json", "--", "sleep", "0.2", case="no-control")
    body = json.loads(done.stdout)
    assert (done.returncode, body["elapsed"], body["traced"]["exit"]) == (0, None, 0), done.stderr
    kept = sidecar.load(here.output)
    assert kept is not None
    assert body["elapsed_at_least"] >= 0.2
    assert kept.seconds is None
    assert kept.at_least == pytest.approx(body["elapsed_at_least"], abs=0.002)


def test_interrupted_while_perf_refuses_the_switch(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not run again in the old way."""
    tried: list[bool] = []
    begin = Switch.begun

    def begun(switch: Switch, seconds: float | None = None) -> None:
        tried.append(switch.confirms)
        begin(switch, seconds)
        while switch.answered():
            pass
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(Switch, "begun", begun)
    error = error_of(here.run(*EIGHT_DW, "--json", "--", "sleep", "0.2", case="no-control"))
    assert (tried, error["code"]) == ([True], "interrupted")
    assert not here.output.exists()


def test_perf_that_does_not_answer(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptttool.capture.perf.recorder.ANSWER", 3.0)
    assert error_of(here.run(*EIGHT_DW, "--json", case="mute"))["code"] == "perf-no-answer"
    monkeypatch.setattr("ptttool.capture.perf.recorder.PATIENCE", 0.3)
    body = json.loads(here.run(*EIGHT_DW, "--force", "--json", "--duration", "0.2", case="deaf").stdout)
    assert (body["elapsed"], body["elapsed_at_least"]) == (None, None)
    kept = sidecar.load(here.output)
    assert kept is not None
    assert (kept.seconds, kept.ended, kept.at_least) == (None, None, None)


def test_the_clock_of_the_self_test(here: Here) -> None:
    """It goes to the sidecar of each recording of its format."""
    key = key_of(TreeSource(MACHINES / NEW))
    assert key is not None
    clock = MeasuredClock("counter", 32, 4.0, 3.9994, 4.0005, 61)
    measured = Measured(key, "2026-11-20T10:00:00+00:00", {"8dw": clock})
    keep(measured)
    for event, kept in ((EIGHT_DW, measured.clock("8dw")), (PORT, None)):
        done = here.run(*event, "--force", "--json", "--duration", "0.1")
        assert done.returncode == 0, done.stderr
        beside = sidecar.load(here.output)
        assert beside is not None
        assert beside.clock == kept
    assert measured.clock("4dw") is None
    keep(replace(measured, key=replace(key, driver="another")))
    os.truncate(os.environ["PTTTOOL_STATE_DIR"] + "/machine.json", 20)
    done = here.run(*EIGHT_DW, "--force", "--json", "--duration", "0.1")
    assert (done.returncode, "machine.json" in done.stderr) == (0, True)


def test_sidecar(live: Live) -> None:
    done = live.run(*EIGHT_DW, "--cpu", "1", "--aux-size", "16M", "--", "sh", "-c", "exit 7")
    assert done.returncode == 0, done.stderr
    assert "exit status 7" in done.stderr
    kept = sidecar.load(live.output)
    assert kept is not None
    assert kept.traced == TracedCommand(("sh",), 7, None, stopped=False, arguments=2)
    assert kept.command[-5:] == ("-o", "perf.data", "--", "sh", "[2 arguments]")
    assert (kept.cpu, kept.options["aux_size"], kept.options["root_ports"]) == (1, 16 << 20, ["0000:00:10.0"])
    assert kept.versions["perf"] == "6.12.95"
    assert set(kept.versions) == {"ptttool", "perf", "kernel"}
    assert kept.tune["qos_tx_cpl"] == 1
    assert kept.started is not None
    assert kept.ended is not None
    assert kept.started < kept.ended
    assert kept.device is not None
    assert kept.device.name == "hisi_ptt0_0"
    nvme = kept.machine.functions[PciAddress(0, 1, 0, 0)]
    assert (nvme.kernel_names[0], nvme.parent) == ("nvme0", PciAddress(0, 0, 0x10, 0))
    # Ports of other devices are not this recording's business.
    assert PciAddress(0, 0, 0x14, 0) not in kept.machine.functions


FAULT = REPOSITORY / "fixtures" / "captures" / "faults" / "filter-not-in-force.data.xz"


def test_something_else_was_traced(here: Here) -> None:
    """The recording is reported and kept, and the command fails."""
    done = here.run("--requester", "enp7s0", "--json", "--", "true", STANDIN_RECORDING=str(FAULT))
    body = json.loads(done.stdout)
    assert (error_of(done)["code"], done.returncode) == ("not-as-asked", 5)
    assert (body["error"]["tlps"], body["error"]["of"], body["summary"]["records"]) == (11089, 11598, 11598)
    assert [sign["code"] for sign in body["signs_of_loss"]] == ["not-as-asked"]
    assert here.output.read_bytes() == lzma.decompress(FAULT.read_bytes())
    assert sidecar.load(here.output) is not None
    said = here.run("--requester", "enp7s0", "--force", "--", "true", STANDIN_RECORDING=str(FAULT))
    assert said.returncode == 5
    assert "11,598 TLPs" in said.stdout.splitlines()[0]
    assert said.stderr.count("11,089 of 11,598") == 1


SPOILT = REPOSITORY / "fixtures" / "captures" / "6.1" / "x-control.data.xz"


def test_fail_on_loss(here: Here) -> None:
    """The recording is reported and kept in either case; the exit code is for CI."""
    done = here.run(*PORT, "--", "true", STANDIN_RECORDING=str(SPOILT))
    assert done.returncode == 0
    done = here.run(*PORT, "--force", "--fail-on-loss", "--", "true", STANDIN_RECORDING=str(SPOILT))
    assert done.returncode == 5
    assert here.output.read_bytes() == lzma.decompress(SPOILT.read_bytes())
    done = here.run(*PORT, "--force", "--fail-on-loss", "--json", "--", "true", STANDIN_RECORDING=str(SPOILT))
    body = json.loads(done.stdout)
    assert (done.returncode, body["error"]["code"], body["error"]["signs"]) == (5, "loss", ["spoilt-restarts"])
    assert body["summary"]["records"] > 0
    assert here.run(*PORT, "--force", "--fail-on-loss", "--", "true").returncode == 0


class TreeThatChanges(LiveTree):
    """A machine one of whose CPUs goes offline once the list of online CPUs has been read a few times."""

    left = 3

    def read(self, path: str) -> str:
        if path == "/sys/devices/system/cpu/online":
            self.left -= 1
            return "0-3" if self.left >= 0 else "1-3"
        return super().read(path)


def test_a_cpu_that_goes_offline(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "LiveTree", TreeThatChanges)
    done = here.run(*EIGHT_DW, "--json", "--", "true")
    assert done.returncode == 0, done.stderr
    kept = sidecar.load(here.output)
    assert kept is not None
    assert kept.went_offline == (0,)


def test_command_killed_by_a_signal(here: Here) -> None:
    done = here.run(*EIGHT_DW, "--json", "--", "sh", "-c", "kill -SEGV $$")
    assert done.returncode == 0
    assert json.loads(done.stdout)["traced"] == {
        "command": ["sh"],
        "exit": None,
        "signal": "SIGSEGV",
        "stopped": False,
        "arguments": 2,
    }
    assert is_complete(here.output)


def test_output_of_the_command(live: Live) -> None:
    """Its standard error stays its own; its standard output too, unless ours is to be JSON."""
    command = ("--", "sh", "-c", "echo to-out; echo to-err >&2; sleep 0.3")
    plain = live.run(*EIGHT_DW, *command)
    assert "to-out" in plain.stdout
    assert "to-err" in plain.stderr
    assert "Captured and wrote" not in plain.stderr
    as_json = live.run(*EIGHT_DW, "--force", "--json", *command)
    json.loads(as_json.stdout)
    assert "to-out" in as_json.stderr
    verbose = live.run(*EIGHT_DW, "--force", "--verbose", *command)
    assert "perf: [ perf record: Captured and wrote" in verbose.stderr


def test_options_of_the_command_are_its_own(here: Here) -> None:
    done = here.run(*EIGHT_DW, "--keep-command", "sh", "-c", "exit 3", "--json")
    assert done.returncode == 0
    kept = sidecar.load(here.output)
    assert kept is not None
    assert kept.traced is not None
    assert kept.traced.command == ("sh", "-c", "exit 3", "--json")


def test_the_last_recording_is_kept_as_old(here: Here) -> None:
    here.output.write_bytes(b"first")
    Path(f"{here.output}.old").write_bytes(b"before that")
    words = (*EIGHT_DW, "--duration", "0.2")
    body = error_of(here.run(*words, "--json"))
    assert (body["code"], body["exit_code"]) == ("exists", 6)
    assert (here.files(), here.output.read_bytes()) == ({"perf.data", "perf.data.old"}, b"first")
    done = here.run(*words, "--json", "--force")
    assert json.loads(done.stdout)["old"] == "perf.data.old"
    assert "perf.data.old" in done.stderr
    assert Path(f"{here.output}.old").read_bytes() == b"first"
    here.run(*words, "--force")
    assert here.files() == {"perf.data", "perf.data.ptttool.json", "perf.data.old", "perf.data.old.ptttool.json"}
    assert sidecar.load(f"{here.output}.old") is not None


def test_no_decode(here: Here) -> None:
    done = here.run(*EIGHT_DW, "--duration", "0.2", "--no-decode", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["summary"] is None
    assert here.run(*EIGHT_DW, "--force", "--duration", "0.2", "--no-decode", case="cpu-2").returncode == 5


# ---- stopping


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_to_ptttool_alone(live: Live, number: signal.Signals) -> None:
    process = live.start(*EIGHT_DW, "--json")
    os.kill(live.ptttool(), number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert json.loads(out)["stopped_by"] == number.name
    assert live.output.read_bytes() == bundled(SOME)


def test_interrupt_while_a_command_runs(live: Live) -> None:
    process = live.start(*EIGHT_DW, "--json", "--", "sh", "-c", "echo > begun; exec sleep 30")
    # perf writes before the command begins: an interrupt in between would leave it out.
    live.wait_for(live.folder / "begun")
    os.kill(live.ptttool(), signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert json.loads(out)["traced"] == {"command": ["sh"], "exit": None, "signal": "SIGTERM", "stopped": True, "arguments": 2}
    assert is_complete(live.output)


@pytest.mark.parametrize(("presses", "case"), [(1, "good"), (2, "slow-to-finish")])
def test_ctrl_c_at_a_terminal(live: Live, presses: int, case: str) -> None:
    """The whole process group gets it, perf too; a second one while perf writes changes nothing."""
    done = live.run(*EIGHT_DW, case=case, terminal=str(presses))
    assert done.returncode == 0, done.stdout
    assert "hisi_ptt0_0 on CPU 1: 0." in done.stdout
    assert " MiB/s (Ctrl-C stops)" in done.stdout
    assert "stopped by SIGINT" in done.stdout
    assert live.output.read_bytes() == bundled(SOME)
    if presses == 2:
        assert done.stdout.count("^C") == 2
        assert "perf writes the rest" in done.stdout


def test_progress_names_the_duration(live: Live) -> None:
    done = live.run(*EIGHT_DW, "--duration", "0.8", terminal="0")
    assert done.returncode == 0
    assert " s of 0.8 s, " in done.stdout


# ---- failures


@pytest.fixture
def last_ones(tmp_path: Path) -> Iterator[None]:
    """Two generations of recordings, which no failure may touch."""
    live = Files(tmp_path)
    live.output.write_bytes(b"the last one")
    Path(f"{live.output}.old").write_bytes(b"the one before")
    sidecar_path(live.output).write_text("{}", encoding="utf-8")
    yield
    assert live.output.read_bytes() == b"the last one"
    assert Path(f"{live.output}.old").read_bytes() == b"the one before"
    assert live.files() == {"perf.data", "perf.data.old", "perf.data.ptttool.json"}


PERF_FAILURES = [
    ("unknown-port", 5, "event-refused"),
    ("type-256", 2, "value-too-big"),
    ("unknown-term", 2, "unknown-term"),
    ("event-unknown-pmu", 3, "no-pmu"),
    ("no-a", 2, "needs-cpu"),
    ("6.1/cpu-9", 2, "no-such-cpu"),
    ("m-,8M", 5, "no-memory"),
    ("user-paranoid-1", 4, "perf-not-permitted"),
    ("user-paranoid-0-m16M", 4, "mlock-limit"),
    ("busy-C0-then-C0", 5, "device-busy"),
    ("two-events-same-ptt", 2, "one-event-only"),
    ("group", 5, "perf-crashed"),
    ("out-full", 6, "cannot-write"),
    ("not-supported", 5, "perf-cannot-record"),
    ("babble", 5, "perf-failed"),
]


@pytest.mark.usefixtures("last_ones")
@pytest.mark.parametrize(("case", "status", "code"), PERF_FAILURES, ids=[one[0] for one in PERF_FAILURES])
def test_perf_fails(here: Here, case: str, status: int, code: str) -> None:
    done = here.run(*EIGHT_DW, "--force", "--duration", "0.1", "--json", case=case)
    body = error_of(done)
    assert (done.returncode, body["code"]) == (status, code)
    # Its own words go along, and reach a terminal only when asked for, and without what a terminal would obey.
    assert case == "out-full" or body["perf_stderr"].strip()
    assert done.stderr.count("ptttool: error: ") == 1
    assert "syscall" not in done.stderr
    assert "\x1b" not in done.stderr


@pytest.mark.usefixtures("last_ones")
def test_verbose_shows_what_perf_said(here: Here) -> None:
    done = here.run(*EIGHT_DW, "--force", "--duration", "0.1", "--verbose", case="busy-a")
    assert done.returncode == 5
    assert "ptttool: perf: The sys_perf_event_open() syscall returned with 16" in done.stderr


def test_unfinished_recording_with_a_trace_is_kept(here: Here) -> None:
    """A full disk, a kill: what had been written is worth having, and the last recording is still there."""
    for case, code in (("disk-full", "disk-full"), ("killed", "perf-killed")):
        here.output.write_bytes(b"the last one")
        body = error_of(here.run(*EIGHT_DW, "--force", "--duration", "0.1", "--json", case=case))
        assert (body["code"], body["recording"]) == (code, "perf.data")
        assert not is_complete(here.output)
        assert here.output.stat().st_size > 200_000
        assert Path(f"{here.output}.old").read_bytes() == b"the last one"
        kept = sidecar.load(here.output)
        assert kept is not None
        assert kept.traced is None


@pytest.mark.usefixtures("last_ones")
def test_interrupt_before_perf_begins(live: Live) -> None:
    process = live.start(*EIGHT_DW, "--force", case="late-to-begin")
    deadline = time.monotonic() + 120
    while not live.processes("record") and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(0.3)
    os.kill(live.processes("trace")[0], signal.SIGTERM)
    assert "before perf had begun" in process.communicate(timeout=120)[1]
    assert process.returncode == 128 + signal.SIGTERM


@pytest.mark.parametrize("case", ["cpu-2", "port-mask-empty", "busy-C0-then-C1", "never-idle", "6.1/cpu-2"])
def test_empty_trace(here: Here, case: str) -> None:
    done = here.run(*EIGHT_DW, "--force", "--duration", "0.1", "--json", case=case)
    body = error_of(done)
    assert (done.returncode, body["code"]) == (5, "empty-trace")
    assert len(body["causes"]) >= 3
    assert any("idle" in cause for cause in body["causes"])
    # It stays: perf.data of an empty trace tells more than none.
    assert is_complete(here.output)
    assert body["recording"] == "perf.data"


def test_empty_trace_of_an_empty_port(here: Here) -> None:
    done = here.run("--rootport", "00:12.0", "--duration", "0.1", case="cpu-2")
    assert done.returncode == 5
    assert "ptttool: possible: nothing is behind root port 0000:00:12.0" in done.stderr


# ---- checks before the start


def test_real_perf_of_another_architecture(live: Live) -> None:
    if os.uname().machine == "aarch64":
        expected = {"device-gone", "event-refused", "no-pmu", "perf-not-permitted", "perf-failed"}
    else:
        expected = {"perf-cannot-record"}
    done = live.run(*EIGHT_DW, "--duration", "0.1", "--json", PATH=os.environ["PATH"])
    assert error_of(done)["code"] in expected
    assert live.files() == set()


def test_no_perf(here: Here) -> None:
    (here.folder / "dump").mkdir()
    body = error_of(here.run(*EIGHT_DW, "--json", PATH=str(here.folder / "dump")))
    assert body["code"] == "perf-missing"
    assert "linux-perf" in body["hint"]


@pytest.mark.usefixtures("last_ones")
def test_without_rights(here: Here) -> None:
    done = here.run(*EIGHT_DW, "--json", STANDIN_RIGHTS="user")
    body = error_of(done)
    assert (done.returncode, body["code"], body["perf_event_paranoid"]) == (4, "perf-not-permitted", 2)


def test_second_trace_of_a_device(live: Live) -> None:
    """perf on another CPU would record nothing and end with 0."""
    process = live.start(*EIGHT_DW, "-o", "other.data")
    first = live.ptttool()
    body = error_of(live.run(*EIGHT_DW, "--cpu", "1", "--duration", "0.1", "--json"))
    assert (body["code"], body["exit_code"]) == ("locked", 75)
    assert (body["holder"]["pid"], body["holder"]["purpose"]) == (first, "trace -o other.data")
    # Another device is free.
    assert live.run("--rootport", "00:14.0", "--duration", "0.1").returncode == 0
    os.kill(first, signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 0


@pytest.fixture
def pretender(here: Here) -> Iterator[int]:
    """A process that holds no event and has one of the device among its arguments, as any user can start it."""
    arguments = ["prf", "-c", "read line", "record", "-e", "hisi_ptt0_0/filter=0x80001/"]
    with subprocess.Popen(arguments, executable="/bin/sh", stdin=subprocess.PIPE, cwd=here.folder) as process:
        yield process.pid
        process.kill()


def test_arguments_of_a_process_prevent_nothing(here: Here, pretender: int) -> None:
    done = here.run(*EIGHT_DW, "--", "true")
    assert done.returncode == 0, done.stderr
    assert f"process {pretender} " in done.stderr


def test_an_empty_trace_names_it(here: Here, pretender: int) -> None:
    body = error_of(here.run(*EIGHT_DW, "--json", "--", "true", case="busy-C0-then-C1"))
    assert body["code"] == "empty-trace"
    assert any(f"process {pretender} " in cause for cause in body["causes"])


def test_a_busy_device_names_it(here: Here, pretender: int) -> None:
    body = error_of(here.run(*EIGHT_DW, "--json", "--", "true", case="busy-C0-then-C0"))
    assert (body["code"], body["pid"]) == ("device-busy", pretender)


def test_the_wrong_device_of_an_old_kernel(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its driver refuses the event; which other device it may be is said."""
    monkeypatch.setattr(sys.modules[__name__], "NEW", OLD)
    body = error_of(here.run("--rootport", "00:14.0", "--device", "0_0", "--json", "--", "true", case="port-of-other-ptt"))
    assert (body["code"], body["candidates"]) == ("event-refused", ["hisi_ptt0_2", "hisi_ptt2_0"])


CHECKS = [
    (["--duration", "1", "--", "true"], 2, "two-durations"),
    (["--duration", "soon"], 2, "bad-duration"),
    (["--aux-size", "8M"], 2, "aux-too-small"),
    (["--aux-size", "48M"], 2, "aux-no-power-of-two"),
    (["--aux-size", "many"], 2, "bad-size"),
    (["--cpu", "2"], 2, "cpu-not-in-cpumask"),
    (["--", "no-such-command"], 2, "command-missing"),
    (["-o", "."], 6, "output-is-directory"),
    (["-o", "/dev/full"], 6, "output-not-a-file"),
    (["-o", "no/such/folder/perf.data"], 6, "output-folder-missing"),
    (["--device", "hisi_ptt9_9"], 3, "unknown-device"),
]


@pytest.mark.parametrize(("arguments", "status", "code"), CHECKS, ids=[one[2] for one in CHECKS])
def test_check(here: Here, arguments: list[str], status: int, code: str) -> None:
    done = here.run(*EIGHT_DW, "--json", *arguments)
    assert error_of(done)["code"] == code
    assert done.returncode == status
    assert here.files() == set()


def test_dry_run(here: Here) -> None:
    done = here.run(*EIGHT_DW, "--dry-run", "-o", "x y.data", "--", "fio", "job file", STANDIN_RIGHTS="user")
    assert done.returncode == 0
    event = "hisi_ptt0_0/filter=0x80001,type=7,direction=2,format=1/"
    assert done.stdout == f"perf record -e {event} -C 1 -m ,64M -o 'x y.data' -- fio 'job file'\n"
    body = json.loads(here.run(*EIGHT_DW, "--dry-run", "--json").stdout)
    assert (body["event"], body["config"], body["cpu"]) == (event, 0x107280001, 1)
    assert body["command_line"].startswith("perf record -e hisi_ptt0_0/")
    assert here.files() == set()


def test_older_kernel(tmp_path: Path) -> None:
    """Linux 6.1: no filter folders, the values are computed; the rest is the same."""
    (tmp_path / "dump").mkdir()
    old = Live(tmp_path, machines.umockdev(OLD, tmp_path / "dump"))
    done = old.run(*EIGHT_DW, "--device", "hisi_ptt0_0", "--duration", "0.2", "--json", case="6.1/cpu-0")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["summary"]["records"] == 5569


# ---- replay


def replayed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["trace", *arguments])
    said = capsys.readouterr()
    return status, said.out, said.err


@pytest.mark.parametrize("one", replay.bundled(), ids=lambda one: one.file.partition(".")[0])
def test_bundled_recordings(one: replay.BundledRecording, tmp_path: Path) -> None:
    replay.unpack(one, tmp_path / "perf.data")
    assert (tmp_path / "perf.data").stat().st_size == one.size
    assert is_complete(tmp_path / "perf.data")


OPTIONS = [
    (PORT, "m-4dw-port10-type7-dir0"),
    (["--rootport", "nvme0", "--type", "np"], "m-4dw-port10-type2-dir0"),
    ([*PORT, "--type", "cpl", "--direction", "outbound"], "m-4dw-port10-type4-dir1"),
    ([*PORT, "--type", "np,cpl", "--direction", "both"], "w-randread-4dw"),
    (EIGHT_DW, "m-8dw-port10-type7-dir2"),
    ([*EIGHT_DW, "--type", "p", "--direction", "outbound"], "m-8dw-port10-type1-dir1"),
    (["--rootport", "00:11.0", "--format", "8dw"], "x-ping"),
    (["--rootport", "00:14.0", "--format", "8dw"], "x-switch-port14"),
    ([*PORT, "--rootport", "00:11.0"], "s-4dw-ports-dir0"),
]


@pytest.mark.parametrize(("options", "name"), OPTIONS, ids=[one[1] for one in OPTIONS])
def test_demo_replays_the_matching_recording(options: list[str], name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out.data"
    status, out, err = replayed(capsys, "--demo", *options, "-o", str(output), "--json", "--", "no-such-command")
    assert status == 0, err
    assert output.read_bytes() == bundled(f"{name}.data.xz")
    body = json.loads(out)
    assert body["replay_of"].startswith("perf record ")
    assert body["event"] in body["replay_of"]
    assert "it was recorded with: perf record" in err
    assert body["warnings"][-1]["code"] == "command-not-run"
    kept = sidecar.load(output)
    assert kept is not None
    assert kept.replay_of == body["replay_of"]


def test_replay_that_does_not_fit(tmp_path: Path) -> None:
    """No file may grow beyond 8 blocks of 512 bytes here; Python keeps compiled modules that are cut off, so it writes none."""
    output = tmp_path / "x"
    output.write_bytes(b"the last one")
    small = ["sh", "-c", 'ulimit -f 8; export PYTHONDONTWRITEBYTECODE=1; exec "$@"', "sh"]
    done = machines.run(["trace", "--demo", *PORT, "-o", str(output), "--force", "--json"], prefix=small, check=6)
    assert error_of(done)["code"] == "file-too-large"
    assert str(output) in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert output.read_bytes() == b"the last one"


def test_summary_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--rootport", "nvme0", "--type", "np,cpl", "--direction", "both"]
    status, out, err = replayed(capsys, "--demo", *options, "-o", str(tmp_path / "x"))
    assert status == 0
    assert out.splitlines()[0] == "141,928 TLPs, 1,483,856 bytes carried, 1,483,856 bytes asked for by reads"
    assert "nvme0, nvme0n1" in out
    assert "Time, raw: first 1584, last 1803, smallest 0, largest 2047" in out
    assert "ns" not in out.replace("ens2", "").split("Time, raw")[1]
    assert "outbound" in err


def test_signs_of_loss_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [*PORT, "--rootport", "00:11.0"]
    assert "9712 bytes" in replayed(capsys, "--demo", *options, "-o", str(tmp_path / "x"))[2]
    body = json.loads(replayed(capsys, "--demo", *options, "-o", str(tmp_path / "x"), "--force", "--json")[1])
    assert [(sign["code"], sign["details"]["leftovers"]) for sign in body["signs_of_loss"]] == [("end-stream", [{"cpu": 1, "bytes": 9712}])]
    assert body["summary"]["findings"]["zero_records"] == 0


def test_notes_do_not_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A small second stream at the end is normal."""
    assert replayed(capsys, "--demo", "--fail-on-loss", *PORT, "--rootport", "00:11.0", "-o", str(tmp_path / "x"))[0] == 0


def test_demo_keeps_the_last_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out.data"
    output.write_bytes(b"the last one")
    assert replayed(capsys, "--demo", *PORT, "-o", str(output))[0] == 6
    assert [path.name for path in tmp_path.iterdir()] == ["out.data"]
    assert replayed(capsys, "--demo", *PORT, "-o", str(output), "--force")[0] == 0
    assert Path(f"{output}.old").read_bytes() == b"the last one"
    assert len(list(tmp_path.iterdir())) == 3


def test_demo_of_an_empty_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = replayed(capsys, "--demo", *EIGHT_DW, "--type", "cpl", "-o", str(tmp_path / "x"), "--json")
    error = json.loads(out)["error"]
    assert (status, error["code"]) == (5, "empty-trace")
    assert any("direction 3 has the others" in cause for cause in error["causes"])


def test_demo_without_a_matching_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "x"
    status, out, _ = replayed(capsys, "--demo", "--requester", "nvme0", "-o", str(output), "--json")
    error = json.loads(out)["error"]
    assert (status, error["code"]) == (3, "no-such-recording")
    assert len(error["bundled"]) > 30
    status, out, _ = replayed(capsys, "--demo", *PORT, "--type", "p,np", "-o", str(output), "--json")
    assert "--rootport 0000:00:10.0 --type p --direction inbound --format 4dw" in json.loads(out)["error"]["hint"]
    assert not list(tmp_path.iterdir())


def test_a_recording_does_not_go_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert replayed(capsys, "--demo", *PORT, "-o", "-")[0] == 2


def test_recorded_machine_of_the_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = replayed(capsys, "--sysfs", str(MACHINES / NEW), *PORT, "-o", str(tmp_path / "x"))
    assert status == 0, err
    assert "replay" in err


def test_other_recorded_machine_cannot_be_traced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = machines.copy_of(NEW, tmp_path)
    for function in ("0000:00:10.0/0000:01:00.0", "0000:00:11.0/0000:02:00.0"):
        (tree / machines.BUS[1:] / function / "device").write_text("0x1234\n", encoding="utf-8")
    status, out, _ = replayed(capsys, "--sysfs", str(tree), *PORT, "-o", str(tmp_path / "x"), "--json")
    assert (status, json.loads(out)["error"]["code"]) == (3, "not-live")
    assert not (tmp_path / "x").exists()
