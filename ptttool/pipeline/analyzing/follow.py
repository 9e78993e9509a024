"""Find the transaction of one TLP of a recording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ptttool.analyses.follow import Follow, FollowAnalysis, Row, followed
from ptttool.errors import UsageError
from ptttool.pipeline.analyzing.ask import Ask, run
from ptttool.pipeline.query import Query
from ptttool.pipeline.workers.pool import ALONE

if TYPE_CHECKING:
    import polars as pl

    from ptttool.pipeline.recording import OpenRecording

# Completions of a transaction that are listed: a read of 4 KiB with the smallest read completion boundary has 64.
MOST_COMPLETIONS = 256


def follow(
    recording: OpenRecording,
    ask: Ask,
    index: int,
) -> Follow:
    """Return the transaction of a TLP.

    Parameters
    ----------
    recording : OpenRecording
        The recording; it is read several times.
    ask : Ask
        How it is analyzed.
    index : int
        Number of the TLP: of a request or of a completion.

    Raises
    ------
    UsageError
        The recording is not of TLPs (code ``no-tlps``), comes from a pipe (``pipe-follow``), or has no TLP of that number
        (``no-such-index``).
    InputError
        The recording is damaged before that TLP.
    """
    if not recording.is_ptt:
        raise UsageError(f"{recording.path} holds {recording.title}: only TLPs have transactions", code="no-tlps")
    if recording.path == "-":
        raise UsageError("a transaction cannot be followed in a pipe: it is read once", hint="save it to a file first", code="pipe-follow")
    row, key = _row_of(recording, index)
    if row["class"] not in ("NP", "CPL") or key is None:
        return followed(recording.path, row, None, None, [])
    requester, tag = key
    options = {FollowAnalysis.name: {"index": index, "requester": requester, "tag": tag}}
    matched = run(recording, replace(ask, options=options), (FollowAnalysis,)).results[FollowAnalysis.name]
    transaction = matched.transaction
    if transaction is None:
        return followed(recording.path, row, matched, None, [])
    first, last, count = transaction.request.item(), transaction.last.item(), transaction.completions.item()
    request = row if first == index else _row_of(recording, first)[0]
    completions = islice(_completions(recording, key, first, last), min(count, MOST_COMPLETIONS)) if count else ()
    return followed(recording.path, row, matched, request, list(completions))


def _row_of(recording: OpenRecording, index: int) -> tuple[Row, tuple[int, int] | None]:
    """Return a TLP by column, and its Requester ID and tag where it has both."""
    frame = next((frame for frame in _frames(recording, index, 1) if len(frame)), None)
    if frame is None:
        raise next(iter(recording.damage), None) or recording.lacks_row(index)
    requester, tag = frame["requester"][0], frame["tag"][0]
    return _rows(frame, recording)[0], None if requester is None or tag is None else (requester, tag)


def _completions(recording: OpenRecording, key: tuple[int, int], first: int, last: int) -> Iterator[Row]:
    """Yield the completions of a transaction, in order; `first` and `last`: numbers of its request and of its last completion."""
    import polars as pl

    requester, tag = key
    condition = (pl.col("class") == "CPL") & (pl.col("requester") == requester) & (pl.col("tag") == tag)
    for frame in _frames(recording, first + 1, last - first):
        yield from _rows(frame.filter(condition), recording)


def _frames(recording: OpenRecording, first: int, count: int) -> Iterator[pl.DataFrame]:
    """Yield TLPs, from a number on."""
    query = Query(recording.schema.usual_names, None, first, count)
    return (batch.to_polars() for batch in recording.walk(ALONE).batches(query))


def _rows(frame: pl.DataFrame, recording: OpenRecording) -> Sequence[Row]:
    from ptttool.table.text import as_text

    return as_text(frame, recording.schema.select(recording.schema.usual_names)).to_dicts()
