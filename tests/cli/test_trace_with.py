"""``ptttool trace --with``: a second stand-in perf beside the first one, on a fake machine with a tracefs."""

from __future__ import annotations

import json
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ptttool.capture import sidecar
from ptttool.capture.names import kernel_path
from ptttool.capture.perf.tracepoints import GROUPS
from ptttool.capture.unfinished.file import UnfinishedFile
from ptttool.capture.unfinished.held_trace import HeldTrace
from ptttool.cli.main import main
from ptttool.testing import kunpeng
from tests.cli.test_trace import EIGHT_DW, Done, Here, LiveTree, error_of

HEAD = 104


class WithTracefs(Here):
    """A fake machine with tracepoints, as if it ran here."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> None:
        super().__init__(folder, patch, capture)
        self.tree = folder.with_name(f"{folder.name}-machine")
        self.tree.mkdir()
        kunpeng().write_to(self.tree)
        self.events = self.tree / "sys" / "kernel" / "tracing" / "events"
        for name in (name for group, names in GROUPS.items() if group != "mmio-stacks" for name in names):
            (self.events / name.replace(":", "/")).mkdir(parents=True)
        function = next(self.tree.glob("sys/devices/platform/*/pci0000:00/0000:00:10.0/0000:01:00.0"))
        (function / "nvme" / "nvme0" / "nvme0n1" / "dev").write_text("259:1\n")
        for number in (33, 34, 35, 40):
            (function / "msi_irqs").mkdir(exist_ok=True)
            (function / "msi_irqs" / str(number)).write_text("msix\n")
        patch.setattr("tests.cli.test_trace.LiveTree", lambda _: LiveTree(self.tree))

    @property
    def beside(self) -> Path:
        return self.folder / "perf.kernel.data"

    def recorded(self) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(self.beside.read_bytes()[HEAD:])
        return body


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> WithTracefs:
    return WithTracefs(tmp_path, monkeypatch, capfd)


def options_of(words: list[str]) -> list[tuple[str, str | None]]:
    """The events of a command with their filters."""
    events: list[tuple[str, str | None]] = []
    for name, value in pairwise(words):
        if name == "-e":
            events.append((value, None))
        elif name == "--filter":
            events[-1] = (events[-1][0], value)
    return events


def codes_of(done: Done) -> list[str]:
    body = json.loads(done.stdout)
    return [one["code"] for one in (*body["warnings"], *body["notes"])]


def test_beside_the_recording(here: WithTracefs) -> None:
    done = here.run(*EIGHT_DW, "--with", "irq,nvme,block", "--json", "--", "sleep", "0.2")
    assert done.returncode == 0, done.stderr
    body = json.loads(done.stdout)
    assert here.files() == {"perf.data", "perf.data.ptttool.json", "perf.kernel.data"}
    assert here.beside.stat().st_mode & 0o777 == 0o600
    conditions = {"nvme": "ctrl_id == 0", "block": "dev == 271581185", "irq": "(irq >= 33 && irq <= 35) || irq == 40"}
    events = [(name, condition) for group, condition in conditions.items() for name in GROUPS[group]]
    told = here.recorded()
    assert options_of(told["arguments"]) == events
    # On before the trace, and off after it; the command lies between.
    assert [word for word, _ in told["told"]][:2] == ["disable", "enable"]
    assert told["ended"] - told["told"][1][1] > body["elapsed"]
    kept = sidecar.load(here.output)
    assert kept is not None
    assert kept.kernel is not None
    assert [(one.event, one.filter) for one in kept.kernel.events] == events
    assert (kept.kernel.file, kept.kernel.covers) == ("perf.kernel.data", True)
    assert body["kernel"]["file"] == "perf.kernel.data"
    assert body["warnings"] == []


def test_both_commands(here: WithTracefs) -> None:
    done = here.run(*EIGHT_DW, "--with", "nvme", "--dry-run", "--json", "-o", "x.data")
    body = json.loads(done.stdout)
    assert shlex.split(body["kernel_command_line"])[-2:] == ["-o", "x.kernel.data"]
    assert done.returncode == 0
    lines = here.run(*EIGHT_DW, "--with", "nvme", "--dry-run", "-o", "x.data").stdout.splitlines()
    assert lines == [body["kernel_command_line"], body["command_line"]]
    assert "kernel_command_line" not in json.loads(here.run(*EIGHT_DW, "--dry-run", "--json").stdout)
    assert here.files() == set()


def test_what_the_kernel_does_not_have(here: WithTracefs) -> None:
    """What is there is recorded, the rest is named."""
    (here.events / "nvme" / "nvme_sq").rmdir()
    done = here.run(*EIGHT_DW, "--with", "nvme,mmio-stacks,net", "--json", "--", "true")
    assert done.returncode == 0, done.stderr
    left_out = {one["details"]["group"]: one["details"]["events"] for one in json.loads(done.stdout)["warnings"]}
    assert left_out == {"nvme": ["nvme:nvme_sq"], "net": list(GROUPS["net"]), "mmio-stacks": list(GROUPS["mmio-stacks"])}
    assert [name for name, _ in options_of(here.recorded()["arguments"])] == ["nvme:nvme_setup_cmd", "nvme:nvme_complete_rq"]


def test_without_tracefs(here: WithTracefs) -> None:
    here.events.rename(here.events.with_name("gone"))
    done = here.run(*EIGHT_DW, "--with", "nvme", "--json", "--", "true")
    assert (done.returncode, "no-tracefs" in codes_of(done), here.beside.exists()) == (0, True, False)


@pytest.mark.parametrize("case", ["refused", "unknown", "mute", "killed", "full"])
def test_the_second_perf_fails_alone(here: WithTracefs, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptttool.capture.perf.told._READY", 0.5)
    done = here.run(*EIGHT_DW, "--with", "nvme", "--json", "--", "true", STANDIN_EVENTS=case)
    assert done.returncode == 0, done.stderr
    assert "kernel-events-not-recorded" in codes_of(done)
    body = json.loads(done.stdout)
    assert ("kernel" in body, body["summary"]["records"]) == (False, 5569)
    assert here.files() == {"perf.data", "perf.data.ptttool.json"}
    kept = sidecar.load(here.output)
    assert kept is not None
    assert kept.kernel is None


def test_a_perf_that_cannot_be_told(here: WithTracefs) -> None:
    done = here.run(*EIGHT_DW, "--with", "nvme", "--json", "--", "true", case="no-control")
    assert (done.returncode, "kernel-events-not-recorded" in codes_of(done), here.beside.exists()) == (0, True, False)


def test_the_first_perf_fails_alone(here: WithTracefs) -> None:
    """Where the trace had not begun, nothing is kept; where it had, the kernel's events are."""
    error = error_of(here.run(*EIGHT_DW, "--with", "nvme", "--json", "--", "true", case="busy-a"))
    assert ("kernel_events" in error, here.files()) == (False, set())


def test_a_trace_that_dies(here: WithTracefs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptttool.capture.record.held_trace", lambda *_: HeldTrace(0, 0, None, complete=False, certain=True))
    monkeypatch.setattr("ptttool.capture.perf.recorder.is_complete", lambda path: "kernel" in str(path.readlink()))
    error = error_of(here.run(*EIGHT_DW, "--with", "nvme", "--json", "--", "sleep", "0.2"))
    assert (error["kernel_events"], here.files()) == ("perf.kernel.data", {"perf.kernel.data"})


def test_old_ones_go_with_their_recording(here: WithTracefs) -> None:
    assert here.run(*EIGHT_DW, "--with", "nvme", "--", "true").returncode == 0
    first = here.beside.read_bytes()
    assert error_of(here.run(*EIGHT_DW, "--with", "nvme", "--json", "--", "true"))["code"] == "exists"
    # The next recording has none: that of the first one is not taken for its own.
    assert here.run(*EIGHT_DW, "--force", "--", "true").returncode == 0
    assert not here.beside.exists()
    assert kernel_path(here.folder / "perf.data.old").read_bytes() == first
    assert here.run(*EIGHT_DW, "--force", "--with", "nvme", "--", "true").returncode == 0
    assert (here.beside.exists(), kernel_path(here.folder / "perf.data.old").exists()) == (True, False)
    # One without its recording is not replaced.
    here.output.unlink()
    error = error_of(here.run(*EIGHT_DW, "--force", "--with", "nvme", "--json", "--", "true"))
    assert (error["code"], here.beside.exists()) == ("exists", True)


def test_a_link_is_not_followed(here: WithTracefs) -> None:
    (here.folder / "other").write_text("mine")
    here.beside.symlink_to("other")
    error = error_of(here.run(*EIGHT_DW, "--force", "--with", "nvme", "--json", "--", "true"))
    assert (error["code"], (here.folder / "other").read_text()) == ("exists", "mine")


def test_each_run_of_a_series(here: WithTracefs) -> None:
    done = here.run(*EIGHT_DW, "--direction", "outbound", "--with", "nvme", "--json", "--", "true")
    assert done.returncode == 0, done.stderr
    names = {one["kernel"]["file"] for one in json.loads(done.stdout)["recordings"]}
    assert len(names) == 3
    assert names <= here.files()


def test_recover(here: WithTracefs, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It goes with the recording, to the name that is free for both."""
    here.run(*EIGHT_DW, "--with", "nvme", "--", "true")
    recording, events = here.output.read_bytes(), here.beside.read_bytes()
    here.output.unlink()
    with UnfinishedFile(here.output) as file:
        file.through_proc.write_bytes(recording)
        file.beside().write_bytes(events)
    assert main(["recover", str(tmp_path), "--json"]) == 0
    (one,) = json.loads(capfd.readouterr().out)["recordings"]
    assert one["recording"] == f"{here.output}.1"
    assert kernel_path(one["recording"]).read_bytes() == events
    assert kernel_path(one["recording"]).name == "perf.kernel.data.1"


def test_killed_between_two_names(here: WithTracefs) -> None:
    here.run(*EIGHT_DW, "--with", "nvme", "--", "true")
    mark = "0123456789abcdef"
    here.beside.rename(here.folder / f"perf.data.{mark}.part.kernel")
    (here.folder / f"gone.data.{mark}.part.kernel").write_text("")
    assert main(["recover", str(here.folder)]) == 0
    assert here.files() == {"perf.data", "perf.data.ptttool.json", "perf.kernel.data"}


def test_a_replay_has_none(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "x.data"
    assert main(["trace", "--demo", "--rootport", "nvme0", "--format", "8dw", "--with", "nvme", "--json", "-o", str(output)]) == 0
    assert "kernel-events-not-recorded" in codes_of(Done(0, capfd.readouterr().out, ""))
    assert not kernel_path(output).exists()


def test_no_such_group(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "--demo", "--rootport", "nvme0", "--with", "nvme,disk", "--dry-run", "--json"]) == 2
    assert json.loads(capfd.readouterr().out)["error"]["code"] == "unknown-events"


@pytest.mark.parametrize(
    "wrong",
    [{"file": "../x"}, {"file": ""}, {"events": [{"event": "\033[31m:x", "filter": "", "stacks": False}]}, {"covers": "yes"}],
)
def test_sidecars_that_cannot_be(here: WithTracefs, wrong: dict[str, object]) -> None:
    here.run(*EIGHT_DW, "--with", "nvme", "--", "true")
    file = here.output.with_name("perf.data.ptttool.json")
    body = json.loads(file.read_text())
    file.write_text(json.dumps({**body, "kernel": {**body["kernel"], **wrong}}))
    found, problem = sidecar.find(here.output)
    assert problem is not None
    assert (found, problem.code) == (None, "sidecar-damaged")
