"""The advice on a recording."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from ptttool.analyses.needs import Lack, LackCode
from ptttool.diagnostics import Severity
from ptttool.report.advice.addresses import on_addresses
from ptttool.report.advice.bandwidth import on_bandwidth
from ptttool.report.advice.errors import on_errors
from ptttool.report.advice.io import on_io
from ptttool.report.advice.latency import on_latency
from ptttool.report.advice.loss import on_loss
from ptttool.report.advice.mmio import on_mmio
from ptttool.report.advice.outstanding import on_outstanding
from ptttool.report.advice.payload import on_payload
from ptttool.report.advice.time import on_time
from ptttool.report.model import Advice

# By analysis, in the order of a report: advice of the same severity comes in this order.
RULES: Final[Mapping[str, Callable[[Any], Iterable[Advice]]]] = {
    "loss": on_loss,
    "io": on_io,
    "latency": on_latency,
    "outstanding": on_outstanding,
    "bandwidth": on_bandwidth,
    "payload": on_payload,
    "addresses": on_addresses,
    "errors": on_errors,
    "mmio": on_mmio,
}
# Advice on what to record, at most.
_MOST_LACKS = 2


def advice_on(results: Mapping[str, object], lacks: Mapping[str, Sequence[Lack]]) -> list[Advice]:
    """Return what to do next, the most important first.

    Parameters
    ----------
    results : Mapping[str, object]
        Results by name of the analysis.
    lacks : Mapping[str, sequence of Lack]
        What each analysis cannot see.
    """
    advices = [advice for name, rule in RULES.items() if name in results for advice in rule(results[name])]
    first = {advice.code: advice.analysis for advice in reversed(advices)}
    advices = [advice for advice in advices if first[advice.code] == advice.analysis]  # the same seen by two analyses is said once
    return sorted([*advices, *on_time(results), *_on_lacks(lacks)], key=lambda advice: advice.severity.rank)


def _on_lacks(lacks: Mapping[str, Sequence[Lack]]) -> Iterator[Advice]:
    """Yield what to record, for analyses that could not see everything: the options that most of them ask for come first."""
    by_options: dict[str, list[tuple[str, Lack]]] = {}
    for name, each in lacks.items():
        for lack in each:
            if lack.options is not None and lack.code is not LackCode.COLUMNS:
                by_options.setdefault(lack.options, []).append((name, lack))
    for options, asking in sorted(by_options.items(), key=lambda item: -len(item[1]))[:_MOST_LACKS]:
        names = list(dict.fromkeys(name for name, _ in asking))
        what, why = ("; ".join(dict.fromkeys(texts)) for texts in ([lack.what for _, lack in asking], [lack.why for _, lack in asking]))
        yield Advice(
            Severity.INFO,
            "record-more",
            names[0],
            f"{len(names)} of {len(lacks)} analyses could not see everything ({what}), since {why}. Another recording has it.",
            f"ptttool trace {options}",
            {"analyses": ", ".join(names)},
        )
