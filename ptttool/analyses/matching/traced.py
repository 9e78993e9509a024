"""Which requests cannot have their completions in a recording, because its event does not ask for them."""

from __future__ import annotations

from typing import Final

from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.needs import captured

_INBOUND, _OUTBOUND = "inbound", "outbound"
# Completions of requests of the processor, or of anything else than other devices: what most outbound requests have.
_USUAL_ANSWERS: Final = ("CPL", "CPL A")


def untraced_answers(context: AnalysisContext) -> frozenset[str]:
    """Return the directions of requests whose completions are not traced; none where the recording does not say.

    Parameters
    ----------
    context : AnalysisContext
        The recording.
    """
    flow = captured(context.contents, machine=context.machine).flow
    if flow is None:
        return frozenset()
    found = []
    if not any(group.startswith("CPL") for group in flow.outbound):
        found.append(_INBOUND)
    if not any(group in _USUAL_ANSWERS for group in flow.inbound):
        found.append(_OUTBOUND)
    return frozenset(found)
