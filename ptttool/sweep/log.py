"""The runs of a sweep on the disk: each run is there as soon as it is over, so that a sweep that was cut off can go on.

A file of JSON lines, beside the results that it becomes. The first line is the plan; each of the others is a run. A line that was cut off
at the end of the file is ignored.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Self

from msgspec import Meta, Struct

from ptttool.documents import read_json, to_json
from ptttool.errors import AccessError, InputError, OutputError
from ptttool.files.failures import output_failure
from ptttool.files.ownership import sync_folder
from ptttool.sweep.design import Values
from ptttool.wording import shortened

VERSION = 1
SUFFIX = ".runs"
MOST_BYTES = 64 << 20
KIND = "ptttool-sweep"
DIGEST = "arguments_sha256"
LONGEST_SEED = 1 << 63


class RunRecord(Struct, frozen=True):
    """A run of the workload under a setting.

    Parameters
    ----------
    round : int
        Its round, counted from 1; 0 for a warm-up, which does not count.
    order : int
        Its position among all runs of the sweep, counted from 1; 0 for a warm-up.
    setting : tuple of int
        The values of the attributes, as they were read back.
    ending : str
        How it ended: ``done``, ``failed``, ``timeout``, ``too-much-output``, ``no-metric`` or ``no-trace``.
    exit : int
        Exit status of the workload; minus the number of the signal that ended it.
    seconds : float
        How long it ran.
    started : str
        Date and time in UTC, ISO 8601.
    metrics : Mapping of str to float or None
        The values; null where the run did not yield one.
    problem : str or None
        Why a value is missing.
    """

    round: Annotated[int, Meta(ge=0)]
    order: Annotated[int, Meta(ge=0, le=(1 << 32) - 1)]
    setting: Values
    ending: str
    exit: Annotated[int, Meta(ge=-255, le=255)]
    seconds: Annotated[float, Meta(ge=0, le=1e9)]
    started: str
    metrics: Mapping[str, float | None] = {}
    problem: str | None = None


class RunLog:
    """The file of runs of a sweep; a context manager.

    Attributes
    ----------
    path : Path
        The file.
    runs : list of RunRecord
        The runs in it.
    """

    def __init__(self, path: Path, descriptor: int, runs: Sequence[RunRecord] = ()) -> None:
        self.path = path
        self.runs = list(runs)
        self._descriptor = descriptor

    @classmethod
    def create(cls, path: Path, plan: Mapping[str, Any], *, force: bool = False) -> RunLog:
        """Begin a file, with the plan on the disk.

        Parameters
        ----------
        path : Path
            The file.
        plan : Mapping
            What must be the same for the sweep to go on.
        force : bool
            Remove the file of an earlier sweep.

        Raises
        ------
        OutputError
            ``exists``, or it cannot be written.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            if force or _is_empty(path):
                with suppress(FileNotFoundError):
                    path.unlink()
            descriptor = os.open(path, flags, 0o666)
        except FileExistsError:
            raise OutputError(
                f"{path}: the runs of an earlier sweep, which did not end",
                hint=f"--resume {path} goes on with it, --force begins anew",
                code="exists",
            ) from None
        except OSError as error:
            raise output_failure(path, error) from None
        log = cls(path, descriptor)
        try:
            log._append({"kind": KIND, "version": VERSION, **plan})
            sync_folder(path.parent)
        except BaseException:
            os.close(descriptor)
            log.remove()
            raise
        return log

    @classmethod
    def resume(cls, path: Path, plan: Mapping[str, Any]) -> RunLog:
        """Open the file of a sweep that was cut off.

        Raises
        ------
        InputError
            The file is not one of a sweep, or of a sweep with another plan (``other-sweep``).
        AccessError
            ``foreign-file``: it belongs to another user.
        """
        descriptor = _open(path)
        try:
            data = _read(descriptor, path)
            lines = data.split(b"\n")
            head = _head(lines[0], path)
            if head.get("kind") != KIND:
                raise InputError(path, "not the runs of a sweep", code="not-a-sweep")
            if head.get("version") != VERSION:
                raise InputError(
                    path, f"version {head.get('version')!r} of a sweep; this ptttool reads version {VERSION}", code="not-a-sweep"
                )
            _require_same(path, head, plan)
            settings = {tuple(setting) for setting in plan["settings"]}
            runs = [_run(_line(line, path, at), settings, plan["rounds"], path, at) for at, line in enumerate(lines[1:-1], 2)]
            if lines[-1]:  # it was cut off
                os.ftruncate(descriptor, len(data) - len(lines[-1]))
        except BaseException as error:
            os.close(descriptor)
            if isinstance(error, OSError):
                raise output_failure(path, error) from None
            raise
        return cls(path, descriptor, runs)

    def add(self, run: RunRecord) -> None:
        """Add a run, and wait until it is on the disk.

        Raises
        ------
        OutputError
            It cannot be written.
        """
        self._append(to_json(run))
        self.runs.append(run)

    def remove(self) -> None:
        """Remove the file: the results are elsewhere."""
        with suppress(OSError):
            self.path.unlink()

    def _append(self, record: Mapping[str, Any]) -> None:
        data = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        size = os.fstat(self._descriptor).st_size
        try:
            rest = data
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            os.fsync(self._descriptor)
        except OSError as error:
            with suppress(OSError):  # half a line is of no use
                os.ftruncate(self._descriptor, size)
            raise output_failure(self.path, error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._descriptor)


def seed_of(path: Path) -> int:
    """Read the seed of the order of runs from a file of runs.

    Raises
    ------
    InputError, AccessError
        As :meth:`RunLog.resume`.
    """
    descriptor = _open(path)
    try:
        head = _head(_read(descriptor, path).partition(b"\n")[0], path)
    finally:
        os.close(descriptor)
    seed = head.get("seed")
    if head.get("kind") != KIND or type(seed) is not int or not 0 <= seed < LONGEST_SEED:
        raise InputError(path, "not the runs of a sweep", code="not-a-sweep")
    return seed


def _open(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise InputError(path, "no such file", hint="without --resume, a new sweep begins", code="no-such-file") from None
    except PermissionError as error:
        raise AccessError(f"{path}: {error.strerror}", path=str(path)) from None
    except OSError as error:
        raise InputError(path, error.strerror or str(error)) from None
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid():
        os.close(descriptor)
        raise AccessError(f"{path}: not a regular file of this user", code="foreign-file", path=str(path))
    return descriptor


def _read(descriptor: int, path: Path) -> bytes:
    size = os.fstat(descriptor).st_size
    if size > MOST_BYTES:
        raise InputError(path, f"{size} bytes: larger than the runs of a sweep can be", code="not-a-sweep")
    return os.pread(descriptor, size, 0)


def _is_empty(path: Path) -> bool:
    """Tell whether a sweep was cut off before it wrote its plan."""
    try:
        about = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(about.st_mode) and not about.st_size


def _head(line: bytes, path: Path) -> dict[str, Any]:
    if not line:
        reason = "nothing is in it: the sweep was cut off before its first run"
        raise InputError(path, reason, hint="without --resume, a new sweep begins", code="not-a-sweep")
    return _line(line, path, 1)


def _line(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise InputError(path, f"line {number} is damaged: {shortened(line.decode('utf-8', 'replace'), 40)!r}", code="not-a-sweep")
    return record


def _require_same(path: Path, head: Mapping[str, Any], plan: Mapping[str, Any]) -> None:
    """Raise InputError if the plan is another one."""
    other = [key for key, value in to_json(plan).items() if head.get(key) != value]
    if other:
        raise InputError(
            path,
            "it is a sweep with other settings: "
            + "; ".join(
                "the arguments of the workload differ" if key == DIGEST else f"{key} was {_short(head.get(key))}, is {_short(plan[key])}"
                for key in other
            ),
            hint="give the same options and the same workload as at first, or begin a new sweep",
            code="other-sweep",
            different=other,
        )


def _short(value: object) -> str:
    return shortened(json.dumps(to_json(value)), 60)


def _run(line: Mapping[str, Any], settings: Collection[Values], rounds: int, path: Path, number: int) -> RunRecord:
    """Return the run of a line. A line that no run of this sweep has is refused here, before hours of further runs."""
    try:
        # No file can hold half a surrogate pair.
        json.dumps(line, ensure_ascii=False).encode()
        run = read_json(line, RunRecord) if {"metrics", "problem"} <= line.keys() else None
    except (RecursionError, ValueError):
        run = None
    if (
        run is None
        or run.setting not in settings
        or run.round > rounds
        or not all(value is None or math.isfinite(value) for value in run.metrics.values())
    ):
        raise InputError(path, f"line {number} is not a run of this sweep", code="not-a-sweep")
    return run
