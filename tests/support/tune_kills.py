"""Kill ``ptttool tune`` at its writes: a process of its own, so that nothing but Python itself is running when it forks.

``python -m tests.support.tune_kills TREE PROFILE ACTION`` applies the profile to the machine in the folder TREE, and is killed before and
after each write in turn. Then the action is carried out, and is killed in the same way; then it is carried out whole. One line of JSON
for each point: what the commands returned, and the attributes after each.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import ptttool.cli.commands.tune  # the import is done once, not in each child
import ptttool.cli.views.tune.attributes
import ptttool.tune.documents
import ptttool.tune.repair.recovery  # noqa: F401
from ptttool.cli.main import main
from ptttool.machine.sources.files import FolderFiles

WRITE: Callable[[FolderFiles, str, bytes], None] = FolderFiles.write


def killed_at(point: int, arguments: list[str]) -> int | None:
    """Run a command in a child that is killed at a point. Return its exit code; None if it was killed."""
    return in_killed_child(point, lambda: said(arguments)[0])


def in_killed_child(point: int, call: Callable[[], int]) -> int | None:
    """Call a function in a child that is killed at a point: before (even) or after (odd) a write. Return its result; None if killed."""
    child = os.fork()
    if child == 0:
        done = 0

        def write(self: FolderFiles, path: str, data: bytes) -> None:
            nonlocal done
            if 2 * done == point:
                os.kill(os.getpid(), signal.SIGKILL)
            WRITE(self, path, data)
            if 2 * done + 1 == point:
                os.kill(os.getpid(), signal.SIGKILL)
            done += 1

        FolderFiles.write = write  # type: ignore[method-assign]
        os._exit(call())
    _, status = os.waitpid(child, 0)
    return None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)


def said(arguments: list[str]) -> tuple[int, str, str]:
    """Run a command here; return its exit code, its output and its messages."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(arguments)
    return code, out.getvalue(), err.getvalue()


def run(tree: str, profile: str, action: str) -> None:
    """Go through all points."""
    files = sorted(Path(tree).glob("sys/devices/**/tune/*"))
    before = [path.read_text() for path in files]
    apply = ["tune", "apply", profile, "--sysfs", tree]
    recover = ["tune", "recover", "--sysfs", tree, "--json"]
    for point in range(1000):
        for path, text in zip(files, before, strict=True):
            path.write_text(text)
        code = killed_at(point, apply)
        values = [int(path.read_text()) for path in files]
        warned = "cut off" in said(["tune", "get", "hisi_ptt0_0", "--sysfs", tree])[2]
        shown = said(recover)[0]
        again = []
        for later in range(1000):
            again.append(killed_at(later, [*recover, f"--{action}"]))
            if again[-1] is not None:
                break
        after = [int(path.read_text()) for path in files]
        rest = said(recover)[0]
        facts = {
            "point": point,
            "code": code,
            "values": values,
            "warned": warned,
            "shown": shown,
            "again": again,
            "after": after,
            "rest": rest,
        }
        print(json.dumps(facts | {"rest": rest}))
        if code is not None:
            return


if __name__ == "__main__":
    run(*sys.argv[1:])
