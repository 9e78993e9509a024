"""Budgets of TLP headers that are pasted from logs."""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

MAX_LOG: Final = Budget(1 << 14, "characters", "DWs of a TLP header, or the line of a log with them.")
