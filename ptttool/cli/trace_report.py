"""What ``ptttool trace`` shows: a line while it records, a summary afterwards."""

from __future__ import annotations

import shlex
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ptttool.cli.talk import clean, console, note, print_json, warn
from ptttool.empty_recording import causes_in, causes_on
from ptttool.errors import EmptyTraceError

if TYPE_CHECKING:
    from ptttool.cli.tracing import Recorded, TraceJob
    from ptttool.host.recorder import Progress
    from ptttool.trace import Trace

# perf writes in steps of MiB; over this many seconds the rate is steady.
_RATE_WINDOW = 3.0


@contextmanager
def progress_line(device: str, cpu: int, seconds: float | None) -> Iterator[Callable[[Progress], None]]:
    """One line on a terminal's standard error: elapsed time, size, rate. Nothing where it is no terminal."""
    if not sys.stderr.isatty():
        yield lambda _progress: None
        return
    from rich.live import Live
    from rich.text import Text

    seen: deque[tuple[float, int]] = deque([(0.0, 0)])
    with Live(console=console(stderr=True), auto_refresh=False, transient=True) as live:

        def show(progress: Progress) -> None:
            seen.append((progress.elapsed, progress.size))
            while len(seen) > 2 and progress.elapsed - seen[0][0] > _RATE_WINDOW:
                seen.popleft()
            live.update(Text(progress_text(device, cpu, seconds, progress, seen[0])), refresh=True)

        yield show


def progress_text(device: str, cpu: int, seconds: float | None, progress: Progress, since: tuple[float, int]) -> str:
    """The line. ``since``: elapsed time and size some seconds ago."""
    passed = progress.elapsed - since[0]
    rate = (progress.size - since[1]) / passed if passed > 0 else 0.0
    total = "" if seconds is None else f" of {seconds:g} s"
    end = "stopping, perf writes the rest" if progress.stopping else "Ctrl-C stops"
    return f"{device} on CPU {cpu}: {progress.elapsed:.1f} s{total}, {mebibytes(progress.size)}, {mebibytes(rate)}/s ({end})"


def mebibytes(size: float) -> str:
    """``12.3 MiB``."""
    return f"{size / (1 << 20):.1f} MiB"


def report(job: TraceJob, recorded: Recorded, *, decode: bool) -> None:
    """Say what was recorded. Raises EmptyTraceError where it holds no TLP; the file stays."""
    from ptttool.cli.recording_view import print_summary, summarise
    from ptttool.loss import signs_of_loss
    from ptttool.trace import open_trace

    if not job.json:
        _tell_ending(recorded)
    where = clean(str(recorded.path))
    with open_trace(recorded.path) as trace:
        summary = summarise(trace, job.machine) if decode else None
        records = summary.tally.records if summary is not None else sum(len(payload.words) for payload in trace.payloads())
        signs = signs_of_loss(trace.contents)
        if not records:
            raise _empty(job, recorded, trace)
        if job.json:
            result = {"summary": None if summary is None else summary.as_json(), "signs_of_loss": [sign.as_json() for sign in signs]}
            print_json({**job.as_json(), **_as_json(recorded), **result})
            return
        if summary is not None:
            print_summary(summary, counts_alone=True)
        for sign in signs:
            (note if sign.severity == "info" else warn)(clean(sign.text))
        for sentence in trace.findings.sentences():
            warn(clean(sentence))
        took = "" if recorded.elapsed is None else f" in {recorded.elapsed:.1f} s"
        note(f"recorded {where}: {mebibytes(recorded.size)}{took}; ptttool decode {shlex.quote(where)} shows its TLPs")


def _as_json(recorded: Recorded) -> dict[str, Any]:
    return {
        "recording": str(recorded.path),
        "old": None if recorded.old is None else str(recorded.old),
        "sidecar": None if recorded.sidecar is None else str(recorded.sidecar),
        "size": recorded.size,
        "elapsed": recorded.elapsed,
        "stopped_by": recorded.stopped_by,
        "traced": recorded.traced,
        "replay_of": recorded.replay_of,
    }


def _tell_ending(recorded: Recorded) -> None:
    if recorded.old is not None:
        note(f"the recording before is now {clean(str(recorded.old))}")
    if recorded.stopped_by is not None:
        note(f"stopped by {recorded.stopped_by} after {recorded.elapsed:.1f} s; the recording is complete")
    traced = recorded.traced
    if traced is not None and traced["signal"] is not None and not traced["stopped"]:
        warn(f"the command was killed ({traced['signal']}); the recording is complete")
    elif traced is not None and traced["exit"]:
        warn(f"the command ended with exit status {traced['exit']}; the recording is complete")
    elif traced is not None and traced["exit"] == 0:
        note("the command ended with exit status 0")


def _empty(job: TraceJob, recorded: Recorded, trace: Trace) -> EmptyTraceError:
    """The error for a recording without a TLP: perf says nothing of it, so all that may be behind it is told."""
    causes = list(causes_on(job.machine, job.chosen.request))
    if trace.contents.auxtrace_type is None:
        causes.append("this perf does not know PTT devices and recorded their event without its data: use a newer one (6.1 or later)")
    if trace.findings.zero_records:
        causes.append(
            f"the driver delivered {trace.findings.zero_records} all-zero records, as that of Linux 6.1 does when a trace is restarted"
        )
    causes += causes_in(trace.contents, cpu_checked=recorded.replay_of is None)
    if not job.json:
        for cause in causes:
            note(f"possible: {clean(cause)}")
    return EmptyTraceError(
        f"the trace is empty: perf ended well and recorded no TLP; {recorded.path} is kept",
        hint=causes[0] if len(causes) == 1 else "check the possible causes in this order",
        causes=causes,
        recording=str(recorded.path),
    )
