"""Unfinished recordings that earlier runs left behind: what they are, and which of them hold nothing."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from ptttool.capture.budget import MAX_SIDECAR_BYTES
from ptttool.capture.names import KERNEL_SUFFIX, SUFFIX, kernel_name, sidecar_path, unfinished_in, unfinished_of, wanted_name
from ptttool.capture.sidecar import Sidecar, find, identifies
from ptttool.capture.unfinished.file import UnfinishedFile, is_being_written
from ptttool.capture.unfinished.held_trace import HeldTrace, held_trace
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import PtttoolError
from ptttool.wording import counted


class Leftover(Struct, frozen=True):
    """An unfinished recording.

    Parameters
    ----------
    path : Path
        The file.
    wanted : Path
        The path that the recording was to get.
    held : HeldTrace
        What it holds.
    being_written : bool
        Whether a process still writes it.
    started : str
        When it was started: wall time, ISO 8601 with its offset from UTC. Without a sidecar: when the file was last changed.
    sidecar : Sidecar or None
        What ptttool knew before the recording.
    """

    path: Path
    wanted: Path
    held: HeldTrace
    being_written: bool
    started: str
    sidecar: Sidecar | None

    @property
    def state(self) -> str:
        """``still-recording``, ``complete``, ``cut-short``, ``empty``, or ``unreadable``."""
        if self.being_written:
            return "still-recording"
        if self.held.holds_none:
            return "empty"
        if not self.held.aux_bytes:
            return "unreadable"
        return "complete" if self.held.complete else "cut-short"

    def __str__(self) -> str:
        """Say what it is, for messages."""
        what = {
            "still-recording": "still being recorded",
            "empty": "without a byte of trace",
            "unreadable": "no trace can be read in it",
            "complete": "complete",
            "cut-short": "cut short: perf did not finish it",
        }[self.state]
        amount = "" if self.held.tlps is None or self.being_written else f", {counted(self.held.tlps, 'TLP')}"
        return f"{counted(self.held.size, 'byte')}, {counted(self.held.aux_bytes, 'byte')} of AUX data{amount}, of {self.started}, {what}"

    def diagnostic(self) -> Diagnostic:
        """Report it, with what to do."""
        then = "" if self.being_written else f"; ptttool recover {shlex.quote(str(self.path))} gives it its name"
        details = {"state": self.state, "aux_bytes": self.held.aux_bytes, "tlps": self.held.tlps}
        message = f"{self.path}: an unfinished recording ({self}){then}"
        return Diagnostic(Severity.WARNING, "unfinished-recording", message, where=str(self.path), details=details)


def look_at(path: Path) -> Leftover:
    """Look at an unfinished recording.

    Raises
    ------
    InputError, AccessError
        It is gone, or cannot be opened.
    """
    output = path.with_name(wanted_name(path.name) or path.name)
    with UnfinishedFile(output, path.name) as file:
        sidecar, _ = find(path)
        config = None if sidecar is None else sidecar.options.get("config")
        changed = datetime.fromtimestamp(os.fstat(file.descriptor).st_mtime, UTC).astimezone().isoformat(timespec="seconds")
        return Leftover(
            path=path,
            wanted=output,
            held=held_trace(file.through_proc, config),
            being_written=is_being_written(file.descriptor),
            started=changed if sidecar is None or sidecar.started is None else sidecar.started,
            sidecar=sidecar,
        )


def beside(recording: Path) -> list[Leftover]:
    """Return the unfinished recordings that are to get a path, or the one that has it; none where they cannot be read."""
    try:
        return [look_at(path) for path in unfinished_of(recording)]
    except (PtttoolError, OSError):
        return []


def leftovers(folder: Path) -> Iterator[Diagnostic]:
    """Report the unfinished recordings of this user in a folder, and remove those that hold no byte of trace.

    Those that are still being recorded are left alone.

    Parameters
    ----------
    folder : Path
        The folder of an output.
    """
    with suppress(OSError):
        tidy_sidecars(folder)
        for path in unfinished_in(folder):
            with suppress(PtttoolError, OSError):  # another run has just dealt with it
                one = look_at(path) if path.lstat().st_uid == os.geteuid() else None
                if one is not None and one.state == "empty":
                    with UnfinishedFile(one.wanted, path.name) as file:
                        file.remove()
                elif one is not None and not one.being_written:
                    yield one.diagnostic()


def tidy_sidecars(folder: Path) -> None:
    """Give files beside a recording their name where a run ended after it had named it; remove those of recordings that are gone."""
    for path in folder.glob(f"*.part{KERNEL_SUFFIX}"):
        unfinished = path.with_name(path.name.removesuffix(KERNEL_SUFFIX))
        name = wanted_name(unfinished.name)
        if name is None or unfinished.exists() or path.is_symlink() or path.lstat().st_uid != os.geteuid():
            continue
        known, target = find(folder / name)[0], folder / kernel_name(name)
        with suppress(OSError):
            if known is not None and known.kernel is not None and not target.exists():
                path.rename(target)
            else:
                path.unlink()
    for path in folder.glob(f"*.part{SUFFIX}"):
        unfinished = path.with_name(path.name.removesuffix(SUFFIX))
        name = wanted_name(unfinished.name)
        if name is None or unfinished.exists() or path.is_symlink() or path.lstat().st_uid != os.geteuid():
            continue
        recording = folder / name
        with suppress(OSError, ValueError, RecursionError):  # what is not a sidecar stays
            with path.open("rb") as file:
                text = file.read(MAX_SIDECAR_BYTES)
            if identifies(json.loads(text), recording) and not sidecar_path(recording).exists():
                path.rename(sidecar_path(recording))
            else:
                path.unlink()
