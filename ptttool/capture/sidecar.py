"""The sidecar: the file beside a recording that keeps what perf.data cannot say.

That is: names, bus ranges, options, values of tune attributes, versions. A recording can be decoded without it. A sidecar that is damaged,
of another recording or of a newer ptttool is ignored, with a diagnostic.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

from msgspec import Struct, ValidationError
from msgspec.structs import replace

from ptttool.budget import CODE as OVER_BUDGET
from ptttool.capture.budget import MAX_SIDECAR_BYTES
from ptttool.capture.names import sidecar_names, sidecar_path
from ptttool.capture.perf.counters import LinkCounters
from ptttool.capture.perf.tracepoints import KernelEvents
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import document, read_json, to_json
from ptttool.errors import InputError, PtttoolError
from ptttool.files.remote import is_remote, open_remote, read_small, storage_answers
from ptttool.machine.measured import KeptClock
from ptttool.machine.model import Machine, PciFunctions, PttDevice
from ptttool.pci import PciAddress
from ptttool.wording import shortened

KEY, VERSION = "ptttool_sidecar", 1
# The first bytes of a perf.data hold sizes, offsets and event numbers: they differ between recordings, and stay when the end is cut off.
_HEAD = 4096
# Seconds that a trace may have lasted: perf does not answer twice in a microsecond, and no recording takes 30 years.
_SHORTEST, _LONGEST = 1e-6, 1e9


# Keys that came to this version later.
_LATER = {"replay_of", "went_offline", "seconds", "clock", "counters", "kernel"}


class TracedCommand(Struct, frozen=True):
    """How the command ended that ran while recording.

    Parameters
    ----------
    command : tuple of str
        The program, and its arguments where they are kept (``--keep-command``): they can hold passwords.
    exit : int or None
        Its exit status.
    signal : str or None
        The signal that ended it.
    stopped : bool
        Whether perf ended it, because the recording was stopped.
    arguments : int
        The number of its arguments.
    """

    command: tuple[str, ...]
    exit: int | None
    signal: str | None
    stopped: bool
    arguments: int = 0


class RecordingIdentity(Struct, frozen=True):
    """The recording that a sidecar is of.

    Parameters
    ----------
    name : str
        Its file name.
    head_sha256 : str or None
        SHA-256 of its first 4 KiB; null for a folder.
    """

    name: str
    head_sha256: str | None


@document("sidecar")
class Sidecar(Struct, frozen=True, kw_only=True):
    """The file ``NAME.ptttool.json`` beside a recording.

    It keeps what was known when the recording was made.

    Parameters
    ----------
    ptttool_sidecar : int
        The version of this format, 1.
    recording : RecordingIdentity
        The recording.
    machine : Machine
        The PTT device, its root ports and the functions behind them, as ``list --json`` prints them.
    options : Mapping[str, object]
        What was asked for; ``event``, ``config``, ``cpu``, ``aux_size`` among it.
    command : tuple of str
        The perf command; of the command in it the program, and its arguments where they are kept (``--keep-command``).
    traced : TracedCommand or None
        How the command ended that ran while recording.
    tune : Mapping[str, int]
        The values of the tune attributes when the recording began, as far as they could be read.
    versions : Mapping[str, str]
        Of ``ptttool``, ``perf`` and ``kernel``.
    started, ended : str or None
        When the trace was seen to begin, and to end: wall time, ISO 8601 with its offset from UTC. Of one that was not, when perf was
        started, and null.
    replay_of : str or None
        The command that made the bundled recording which this is a copy of.
    went_offline : tuple of int
        CPUs that were online when recording began and offline when it ended.
    seconds : float or None
        Seconds that were traced, between perf's answers that the event is on and off; null where it did not give both, and in sidecars
        of older versions.
    clock : KeptClock or None
        How its Time field is read, and how long a tick is, as measured on this machine; null where that was not measured, and in sidecars
        of older versions.
    counters : LinkCounters or None
        What counters beside the trace counted; null where none did, and in sidecars of older versions.
    kernel : KernelEvents or None
        The kernel's events that were recorded beside the trace; null where none were, and in sidecars of older versions.
    """

    json_types: ClassVar = {"machine": dict[str, object]}

    ptttool_sidecar: int = VERSION
    recording: RecordingIdentity = RecordingIdentity("", None)
    machine: Machine
    options: Mapping[str, object] = {}
    command: tuple[str, ...] = ()
    traced: TracedCommand | None = None
    tune: Mapping[str, int] = {}
    versions: Mapping[str, str] = {}
    started: str | None = None
    ended: str | None = None
    replay_of: str | None = None
    went_offline: tuple[int, ...] = ()
    seconds: float | None = None
    clock: KeptClock | None = None
    counters: LinkCounters | None = None
    kernel: KernelEvents | None = None

    @property
    def device(self) -> PttDevice | None:
        """The PTT device that recorded."""
        return self.machine.devices[0] if self.machine.devices else None

    @property
    def at_least(self) -> float | None:
        """Seconds that were traced at least, where :attr:`seconds` is None; only if the records of perf.data span as much.

        That is the time from when perf's command, which ran within the trace, was seen to begin until it was to end. Where it was not seen,
        older versions wrote when perf itself began and ended: perf's life is longer than the times in its records.
        """
        from datetime import datetime

        if self.seconds is not None or self.started is None or self.ended is None or self.replay_of is not None:
            return None
        try:
            seconds = (datetime.fromisoformat(self.ended) - datetime.fromisoformat(self.started)).total_seconds()
        except (ValueError, TypeError):
            return None
        return seconds if _SHORTEST <= seconds <= _LONGEST else None

    @property
    def cpu(self) -> int | None:
        """The CPU that recorded."""
        cpu = self.options.get("cpu")
        return cpu if isinstance(cpu, int) else None


def part_of(machine: Machine, device: PttDevice) -> Machine:
    """Return the part of a machine that the traces of one device can name: the device, its root ports, the functions behind them."""
    ports = {entry.address for entry in device.root_ports}

    def named(address: PciAddress) -> bool:
        return address in ports or address == device.pci or machine.root_port_of(address) in ports

    kept = {address: function for address, function in machine.functions.items() if named(address)}
    return replace(machine, devices=(device,), functions=PciFunctions(kept))


def save(recording: str | Path, sidecar: Sidecar, *, name: str | None = None, finished: bool = True, file: Path | None = None) -> Path:
    """Write a recording's sidecar, whole or not at all; the recording exists already. Nobody may read it who may not read the recording.

    Parameters
    ----------
    recording : str or Path
        The recording.
    sidecar : Sidecar
        What is known of it.
    name : str or None
        The name that the recording is to get; None: it has it.
    finished : bool
        Whether the first bytes of the recording stay as they are: they then identify it.
    file : Path or None
        The path by which the recording is read; None: ``recording``. In a folder of another user the name can lead elsewhere by now.

    Raises
    ------
    OutputError, OSError
        It cannot be written.
    """
    from ptttool.files.atomic import output_file

    path = sidecar_path(recording)
    content = Path(recording) if file is None else file
    body = replace(sidecar, recording=RecordingIdentity(name or Path(recording).name, _head(content) if finished else None))
    with output_file(path, force=True, mode=_mode(content)) as target:
        target.write((json.dumps(to_json(body), indent=1, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace"))
    return path


def load(recording: str | Path) -> Sidecar | None:
    """Return a recording's sidecar; None where there is none that can be used."""
    return find(recording)[0]


def find(recording: str | Path) -> tuple[Sidecar | None, Diagnostic | None]:
    """Look for a recording's sidecar. What the file holds never raises an exception.

    Returns
    -------
    sidecar : Sidecar or None
        The sidecar, where there is one that can be used.
    problem : Diagnostic or None
        Why the file that is there cannot be used. Its ``where`` is the path; ``details["at"]``, for a wrong value, where it is in the JSON.
    """
    name = str(recording)
    if name == "-":
        return None, None
    path, *others = sidecar_names(name) if is_remote(name) else [str(sidecar_path(name))]
    try:
        if is_remote(name):
            path, text = _remote_text(path, *others)
        else:
            if not stat.S_ISREG(Path(path).stat().st_mode):
                return None, _unusable(path, "not-a-file", "is not a regular file")
            with Path(path).open("rb") as file:
                text = file.read(MAX_SIDECAR_BYTES + 1)
        if len(text) > MAX_SIDECAR_BYTES:
            message = f"{path} has more than {MAX_SIDECAR_BYTES:,} bytes: it is not read as a sidecar"
            limits = {"limit": MAX_SIDECAR_BYTES, "unit": "bytes"}
            return None, Diagnostic(Severity.INFO, OVER_BUDGET, message, where=path, details=limits)
        body = json.loads(text.decode("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        if not is_remote(name):  # who looks at the folder sees it
            return None, None
        message = f"there is no {' and no '.join([path, *others])}"
        return None, Diagnostic(Severity.WARNING, "sidecar-missing", message, where=path)
    except PtttoolError as error:
        return None, Diagnostic(Severity.WARNING, "sidecar-unreadable", f"the sidecar cannot be read: {error.message}", where=path)
    except OSError as error:
        return None, _unusable(path, "unreadable", f"cannot be read: {error.strerror}")
    except (ValueError, RecursionError):
        return None, _unusable(path, "not-json", "is not JSON")
    if not isinstance(body, dict) or KEY not in body:
        return None, _unusable(path, "foreign", "is not a sidecar of ptttool")
    version = body[KEY]
    if version != VERSION:
        newer = isinstance(version, int) and version > VERSION
        return None, _unusable(
            path, "version", f"has {'a newer' if newer else 'an unknown'} version ({shortened(repr(version))})", newer=newer
        )
    return _checked(path, name, body)


def _remote_text(*names: str) -> tuple[str, bytes]:
    """Return the first sidecar that is there, and its address. Raises FileNotFoundError where none is, and as a remote file does."""
    for name in names:
        try:
            return name, read_small(name, MAX_SIDECAR_BYTES + 1)
        except InputError as error:
            if error.code != "no-such-file":
                raise
    raise FileNotFoundError


def _checked(path: str, recording: str, body: Mapping[str, Any]) -> tuple[Sidecar | None, Diagnostic | None]:
    from ptttool.machine import documents as machines

    missing = [key for key in Sidecar.__struct_fields__ if key not in body and key not in _LATER]
    try:
        if missing:
            raise ValidationError(f"Object missing required field `{missing[0]}`")
        sidecar = read_json({**body, "machine": machines.from_json(body["machine"])}, Sidecar)
        head = sidecar.recording.head_sha256
        other = head is not None and _head(recording) != head
    except PtttoolError as error:
        return None, _unusable(path, "recording-unreadable", f"cannot be compared: {error.message}")
    except OSError as error:
        return None, _unusable(path, "recording-unreadable", f"cannot be compared: {recording}: {error.strerror}")
    except ValidationError as error:
        reason, _, at = str(error).partition(" - at ")
        return None, _unusable(path, "damaged", f"is damaged: {reason}", at=at.strip("`") or "$")
    except (ValueError, OverflowError, RecursionError) as error:
        return None, _unusable(path, "damaged", f"is damaged: {shortened(str(error), 200)}", at="$.machine")
    if sidecar.seconds is not None and not _SHORTEST <= sidecar.seconds <= _LONGEST:
        return None, _unusable(path, "damaged", f"is damaged: a trace of {sidecar.seconds:g} s", at="$.seconds")
    if sidecar.clock is not None and not sidecar.clock.is_sound:
        return None, _unusable(path, "damaged", "is damaged: no clock can be so", at="$.clock")
    if sidecar.counters is not None and not sidecar.counters.is_possible:
        return None, _unusable(path, "damaged", "is damaged: counters that cannot be", at="$.counters")
    if sidecar.kernel is not None and not sidecar.kernel.is_possible:
        return None, _unusable(path, "damaged", "is damaged: events that cannot be", at="$.kernel")
    if other:
        return None, _unusable(path, "other-recording", "belongs to another recording")
    return sidecar, None


def _unusable(path: str, code: str, reason: str, **details: object) -> Diagnostic:
    return Diagnostic(Severity.INFO, f"sidecar-{code}", f"{path} {reason}", where=path, details=details)


def identifies(body: Any, recording: Path) -> bool:
    """Return whether the JSON of a sidecar names the first bytes of this recording."""
    head = body.get("recording", {}).get("head_sha256") if isinstance(body, dict) and isinstance(body.get("recording"), dict) else None
    return head is not None and head == _head(recording)


def _mode(recording: Path) -> int:
    """Return the permission bits of a recording without those to execute; 0600 for a folder."""
    mode = recording.stat().st_mode
    return mode & 0o666 if stat.S_ISREG(mode) else 0o600


def _head(recording: str | Path) -> str | None:
    """Return the SHA-256 of a recording's first 4 KiB, unpacked; None for what is not a file (perf.data may be a folder)."""
    import hashlib

    from ptttool.files.packed.look import first_bytes

    if is_remote(str(recording)):
        with closing(open_remote(str(recording))) as remote, storage_answers():
            return hashlib.sha256(first_bytes(remote, _HEAD)).hexdigest()
    if not Path(recording).is_file():
        return None
    with Path(recording).open("rb") as file:
        return hashlib.sha256(first_bytes(file, _HEAD)).hexdigest()
