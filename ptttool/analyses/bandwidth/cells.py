"""The cell of a TLP in sums by direction and class, and the DWs that it has on the link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ptttool.tlp.columns import CLASSES, DIRECTIONS

if TYPE_CHECKING:
    from ptttool.table.batch import Batch

# A cell for each class in each direction, and one for what is not a TLP.
CELLS: Final = len(DIRECTIONS) * len(CLASSES) + 1
UNKNOWN: Final = CELLS - 1
# Of header DW 0 as recorded: the bit that says that a header has four DWs, and the digest's. 4DW records keep no TD.
_FOUR_DWS_IN_4DW, _FOUR_DWS_IN_8DW, _DIGEST_IN_8DW = 30, 29, 15


def cells_of(batch: Batch) -> npt.NDArray[np.intp]:
    """Return the cell of each TLP."""
    classes, directions = batch.values("class"), batch.values("direction")
    if classes.array is None:
        return np.full(batch.size, UNKNOWN)
    where: Any = len(DIRECTIONS) - 1 if directions.array is None else directions.array
    cells = np.asarray(classes.array).astype(np.intp)
    cells += where * np.intp(len(CLASSES))
    for valid in (classes.valid, directions.valid):
        if valid is not None:
            cells[~valid] = UNKNOWN
    return cells


def extra_dws(batch: Batch, eight_dw: bool) -> Any:
    """Return the DWs of each TLP on the link besides three of its header and its data: the fourth, a digest, a prefix."""
    dw0: Any = batch.values("dw0").array
    if not eight_dw:
        return dw0 >> np.uint32(_FOUR_DWS_IN_4DW) & np.uint32(1)
    more = (dw0 >> np.uint32(_FOUR_DWS_IN_8DW) & np.uint32(1)) + (dw0 >> np.uint32(_DIGEST_IN_8DW) & np.uint32(1))
    prefix = batch.values("prefix")
    if prefix.array is not None:
        more += np.ones(batch.size, dtype=np.uint32) if prefix.valid is None else prefix.valid
    return more
