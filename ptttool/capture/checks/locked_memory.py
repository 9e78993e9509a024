"""The process may lock the memory of the AUX area."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.capture.checks.contract import check
from ptttool.capture.checks.host import Host
from ptttool.capture.plan import Plan
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import AccessError
from ptttool.wording import as_root


@check("locked-memory", order=31, error=AccessError)
def may_lock(host: Host, plan: Plan) -> Iterator[Diagnostic]:
    """Compare with the kernel's limit: perf_event_mlock_kb per online CPU and user, plus RLIMIT_MEMLOCK (``perf_mmap``)."""
    rights = host.rights
    limit = rights.lockable
    if limit is not None and rights.mlock_kb is not None and rights.memlock is not None and plan.aux_size > limit:
        message = (
            f"an AUX area of {plan.aux_size >> 20} MiB is more than the {limit >> 10} KiB that you may lock: "
            f"{rights.mlock_kb * rights.cpus} KiB by kernel.perf_event_mlock_kb ({rights.mlock_kb} for each of {rights.cpus} CPUs), and "
            f"{rights.memlock >> 10} KiB by the limit of locked memory (ulimit -l)"
        )
        hint = f"{as_root()}, or give CAP_IPC_LOCK, or raise kernel.perf_event_mlock_kb or ulimit -l"
        yield Diagnostic(
            Severity.ERROR, "mlock-limit", message, hint, details={"perf_event_mlock_kb": rights.mlock_kb, "memlock": rights.memlock}
        )
