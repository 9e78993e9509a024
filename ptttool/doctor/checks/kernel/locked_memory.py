"""The process may lock the memory of the AUX area."""

from __future__ import annotations

from ptttool.capture.checks.host import CAP_IPC_LOCK, Host
from ptttool.diagnostics import Diagnostic
from ptttool.doctor.contract import Finding, ok, unknown
from ptttool.doctor.facts import Facts
from ptttool.doctor.recording_checks import recording_check


def _raise_limit(facts: Facts, host: Host, _found: Diagnostic) -> str:
    # For each online CPU; the memory that the user may lock anyway comes on top.
    cpus = max(host.rights.cpus, 1)
    return f"sysctl kernel.perf_event_mlock_kb={-(-facts.aux_size // 1024 // cpus) + 4}"


@recording_check("locked-memory", order=51, what="limits of locked memory", fixes={"mlock-limit": _raise_limit})
def locked_memory(facts: Facts, host: Host) -> Finding:
    """Say how much may be locked."""
    rights = host.rights
    size = f"an AUX area of {facts.aux_size >> 20} MiB"
    if not rights.can(CAP_IPC_LOCK) and None in (rights.paranoid, rights.mlock_kb):
        return unknown("no-mlock-limit", "kernel.perf_event_mlock_kb cannot be read")
    return ok(f"{size} may be locked", perf_event_mlock_kb=rights.mlock_kb, aux_size=facts.aux_size)
