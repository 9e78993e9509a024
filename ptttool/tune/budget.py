"""Budgets of tune profiles and of the journal of changes."""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

MAX_PROFILE_BYTES: Final = Budget(1 << 16, "bytes", "A tune profile; one of the largest machine has a few thousand.")
MAX_DOTS: Final = Budget(1 << 7, "dots", "Dots in a line of a tune profile: the work for a key grows with the square of their number.")
MAX_JOURNAL_BYTES: Final = Budget(1 << 20, "bytes", "The record of one change of tune attributes.")
MAX_JOURNAL_STEPS: Final = Budget(1 << 12, "steps", "Attributes that one change may set.")
