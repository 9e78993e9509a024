"""Budgets of opening recordings."""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

MAX_RECORDINGS: Final = 1 << 12

BUDGETS: Final = (Budget("MAX_RECORDINGS", MAX_RECORDINGS, "recordings", "Recordings of a folder that is named instead of them."),)
"""All budgets of this subpackage."""
