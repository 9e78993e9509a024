"""The counters beside the devices count what their names say."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.capture.perf.counters import CORRECTED, pmu_of_core, wrong_events
from ptttool.doctor.contract import Finding, check, not_recorded, ok, unknown, warning
from ptttool.doctor.facts import Facts
from ptttool.wording import in_words


@check("counters", order=66, needed=False)
def counters(facts: Facts) -> Iterator[Finding]:
    """Look at the event numbers of the ``hisi_pcie`` PMU of each device's core: those of some drivers are numbers of other events."""
    pmus = {pmu for device in facts.devices if (pmu := pmu_of_core(device)) is not None}
    listed = facts.names("/sys/bus/event_source/devices")
    if listed is None or not pmus:
        what = "the PMUs of the kernel"
        yield unknown("no-pmus", f"{what} cannot be looked at") if facts.live else not_recorded(what)
        return
    there = sorted(pmus.intersection(listed))
    wrong = {pmu: sorted(wrong_events(facts.source, pmu)) for pmu in there}
    for pmu, events in wrong.items():
        if events:
            yield warning(
                "wrong-counter-events",
                f"{in_words(events)} of {pmu} count completions of the other direction: the driver is older than {CORRECTED}",
                "ptttool leaves them out; perf stat with these names counts something else",
                pmu=pmu,
                events=events,
            )
    if not any(wrong.values()):
        yield ok(f"{in_words(there)} can count beside a trace" if there else "no hisi_pcie PMU: nothing counts beside a trace")
