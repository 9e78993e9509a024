"""Hostile inputs for every reader: ``python -m bench.bombs`` shows that work and memory grow as the input does."""

from __future__ import annotations

from bench.bombs import descriptions, machines, programs, recordings
from bench.bombs.contract import BOMBS, Bomb, bytes_below

__all__ = ["BOMBS", "Bomb", "bytes_below", "descriptions", "machines", "programs", "recordings"]
