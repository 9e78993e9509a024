"""Budgets of the analyses."""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

MAX_STREAM_SIGNS: Final = 1 << 10
MAX_LINE_POINTS: Final = 1 << 12

BUDGETS: Final = (
    Budget("MAX_LINE_POINTS", MAX_LINE_POINTS, "points", "Points of a time line; beyond it they are joined in pairs."),
    Budget("MAX_STREAM_SIGNS", MAX_STREAM_SIGNS, "signs", "Signs of loss in AUX streams that are listed; each stream has two at most."),
)
"""All budgets of this room."""
