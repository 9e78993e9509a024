"""What a sweep will do: its settings, rounds and metrics, known before its first run."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from ptttool.analyses.compare.statistics import ALPHA
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import UsageError
from ptttool.machine.model import PttDevice
from ptttool.sweep.design import MOST_ROUNDS, Design, DesignKind, Values, design, schedule
from ptttool.sweep.log import DIGEST, LONGEST_SEED
from ptttool.sweep.metrics.contract import Metric
from ptttool.sweep.signed_rank import rounds_needed, smallest_p
from ptttool.sweep.statistics import comparisons_of
from ptttool.tune.attributes import clamped_value, is_clamped, parse_assignments, resolve_attributes, stored_value
from ptttool.tune.values import attribute_names, read_value
from ptttool.wording import counted


class SweepOptions(Struct, frozen=True):
    """What is to be swept, and how.

    Parameters
    ----------
    attributes : Sequence of str
        The tune attributes.
    values : Sequence of str
        The values that each of them is to have.
    metrics : tuple of Metric
        What is measured.
    command : tuple of str
        The workload.
    rounds : int or None
        How often each setting is measured; None: as often as the test needs at least.
    kind : DesignKind
        Which settings are tried.
    seed : int or None
        Of the order of the runs; None: by chance.
    warmup : int
        Runs before the first round, which do not count.
    timeout : float or None
        Seconds that a run may take.
    """

    attributes: Sequence[str]
    values: Sequence[str]
    metrics: tuple[Metric, ...]
    command: tuple[str, ...]
    rounds: int | None = None
    kind: DesignKind = DesignKind.FACTORIAL
    seed: int | None = None
    warmup: int = 0
    timeout: float | None = None

    def __post_init__(self) -> None:
        if self.rounds is not None and not 1 <= self.rounds <= MOST_ROUNDS:
            raise UsageError(f"{self.rounds} rounds: from 1 to {MOST_ROUNDS}", code="bad-rounds")
        if not 0 <= self.warmup <= MOST_ROUNDS:
            raise UsageError(f"{self.warmup} runs to warm up: from 0 to {MOST_ROUNDS}", code="bad-warmup")
        if self.seed is not None and not 0 <= self.seed < LONGEST_SEED:
            raise UsageError("--seed: a whole number from 0, of at most 63 bits", code="bad-seed")


class SweepPlan(Struct, frozen=True):
    """What a sweep will do.

    Parameters
    ----------
    device : PttDevice
        The device.
    options : SweepOptions
        What was asked for.
    originals : Mapping of str to int
        The attributes with the values that they have: the baseline.
    values : Mapping of str to tuple of int
        The values to be tried, by attribute, each once.
    design : Design
        The settings.
    rounds : int
        How often each setting is measured.
    seed : int
        Of the order of the runs.
    diagnostics : tuple of Diagnostic
        What is odd about it: values that were clamped, too few rounds.
    """

    device: PttDevice
    options: SweepOptions
    originals: Mapping[str, int]
    values: Mapping[str, tuple[int, ...]]
    design: Design
    rounds: int
    seed: int
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def runs(self) -> int:
        """Runs that count."""
        return self.rounds * len(self.design.settings)

    @property
    def comparisons(self) -> int:
        """Comparisons that are made."""
        return comparisons_of(self.design, len(self.options.metrics))

    @property
    def rounds_needed(self) -> int:
        """Rounds with which a difference can be found at all."""
        return rounds_needed(self.comparisons)

    @property
    def order(self) -> list[list[Values]]:
        """The order of the runs, by round."""
        return schedule(self.design.settings, self.rounds, self.seed)

    def identity(self, output: str) -> dict[str, Any]:
        """Return what must be the same for a sweep to go on; `output` is the results' name, without a folder.

        Of the workload's arguments, which can hold passwords, only a digest.
        """
        words = b"\0".join(os.fsencode(word) for word in self.options.command)
        source = self.device.source
        return {
            "output": output,
            "machine": None if source is None else source.identity,
            "device": self.device.name,
            "design": self.design.kind.value,
            "attributes": list(self.design.attributes),
            "originals": dict(self.originals),
            "settings": [list(setting) for setting in self.design.settings],
            "rounds": self.rounds,
            "seed": self.seed,
            "metrics": {metric.name: metric.better.value for metric in self.options.metrics},
            "program": self.options.command[0],
            DIGEST: hashlib.sha256(words).hexdigest(),
        }

    def with_hardware(self, found: Mapping[str, Mapping[int, int]]) -> SweepPlan:
        """Return the plan with the values that the hardware makes of those that were asked for.

        Parameters
        ----------
        found : Mapping
            What was read back, by attribute and value that was written.
        """
        values = {name: tuple(dict.fromkeys(found[name][value] for value in asked)) for name, asked in self.values.items()}
        odd = [
            Diagnostic(
                Severity.WARNING,
                "clamped-by-hardware",
                f"{self.device.name}/{name}: {value} was written, {got} is read back: {got} is what is measured",
                where=f"{self.device.name}/{name}",
                details={"asked": value, "taken": got},
            )
            for name, asked in self.values.items()
            for value in asked
            if (got := found[name][value]) != value
        ]
        if not odd:
            return self
        kept = [one for one in self.diagnostics if one.code != "too-few-rounds"]
        return _plan(self.device, self.options, self.originals, values, self.seed, (*kept, *odd))


def plan_sweep(device: PttDevice, options: SweepOptions) -> SweepPlan:
    """Plan a sweep: read the attributes, write nothing.

    Raises
    ------
    UsageError
        An attribute or a value is unknown, or there is nothing to compare.
    AccessError, HardwareError, DeviceError
        An attribute cannot be read.
    """
    names = attribute_names(device)
    if not options.attributes:
        raise UsageError("no tune attribute is named", hint=f"known: {', '.join(names)}", code="no-attribute")
    if not options.values:
        raise UsageError("no value is named", hint="such as --values 0,1,2", code="no-value")
    attributes = list(dict.fromkeys(resolve_attributes(device.name, names, options.attributes)))
    taken: dict[str, int] = {}
    for text in dict.fromkeys(options.values):
        parse_assignments(device.name, names, [f"{attributes[0]}={text}"])
        taken[text] = stored_value(text)
    odd = [clamped_value("--values", text) for text in taken if is_clamped(text)]
    values = tuple(dict.fromkeys(taken.values()))
    originals = {name: read_value(device, name) for name in attributes}
    seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(4), "big")
    return _plan(device, options, originals, dict.fromkeys(attributes, values), seed, tuple(odd))


def _plan(
    device: PttDevice,
    options: SweepOptions,
    originals: Mapping[str, int],
    values: Mapping[str, tuple[int, ...]],
    seed: int,
    odd: tuple[Diagnostic, ...],
) -> SweepPlan:
    """Choose settings and rounds for the values; say where the rounds are too few."""
    chosen = design(options.kind, originals, values)
    comparisons = comparisons_of(chosen, len(options.metrics))
    needed = rounds_needed(comparisons)
    rounds = options.rounds or needed
    if smallest_p(rounds) * comparisons > ALPHA:
        message = (
            f"{counted(rounds, 'round')} cannot show a difference, however large it is: "
            f"for {counted(comparisons, 'comparison')}, at least {needed} rounds are needed"
        )
        details = {"rounds": rounds, "needed": needed, "comparisons": comparisons}
        odd = (*odd, Diagnostic(Severity.WARNING, "too-few-rounds", message, details=details))
    return SweepPlan(device, options, originals, values, chosen, rounds, seed, odd)
