"""Processes that may trace a device: real ones, of several users, with and without perf events."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from ptttool.capture.device.tracers import Process, holds_perf_events, is_believed, names_device, running_processes, tracers_of
from ptttool.capture.perf.errors import Attempt, translate

DEVICE = "hisi_ptt0_2"
EVENT = f"{DEVICE}/filter=0x80100/"
NOBODY = 65534
# Opens a software event, says so, and waits.
HOLD = """
import sys
from ptttool.capture.device.open_event import open_event
descriptor = open_event(1, 0, cpu=0)
print("open", flush=True)
sys.stdin.read()
"""


@contextmanager
def process(arguments: list[str], executable: str, user: int | None = None) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        arguments, executable=executable, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, user=user
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def of(pid: int) -> Process:
    return next(one for one in running_processes() if one.pid == pid)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["perf", "record", "-e", EVENT], True),
        (["/usr/bin/perf_6.1", "record", f"-e{EVENT}"], True),
        (["prf", "record", f"--event={EVENT}"], True),
        (["python3", "/x/standin/perf", "record", "-e", f"dummy,{EVENT}"], True),
        (["sh", "-c", f"perf record -e '{EVENT}' -a"], True),
        (["perf", "record", "-e", "{cycles," + EVENT + "}"], True),
        (["perf", "record", "-e", "hisi_ptt0_0/filter=0x80100/"], False),
        (["perf", "record", "-e", "hisi_ptt0_22/filter=0x80100/"], False),
        (["ptttool", "explain", EVENT], False),
        (["python3", "-I", "/usr/bin/ptttool", "explain", EVENT], False),
        (["python3", "-m", "ptttool", "explain", EVENT], False),
        (["grep", "perf", f"{DEVICE}/"], False),
        (["vim", EVENT], False),
        (["cat", f"/sys/bus/event_source/devices/{DEVICE}/type"], False),
        (["perf", "record", "-e", "cycles"], False),
        ([EVENT], False),
        ([], False),
    ],
)
def test_names(arguments: list[str], expected: bool) -> None:
    assert names_device(Process(1, tuple(arguments)), DEVICE) is expected


def test_whose_arguments_are_believed() -> None:
    mine = Process(1, ("prf", EVENT), os.geteuid(), holds_events=True)
    assert is_believed(mine)
    assert not is_believed(replace(mine, holds_events=False))
    assert not is_believed(replace(mine, uid=NOBODY))
    assert not is_believed(replace(mine, uid=NOBODY, holds_events=None))
    assert is_believed(replace(mine, uid=0, holds_events=None))
    assert not is_believed(replace(mine, uid=None))
    doubtful = replace(mine, pid=0, uid=NOBODY)
    assert tracers_of([doubtful, mine], DEVICE) == [mine, doubtful]


def test_a_process_that_only_says_so() -> None:
    """As any user can: arguments that are a perf's."""
    user = NOBODY if os.geteuid() == 0 else None
    with process(["perf", "-c", "read line", "record", "-e", EVENT], "/bin/sh", user) as child:
        found = of(child.pid)
        assert names_device(found, DEVICE)
        assert (found.uid, found.holds_events) == (NOBODY if user else os.geteuid(), False)
        assert not is_believed(found)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_process_whose_folder_is_roots() -> None:
    """As that of a set-user-ID program, which any user can start with any arguments and descriptors."""
    changed = "import os, sys; os.setresuid(65534, 0, 0); print('ready', flush=True); sys.stdin.read()"
    with process(["prf", "-c", changed, EVENT], sys.executable) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        assert Path(f"/proc/{child.pid}").stat().st_uid == 0
        assert of(child.pid).uid == NOBODY


def test_a_process_that_holds_an_event() -> None:
    with process(["prf", "-c", HOLD, EVENT], sys.executable) as child:
        assert child.stdout is not None
        if child.stdout.readline() != "open\n":
            pytest.skip("this machine refuses perf events")
        found = of(child.pid)
        assert found.holds_events
        assert is_believed(found)
        assert holds_perf_events(os.getpid()) is False
    assert holds_perf_events(child.pid) is None


def test_names_hold_no_control_characters() -> None:
    shown = str(Process(7, ("perf\x1b[31m", EVENT + "\n" * 3), 0))
    assert shown.isprintable()
    assert "root" in shown or "0" in shown


def test_the_kernel_says_busy() -> None:
    """Then any process that names the device is named."""
    attempt = Attempt("The sys_perf_event_open() syscall returned with 16 (Device or resource busy) for event", 255, DEVICE)
    assert "pid" not in translate(attempt).details
    error = translate(replace(attempt, tracers=(Process(4711, ("prf", EVENT), NOBODY),)))
    assert (error.code, error.details["pid"]) == ("device-busy", 4711)


def test_nothing_stays_open() -> None:
    links = []
    for name in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            links.append(str(name.readlink()))
    assert not any("perf_event" in link for link in links)
