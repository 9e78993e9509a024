"""The workers of a Dask cluster, for recordings that are too large for one machine. They need ptttool and access to the recordings."""

from __future__ import annotations

import asyncio
import platform
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from typing import Any, TypeVar, cast

from ptttool._version import __version__
from ptttool.errors import MissingPackageError, WorkersError
from ptttool.pipeline.workers.pool import Promise, Workers
from ptttool.pipeline.workers.scheduler import Scheduler

R = TypeVar("R")

# Seconds to wait for the scheduler, and for a new worker after all are lost.
PATIENCE, FORLORN = 10, 60
# Seconds between checks for workers.
_LOOK = 5.0
# Number of results that one task merges.
_ARITY = 8


class Cluster(Workers):
    """The workers of a Dask scheduler.

    If a worker dies, another one runs its task again; so a task must publish what it writes only when it is complete.

    Parameters
    ----------
    scheduler : Scheduler or str
        The scheduler, or its address, such as ``tcp://127.0.0.1:8786``.

    Raises
    ------
    WorkersError
        If the scheduler cannot be reached, does not accept this client, has no workers, or they have another version of ptttool, Python
        or distributed.
    UsageError
        If the address is malformed, or there are no certificates for it.
    MissingPackageError
        If ``distributed`` is not installed.
    """

    # It takes about a second to read this much: few tasks for the scheduler, little work lost with a worker.
    batch_bytes = 64 << 20
    reduces = True

    def __init__(self, scheduler: Scheduler | str) -> None:
        self._scheduler = Scheduler(scheduler) if isinstance(scheduler, str) else scheduler
        self._address = self._scheduler.address
        try:
            import distributed
        except ImportError:
            raise MissingPackageError.of_extra("--scheduler", "distributed", "cluster") from None
        self._client: Any = self._connected(distributed.Client)
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
            identities = set(self._client.run(_identity).values())
        except Exception as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise WorkersError(
                f"{self._address}: a worker cannot run this ptttool ({reason})",
                hint="install the same version of ptttool, Python and distributed where the workers run",
                code="no-ptttool" if isinstance(error, ModuleNotFoundError) else "other-version",
            ) from None
        mine = _identity()
        other = [identity for identity in sorted(identities) if identity != mine]
        if other:
            differing = next((name, theirs, ours) for (name, theirs), (_, ours) in zip(other[0], mine, strict=True) if theirs != ours)
            raise WorkersError(
                f"{self._address}: a worker has {differing[0]} {differing[1]}, this machine has {differing[2]}",
                hint="install the same version of ptttool, Python and distributed everywhere",
                code="other-version",
            )

    def _connected(self, client: Any) -> Any:
        """Connect to the scheduler."""
        security = self._scheduler.security()
        try:
            return client(self._address, timeout=PATIENCE, set_as_default=False, security=security)
        except (OSError, ValueError, TypeError) as error:
            reason = _first_line(error)
            if self._scheduler.encrypted:
                hint = "does it speak TLS (dask scheduler --protocol tls), and are its certificate and yours of the same CA?"
            else:
                hint = "start one with 'dask scheduler', and workers with 'dask worker'; one that speaks TLS has an address tls://…"
            raise WorkersError(f"{self._address}: no scheduler answers ({reason})", hint=hint, code="no-scheduler") from None

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
                try:
                    missed = 0.0 if self._client.nthreads() else missed + _LOOK
                except OSError as error:
                    raise self._failed(f"the scheduler is gone ({error})") from None
                if missed >= FORLORN:
                    raise self._failed(f"no workers for {FORLORN} s") from None
            except (CancelledError, asyncio.CancelledError, OSError) as error:
                raise self._failed(str(error) or "the scheduler is gone") from None
            else:
                return

    def _failed(self, reason: str) -> WorkersError:
        return WorkersError(f"{self._address}: {reason}", hint="see the logs of the scheduler and the workers", code="cluster-failed")

    def close(self) -> None:
        """Close the connection to the scheduler."""
        self._client.close()


class _Future:
    """A future of the cluster that raises the errors of ptttool."""

    size = 0

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


def _identity() -> tuple[tuple[str, str], ...]:
    """Return what has to be the same on all machines: versions, and the columns of TLPs, which change between releases, too."""
    from importlib.metadata import version

    from ptttool.decoders.hisi_ptt.protocol import HisiPttProtocol

    columns = HisiPttProtocol.schema
    return (
        ("ptttool", __version__),
        ("Python", ".".join(platform.python_version_tuple()[:2])),
        ("distributed", version("distributed")),
        ("columns of TLPs", f"{zlib.crc32(repr(columns).encode()):08x}"),
    )


def _first_line(error: BaseException) -> str:
    """Return the first line of the innermost reason: those around it only say that connecting failed."""
    while error.__cause__ is not None:
        error = error.__cause__
    return (str(error) or type(error).__name__).splitlines()[0]
