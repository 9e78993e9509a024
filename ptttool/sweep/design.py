"""The settings that a sweep tries, and the order of its runs.

Runs are in rounds. Each round has each setting once, in an order of its own by chance: what changes with time (temperature, a filling
disk, other users) then meets all settings alike, and settings are compared within rounds.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from ptttool.errors import UsageError

MOST_SETTINGS, MOST_ROUNDS = 243, 200

Values = tuple[int, ...]
"""A setting: a value for each attribute, in the order of the attributes."""


class DesignKind(StrEnum):
    """Which settings are tried."""

    FACTORIAL = "factorial"
    """Every combination of the values of all attributes."""
    ONE_AT_A_TIME = "one-at-a-time"
    """Each value of each attribute, while the others keep their original values."""


class Design(Struct, frozen=True):
    """The settings of a sweep.

    Parameters
    ----------
    kind : DesignKind
        How they were chosen.
    attributes : tuple of str
        The attributes that are changed.
    settings : tuple of tuple of int
        The settings; the first one is the baseline: the original values.
    """

    kind: DesignKind
    attributes: tuple[str, ...]
    settings: tuple[Values, ...]

    @property
    def baseline(self) -> Values:
        """The original values, with which the other settings are compared."""
        return self.settings[0]

    def label(self, setting: Values) -> str:
        """Name a setting: ``qos_tx_p=2 qos_tx_np=1``."""
        return " ".join(f"{name}={value}" for name, value in zip(self.attributes, setting, strict=True))

    def effects(self) -> tuple[tuple[str, int], ...]:
        """List the attributes and values whose effect is averaged over the settings of all others: none where a combination is missing."""
        levels = self.levels()
        full = len(self.settings) == len(set(itertools.product(*levels)))
        if self.kind is not DesignKind.FACTORIAL or len(self.attributes) < 2 or not full:
            return ()
        return tuple(
            (name, value)
            for name, original, values in zip(self.attributes, self.baseline, levels, strict=True)
            for value in values
            if value != original
        )

    def levels(self) -> list[list[int]]:
        """Return the values of each attribute, sorted."""
        return [sorted({setting[at] for setting in self.settings}) for at in range(len(self.attributes))]


def design(kind: DesignKind | str, originals: Mapping[str, int], values: Mapping[str, Sequence[int]]) -> Design:
    """Choose the settings of a sweep.

    Parameters
    ----------
    kind : DesignKind or str
        How they are chosen.
    originals : Mapping of str to int
        The original values of the attributes: the baseline. It is always among the settings.
    values : Mapping of str to Sequence of int
        The values to try, by attribute.

    Raises
    ------
    UsageError
        There are too many settings, or only the original one.
    """
    kind = DesignKind(kind)
    baseline = tuple(originals.values())
    if kind is DesignKind.FACTORIAL:
        count = math.prod(max(len(set(values[name])), 1) for name in originals)
        tried = itertools.islice(itertools.product(*(dict.fromkeys(values[name]) for name in originals)), MOST_SETTINGS + 1)
        settings = tuple(dict.fromkeys((baseline, *tried)))
    else:
        changed = [(*baseline[:at], value, *baseline[at + 1 :]) for at, name in enumerate(originals) for value in values[name]]
        settings = tuple(dict.fromkeys((baseline, *changed)))
        count = len(settings)
    if count > MOST_SETTINGS:
        raise UsageError(
            f"{count} settings: at most {MOST_SETTINGS}",
            hint="fewer attributes or values, or --design one-at-a-time",
            code="too-many-settings",
        )
    if len(settings) < 2:
        raise UsageError(
            "there is nothing to compare: the attributes have these values already", hint="name other values", code="one-setting"
        )
    return Design(kind, tuple(originals), settings)


def schedule(settings: Sequence[Values], rounds: int, seed: int) -> list[list[Values]]:
    """Return the order of the runs: for each round all settings, shuffled.

    A round's order depends on the seed and its number alone, so a longer sweep begins as a shorter one does.

    Parameters
    ----------
    settings : Sequence
        The settings.
    rounds : int
        How many rounds.
    seed : int
        The same seed gives the same order.
    """
    order = []
    for number in range(1, rounds + 1):
        one = list(settings)
        random.Random(f"{seed}/{number}").shuffle(one)
        order.append(one)
    return order
