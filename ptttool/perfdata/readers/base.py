"""What all readers of perf.data share."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.files.local import Closing
from ptttool.perfdata.attributes import AttributeTable
from ptttool.perfdata.model import AuxChunk, AuxPayload, Contents, Mode, RandomAccess
from ptttool.perfdata.problems import Problems
from ptttool.perfdata.walker import Payload, Walker


class Reader(Closing):
    """A recording that is being read, once, from front to back: a context manager.

    Parameters
    ----------
    path : str
        The path as given; ``-`` for standard input.
    mode : Mode
        What the recording is, as far as that is known before its header.
    name : str, optional
        Name of the recording for messages, where it is not the path.

    Attributes
    ----------
    path : str
        The path as given.
    contents : Contents
        Everything but the AUX data: the attributes at once (in pipe mode from the first chunk on), all of it once :meth:`chunks` has
        come to its end.
    size : int or None
        Size in bytes; None where it is not known.
    position : int
        Bytes that have been walked.
    """

    def __init__(self, path: str, mode: Mode, name: str | None = None) -> None:
        self.path = path
        self._name = path if name is None else name
        self.contents = Contents(mode)
        self.size: int | None = None
        self.position = 0
        self._problems = Problems(self._name, self.contents.problems)
        self._walker = Walker(self.contents, AttributeTable(self.contents), self._problems)
        self._number = 0
        self._started = False

    def chunks(self) -> Iterator[AuxChunk]:
        """Yield the AUX payloads in file order, once; stop at the first damaged record (see ``contents.problems``).

        Raises
        ------
        MissingPackageError
            For a ``perf record -z`` recording where the package zstandard is not installed.
        InputError
            If the file cannot be read any further.
        """
        if self._started:
            raise RuntimeError("the chunks of a recording are read once")
        self._started = True
        return self._walk()

    def _walk(self) -> Iterator[AuxChunk]:
        raise NotImplementedError

    def close(self) -> None:
        """Close the file. Bytes that were read stay valid."""

    def _chunk(
        self, payload: Payload, number: int, start: int, file_offset: int, size: int, source: memoryview | RandomAccess, missing: int
    ) -> AuxChunk:
        return AuxChunk(
            number=number, offset=payload.offset, start=start, payload_size=payload.size, size=size, idx=payload.idx, cpu=payload.cpu,
            tid=payload.tid, reference=payload.reference, file_offset=file_offset, source=source, missing=missing,
        )  # fmt: skip

    def _next_number(self) -> int:
        """Return the number of the payload that begins."""
        number, self._number = self._number, self._number + 1
        return number

    def _end_payload(self, payload: Payload, number: int, file_offset: int, held: int) -> None:
        """Note a payload that begins at ``file_offset`` and of which the file holds ``held`` bytes."""
        payloads = self.contents.aux_payloads
        if self._walker.interpreter.has_room(payloads, "AUXTRACE", file_offset):
            payloads.append(AuxPayload(number, payload.offset, payload.size, held, payload.idx, payload.cpu, file_offset))
        missing = payload.size - held
        if missing > 0:
            message = f"the last {missing} bytes of an AUXTRACE payload of {payload.size} bytes are missing"
            self._problems.add("truncated", message, file_offset + held, missing=missing, size=payload.size)
