"""ptttool with the rights of root on a server, whatever the rights of the tests (a container's root has fewer).

Of the running processes it sees those in its own working directory only: tests that run at the same time trace the same device.
``STANDIN_RIGHTS``: ``user`` for somebody with none, kernel.perf_event_paranoid being 2. ``STANDIN_DRIVER``: the driver of
:mod:`tests.standin.driver` answers.
"""

from __future__ import annotations

import os
from pathlib import Path

from ptttool.__main__ import run
from ptttool.capture import ask_driver
from ptttool.capture.checks import host
from ptttool.capture.checks.host import Rights
from ptttool.capture.device.tracers import Process, running_processes
from ptttool.machine.sources.contract import Source
from tests.standin.driver import Driver


def read_rights(online: object = None) -> Rights:
    capabilities = 0 if os.environ.get("STANDIN_RIGHTS") == "user" else (1 << 41) - 1
    return Rights(capabilities, paranoid=2, mlock_kb=516, memlock=8 << 20, cpus=4)


def processes_here(*, holders: bool = False) -> tuple[Process, ...]:
    here = Path.cwd()
    return tuple(process for process in running_processes(holders=holders) if working_directory(process.pid) == here)


def working_directory(pid: int) -> Path | None:
    try:
        return Path(f"/proc/{pid}/cwd").readlink()
    except OSError:
        return None


def asking_on(source: Source) -> ask_driver.Asking:
    return ask_driver.Asking(source, read_rights(), lambda: processes_here(holders=True), Driver().refusal)


if __name__ == "__main__":
    host.running_processes = processes_here
    host.read_rights = read_rights
    if "STANDIN_DRIVER" in os.environ:
        ask_driver.asking_on = asking_on
    run()
