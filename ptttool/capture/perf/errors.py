"""Translate the error messages of ``perf record``: for each one a cause, a fix, and an error class with its exit code.

The messages come from perf 6.12 and 6.1 (``fixtures/perf-errors.json``), and from perf 6.1 on x86-64.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Sequence

from msgspec import Struct

from ptttool.capture.device.tracers import Process
from ptttool.capture.perf.command import MINIMUM_AUX_SIZE
from ptttool.capture.perf.tool import INSTALL_HINT, PerfTool
from ptttool.errors import AccessError, DeviceError, OutputError, PerfError, PtttoolError, UsageError
from ptttool.wording import as_root, in_words


def rights_hint() -> str:
    """Return the hint for a trace that the kernel does not permit."""
    return f"{as_root()}, or give CAP_PERFMON and CAP_IPC_LOCK, or set kernel.perf_event_paranoid to -1"


class Attempt(Struct, frozen=True):
    """A ``perf record`` that failed, with facts that narrow down its cause.

    Parameters
    ----------
    stderr : str
        What perf wrote to standard error.
    exit_status : int
        As :class:`subprocess.Popen` gives it; negative for a signal.
    device : str
        The PMU's name.
    output : str
        The file that the user asked for.
    aux_size : int or None
        Bytes of the AUX area.
    privileged : bool or None
        Whether the process may open the event regardless of perf_event_paranoid.
    paranoid : int or None
        kernel.perf_event_paranoid.
    filter_listed : bool or None
        Whether the filter is in the driver's list after the failure.
    free : int or None
        Free bytes on the disk of the output.
    perf : PerfTool or None
        The perf that was run.
    tracers : tuple of Process
        The processes that name the device in their arguments, those that are believed first.
    asked : tuple of str
        The addresses that the filter names.
    candidates : tuple of str
        Other devices that the filter may belong to, where the kernel does not say to which one it belongs.
    """

    stderr: str
    exit_status: int
    device: str = ""
    output: str = ""
    aux_size: int | None = None
    privileged: bool | None = None
    paranoid: int | None = None
    filter_listed: bool | None = None
    free: int | None = None
    perf: PerfTool | None = None
    tracers: Sequence[Process] = ()
    asked: Sequence[str] = ()
    candidates: Sequence[str] = ()


def translate(attempt: Attempt) -> PtttoolError:
    """Find the one cause of a failure, and what to do about it.

    Returns
    -------
    PtttoolError
        Its ``details`` have perf's own text as ``perf_stderr``, and ``perf_exit_status``.
    """
    for pattern, make in _MEANINGS:
        match = re.search(pattern, attempt.stderr, re.MULTILINE)
        if match is not None:
            error = make(attempt, match)
            break
    else:
        error = _without_message(attempt)
    error.details.setdefault("perf_stderr", attempt.stderr)
    error.details.setdefault("perf_exit_status", attempt.exit_status)
    return error


Meaning = Callable[[Attempt, re.Match[str]], PtttoolError]


def _open_failed(attempt: Attempt, match: re.Match[str]) -> PtttoolError:
    number = int(match["errno"])
    if number == 16:
        return _busy(attempt)
    if number in (1, 13):
        return AccessError("perf may not open the event", hint=rights_hint(), code="perf-not-permitted")
    if number in (2, 6, 19):
        return DeviceError(
            f"{attempt.device or 'the PTT device'} is gone", hint="has the driver been unloaded? see 'ptttool list'", code="device-gone"
        )
    if number == 95:
        return _cannot_record(attempt, match)
    if number != 22:
        return _unknown(attempt)
    if attempt.privileged is False and attempt.paranoid is not None and attempt.paranoid >= 2:
        # perf adds :u by itself for a user who may not trace the kernel, and the PMU refuses that.
        return AccessError(
            f"kernel.perf_event_paranoid is {attempt.paranoid}: you may not trace this device",
            hint=rights_hint(),
            code="perf-not-permitted",
        )
    if attempt.filter_listed is False:
        return DeviceError(
            "the driver refused the event: its filter is no longer in the driver's list",
            hint="the function has been removed or moved; see 'ptttool filters'",
            code="filter-gone",
        )
    if attempt.candidates:
        asked = in_words(attempt.asked)
        return PerfError(
            f"{attempt.device} refused the event (EINVAL); this kernel does not say which PTT device {asked} belongs to",
            hint=f"the likely cause is a wrong --device: try {in_words(attempt.candidates, 'or')}",
            code="event-refused",
            candidates=list(attempt.candidates),
        )
    return PerfError(
        "the driver refused the event and does not say which part of it (EINVAL)",
        hint="possible: a filter that is not in its list (see 'ptttool filters'), or an unknown type, direction or format",
        code="event-refused",
    )


def _busy(attempt: Attempt) -> PtttoolError:
    """Name who traces the device: the kernel says that it is busy, so any process that names the device may be the one."""
    device = attempt.device or "the PTT device"
    hint = "wait for it or stop it; a PTT device serves one trace at a time"
    if not attempt.tracers:
        return PerfError(f"{device} is busy: it is already being traced", hint=hint, code="device-busy")
    first = attempt.tracers[0]
    message = f"{device} is busy: it is already being traced, and {first} has an event of it among its arguments"
    return PerfError(message, hint=hint, code="device-busy", pid=first.pid, user=first.user)


def _mmap_failed(attempt: Attempt, match: re.Match[str]) -> PtttoolError:
    number = int(match["errno"])
    if number == 12 and attempt.aux_size is not None and attempt.aux_size < MINIMUM_AUX_SIZE:
        return UsageError("the AUX area is too small: the driver needs at least 16 MiB", hint="use --aux-size 64M", code="aux-too-small")
    if number == 12:
        return PerfError(
            "the AUX area could not be allocated: there is not enough free memory for it",
            hint="use a smaller --aux-size (16M at the least), or free memory",
            code="no-memory",
        )
    if number in (1, 13):
        return _mlock(attempt, match)
    return PerfError(
        f"the AUX area could not be mapped (error {number})",
        hint="trace one PTT device in one perf, with an AUX area that is a power of two",
        code="aux-refused",
    )


def _mlock(_attempt: Attempt, _found: re.Match[str]) -> PtttoolError:
    return AccessError(
        "the AUX area is larger than the memory you may lock (kernel.perf_event_mlock_kb)",
        hint=f"{as_root()}, or raise kernel.perf_event_mlock_kb, or use a smaller --aux-size (16M at the least)",
        code="mlock-limit",
    )


def _cannot_record(attempt: Attempt, _found: re.Match[str]) -> PtttoolError:
    perf = attempt.perf
    name = "this perf" if perf is None else f"{perf.path}{f' {perf.version}' if perf.version else ''}"
    return PerfError(
        f"{name} cannot record {attempt.device or 'a PTT device'}",
        hint="it needs a perf built for arm64 and with PTT support (from 6.1 on); record on the Kunpeng server itself",
        code="perf-cannot-record",
    )


def _workload(_attempt: Attempt, match: re.Match[str]) -> PtttoolError:
    command, reason = match["command"], match["reason"].strip()
    if "denied" in reason:
        return UsageError(f"the command {command!r} may not be run: {reason}", code="command-not-executable")
    return UsageError(f"the command {command!r} cannot be run: {reason}", hint="check its name and PATH", code="command-missing")


def _output(attempt: Attempt, match: re.Match[str]) -> PtttoolError:
    path, reason = match["path"].strip(), match["reason"].strip()
    if "denied" in reason or "not permitted" in reason:
        return AccessError(f"{path}: {reason}", hint="choose another file with -o", code="output-not-permitted")
    if "No space" in reason:
        return _disk_full(attempt)
    code = "output-folder-missing" if "No such file" in reason else "cannot-write"
    return OutputError(f"{path}: {reason}", hint="choose another file with -o", code=code)


def _disk_full(attempt: Attempt) -> PtttoolError:
    return OutputError(
        f"{attempt.output or 'the output'}: no space left on device",
        hint="choose a larger disk with -o, a shorter --duration or a narrower filter",
        code="disk-full",
    )


def _write_failed(attempt: Attempt, match: re.Match[str]) -> PtttoolError:
    reason = match["reason"].strip()
    if "No space" in reason or "quota" in reason:
        return _disk_full(attempt)
    return OutputError(f"{attempt.output or 'the output'}: {reason}", code="cannot-write")


def _not_permitted(attempt: Attempt, _found: re.Match[str]) -> PtttoolError:
    cause = "" if attempt.paranoid is None else f": kernel.perf_event_paranoid is {attempt.paranoid}"
    return AccessError(f"you may not trace this device{cause}", hint=rights_hint(), code="perf-not-permitted")


def _fixed(kind: type[PtttoolError], code: str, message: str, hint: str | None = None) -> Meaning:
    """Make an error with a fixed message and hint; ``{0}`` in them is replaced by the first group of the pattern."""

    def make(_attempt: Attempt, match: re.Match[str]) -> PtttoolError:
        words = [(group or "").strip() for group in match.groups()]
        return kind(message.format(*words), hint=None if hint is None else hint.format(*words), code=code)

    return make


_CPU_HINT = "see the CPUs of the device in 'ptttool list'"
_EVENT_HINT = "build it with 'ptttool event'"
_TERM_HINT = "see the device's terms in 'ptttool list'"
_OPTION_HINT = "PTT devices trace into one plain AUX area; record without that option"
# The order matters: perf 6.12 prints "Bad event or PMU" before every error about a term.
_MEANINGS: Sequence[tuple[str, Meaning]] = (
    (r"^perf: Segmentation fault", _fixed(PerfError, "perf-crashed", "perf crashed", "try another version of perf")),
    (r"^failed to write perf data, error: (?P<reason>.*)$", _write_failed),
    (r"sys_perf_event_open\(\) syscall returned with (?P<errno>\d+)", _open_failed),
    (r"^Access to performance monitoring and observability operations is limited|^You may not have permission to collect", _not_permitted),
    (r"^Permission error mapping pages", _mlock),
    (r"^failed to mmap with (?P<errno>\d+)", _mmap_failed),
    (
        r"Invalid mmap size for HISI PTT",
        _fixed(UsageError, "aux-too-small", "perf refused the size of the AUX area", "use a power of two of at least 16M"),
    ),
    (
        r"PMU Hardware doesn't support sampling/overflow-interrupts",
        _fixed(UsageError, "needs-cpu", "a PTT device cannot trace a single task", "record on a CPU of the device: --cpu"),
    ),
    (r"^The .* event is not supported\.$", _cannot_record),
    (
        r"There may be only one (\S+) event",
        _fixed(UsageError, "one-event-only", "one perf can record one event of a PTT device", "combine root ports in one event"),
    ),
    (r"Failed to collect '.*' for the '(?P<command>.*)' workload: (?P<reason>.*)$", _workload),
    (
        r"A requested CPU in '(.*?)' is not supported by PMU",
        _fixed(UsageError, "no-such-cpu", "CPU {0} is not one of the device's", _CPU_HINT),
    ),
    (
        r"^Failed to initialize parallel data streaming masks|^Invalid --?cpu|^invalid cpu list",
        _fixed(UsageError, "no-such-cpu", "there is no such CPU", _CPU_HINT),
    ),
    (
        r"value too big for format(?: \((\w+)\))?",
        _fixed(UsageError, "value-too-big", "a value of the event is too large for its term", _TERM_HINT),
    ),
    (r"unknown term '(.*?)'", _fixed(UsageError, "unknown-term", "the device has no event term {0!r}", _TERM_HINT)),
    (
        r"___ (expected numeric value|no value assigned for term|Unrecognized input|parser error)",
        _fixed(UsageError, "event-syntax", "perf cannot read the event: {0}", _EVENT_HINT),
    ),
    (
        r"(?:Unable to find (?:PMU or )?event on a PMU of|Cannot find PMU) [`'](.*?)'",
        _fixed(DeviceError, "no-pmu", "perf finds no PMU {0}", "is the driver (hisi_ptt) loaded? see 'ptttool list'"),
    ),
    (r"^event syntax error", _fixed(UsageError, "event-syntax", "perf cannot read the event", _EVENT_HINT)),
    (
        r"^(No AUX area tracing to snapshot|Reading from overwrite event is not supported|AUX area sampling requires|"
        r"Parallel trace streaming is not available)",
        _fixed(UsageError, "option-refused", "perf cannot do that with a PTT device: {0}", _OPTION_HINT),
    ),
    (r"^[Ff]ailed to (?:open|create) (?P<path>.*?) ?: (?P<reason>.*)$", _output),
    (r"^Can't remove old data: (?P<reason>.*?) \((?P<path>.*)\)$", _output),
    (r"incompatible file format", _fixed(PerfError, "perf-incompatible", "this perf is too old for the file", "use a newer perf")),
    (r"perf not found for kernel", _fixed(PerfError, "perf-missing", "perf is not installed for the running kernel", INSTALL_HINT)),
    (r"error while loading shared libraries: (.*)$", _fixed(PerfError, "perf-broken", "perf does not start: {0}", INSTALL_HINT)),
)


def _without_message(attempt: Attempt) -> PtttoolError:
    if attempt.exit_status < 0:
        name = signal_name(-attempt.exit_status)
        if -attempt.exit_status in (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE):
            return PerfError(f"perf crashed ({name})", hint="try another version of perf", code="perf-crashed")
        hint = "the kernel's log (dmesg) names perf if the kernel did it for want of memory"
        return PerfError(f"perf was killed ({name})", hint=hint if name == "SIGKILL" else None, code="perf-killed")
    if not attempt.stderr.strip():
        # perf writes no message when it cannot write the header of its output.
        if attempt.free is not None and attempt.free < 1 << 20:
            return _disk_full(attempt)
        return OutputError(
            f"perf could not write {attempt.output or 'its output'} (exit status {attempt.exit_status}, no message)",
            hint="is there room left? choose another file with -o",
            code="cannot-write",
        )
    return _unknown(attempt)


def _unknown(attempt: Attempt) -> PtttoolError:
    # Drop perf's usage text, which lists all its options.
    text = re.split(r"^ *Usage: perf", attempt.stderr, maxsplit=1, flags=re.MULTILINE)[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("[ perf record:", "/bin/dmesg", "Run 'perf"))]
    message = (telling or lines or [f"exit status {attempt.exit_status}"])[-1]
    return PerfError(f"perf failed: {message}", hint="--verbose shows all that perf wrote", code="perf-failed", perf_message=message)


def signal_name(number: int) -> str:
    """Return the name of a signal: ``SIGTERM`` for 15."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
