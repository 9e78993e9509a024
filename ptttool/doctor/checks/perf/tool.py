"""perf is there, and can record a PTT device."""

from __future__ import annotations

from pathlib import Path

from ptttool.capture.checks.host import Host
from ptttool.capture.perf.tool import PerfTool, names_ptt
from ptttool.doctor.contract import Finding, Status, ok, unknown
from ptttool.doctor.facts import Facts
from ptttool.doctor.fixes import install_perf
from ptttool.doctor.recording_checks import recording_check
from ptttool.machine.driver import series_of

_FIRST = (6, 1)


def _install(facts: Facts, _host: Host, _found: object) -> str | None:
    return install_perf(facts.distribution)


@recording_check(
    "perf", order=42, what="the perf tool", fixes={f"perf-{word}": _install for word in ("missing", "broken", "without-auxtrace")}
)
def perf_tool(facts: Facts, host: Host) -> Finding:
    """Say which perf it is, or what is odd about it."""
    perf = host.perf
    assert isinstance(perf, PerfTool)
    version = perf.version or "of an unknown version"
    details = {"path": perf.path, "perf_version": perf.version, "architecture": perf.architecture, "auxtrace": perf.auxtrace}
    if perf.architecture is None or perf.auxtrace is None:
        what = "the architecture it is built for" if perf.architecture is None else "whether it is built with AUX area tracing"
        return unknown("perf-unclear", f"{perf.path} {version} does not say {what}", **details)
    series = series_of(perf.version)
    named = names_ptt(Path(perf.path))
    if named is False or (named is None and series is not None and series < _FIRST):
        code, why = "perf-without-ptt", "does not name PTT devices"
        if named is None:
            code, why = (
                "perf-too-old",
                f"is older than the first that knows PTT devices ({_FIRST[0]}.{_FIRST[1]}), and its binary was not found",
            )
        cause = "a perf without support of PTT devices records the event without its data"
        return Finding(Status.WARNING, code, f"{perf.path} {version} {why}", cause, fix=install_perf(facts.distribution), details=details)
    return ok(f"{perf.path} {version}, built for {perf.architecture} with AUX area tracing", **details)
