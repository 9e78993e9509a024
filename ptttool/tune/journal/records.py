"""The changes of tune attributes as the journal has them: what a file holds, and how it is parsed.

A file is text: one record a line, each a CRC-32 in eight hexadecimal digits, a blank, and a JSON object. The key
``record`` says what it is:

``begin``
    The first line: what is to be written, by whom, on which machine. It is on the disk before the first write.
``written``, ``restored``, ``not-restored``
    How far the attribute ``step`` is, counted from 0.
``settled``
    The attribute ``step`` was set by the later change ``by``: it is no longer half done.
``failed``
    The change could not be undone, or was recovered in part; its process has given up.
``end``
    The change is over: ``outcome``, and ``by`` for a later change that took care of it.

A line that is cut off at the end of a file is ignored. Where the first line is cut off, nothing was written to the device.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, ClassVar

from msgspec import Meta, Struct, convert
from msgspec.structs import replace

from ptttool.documents import read_json, to_json
from ptttool.errors import InputError
from ptttool.files.locks import utc_now
from ptttool.tune.attributes import AttributeChange
from ptttool.tune.budget import MAX_JOURNAL_BYTES, MAX_JOURNAL_STEPS
from ptttool.tune.journal.author import Author, Natural

VERSION = 1


class StepState(StrEnum):
    """How far one attribute of a change is, as the journal has it."""

    PLANNED = "planned"
    WRITTEN = "written"
    RESTORED = "restored"
    NOT_RESTORED = "not-restored"
    SETTLED = "settled"


class Outcome(StrEnum):
    """How a change ended."""

    DONE = "done"
    """Every attribute was written and read back."""
    RESTORED = "restored"
    """It failed or was interrupted, and was undone at once."""
    UNTOUCHED = "untouched"
    """It was cut off, and all attributes had their old values."""
    COMPLETE = "complete"
    """It was cut off, and all attributes had their new values."""
    RECOVERED = "recovered"
    """It was cut off, and a later change restored or completed it."""
    SUPERSEDED = "superseded"
    """It was cut off, and later changes have set all its attributes."""
    REBOOT = "reboot"
    """It was cut off, and the machine was started again."""
    KEPT = "kept"
    """It was cut off, and the user kept the values as they were."""


class Step(AttributeChange, frozen=True):
    """One tune attribute of a change in the journal.

    Parameters
    ----------
    old, new : int
        Its values before the change, and those to be written.
    between : tuple of int
        Values that it had for a time.
    state : StepState
        How far it is.
    """

    # A sweep tries these values, and its new value is the old one.
    json_name: ClassVar = "JournalStepDocument"

    between: tuple[int, ...] = ()
    state: StepState = StepState.PLANNED

    def __post_init__(self) -> None:
        """Refuse values that no attribute has."""
        if min(self.old, self.new, *self.between) < 0:
            raise ValueError("a value is negative")


class ChangeRecord(Struct, frozen=True):
    """A change, as its file has it.

    Parameters
    ----------
    number : int
        Its number: later changes have larger ones.
    author : Author
        Who made it.
    steps : tuple of Step
        Its attributes, in the order of the writes.
    repairs : tuple of int
        The changes that this one restores or completes.
    undoes : tuple of int
        The changes from before which this one writes the values.
    failed : bool
        True if undoing it failed.
    outcome : Outcome or None
        How it ended; None if it has not.
    by : int or None
        The later change that took care of it.
    ended : str or None
        When it ended.
    damaged_lines : tuple of int
        Numbers of lines that are not valid, counted from 1.
    """

    number: int
    author: Author
    steps: Annotated[tuple[Step, ...], Meta(max_length=int(MAX_JOURNAL_STEPS))]
    repairs: tuple[Natural, ...] = ()
    undoes: tuple[Natural, ...] = ()
    failed: bool = False
    outcome: Outcome | None = None
    by: int | None = None
    ended: str | None = None
    damaged_lines: tuple[int, ...] = ()


def parse_change(data: bytes, number: int, path: str) -> ChangeRecord | None:
    """Parse the file of a change.

    Parameters
    ----------
    data : bytes
        Its content.
    number : int
        The number in its name.
    path : str
        The file, for messages.

    Returns
    -------
    ChangeRecord or None
        None where the first line is cut off.

    Raises
    ------
    InputError
        ``journal-damaged``, ``journal-version``.
    """

    def wrong(reason: str, code: str = "journal-damaged") -> InputError:
        return InputError(path, reason, code=code, hint="'ptttool tune recover --keep' puts it aside", number=number)

    if len(data) > MAX_JOURNAL_BYTES:
        raise wrong(f"larger than {MAX_JOURNAL_BYTES} bytes: not a change of tune attributes")
    first, end, rest = data.partition(b"\n")
    begin = _parse_line(first)
    if begin is None:
        if not end:
            return None
        raise wrong("the first line does not match its checksum: which tune attributes were changed is not known")
    if begin.get("record") != "begin" or type(begin.get("version")) is not int:
        raise wrong("the first line is not the beginning of a change")
    if begin["version"] > VERSION:
        raise wrong(f"version {begin['version']} of the journal; this ptttool reads version {VERSION}", "journal-version")
    try:
        facts = {key: begin[key] for key in ("steps", "repairs")}
        change = read_json({"number": number, "author": begin, **facts, "undoes": begin.get("undoes", ())}, ChangeRecord)
    except (KeyError, ValueError):
        raise wrong("the first line lacks what a change has") from None
    damaged: list[int] = []
    # How far a step is, the lines below say.
    steps = [replace(step, state=StepState.PLANNED) for step in change.steps]
    # What follows the last line end is empty, or was cut off.
    for at, line in enumerate(rest.split(b"\n")[:-1], 2):
        record = _parse_line(line)
        try:
            change = _follow(change, steps, record or {})
        except (IndexError, KeyError, ValueError):
            damaged.append(at)
    return replace(change, steps=tuple(steps), damaged_lines=tuple(damaged))


def begin_record(
    number: int, author: Author, steps: Sequence[AttributeChange], repairs: Sequence[int], undoes: Sequence[int] = ()
) -> dict[str, object]:
    """Make the first line of a change."""
    return {
        "record": "begin",
        "version": VERSION,
        "number": number,
        **to_json(author),
        "repairs": list(repairs),
        **({"undoes": list(undoes)} if undoes else {}),
        "steps": [
            {"device": step.device, "attribute": step.attribute, "old": step.old, "new": step.new}
            | ({"between": list(step.between)} if isinstance(step, Step) and step.between else {})
            for step in steps
        ],
    }


def end_record(outcome: Outcome, by: int | None) -> dict[str, object]:
    """Make the last line of a change."""
    return {"record": "end", "outcome": outcome.value, "by": by, "ended": utc_now()}


def journal_line(record: dict[str, object]) -> bytes:
    """Return a record as a line with its checksum."""
    text = json.dumps(record, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _parse_line(line: bytes) -> dict[str, Any] | None:
    """Parse a line; None for one that is not whole."""
    checksum, _, text = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        return None
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _follow(change: ChangeRecord, steps: list[Step], record: dict[str, Any]) -> ChangeRecord:
    """Add a later line to a change, or to its steps."""
    kind = record["record"]
    if kind == "end":
        by = convert(record["by"], Natural | None)
        return replace(change, outcome=convert(record["outcome"], Outcome), by=by, ended=convert(record["ended"], str))
    if kind == "failed":
        return replace(change, failed=True, ended=convert(record["ended"], str))
    at = convert(record["step"], Natural)
    steps[at] = replace(steps[at], state=convert(kind, StepState))
    return change
