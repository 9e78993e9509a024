"""Whether a condition can be true for a TLP that an event traces, and what it cannot see of it."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from ptttool.analyses.needs import Captured, Lack, LackCode
from ptttool.capture.event.choose import ChosenEvent
from ptttool.capture.event.terms import Format, Pattern
from ptttool.decoders.hisi_ptt.layout import LOST_IN_4DW, ONLY_IN_4DW
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import UsageError
from ptttool.machine.model import Machine
from ptttool.pipeline.query import parse_query
from ptttool.table.frame import type_of
from ptttool.table.where import Where
from ptttool.tlp.bulk import RULES, TRAITS
from ptttool.tlp.codes import TYPES
from ptttool.tlp.columns import CLASSES, TLP_SCHEMA
from ptttool.wording import in_words

# Columns that are the same for all TLPs of a Fmt and Type in a direction.
_DECIDED = ("kind", "class", "direction")


def check_condition(condition: str, chosen: ChosenEvent) -> list[Diagnostic]:
    """Check a condition on the TLPs of an event, before they are recorded.

    Parameters
    ----------
    condition : str
        The condition, as ``--where`` takes it.
    chosen : ChosenEvent
        The event.

    Returns
    -------
    list of Diagnostic
        A warning (``not-seen``) for each column that no TLP of the event has.

    Raises
    ------
    UsageError
        The condition means nothing, as for ``--where``; or no TLP of the event can meet it (``never-true``).
    """
    where = _parsed(condition, chosen.machine)
    lacks = {name: lack for name in where.columns if (lack := _lack(name, chosen)) is not None}
    rows = [*_rows(chosen), ("Unknown", None, None)]
    if chosen.built.flow and set(where.columns) <= {*_DECIDED, *lacks}:
        # What is left of the condition depends on Fmt, Type and direction alone: try them all.
        decided = dict(zip(_DECIDED, zip(*rows, strict=True), strict=True))
        columns = {name: decided.get(name, [None] * len(rows)) for name in where.columns}
        frame = pl.DataFrame({name: pl.Series(name, values, dtype=type_of(TLP_SCHEMA[name])) for name, values in columns.items()})
        if not where.mask(frame, len(rows)).any():
            raise UsageError(
                f"--until: no TLP that is traced ({_title(chosen)}) can meet it" + "".join(f"; {one.message}" for one in lacks.values()),
                hint="trace something else, or ask for something else",
                code="never-true",
                columns=list(lacks),
            )
    return [Diagnostic(Severity.WARNING, "not-seen", f"--until: {one.message}") for one in lacks.values()]


def _parsed(condition: str, machine: Machine | None) -> Where:
    try:
        where = parse_query(TLP_SCHEMA, columns=(), where=condition, machine=machine).where
    except UsageError as error:
        error.message = error.message.replace("--where", "--until", 1)
        raise
    assert where is not None
    return where


def _title(chosen: ChosenEvent) -> str:
    return Captured(chosen.built.flow).title


def _rows(chosen: ChosenEvent) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield kind, class and direction of what the event traces; the direction may be unknown where it is not decided by the event."""
    for direction, groups in (("inbound", chosen.built.flow.inbound), ("outbound", chosen.built.flow.outbound)):
        classes = {group.split()[0] for group in groups}
        for one in TYPES.values():
            if one.tlp_class in classes:
                yield one.kind, one.tlp_class, direction
                yield one.kind, one.tlp_class, "unknown"


def _lack(name: str, chosen: ChosenEvent) -> Lack | None:
    """Return why no TLP of the event has a column; None where one can have it."""
    request, what = chosen.request, f"the column {name}"
    absent = LOST_IN_4DW if request.format == Format.DW4 else ONLY_IN_4DW
    if name in absent:
        other = Format.DW8 if request.format == Format.DW4 else Format.DW4
        return Lack(LackCode.FORMAT, what, f"records of {request.format.upper()} do not hold it", f"--format {other}")
    rule = RULES.get(name)
    if rule is None or not chosen.built.flow:
        return None
    if rule.v1_only and request.pattern != Pattern.V1:
        return Lack(LackCode.FORMAT, what, "only the header pattern v1 has it", "--pattern v1")
    having = {one.tlp_class for one in TYPES.values() for th in (0, 0x100) if int(TRAITS[one.code | th]) & rule.valid}
    traced = {row[1] for row in _rows(chosen)}
    if having & traced:
        return None
    needed = [each for each in CLASSES if each in having]
    return Lack(LackCode.NOT_TRACED, what, f"only TLPs of the class {in_words(needed, 'or')} have it", f"--type {needed[0].lower()}")
