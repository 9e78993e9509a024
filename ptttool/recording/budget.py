"""Budgets of opening recordings."""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

MAX_RECORDINGS: Final = Budget(1 << 12, "recordings", "Recordings of a folder that is named instead of them.")
