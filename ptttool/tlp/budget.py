"""Budgets of TLP headers that are pasted from logs."""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

MAX_LOG: Final = 1 << 14

BUDGETS: Final = (Budget("MAX_LOG", MAX_LOG, "characters", "DWs of a TLP header, or the line of a log with them."),)
"""All budgets of this subpackage."""
