"""The report of ``ptttool trace --until``."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Iterator
from typing import ClassVar

import typer
from msgspec import Struct

from ptttool.analyses.loss.empty_recording import causes_on
from ptttool.api.until import Role, Search
from ptttool.capture.documents import PlanBody
from ptttool.capture.plan import Plan
from ptttool.cli.terminal.talk import PrintedError, note, print_facts, print_json
from ptttool.documents import ErrorBody, document
from ptttool.errors import EmptyTraceError, ExitCode, InterruptedByUserError, PtttoolError
from ptttool.wording import clean, counted, in_words


@document("trace-until")
class TraceUntilDocument(Struct, frozen=True):
    """What ``trace --until --json`` prints.

    Parameters
    ----------
    plan : PlanBody
        A window as it was asked for; its ``duration`` is that of a window.
    until : Search
        What was looked for, what was seen, and what is kept.
    error : ErrorBody or None
        Why the search ended without a result: a signal, or windows without a TLP; no key where it was found, or not found.
    """

    json_merges: ClassVar = ("plan",)
    json_omits_none: ClassVar = ("error",)

    plan: PlanBody
    until: Search
    error: ErrorBody | None = None


def report_search(plan: Plan, search: Search, *, json: bool) -> None:
    """Print what a search saw.

    Raises
    ------
    InterruptedByUserError
        A signal ended it before anything was found.
    EmptyTraceError
        No window has a TLP.
    typer.Exit
        Not found: with the exit code of that.
    """
    failure = _failure(plan, search)
    if json:
        asked = PlanBody.of_plan(plan, (*plan.diagnostics, *search.diagnostics))
        print_json(TraceUntilDocument(asked, search, None if failure is None else ErrorBody.of(failure)))
    else:
        print_facts(_facts(search))
        if search.found is not None:
            path = shlex.quote(clean(str(next(one.recorded.path for one in search.kept if one.role is Role.FOUND))))
            where = shlex.quote(clean(search.condition))
            note(f"ptttool decode {path} --where {where} shows it; {shlex.quote(clean(str(search.series)))} stands for all that is kept")
    if failure is not None:
        raise PrintedError(failure) if json else failure
    if search.found is None:
        raise typer.Exit(ExitCode.DIFFERENT)


def _failure(plan: Plan, search: Search) -> PtttoolError | None:
    if search.found is not None:
        return None
    if search.stopped_by is not None:
        message = f"{search.stopped_by} ended the search: not found in {counted(search.windows, 'window')}, none of which is kept"
        return InterruptedByUserError(message, ending=signal.Signals[search.stopped_by], code="search-interrupted")
    if search.windows and search.empty == search.windows:
        causes = list(causes_on(plan.machine, plan.chosen.request))
        message = f"there was no TLP in {counted(search.windows, 'window')}, so nothing was looked at"
        return EmptyTraceError(message, hint=causes[0] if causes else "is there traffic? a longer --window sees more", causes=causes)
    return None


def _facts(search: Search) -> Iterator[tuple[str, str]]:
    found = search.found
    if found is None:
        yield "not found", search.condition
    else:
        more = "the only one" if found.tlps == 1 else f"the first of {found.tlps:,}"
        yield "found", f"window {found.window}, TLP {found.index:,}: {more} with {search.condition}"
    parts = [f"{search.empty:,} empty"] if search.empty else []
    if search.incomplete:
        parts.append(f"{search.incomplete:,} with signs of loss")
    if search.signs:
        parts.append(f"signs: {in_words(f'{code} {count:,}' for code, count in search.signs.items())}")
    if search.failed:
        why = in_words(f"{code} {count:,}" for code, count in search.failures.items())
        parts.append(f"{search.failed:,} more failed: {why}")
    looked = f"{counted(search.windows, 'window')} of {search.seconds:g} s, {counted(search.tlps, 'TLP')}"
    yield "looked at", "; ".join([looked, *parts])
    if search.passed is not None:
        how = "not known: a replay, or a perf that does not say when it traced"
        if search.traced is not None:
            share = f"{search.traced:.3g} s without a sign of loss, of {search.passed:.3g} s: {search.share:.3g} %"
            how = f"{share}; of the rest nothing is known"
        yield "seen", how
    for one in search.kept:
        signs = "" if not one.signs_of_loss else f", with {in_words(sign.code for sign in one.signs_of_loss)}"
        cut = "" if one.recorded.stopped_by is None else f", cut short by {one.recorded.stopped_by}"
        yield "kept", f"{one.recorded.path} ({one.role.value}{signs}{cut})"
