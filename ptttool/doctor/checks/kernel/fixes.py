"""The kernel has the corrections of the driver."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from ptttool.analyses.link import FRAMING, rate_of
from ptttool.capture.aux_area import driver_on, size_words, time_text
from ptttool.capture.event.terms import Format
from ptttool.doctor.contract import Finding, check, not_recorded, ok, unknown, warning
from ptttool.doctor.facts import Facts
from ptttool.machine.driver import EARLY_COMMIT
from ptttool.machine.topology import is_empty

# Bytes of a write of 256 bytes, its header among them.
_WRITE = 16 + 256


class Fix(Struct, frozen=True):
    """A correction of the driver.

    Parameters
    ----------
    code : str
        A stable word for what is missing without it.
    name : str
        Title of the commit, or what came.
    since : tuple of (int, int)
        The first mainline release with it.
    without : str
        What happens without it.
    stable : tuple of ((int, int), int)
        Stable releases that have it, too: series, and the first patch level with it.
    """

    code: str
    name: str
    since: tuple[int, int]
    without: str
    stable: tuple[tuple[tuple[int, int], int], ...] = ()

    def is_in(self, series: tuple[int, int], patch: int | None) -> bool | None:
        """Tell whether a release has it; None where its patch level decides and is not known."""
        if series >= self.since:
            return True
        first = dict(self.stable).get(series)
        if first is None:
            return False
        return None if patch is None else patch >= first

    @property
    def releases(self) -> str:
        """The releases that have it: ``Linux 6.9 (6.8.2, 6.7.11)``."""
        patched = [f"{major}.{minor}.{patch}" for (major, minor), patch in self.stable]
        return f"Linux {self.since[0]}.{self.since[1]}" + (f" ({', '.join(patched)})" if patched else "")


FIXES = (
    Fix(
        "no-filter-files",
        "filter files in sysfs",
        (6, 5),
        "root ports and requesters are computed, and functions that are plugged in later need the driver to be loaded again",
    ),
    Fix(
        "task-events-fail",
        "hwtracing: hisi_ptt: Move type check to the beginning of hisi_ptt_pmu_event_init() (06226d120a28)",
        (6, 9),
        "perf of other events on a single task can fail while the driver is loaded (EOPNOTSUPP)",
        (((6, 8), 2), ((6, 7), 11), ((6, 6), 23), ((6, 1), 83)),
    ),
)


@check("kernel-fixes", order=45, needed=False)
def kernel_fixes(facts: Facts) -> Iterator[Finding]:
    """Compare the kernel's release with those that have the corrections; a distribution may have taken them into an older release."""
    if facts.machine.kernel is None:
        yield unknown("no-release", "the kernel's release cannot be read") if facts.live else not_recorded("the kernel's release")
        return
    version = facts.version
    if version is None:
        yield unknown("odd-release", f"{facts.machine.kernel} is not a release of Linux")
        return
    series, patch = version
    late = list(_late_commit(facts))
    yield from late
    answers = {fix: fix.is_in(series, patch) or _is_there(fix, facts) for fix in FIXES}
    for fix, there in answers.items():
        if there is None:
            message = f"the release {facts.machine.kernel} does not show whether the kernel has '{fix.name}', which is in {fix.releases}"
            yield unknown(f"{fix.code}-unknown", message, release=facts.machine.kernel)
        elif not there:
            yield warning(
                fix.code,
                f"Linux {facts.machine.kernel} is older than '{fix.name}', which is in {fix.releases}",
                f"without it {fix.without}; a distribution may have taken it into an older kernel",
                release=facts.machine.kernel,
                since=f"{fix.since[0]}.{fix.since[1]}",
            )
    if all(answers.values()) and not late:
        yield ok(f"Linux {facts.machine.kernel} has all known corrections of the driver")


def _late_commit(facts: Facts) -> Iterator[Finding]:
    """Yield a warning where a trace ends when the AUX area is full, with what that means on the fastest link."""
    driver = driver_on(facts.machine)
    if driver.commits_early is not False:
        return
    machine = facts.machine
    addresses = [port.address for one in facts.devices for port in one.root_ports if not is_empty(machine, port.address)]
    ports = [machine.functions[address] for address in addresses if address in machine.functions]
    rates = [(rate, f"{port.link.speed} x{port.link.width}") for port in ports if port.link is not None and (rate := rate_of(port.link))]
    fastest, link = max(rates, default=(None, None))
    lasts = None if fastest is None else facts.aux_size / (fastest / (FRAMING + _WRITE) * Format.DW4.record_bytes)
    time = "" if lasts is None else f", {time_text(lasts)} of a {link} link full of writes of 256 bytes"
    yield warning(
        "no-early-commit",
        f"the driver hands trace over only when the AUX area is full ({driver.reason})",
        f"a trace ends there, however fast the disk is: after {size_words(facts.aux_size)}{time}; of a perf that is killed nothing is left",
        release=facts.machine.kernel,
        distribution=driver.distribution,
        since=f"{EARLY_COMMIT[0]}.{EARLY_COMMIT[1]}",
        aux_size=facts.aux_size,
        seconds=lasts,
    )


def _is_there(fix: Fix, facts: Facts) -> bool | None:
    """Tell whether the machine itself shows that the kernel has it; None where it does not and its release does not tell."""
    if fix.stable and facts.version is not None and fix.is_in(*facts.version) is None:
        return None
    return fix.code == "no-filter-files" and bool(facts.machine.devices) and all(one.ports_known for one in facts.machine.devices)
