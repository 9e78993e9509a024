"""What the self-test has measured on this machine, and no document says: the file ``machine.json`` in ptttool's folder of state.

It holds for one driver, one kernel and one kind of processor, so each entry has these as its key. Nothing in it is believed that another
user could have written.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict

from ptttool.budget import CODE as OVER_BUDGET
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import document, dumps, read_json
from ptttool.errors import OutputError
from ptttool.files.local import open_regular
from ptttool.files.ownership import STATE_VARIABLE, open_own_folder, state_folder, weakness_of
from ptttool.machine.budget import MAX_MEASURED_BYTES, MAX_MEASURED_ENTRIES
from ptttool.machine.pmu import PMU_PREFIX
from ptttool.machine.read_device import first_line
from ptttool.machine.sources.contract import Source, or_none
from ptttool.wording import counted, shortened

KEY, VERSION = "ptttool_machine", 1
NAME: Final = "machine.json"
SYSTEM: Final = Path("/var/lib/ptttool") / NAME
"""What root has measured; other users read it behind their own."""
SHORTEST_TICK, LONGEST_TICK = 1e-3, 1e6
"""Nanoseconds of a tick that are taken: from a picosecond to a millisecond. Sums of ticks stay finite, and links are faster than that."""
MODELS: Final = ("counter", "delta")
BITS: Final = {"4dw": 11, "8dw": 32}
"""Bits of the Time field of each format."""

_LONGEST_TEXT: Final = 200
_MOST_ANCHORS: Final = 10**9
# Where a system on chip says which one it is: a name for what is there, and the file; the PTT's own identifier comes after the first two.
_SOC_FILES: Final = (("soc_id", "/sys/devices/soc0/soc_id"), ("machine", "/sys/devices/soc0/machine"))
_CPU_FILES: Final = (("midr_el1", "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1"),)
_CPUINFO: Final = re.compile(r"^CPU (implementer|part)\s*:\s*(0x[0-9a-f]{1,8})\s*$", re.MULTILINE)
# Seconds to wait for another process that writes the file.
_WAIT: Final = 10.0


class MachineKey(Struct, frozen=True):
    """What a measurement holds for.

    Parameters
    ----------
    driver : str or None
        The ``srcversion`` of the module hisi_ptt; null where the kernel gives none.
    kernel : str
        Release of the kernel.
    soc : str or None
        The system on chip, after the name of the place that says so: ``soc_id``, ``machine``, ``identifier`` (of the PTT), ``midr_el1``,
        or ``cpuinfo``; null where none does.
    """

    driver: str | None
    kernel: str
    soc: str | None


class MeasuredClock(Struct, frozen=True):
    """How the Time field of one format is read.

    Parameters
    ----------
    model : str
        ``counter`` or ``delta``.
    bits : int
        Bits of the field: 11 or 32.
    tick_ns : float
        Nanoseconds of a tick: the middle of what fits.
    low_ns, high_ns : float
        No tick outside of these fits the readings.
    anchors : int
        Readings that bound it.
    """

    model: str
    bits: int
    tick_ns: float
    low_ns: float
    high_ns: float
    anchors: int

    @property
    def is_sound(self) -> bool:
        """Whether the values are those of a clock."""
        is_tick = SHORTEST_TICK <= self.low_ns <= self.tick_ns <= self.high_ns <= LONGEST_TICK
        return self.model in MODELS and self.bits in BITS.values() and is_tick and 0 < self.anchors <= _MOST_ANCHORS

    @property
    def error(self) -> float:
        """How far the tick may be from its middle, as a share of it."""
        return max(self.high_ns - self.tick_ns, self.tick_ns - self.low_ns) / self.tick_ns


class ClockSource(StrEnum):
    """How a clock was measured."""

    SELF_TEST = "self-test"
    """By ``ptttool selftest``, on the same machine."""
    ANCHORS = "anchors"
    """By reads of known times in the recording itself."""


class KeptClock(MeasuredClock, frozen=True):
    """A clock that is kept beside a recording.

    Parameters
    ----------
    source : ClockSource
        How it was measured.
    when : str
        When: ISO 8601 with the offset from UTC.
    """

    source: ClockSource
    when: str

    @property
    def is_sound(self) -> bool:
        """Whether the values are those of a clock that was measured at some time."""
        return super().is_sound and _is_time(self.when)

    def __str__(self) -> str:
        """Say where it comes from: ``measured by the self-test on 2026-11-20, 61 anchors, ±0.014 %``."""
        how = f"by the self-test on {self.when[:10]}" if self.source is ClockSource.SELF_TEST else "in the recording itself"
        return f"measured {how}, {counted(self.anchors, 'anchor')}, ±{100 * self.error:.2g} %"


class Measured(Struct, frozen=True):
    """What was measured on a machine.

    Parameters
    ----------
    key : MachineKey
        What it holds for.
    when : str
        When it was measured: ISO 8601 with the offset from UTC.
    clocks : Mapping[str, MeasuredClock]
        The clock of each format that was tried, ``4dw`` and ``8dw``.
    in_order : bool or None
        Whether TLPs of both directions come in the order of their times; null where it was not tested.
    commits_early : bool or None
        Whether the driver hands trace to perf before the AUX area is full; null where it was not tested.
    several_types_outbound : bool or None
        Whether an event of several types records all of them outbound, too; null where it was not tested.
    """

    key: MachineKey
    when: str
    clocks: Mapping[str, MeasuredClock] = {}
    in_order: bool | None = None
    commits_early: bool | None = None
    several_types_outbound: bool | None = None

    @property
    def is_sound(self) -> bool:
        """Whether the values can be measured ones."""
        texts = (text for text in (self.key.driver, self.key.kernel, self.key.soc) if text is not None)
        is_text = all(0 < len(text) <= _LONGEST_TEXT and text.isprintable() for text in texts)
        return is_text and _is_time(self.when) and all(BITS.get(name) == each.bits and each.is_sound for name, each in self.clocks.items())

    def clock(self, format_: str) -> KeptClock | None:
        """Return the clock of a format, ``4dw`` or ``8dw``, for a recording; None where it was not measured."""
        clock = self.clocks.get(format_)
        return None if clock is None else KeptClock(**asdict(clock), source=ClockSource.SELF_TEST, when=self.when)


@document("machine")
class MeasuredMachines(Struct, frozen=True, kw_only=True):
    """The file ``machine.json``: what the self-test has measured.

    Parameters
    ----------
    ptttool_machine : int
        The version of this format, 1.
    entries : tuple of Measured
        One for each key, the newest first.
    """

    ptttool_machine: int = VERSION
    entries: tuple[Measured, ...] = ()


def _is_time(text: str) -> bool:
    """Whether a text is a time with its zone, and nothing else that a terminal would show."""
    try:
        return len(text) <= _LONGEST_TEXT and text.isprintable() and datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def key_of(source: Source) -> MachineKey | None:
    """Return what measurements on a machine hold for; None where it does not say which kernel it has."""
    kernel = first_line(source, "/proc/sys/kernel/osrelease")
    if kernel is None:
        return None
    return MachineKey(_text(source, "/sys/module/hisi_ptt/srcversion"), kernel[:_LONGEST_TEXT], _soc_of(source))


def _text(source: Source, path: str) -> str | None:
    return (first_line(source, path) or "").strip()[:_LONGEST_TEXT] or None


def _soc_of(source: Source) -> str | None:
    """Return the system on chip, and before it what was looked at."""
    for name, path in chain(_SOC_FILES, (("identifier", f"{path}/identifier") for path in _devices(source)), _CPU_FILES):
        if text := _text(source, path):
            return f"{name} {text}"
    found = dict(_CPUINFO.findall(or_none(source.read, "/proc/cpuinfo") or ""))
    return f"cpuinfo {found['implementer']} {found['part']}" if len(found) == 2 else None


def _devices(source: Source) -> Iterator[str]:
    """Yield the paths of the PTT devices; nothing is listed before the first is asked for."""
    yield from (path for path in source.devices("event_source") if path.rpartition("/")[2].startswith(PMU_PREFIX))


def measured_here(source: Source, path: str | os.PathLike[str] | None = None) -> tuple[Measured | None, tuple[Diagnostic, ...]]:
    """Return what was measured on a machine. What the files hold never raises an exception.

    Parameters
    ----------
    source : Source
        The machine.
    path : str or path, optional
        The file. Default: that in :func:`~ptttool.files.ownership.state_folder`, and behind it root's.

    Returns
    -------
    measured : Measured or None
        The entry of this driver, kernel and system on chip.
    problems : tuple of Diagnostic
        Why a file that is there is not used (``measured-link``, ``measured-not-a-file``, ``measured-untrusted``, ``measured-unreadable``,
        ``measured-damaged``, ``measured-version``, ``over-budget``), or that it has other machines only (``measured-elsewhere``).
    """
    found: list[Diagnostic] = []
    key: MachineKey | None = None
    for file in _places() if path is None else (Path(path),):
        entries, problem = _read(file)
        if problem is not None:
            found.append(problem)
        if not entries:
            continue
        key = key or key_of(source)
        fitting = next((entry for entry in entries if entry.key == key), None)
        if fitting is not None:
            return fitting, tuple(found)
        found.append(_elsewhere(file, entries[0], key))
    return None, tuple(found)


def keep(measured: Measured, path: str | os.PathLike[str] | None = None) -> Path:
    """Keep what was measured. It takes the place of what the file has for the same key; the oldest entries go when there are too many.

    Parameters
    ----------
    measured : Measured
        What was measured.
    path : str or path, optional
        The file. Default: that in :func:`~ptttool.files.ownership.state_folder`.

    Returns
    -------
    Path
        The file. It is written whole or not at all, and everyone may read it. A file that cannot be used is replaced.

    Raises
    ------
    ValueError
        The values cannot be measured ones.
    AccessError
        ``unsafe-folder``: others may write in the folder. As :func:`~ptttool.files.atomic.output_file`.
    BusyError
        Another process writes it.
    OutputError, OSError
        It is a link (``untrusted-link``), no regular file (``not-a-file``), or cannot be written.
    """
    from ptttool.files.atomic import output_file
    from ptttool.files.locks import hold

    if not measured.is_sound:
        raise ValueError(f"not what a machine can have been measured to be: {measured}")
    file = state_folder() / NAME if path is None else Path(path)
    os.close(open_own_folder(file.parent, mode=0o755))
    with hold("measured", purpose="selftest", subject=str(file), wait=_WAIT):
        try:
            what_is_there = file.lstat().st_mode
        except FileNotFoundError:
            what_is_there = stat.S_IFREG
        if stat.S_ISLNK(what_is_there):
            raise OutputError(f"{file}: a link: it is not followed", hint="remove it", code="untrusted-link")
        if not stat.S_ISREG(what_is_there):  # a FIFO would be waited for
            raise OutputError(f"{file}: not a regular file", hint="remove it", code="not-a-file")
        entries, problem = _read(file)
        if problem is not None and problem.code == "measured-version":
            raise OutputError(problem.message, hint="remove it, or use the newer ptttool", code=problem.code)
        others = [entry for entry in entries if entry.key != measured.key]
        others.sort(key=lambda entry: datetime.fromisoformat(entry.when), reverse=True)
        body = MeasuredMachines(entries=(measured, *others[: MAX_MEASURED_ENTRIES - 1]))
        with output_file(file, force=True, mode=0o644) as target:
            target.write((dumps(body) + "\n").encode())
    return file


def _places() -> tuple[Path, ...]:
    """Return the files that are looked at, the first one first."""
    own = state_folder() / NAME
    return (own,) if os.environ.get(STATE_VARIABLE) else tuple(dict.fromkeys((own, SYSTEM)))


def _read(path: Path) -> tuple[tuple[Measured, ...], Diagnostic | None]:
    """Return the entries of a file, the newest first; or why it cannot be used."""
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            # What lies in a folder of another user can be exchanged, whoever owns the file.
            weakness = weakness_of(str(path), trusted=frozenset({os.geteuid()}))
            if weakness is not None:
                return (), _unusable(path, "untrusted", f"is not used: {weakness}")
            text = file.read(MAX_MEASURED_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return (), None
    except OSError as error:
        if isinstance(error, PermissionError) and path == SYSTEM:  # root's folder may be for root alone
            return (), None
        code = {errno.ELOOP: "link", errno.EINVAL: "not-a-file", errno.ENXIO: "not-a-file"}.get(error.errno or 0, "unreadable")
        reason = {"link": "is a link: it is not followed", "not-a-file": "is not a regular file"}
        return (), _unusable(path, code, reason.get(code, f"cannot be read: {error.strerror}"))
    if len(text) > MAX_MEASURED_BYTES:
        message = f"{path} has more than {MAX_MEASURED_BYTES:,} bytes: it is not read"
        return (), Diagnostic(
            Severity.WARNING, OVER_BUDGET, message, where=str(path), details={"limit": MAX_MEASURED_BYTES, "unit": "bytes"}
        )
    return parsed(path, text)


def parsed(path: Path, text: bytes) -> tuple[tuple[Measured, ...], Diagnostic | None]:
    """Return the entries of a file's text; or why it cannot be used."""
    try:
        body: Any = json.loads(text.decode("utf-8"))
        version = body[KEY] if isinstance(body, dict) and KEY in body else None
        if type(version) is int and version != VERSION:
            return (), _unusable(path, "version", f"has version {shortened(str(version))}; this ptttool reads version {VERSION}")
        if version is None:
            raise ValueError("not what 'ptttool selftest' writes")
        entries = read_json(body, MeasuredMachines).entries
        if len(entries) > MAX_MEASURED_ENTRIES or not all(entry.is_sound for entry in entries):
            raise ValueError("a value that no machine has")
        return entries, None
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        return (), _unusable(path, "damaged", f"is damaged: {shortened(str(error), 120)}")


def _unusable(path: Path, code: str, reason: str) -> Diagnostic:
    hint = "remove it; 'ptttool selftest' writes it anew"
    return Diagnostic(Severity.WARNING, f"measured-{code}", f"{path} {reason}", hint, where=str(path))


def _elsewhere(path: Path, newest: Measured, key: MachineKey | None) -> Diagnostic:
    """Say what differs from the last measurement."""
    names = MachineKey.__struct_fields__
    differing = [name for name in names if key is not None and getattr(key, name) != getattr(newest.key, name)]
    details: dict[str, object] = {"measured": newest.key, "here": key, "differs": differing}
    shown = ", ".join(f"{name} {getattr(key, name)}, not {getattr(newest.key, name)}" for name in differing) or "its kernel is not known"
    message = f"the self-test of {newest.when[:10]} was on another system ({shown}): what it measured is not used here"
    return Diagnostic(
        Severity.INFO, "measured-elsewhere", message, "'ptttool selftest' measures this one", where=str(path), details=details
    )
