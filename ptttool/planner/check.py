"""Whether what was planned is really in the recordings: the TLPs that were asked for, and requests with both ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from ptttool.diagnostics import Severity
from ptttool.errors import NotAsAskedError
from ptttool.pipeline.analyzing.ask import Ask, run
from ptttool.pipeline.recording import OpenRecording, Request
from ptttool.planner.runs import Run, Wanted, matching, parts_of
from ptttool.wording import in_words

if TYPE_CHECKING:
    from ptttool.analyses.latency.document import Latency
    from ptttool.analyses.needs import Need
    from ptttool.analyses.traffic import Traffic
    from ptttool.machine.model import Machine

# More requests than this share with only one end in a recording make its results doubtful.
_MANY_OPEN: Final = 0.1


class PlanCheck(Struct, frozen=True):
    """Something that was looked for in the recordings of a plan.

    Parameters
    ----------
    code : str
        What: ``seen`` (TLPs that a purpose needs), ``open-ends`` (requests with only one end in the recording) or ``loss`` (signs that
        something is missing; only where there are some).
    purpose : str
        The purpose; where it is all of them, the first.
    ok : bool
        Whether it is as it should be.
    is_vital : bool
        Whether the purpose is not answered where it is not.
    message : str
        One sentence.
    details : Mapping[str, object]
        Numbers of it.
    """

    code: str
    purpose: str
    ok: bool
    is_vital: bool
    message: str
    details: Mapping[str, object]

    @property
    def severity(self) -> Severity:
        """How much it matters."""
        return Severity.INFO if self.ok else Severity.WARNING


class CheckedRun(Struct, frozen=True):
    """A recording of a plan, to be checked.

    Parameters
    ----------
    run : Run
        What was asked for.
    path : Path
        The recording.
    machine : Machine or None
        The machine that was recorded.
    """

    run: Run
    path: Path
    machine: Machine | None = None


class _Seen(Struct, frozen=True):
    run: Run
    counts: Counter[tuple[str, str]]
    total: int
    latency: Latency | None
    signs: tuple[str, ...]

    def count(self, direction: str, group: str) -> int:
        """Return how many TLPs can be of a group; those of unknown direction are among them."""
        kind = group.split()[0]
        return self.counts[direction, kind] + self.counts["unknown", kind]


def check_recordings(purposes: Sequence[str], needs: Sequence[Wanted], recordings: Sequence[CheckedRun]) -> list[PlanCheck]:
    """Look for what purposes need in the recordings that were made for them.

    Parameters
    ----------
    purposes : sequence of str
        The purposes.
    needs : sequence of Wanted
        What they need.
    recordings : sequence of CheckedRun
        The recordings. What no run asked for is not looked for: that was known before.
    """
    matched = matching(purposes)
    looks = [_look(one, is_matched=bool(matched and one.run.flow.inbound and one.run.flow.outbound)) for one in recordings]
    checks = [check for one in needs for part in parts_of(one.need) if (check := _present(one, part, looks)) is not None]
    checks += [check for each in looks if each.latency is not None for check in _open_ends(matched[0], each)]
    return [*checks, *(_loss(purposes[0], each) for each in looks if each.signs)]


def not_in_recording(checks: Sequence[PlanCheck]) -> NotAsAskedError | None:
    """Return the error for recordings that lack what a purpose cannot do without; None where all is there."""
    missing = [check for check in checks if check.is_vital and not check.ok]
    if not missing:
        return None
    return NotAsAskedError(
        "; ".join(check.message for check in missing),
        hint="record longer, or while there is such traffic; if it never shows, the device may not trace several types at once",
        code="not-in-recording",
        purposes=sorted({check.purpose for check in missing}),
    )


def _look(one: CheckedRun, *, is_matched: bool) -> _Seen:
    names = ("traffic", "loss", *(("latency",) if is_matched else ()))
    with OpenRecording(Request(str(one.path))) as recording:
        results = run(recording, Ask(machine=one.machine), names).results
    traffic: Traffic = results["traffic"]
    counts: Counter[tuple[str, str]] = Counter()
    for row in traffic.rows:
        counts[row.direction, row.class_] += row.tlps
    for direction, kinds in traffic.left_out.items():  # of the requesters beyond the budget: their classes are not known
        for amount in kinds.values():
            for kind in ("P", "NP", "CPL"):
                counts[direction, kind] += amount.tlps
    signs = tuple(sign.code for sign in results["loss"].signs if sign.severity is not Severity.INFO)
    return _Seen(one.run, counts, traffic.total.tlps, results.get("latency"), signs)


def _present(one: Wanted, need: Need, looks: Sequence[_Seen]) -> PlanCheck | None:
    """Look for what is needed in the run that has most of it; None where no run asks for it."""
    runs = [each for each in looks if each.run.brings(need)]
    if not runs:
        return None
    groups = [("inbound", group) for group in need.inbound] + [("outbound", group) for group in need.outbound]
    best = max(runs, key=lambda each: (sum(each.count(*group) > 0 for group in groups), each.total))
    counts = {f"{direction} {group}": best.count(direction, group) for direction, group in groups} or {"TLPs": best.total}
    absent = [name for name, count in counts.items() if not count]
    counts_text = in_words(f"{count:,} {name}" for name, count in counts.items())
    if absent:
        counts_text = f"no {in_words(absent, 'or')} TLP among {best.total:,}" if groups else "no TLP"
    return PlanCheck("seen", one.purpose, not absent, need.is_vital, f"{one.purpose}: {need.what}: {counts_text}", {"counts": counts})


def _loss(purpose: str, look: _Seen) -> PlanCheck:
    message = (
        f"{look.run.name}: something is missing ({in_words(look.signs)}): counts are least values, and requests may lack their partner"
    )
    return PlanCheck("loss", purpose, False, False, message, {"run": look.run.name, "signs": list(look.signs)})


def _open_ends(purpose: str, look: _Seen) -> Iterator[PlanCheck]:
    assert look.latency is not None
    requests, at_start, at_end = look.latency.requests, look.latency.unmatched.start, look.latency.unmatched.end
    whole = requests + at_start
    if not whole:
        return
    share = (at_start + at_end) / whole
    message = (
        f"of {whole:,} requests {at_start:,} began before the recording (only completions are in it), and {at_end:,} were open at its end: "
        f"{100 * share:.1f} %"
    )
    details = {"run": look.run.name, "requests": requests, "open_at_start": at_start, "open_at_end": at_end, "share": share}
    yield PlanCheck("open-ends", purpose, share <= _MANY_OPEN, False, message, details)
