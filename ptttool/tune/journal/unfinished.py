"""Find the changes of tune attributes that were cut off, and what each of their attributes holds now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import InputError, PtttoolError
from ptttool.machine.discovery import list_devices
from ptttool.machine.model import PttDevice
from ptttool.machine.sources.contract import Source
from ptttool.tune.attributes import AttributeChange
from ptttool.tune.journal.author import boot_id, driver_identity
from ptttool.tune.journal.records import ChangeRecord, Outcome, Step, StepState
from ptttool.tune.journal.store import Journal, journal_of
from ptttool.tune.values import attribute_names, read_value
from ptttool.wording import counted, first_of, in_words

# Names of attributes in a message.
SHOWN = 6
HALF_DONE = "half-done"
SEE = "see 'ptttool tune recover'"


class ValueState(StrEnum):
    """What an attribute of a change that was cut off holds now."""

    OLD = "old"
    """The value before the change."""
    NEW = "new"
    """The value that the change was to set."""
    BETWEEN = "between"
    """A value that one of several changes, each cut off, was to set."""
    OTHER = "other"
    """Another value: somebody has set the attribute since."""
    UNREADABLE = "unreadable"
    """It cannot be read now."""
    GONE = "gone"
    """The machine does not have the attribute now."""


class UnfinishedAttribute(AttributeChange, frozen=True):
    """An attribute of changes that were cut off.

    Parameters
    ----------
    old : int
        Its value before the first of these changes.
    new : int
        The value that the last of them was to set.
    now : int or None
        Its value now; null if it cannot be read.
    state : ValueState
        What it holds now.
    changes : tuple of int
        Numbers of the changes.
    """

    now: int | None
    state: ValueState
    changes: tuple[int, ...]


class Unfinished(Struct, frozen=True):
    """The changes of a machine that were cut off.

    Parameters
    ----------
    changes : tuple of ChangeRecord
        Those that left attributes half done, the oldest first.
    attributes : tuple of UnfinishedAttribute
        Their attributes, without those that later changes have set.
    before_boot : tuple of ChangeRecord
        Changes of an earlier boot: the hardware has its power-on values since.
    whole : Mapping[int, Outcome]
        Changes that were cut off and left nothing half done: all values are old, or all are new.
    under_way : tuple of ChangeRecord
        Changes that other processes are making now.
    ended : tuple of int
        Changes that are over, with files that are still open.
    not_begun : tuple of int
        Changes that were cut off before their first write.
    damaged : tuple of InputError
        Files of the journal that cannot be read.
    reloaded : tuple of str
        Devices of ``attributes`` for which the driver was loaded again since.
    """

    changes: tuple[ChangeRecord, ...] = ()
    attributes: tuple[UnfinishedAttribute, ...] = ()
    before_boot: tuple[ChangeRecord, ...] = ()
    whole: Mapping[int, Outcome] = {}
    under_way: tuple[ChangeRecord, ...] = ()
    ended: tuple[int, ...] = ()
    not_begun: tuple[int, ...] = ()
    damaged: tuple[InputError, ...] = ()
    reloaded: tuple[str, ...] = ()

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What a command says of these changes."""
        diagnostics: list[Diagnostic] = []
        if self.changes:
            half = [one for one in self.attributes if one.state is not ValueState.OLD]
            names = first_of([one.label for one in half], SHOWN)
            what = in_words(describe(change) for change in self.changes[-3:])
            part = f"{len(half)} of {counted(len(self.attributes), 'tune attribute')}"
            message = f"{what} was cut off: {part} changed: {in_words(names)}; {SEE}"
            hint = "'ptttool tune recover --restore' sets the old values, --complete the new ones"
            details = {"changes": [change.number for change in self.changes], "attributes": [one.label for one in half]}
            diagnostics.append(Diagnostic(Severity.WARNING, HALF_DONE, message, hint, details=details))
        for change in self.before_boot:
            message = f"{describe(change)} was cut off before the machine was started again: the tune attributes have their power-on values"
            diagnostics.append(Diagnostic(Severity.INFO, "restarted-since", message, details={"change": change.number}))
        for change in self.under_way:
            message = f"{describe(change)}, process {change.author.pid}, is changing tune attributes now"
            facts = {"change": change.number, "pid": change.author.pid}
            diagnostics.append(Diagnostic(Severity.INFO, "change-under-way", message, details=facts))
        diagnostics += [
            Diagnostic(Severity.WARNING, error.code, f"{error.message}; {SEE}", hint=error.hint, where=error.path) for error in self.damaged
        ]
        for device in self.reloaded:
            message = f"{device}: the driver was loaded again since the change was cut off"
            diagnostics.append(Diagnostic(Severity.INFO, "driver-reloaded", message, where=device))
        return tuple(diagnostics)


def describe(change: ChangeRecord) -> str:
    """Name a change in a message."""
    return f"change {change.number} ('{change.author.command}' by {change.author.who}, {change.author.started})"


def find_unfinished(source: Source, journal: Journal | None = None, *, alone: bool = False) -> Unfinished:
    """Find the changes of a machine that were cut off.

    Parameters
    ----------
    source : Source
        The machine.
    journal : Journal, optional
        Its journal. Default: :func:`~ptttool.tune.journal.store.journal_of`.
    alone : bool
        True for the holder of the machine's lock: then no change is under way.

    Returns
    -------
    Unfinished
        Empty where the journal may not be read.
    """
    journal = journal_of(source) if journal is None else journal
    try:
        entries = [] if journal is None else list(journal.entries(only_open=True))
    except OSError:
        entries = []
    if not entries:
        return Unfinished()
    changes: list[ChangeRecord] = []
    under_way: list[ChangeRecord] = []
    before_boot: list[ChangeRecord] = []
    ended: list[int] = []
    not_begun: list[int] = []
    damaged: list[InputError] = []
    boot = boot_id(source)
    for number, change in entries:
        if isinstance(change, InputError):
            damaged.append(change)
        elif change is None:
            not_begun.append(number)
        elif change.outcome is not None:
            ended.append(number)
        elif boot is not None and change.author.boot_id not in (None, boot):
            before_boot.append(change)
        elif not alone and not change.failed and change.author.runs:
            under_way.append(change)
        else:
            changes.append(change)
    devices = {device.name: device for device in list_devices(source)} if changes else {}
    values = _values_now(devices, changes)
    outcomes = {change.number: _whole(change, values) for change in changes}
    changes = [change for change in changes if outcomes[change.number] is None]
    open_now = {change.number for change in changes}
    # A change that was to repair another one: what that one is to have counts.
    originals = [change for change in changes if not open_now & set(change.repairs)]
    attributes = tuple(_attributes(originals, values))
    drivers = driver_identity(list(devices.values()))
    reloaded = {
        device for change in originals for device, number in change.author.driver.items() if drivers.get(device, number) != number
    } & {one.device for one in attributes}
    return Unfinished(
        changes=tuple(changes),
        attributes=attributes,
        before_boot=tuple(before_boot),
        whole={number: outcome for number, outcome in outcomes.items() if outcome is not None},
        under_way=tuple(under_way),
        ended=tuple(ended),
        not_begun=tuple(not_begun),
        damaged=tuple(damaged),
        reloaded=tuple(sorted(reloaded)),
    )


# The values of attributes now, or the reason where there is none.
_Values = Mapping[tuple[str, str], int | ValueState]


def _values_now(devices: Mapping[str, PttDevice], changes: Sequence[ChangeRecord]) -> _Values:
    names: dict[str, list[str]] = {}
    values: dict[tuple[str, str], int | ValueState] = {}
    for name, attribute in dict.fromkeys(step.key for change in changes for step in _steps(change)):
        values[name, attribute] = ValueState.GONE
        if name in devices:
            try:
                if name not in names:
                    names[name] = attribute_names(devices[name])
                if attribute in names[name]:
                    values[name, attribute] = read_value(devices[name], attribute)
            except PtttoolError:
                values[name, attribute] = ValueState.UNREADABLE
    return values


def _steps(change: ChangeRecord) -> list[Step]:
    return [step for step in change.steps if step.state is not StepState.SETTLED]


def _whole(change: ChangeRecord, values: _Values) -> Outcome | None:
    """Return how a change ended that left nothing half done; None for one that did."""
    steps = _steps(change)
    if change.failed and len(steps) < len(change.steps):  # recovered in part: the rest alone does not tell
        return None
    if all(values[step.key] == step.old for step in steps):
        return Outcome.UNTOUCHED
    return Outcome.COMPLETE if all(values[step.key] == step.new for step in steps) else None


def _attributes(changes: Sequence[ChangeRecord], values: _Values) -> Iterator[UnfinishedAttribute]:
    touched: dict[tuple[str, str], list[tuple[int, Step]]] = {}
    for change in changes:
        for step in _steps(change):
            touched.setdefault(step.key, []).append((change.number, step))
    for key, numbered in touched.items():
        numbers, steps = zip(*numbered, strict=True)
        now = values[key]
        value = None if isinstance(now, ValueState) else now
        yield UnfinishedAttribute(*key, steps[0].old, steps[-1].new, value, _state(now, steps), numbers)


def _state(now: int | ValueState, steps: Sequence[Step]) -> ValueState:
    """Return what an attribute holds, after the steps that all were to set it."""
    if isinstance(now, ValueState):
        return now
    if now == steps[0].old:
        return ValueState.OLD
    if now == steps[-1].new:
        return ValueState.NEW
    between = {value for step in steps for value in (step.old, step.new, *step.between)}
    return ValueState.BETWEEN if now in between else ValueState.OTHER
