"""What to do next, from the numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from ptttool.analyses.needs import Lack
from ptttool.diagnostics import Severity
from ptttool.report.model import Advice

Rule: TypeAlias = Callable[[Mapping[str, object], Mapping[str, Sequence[Lack]]], Iterator[Advice]]

RULES: list[Rule] = []


def rule(function: Rule) -> Rule:
    """Add a rule: a function that looks at results and yields advice."""
    RULES.append(function)
    return function


def advice_on(results: Mapping[str, object], lacks: Mapping[str, Sequence[Lack]]) -> list[Advice]:
    """Return what to do next, the most important first.

    Parameters
    ----------
    results : Mapping[str, object]
        Results by name of the analysis.
    lacks : Mapping[str, Sequence[Lack]]
        What each analysis cannot see.
    """
    found = [advice for each in RULES for advice in each(results, lacks)]
    return sorted(found, key=lambda advice: advice.severity.rank)


@rule
def _loss(results: Mapping[str, object], _lacks: Mapping[str, Sequence[Lack]]) -> Iterator[Advice]:
    from ptttool.analyses.loss.analysis import LossSigns

    loss = results.get("loss")
    if not isinstance(loss, LossSigns):
        return
    bad = [sign for sign in loss.signs if sign.severity is not Severity.INFO]
    if bad:
        worst = bad[0]
        yield Advice(
            worst.severity,
            "loss",
            "loss",
            f"{len(bad)} of {len(loss.signs)} signs say that trace data are missing or not what was asked for. Numbers of this recording "
            f"are lower bounds. {worst.hint or 'Record again, for a shorter time or with a larger AUX area.'}",
            "ptttool analyze loss FILE",
            {"signs": len(bad), "worst": worst.code},
        )
