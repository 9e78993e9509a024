"""Budgets of tune profiles and of the journal of changes."""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

MAX_PROFILE_BYTES: Final = 1 << 16
MAX_DOTS: Final = 1 << 7
MAX_JOURNAL_BYTES: Final = 1 << 20
MAX_JOURNAL_STEPS: Final = 1 << 12

BUDGETS: Final = (
    Budget("MAX_PROFILE_BYTES", MAX_PROFILE_BYTES, "bytes", "A tune profile; one of the largest machine has a few thousand."),
    Budget("MAX_DOTS", MAX_DOTS, "dots", "Dots in a line of a tune profile: the work for a key grows with the square of their number."),
    Budget("MAX_JOURNAL_BYTES", MAX_JOURNAL_BYTES, "bytes", "The record of one change of tune attributes."),
    Budget("MAX_JOURNAL_STEPS", MAX_JOURNAL_STEPS, "steps", "Attributes that one change may set."),
)
"""All budgets of this subpackage."""
