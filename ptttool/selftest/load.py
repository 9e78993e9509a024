"""Reads of a disk behind the port, and what they show: commands, the end of the AUX area, the cost of tracing."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final

import numpy as np
from msgspec import Meta, Struct, ValidationError, convert

from ptttool.errors import AccessError, DeviceError
from ptttool.machine.model import PciFunction
from ptttool.machine.sources.contract import Source, or_none
from ptttool.pipeline.analyzing.ask import Ask, run
from ptttool.pipeline.recording import OpenRecording, Request
from ptttool.selftest.document import Judged, Verdict
from ptttool.sweep.signed_rank import p_value

SMALL, LARGE = 4096, 128 << 10
"""Bytes of a read: one command each; and few commands for many bytes."""
SMALL_READS, LARGE_READS = 2000, 4096
PAIRS: Final = 6
# Seconds that reads go on at most, and that the program that reads may take.
_SECONDS, _PATIENCE = 3.0, 60.0
_MOST_DISKS, _SIGNIFICANT = 4096, 0.05
_PROGRAM: Final = Path(__file__).with_name("disk_reads.py")
_COST = "A16", "cost", "tracing does not slow the link"
_MODEL = "A20", "NVMe model", "each read of the disk is one command of the model"


class Done(Struct, frozen=True):
    """What was read of the disk.

    Parameters
    ----------
    reads, bytes : int
        Reads, and their bytes.
    seconds : float
        How long they took.
    problem : str or None
        Why nothing could be read.
    """

    reads: Annotated[int, Meta(ge=0)]
    bytes: Annotated[int, Meta(ge=0)]
    seconds: Annotated[float, Meta(ge=0)]
    problem: str | None = None

    @property
    def rate(self) -> float:
        """Bytes a second."""
        return self.bytes / self.seconds if self.seconds else 0.0


class LoadResults(Struct):
    """What the reads of the disk showed.

    Parameters
    ----------
    commands : tuple or None
        The recording of small reads, and what was read.
    pairs : list of (Done, Done)
        The same reads without and with a trace.
    """

    commands: tuple[str, Path, Done] | None = None
    pairs: list[tuple[Done, Done]] = []


def disk_of(source: Source, function: PciFunction) -> Path:
    """Return the device file of a disk on a function.

    Raises
    ------
    DeviceError
        There is no disk on it.
    """
    word = f"/{function.address}/"
    for name in sorted(or_none(source.names, "/sys/class/block") or ())[:_MOST_DISKS]:
        link = f"/sys/class/block/{name}"
        target = or_none(source.resolve, link) or ""
        if (
            word in target
            and or_none(source.read, f"{link}/partition") is None
            and or_none(source.read, f"{link}/size") not in (None, "0\n")
        ):
            return _checked(Path("/dev") / name, or_none(source.read, f"{link}/dev") or "")
    raise DeviceError(
        f"there is no disk on {function.address} {function.called}",
        hint="name an NVMe drive, or leave --load out",
        code="no-disk",
    )


def _checked(disk: Path, numbers: str) -> Path:
    """Return a device file that is the disk which sysfs names; ``numbers``: its major and minor number."""
    try:
        about = disk.lstat()
        if stat.S_ISBLK(about.st_mode) and f"{os.major(about.st_rdev)}:{os.minor(about.st_rdev)}" == numbers.strip():
            return disk
        reason = "another device"
    except OSError as error:
        reason = error.strerror or str(error)
    raise DeviceError(f"{disk} cannot be read: {reason}", hint="leave --load out", code="no-disk")


def words(disk: Path, size: int, count: int, output: Path) -> tuple[str, ...]:
    """Return the command that reads the disk."""
    return (sys.executable, "-I", "-S", str(_PROGRAM), str(disk), str(size), str(count), str(_SECONDS), str(output))


def done_of(output: Path) -> Done:
    """Read what the command wrote.

    Raises
    ------
    AccessError
        It wrote nothing that can be read, or the disk could not be read.
    """
    try:
        done = convert(json.loads(output.read_bytes()), Done)
    except (OSError, ValueError, ValidationError):
        done = Done(0, 0, 0.0, "the program that reads it failed")
    if done.problem is not None or not done.reads:
        raise AccessError(f"the disk cannot be read: {done.problem or 'it gives no data'}", code="disk-unreadable")
    return done


def without_trace(disk: Path, size: int, count: int, output: Path) -> Done:
    """Read the disk while nothing is traced. Errors are those of :func:`done_of`."""
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(words(disk, size, count, output), stdin=subprocess.DEVNULL, check=False, timeout=_PATIENCE)
    return done_of(output)


def judge_cost(pairs: Sequence[tuple[Done, Done]]) -> Judged:
    """A16: the same reads without and with a trace, in turn."""
    if len(pairs) < PAIRS:
        return Judged(*_COST, Verdict.NOT_TESTED, "it takes --load read: the same reads with and without a trace")
    rates = np.array([(plain.rate, traced.rate) for plain, traced in pairs])
    p, (plain, traced) = p_value(rates[:, 1] - rates[:, 0]), np.median(rates, axis=0).tolist()
    details = {"without": plain, "with": traced, "p": p, "pairs": len(pairs)}
    message = f"{traced / 1e6:.1f} MB/s with, {plain / 1e6:.1f} without a trace (medians of {len(pairs)} pairs, p = {p:.2g})"
    if p <= _SIGNIFICANT and traced < plain:
        return Judged(*_COST, Verdict.REFUTED, message, details=details)
    # No difference that so few pairs could show is no proof that there is none.
    return Judged(*_COST, Verdict.NOT_TESTED, f"not slower, as far as {len(pairs)} pairs tell: {message}", details=details)


def judge_commands(commands: tuple[str, Path, Done] | None) -> Judged:
    """A20: as many commands as reads."""
    if commands is None:
        return Judged(*_MODEL, Verdict.NOT_TESTED, "it takes --load read on an NVMe drive")
    name, path, done = commands
    with OpenRecording(Request(str(path))) as recording:
        seen = run(recording, Ask(), ("io",)).results["io"].nvme.commands
    details = {"commands": seen, "reads": done.reads}
    if seen is None:
        return Judged(*_MODEL, Verdict.NOT_TESTED, "the recording holds no commands that are understood", name, (), details)
    message = f"{seen:,} commands, {done.reads:,} reads"
    if seen > done.reads:
        return Judged(*_MODEL, Verdict.NOT_TESTED, f"{message}: somebody else uses the disk, too", name, (), details)
    return Judged(*_MODEL, Verdict.CONFIRMED if seen == done.reads else Verdict.REFUTED, message, name, (), details)
