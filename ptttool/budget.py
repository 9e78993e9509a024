"""Budgets: how much an input may make ptttool hold or do, and the error for one that asks for more.

A small file can ask for very much: text that expands a thousandfold, counts that no list behind them has, a name of all the file's bytes.
Each subpackage with readers has a module ``budget`` with its limits; the page ``docs/budgets.md`` is made of these modules. Every limit is
far above what real inputs have.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Self

from ptttool.errors import InputError, UsageError

CODE: Final = "over-budget"
"""Code of the errors, problems and diagnostics of all budgets."""


class Budget(int):
    """One limit: a number that says what it limits.

    Parameters
    ----------
    limit : int
        The number.
    unit : str
        What is counted, in the plural.
    meaning : str
        What the limit is for, in one sentence.
    """

    unit: str
    meaning: str

    def __new__(cls, limit: int, unit: str, meaning: str) -> Self:
        """Make a limit."""
        self = super().__new__(cls, limit)
        self.unit, self.meaning = unit, meaning
        return self

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        """Pickle the number alone: some processes that get it do not import ptttool."""
        return int, (int(self),)


def over_budget(path: str | Path, what: str, limit: int, unit: str, *, offset: int | None = None, hint: str | None = None) -> InputError:
    """Make the error for a file that asks for more than a budget allows.

    Parameters
    ----------
    path : str or Path
        The file.
    what : str
        What is too much, as the subject of the message.
    limit : int
        The limit.
    unit : str
        What is counted, in the plural.
    offset : int, optional
        Where in the file, in bytes.
    hint : str, optional
        What to do next.
    """
    reason = f"{what}: more than {limit:,} {unit}, which is the most that is read"
    return InputError(path, reason, offset=offset, hint=hint or "is it the right file, and whole?", code=CODE, limit=limit, unit=unit)


def over_budget_text(what: str, limit: int, unit: str, *, hint: str | None = None) -> UsageError:
    """Make the error for an argument that asks for more than a budget allows; the parameters are those of :func:`over_budget`."""
    return UsageError(f"{what}: more than {limit:,} {unit}, which is the most that is read", hint=hint, code=CODE, limit=limit, unit=unit)
