"""Runs command lines in forks of a process that has imported ptttool already, under the preloaded library.

``python -m campaign.crash.server`` reads a job a line from standard input, and answers each with a line; both are JSON. A run costs some
20 ms instead of the half second of an interpreter's start.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import pkgutil
import select
import signal
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

_PR_SET_CHILD_SUBREAPER = 36
_KINDS = (ctypes.c_int, ctypes.c_long, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)


def warm_up() -> None:
    """Import what the commands import. polars is imported and not used: its threads would not survive a fork."""
    import numpy
    import polars  # noqa: F401

    import ptttool
    from ptttool.cli.main import load_commands

    load_commands()
    for room in (
        "files",
        "tune",
        "machine",
        "capture",
        "pipeline",
        "exporters",
        "generate",
        "perfdata",
        "recording",
        "decoders.hisi_ptt",
        "cli",
    ):
        package = importlib.import_module(f"{ptttool.__name__}.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if "workers.cluster" not in module.name:  # the cluster's library is slow to import and not used here
                importlib.import_module(module.name)
    numpy.zeros(1)


def stand_on(machine: str) -> None:
    """Make a recorded machine pass for the running one, and this user for root with all rights."""
    from ptttool.capture.checks import host
    from ptttool.machine import discovery
    from ptttool.machine.sources.tree import TreeSource

    class LiveTree(TreeSource):
        live = True

    rights = host.Rights((1 << 41) - 1, paranoid=2, mlock_kb=516, memlock=8 << 20, cpus=4)
    discovery.__dict__["UdevSource"] = lambda: LiveTree(machine)
    host.read_rights = lambda *_, **__: rights
    host.running_processes = lambda *_, **__: ()


def run_child(job: dict[str, Any], streams: tuple[int, int], log: int) -> NoReturn:
    """Run a job's command line in this process, a fork."""
    code = 1
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, stream in enumerate(streams, start=1):
            os.dup2(stream, number)
        os.chdir(job["folder"])
        # Jobs run at the same time, and each has the machine to itself.
        os.environ["PTTTOOL_RUNTIME_DIR"] = f"{job['folder']}.locks"
        os.environ.update(job["environment"])
        if job["machine"]:
            stand_on(job["machine"])
        from ptttool.cli.main import main

        library = ctypes.CDLL(None)
        library.ptttool_arm.argtypes = _KINDS
        folder = os.fsencode(job["folder"])
        quiet = os.fsencode(job["machine"] or "")
        library.ptttool_arm(job["mode"], job["at"], job["error"], job["reads"], log, folder, quiet)
        try:
            code = main(job["arguments"])
        finally:
            library.ptttool_disarm()
        sys.stdout.flush()
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1
    except BaseException:  # as the interpreter itself would end
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Run a job and describe how it ended."""
    files = [os.memfd_create(name) for name in ("out", "err", "log")]
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        run_child(job, (files[0], files[1]), files[2])
    watched = os.pidfd_open(child)
    ended, _, _ = select.select([watched], [], [], job["timeout"])
    if not ended:
        os.killpg(child, signal.SIGKILL)
    os.close(watched)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    late = end_orphans(job["timeout"])
    texts = []
    for file in files:
        texts.append(os.pread(file, os.fstat(file).st_size, 0).decode(errors="surrogateescape"))
        os.close(file)
    return {"status": status, "out": texts[0], "err": texts[1], "log": texts[2], "late": late or not ended}


def end_orphans(timeout: float) -> bool:
    """Wait for what a killed run left running, which this process inherits; True if it had to be killed."""

    def expired(_number: int, _frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, timeout)
    late = False
    try:
        while True:
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                return late
            except TimeoutError:
                late = True
                for orphan in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split():
                    os.kill(int(orphan), signal.SIGKILL)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def main() -> None:
    """Answer jobs until standard input ends."""
    warm_up()
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(run(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
