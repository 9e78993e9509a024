"""Deformat CoreSight frames in memory, using one core: ``deformat.py FILE`` prints ``{"seconds": …, "bytes": …}``.

``bytes`` counts the data of all IDs except 0, which is padding.
"""

from __future__ import annotations

import json
import os
import sys
import time

import numpy as np

from ptttool.decoders.coresight.deformat import NO_ID, deformat
from ptttool.decoders.coresight.frames import PADDING_ID, FrameProtocol

PIECE = FrameProtocol.feed


def main(path: str) -> None:
    """Deformat all frames twice, in pieces of the size used for recordings: first to count the data, then to measure."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    data = np.fromfile(path, dtype=np.uint8)
    pieces = [data[start : start + PIECE] for start in range(0, len(data), PIECE)]
    held, current = 0, NO_ID
    for piece in pieces:
        taken = deformat(piece, current)
        current = taken.last
        held += sum(len(each) for number, each, _ in taken.streams() if number != PADDING_ID)
    started = time.perf_counter()
    current = NO_ID
    for piece in pieces:
        current = deformat(piece, current).last
    sys.stdout.write(json.dumps({"seconds": time.perf_counter() - started, "bytes": held}))


if __name__ == "__main__":
    main(*sys.argv[1:])
