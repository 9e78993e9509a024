"""Tests of ptttool; their folders mirror the package."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
