"""Signs that trace data are missing: neither driver nor perf reports a loss, the shape of the recording shows it.

What the driver does when it stops, and what that leaves in the file, is known from ``drivers/hwtracing/ptt/hisi_ptt.c`` (Linux 6.1 and
6.12) and from recordings of it. A loss without a sign stays unseen: where the CPU answers late, the device overwrites its ring.
"""

from __future__ import annotations

from collections.abc import Sequence

from ptttool.analyses.loss.amounts import signs_in_amounts
from ptttool.analyses.loss.stream_signs import signs_in_streams
from ptttool.analyses.loss.streams import streams_of
from ptttool.diagnostics import Diagnostic
from ptttool.perfdata.model import Contents, Mode
from ptttool.recording.auxtrace import HISI_PTT


def signs_of_loss(contents: Contents, *, session_end: int | None = None, went_offline: Sequence[int] = ()) -> list[Diagnostic]:
    """Return the signs in the container of a PTT recording that has been walked to its end.

    Whether its TLPs are what was asked for, the analysis ``loss`` finds.

    Parameters
    ----------
    contents : Contents
        The recording.
    session_end : int, optional
        Time of the session's last event on perf's clock, in nanoseconds, where it is known better than from the recording.
    went_offline : sequence of int, optional
        CPUs that went offline while recording, where it is known.

    Returns
    -------
    list of Diagnostic
        The worst first; none for other recordings and for raw dumps. ``details["causes"]`` of ``empty-trace`` lists what may be the
        reason: see :func:`causes_of`.
    """
    if contents.mode is Mode.RAW or contents.auxtrace_type not in (None, HISI_PTT):
        return []
    if contents.auxtrace_type is None and not contents.aux_payloads:
        return []
    end = contents.last_time if session_end is None else session_end
    signs = [*signs_in_streams(contents, streams_of(contents.aux_events), end, went_offline), *signs_in_amounts(contents)]
    return sorted(signs, key=lambda sign: sign.severity.rank)


def causes_of(sign: Diagnostic) -> tuple[str, ...]:
    """Return what may be the reason of a sign, as sentences without full stop; nothing for most signs."""
    causes = sign.details.get("causes", ())
    return tuple(str(cause) for cause in causes) if isinstance(causes, list | tuple) else ()
