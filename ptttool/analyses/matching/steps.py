"""What matching looks at in TLPs: the columns, and the roles of kinds."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ptttool.analyses.time.ticks import Ticks
from ptttool.kernel import loops
from ptttool.kernel.matching import Rows
from ptttool.table.batch import Batch
from ptttool.table.values import Mask, plain, spread
from ptttool.tlp.columns import KINDS
from ptttool.tlp.transactions import Ending

Array = npt.NDArray[Any]

STEP_COLUMNS: Final = (
    "index", "kind", "requester", "tag", "segment", "length_dw", "requested_bytes", "status", "byte_count", "lower_address",
    "direction",
)  # fmt: skip
"""The columns that matching reads, besides those of the clock."""

_READS = ("MRd", "MRdLk", "IORd", "CfgRd0", "CfgRd1", "TCfgRd")
_FIXED = ("IORd", "IOWr", "CfgRd0", "CfgWr0", "CfgRd1", "CfgWr1", "TCfgRd")
_ATOMICS = ("FetchAdd", "Swap", "CAS")
_WRITES = ("IOWr", "CfgWr0", "CfgWr1", "DMWr")
_WITH_DATA = ("CplD", "CplDLk")
_POSTED = ("MWr", "Msg", "MsgD")
_DATA = (*_WITH_DATA, *_ATOMICS, "MWr", "MsgD")
_COMPLETIONS = ("Cpl", "CplD", "CplLk", "CplDLk")


def _role(kind: str) -> int:
    return (
        loops.REQUEST * (kind in (*_READS, *_ATOMICS, *_WRITES))
        | loops.COMPLETION * (kind in _COMPLETIONS)
        | loops.FIXED * (kind in _FIXED)
        | loops.WRITE * (kind in _WRITES)
        | loops.HAS_DATA * (kind in _DATA)
        | loops.POSTED * (kind in _POSTED)
    )


_NO_KIND: Final = np.uint8(255)
ROLES: Final[Array] = np.zeros(256, dtype=np.uint8)
"""By code of a kind."""
ROLES[: len(KINDS)] = [_role(kind) for kind in KINDS]


def rows_of(batch: Batch, ticks: Ticks, mask: Mask | None) -> Rows:
    """Return the rows of a batch; `mask`: those that a condition takes, None for all."""

    def column(name: str, dtype: type[np.generic]) -> Array:
        return plain(batch.values(name).array, dtype)

    index: Any = batch.values("index").array
    kinds, segments = batch.values("kind").array, batch.values("segment")
    segment = column("segment", np.uint8)
    return Rows(
        kind=np.full(batch.size, _NO_KIND) if kinds is None else plain(kinds, np.uint8),
        requester=column("requester", np.uint16),
        tag=column("tag", np.uint16),
        segment=segment if segments.valid is None else segment * segments.valid,
        length_dw=column("length_dw", np.uint16),
        requested_bytes=column("requested_bytes", np.uint16),
        status=column("status", np.uint8),
        byte_count=column("byte_count", np.uint16),
        lower_address=column("lower_address", np.uint8),
        is_hidden=plain(None if mask is None else ~mask, np.uint8),
        number=plain(
            None if isinstance(index, range) and index.step == 1 else spread(index) if isinstance(index, range) else index, np.uint64
        ),
        start=int(index[0]),
        at=plain(ticks.at, np.int64),
        breaks=plain(ticks.breaks, np.int64),
        holes=plain(ticks.holes, np.int64),
        gaps=_gaps(batch, ticks.holes),
        direction=column("direction", np.uint8),
    )


def _gaps(batch: Batch, holes: Array) -> Array:
    """Return how requests end that are open at holes: another CPU's stream begins, or records are missing."""
    gaps = np.full(len(holes), Ending.INSIDE, dtype=np.uint8)
    cpus: Any = batch.values("cpu").array
    if cpus is not None:
        gaps[cpus[holes] != cpus[holes - 1]] = Ending.END
    return gaps
