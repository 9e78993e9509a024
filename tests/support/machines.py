"""The recorded machines of fixtures/machines, in every shape that tests need them."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ptttool.machine.sources.files import MemoryFiles
from ptttool.machine.sources.recorded import RecordedSource
from tests import ROOT

REPOSITORY = ROOT
MACHINES = REPOSITORY / "fixtures" / "machines"
NEW, OLD = "kunpeng-6.12", "kunpeng-6.1"
BUS = "/sys/devices/platform/4010000000.pcie/pci0000:00"


def copy_of(name: str, folder: Path) -> Path:
    """A machine's tree that may be changed."""
    return shutil.copytree(MACHINES / name, folder / name, symlinks=True)


def contents(name: str) -> tuple[dict[str, bytes], dict[str, str]]:
    """A machine's files and links, by absolute path, to be changed and given to :func:`in_memory`."""
    files: dict[str, bytes] = {}
    links: dict[str, str] = {}
    root = MACHINES / name
    for path in root.rglob("*"):
        key = f"/{path.relative_to(root)}"
        if path.is_symlink():
            links[key] = os.readlink(path)  # noqa: PTH115
        elif path.is_file():
            files[key] = path.read_bytes()
    return files, links


def in_memory(files: Mapping[str, bytes], links: Mapping[str, str]) -> RecordedSource:
    """A source of such files."""
    return RecordedSource(MemoryFiles(dict(files), dict(links)), "a machine in memory")


def run(
    arguments: Sequence[str], *, prefix: Sequence[str] = (), check: int | None = 0, **environment: str
) -> subprocess.CompletedProcess[str]:
    """``ptttool ARGUMENTS`` as a process of its own, behind ``prefix``; ``check``: the exit code that must come back."""
    done = subprocess.run(
        [*prefix, sys.executable, "-m", "ptttool", *arguments],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ, **environment},
        timeout=240,
    )
    if check is not None:
        assert done.returncode == check, done.stdout + done.stderr
    return done


# umockdev-run refuses arguments that are not ASCII, such as paths of a clone: the command comes to it in a variable.
UMOCKDEV = (
    "bash",
    "-c",
    'options=(); while [ "$1" != -- ]; do options+=("$1"); shift; done; shift; export WORDS="${*@Q}"; '
    """exec umockdev-run "${options[@]}" -- bash -c 'eval "exec $WORDS"'""",
    "umockdev",
)


def umockdev(name: str, folder: Path) -> list[str]:
    """The command words that run a command under umockdev with a recorded machine (a missing umockdev-run fails the test)."""
    dump = folder / f"{name}.umockdev"
    dump.write_bytes(gzip.decompress((MACHINES / f"{name}.umockdev.gz").read_bytes()))
    return [*UMOCKDEV, "-d", str(dump), "--"]


def document(done: subprocess.CompletedProcess[str]) -> Any:
    """What a process printed with --json."""
    return json.loads(done.stdout)


def with_recorded_modes(name: str, folder: Path) -> tuple[Path, list[str]]:
    """A copy of the tree in which the files that only root can read on the machine cannot be read, and the words to run as such a user.

    As root: the files belong to another user and the command runs without the capabilities that would override their modes (the
    Python that runs the tests may lie where another user cannot reach it, so that changing the user is no choice). As somebody
    else: the files lose all permissions.
    """
    tree = copy_of(name, folder)
    for line in (tree / "modes.txt").read_text().splitlines():
        mode, _, path = line.partition(" ")
        (tree / path[1:]).chmod(int(mode, 8) if os.geteuid() == 0 else 0)
    if os.geteuid() != 0:
        return tree, []
    for entry in (tree, *tree.rglob("*")):
        os.chown(entry, 1000, 1000, follow_symlinks=False)
    return tree, ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"]
