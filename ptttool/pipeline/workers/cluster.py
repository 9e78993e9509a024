"""The workers of a Dask cluster, for recordings that are too large for one machine. They need ptttool and access to the recordings."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from typing import Any, TypeVar, cast

from ptttool import __version__
from ptttool.errors import MissingPackageError, UsageError, WorkersError
from ptttool.pipeline.workers.pool import Promise, Workers

R = TypeVar("R")

# Seconds to wait for the scheduler, and for a new worker after all are lost.
PATIENCE, FORLORN = 10, 60
# Seconds between checks for workers.
_LOOK = 5.0
_ADDRESS = re.compile(r"(tcp|tls|ucx|ws|wss)://[^/]+$")
# Number of results that one task merges.
_ARITY = 8


class Cluster(Workers):
    """The workers of a Dask scheduler.

    If a worker dies, another one runs its task again; so a task must publish what it writes only when it is complete.

    Parameters
    ----------
    address : str
        Address of the scheduler, such as ``tcp://host:8786``.

    Raises
    ------
    WorkersError
        If the scheduler cannot be reached, has no workers, or they have another version of ptttool.
    UsageError
        If the address is malformed.
    MissingPackageError
        If ``distributed`` is not installed.
    """

    # It takes about a second to read this much: few tasks for the scheduler, little work lost with a worker.
    batch_bytes = 64 << 20
    reduces = True

    def __init__(self, address: str) -> None:
        self._address = address
        try:
            import distributed
        except ImportError:
            raise MissingPackageError.of_extra("--scheduler", "distributed", "cluster") from None
        if not _ADDRESS.match(address):
            raise UsageError(
                f"--scheduler: {address!r} is not the address of a scheduler", hint="such as tcp://head:8786", code="bad-scheduler"
            )
        try:
            self._client: Any = _untyped(distributed.Client)(address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise WorkersError(
                f"{address}: no scheduler answers ({str(error).splitlines()[0]})",
                hint="start one with 'dask scheduler', and workers with 'dask worker'",
                code="no-scheduler",
            ) from None
        try:
            self._check()
        except BaseException:
            self.close()
            raise
        self.jobs = max(2, sum(self._client.nthreads().values()))

    def _check(self) -> None:
        """Refuse a cluster without workers, or with another version of ptttool."""
        if not self._client.nthreads():
            raise WorkersError(f"{self._address}: the scheduler has no workers", hint="start some with 'dask worker'", code="no-workers")
        try:
            versions = set(self._client.run(_version).values())
        except Exception as error:
            raise WorkersError(
                f"{self._address}: a worker cannot import ptttool ({error})",
                hint="install ptttool where the workers run",
                code="no-ptttool",
            ) from None
        if versions != {__version__}:
            found = ", ".join(sorted(versions))
            raise WorkersError(
                f"{self._address}: the workers have ptttool {found}, this is {__version__}",
                hint="install the same version everywhere",
                code="other-version",
            )

    def submit(self, function: Callable[..., R], *arguments: Any) -> Promise[R]:
        """Have a function called by one of the cluster's workers."""
        return cast("Promise[R]", _Future(self._submitted(function, *arguments), self))

    def _submitted(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return self._client.submit(function, *arguments, pure=False)
        except OSError as error:
            raise self._failed(f"the scheduler is gone ({error})") from None

    def reduce(self, promises: Sequence[Promise[R]], merge: Callable[[R, R], R], done: Callable[[int], None]) -> R | None:
        """Merge results, neighbours first, on the workers, as a tree."""
        level = [cast("_Future", promise).future for promise in promises]
        if not level:
            return None
        for number, future in enumerate(level):
            self.wait_for(future)
            done(number)
        while len(level) > 1:
            groups = [level[start : start + _ARITY] for start in range(0, len(level), _ARITY)]
            level = [self._submitted(_merged, merge, *group) for group in groups]
        return cast("R", self.result_of(level[0]))

    def result_of(self, future: Any) -> Any:
        """Return the result of a task. Its own errors are raised as they are, errors of the cluster as WorkersError."""
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        self.wait_for(future)
        try:
            return future.result()
        except (CancelledError, asyncio.CancelledError, CommClosedError, KilledWorker) as error:
            raise self._failed(str(error)) from None

    def wait_for(self, future: Any) -> None:
        """Wait until a task has ended. Raises WorkersError if no worker is left to run it."""
        missed = 0.0
        while True:
            try:
                future.exception(timeout=_LOOK)
            except TimeoutError:
                missed = 0.0 if self._has_workers() else missed + _LOOK
                if missed >= FORLORN:
                    raise self._failed(f"no workers for {FORLORN} s") from None
            except (CancelledError, asyncio.CancelledError, OSError) as error:
                raise self._failed(str(error) or "the scheduler is gone") from None
            else:
                return

    def _has_workers(self) -> bool:
        try:
            return bool(self._client.nthreads())
        except OSError as error:
            raise self._failed(f"the scheduler is gone ({error})") from None

    def _failed(self, reason: str) -> WorkersError:
        return WorkersError(f"{self._address}: {reason}", hint="see the logs of the scheduler and the workers", code="cluster-failed")

    def close(self) -> None:
        """Close the connection to the scheduler."""
        self._client.close()


class _Future:
    """A future of the cluster that raises the errors of ptttool."""

    def __init__(self, future: Any, cluster: Cluster) -> None:
        self.future = future
        self._cluster = cluster

    def result(self) -> Any:
        return self._cluster.result_of(self.future)

    def cancel(self) -> None:
        self.future.cancel()


def _merged(merge: Callable[[R, R], R], first: R, *others: R) -> R:
    for other in others:
        first = merge(first, other)
    return first


def _version() -> str:
    return __version__


def _untyped(function: Any) -> Any:
    """Hide a function without type annotations from mypy."""
    return function
