"""The workers of a Dask cluster, for recordings that are too much for one machine. They need ptttool and see the recordings' storage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar, cast

from ptttool import __version__
from ptttool.errors import MissingPackageError, WorkersError
from ptttool.workers import Workers

R = TypeVar("R")

# Seconds to wait for the scheduler.
PATIENCE = 10
# Results of this many are merged at a time.
_ARITY = 8


class Cluster(Workers):
    """A scheduler's workers. ``address``: ``tcp://host:8786``. Raises WorkersError where it cannot be reached or is of no use.

    A task that a worker took down with it is done again by another one; what a task writes takes its place only when it is whole.
    """

    # Reading this much takes a second or so: few tasks for the scheduler, little lost with a worker.
    batch_bytes = 64 << 20
    reduces = True

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address
        try:
            import distributed
        except ImportError:
            raise MissingPackageError(
                "--scheduler needs the package distributed", hint="pip install 'ptttool[cluster]'", package="distributed"
            ) from None
        self._errors: tuple[type[Exception], ...] = (distributed.scheduler.KilledWorker, OSError, TimeoutError)
        try:
            self._client: Any = _untyped(distributed.Client)(address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:
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
        """Refuse a cluster without workers, and one whose ptttool is another one."""
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

    def submit(self, function: Callable[..., R], *arguments: Any) -> Future[R]:
        future = self._client.submit(function, *arguments, pure=False)
        return cast("Future[R]", _Asked(future, self._address, self._errors))

    def reduce(self, futures: Sequence[Future[R]], merge: Callable[[R, R], R], done: Callable[[int], None]) -> R | None:
        """A tree: neighbours are merged by the workers, and what comes of them again."""
        import distributed

        level = [cast("_Asked", future).future for future in futures]
        if not level:
            return None
        numbers = {future.key: number for number, future in enumerate(level)}
        with self._client.as_current():
            for future in _untyped(distributed.as_completed)(level):
                if future.status != "finished":
                    _result(future, self._address, self._errors)
                done(numbers[future.key])
        while len(level) > 1:
            groups = [level[start : start + _ARITY] for start in range(0, len(level), _ARITY)]
            level = [self._client.submit(_merged, merge, *group, pure=False) for group in groups]
        return cast("R", _result(level[0], self._address, self._errors))

    def close(self) -> None:
        self._client.close()


class _Asked:
    """A future of the cluster, with its failures as ours."""

    def __init__(self, future: Any, address: str, errors: tuple[type[Exception], ...]) -> None:
        self.future = future
        self._address = address
        self._errors = errors

    def result(self) -> Any:
        return _result(self.future, self._address, self._errors)

    def cancel(self) -> None:
        self.future.cancel()


def _result(future: Any, address: str, errors: tuple[type[Exception], ...]) -> Any:
    try:
        return future.result()
    except errors as error:
        raise WorkersError(f"{address}: {error}", hint="see the logs of the workers", code="cluster-failed") from None


def _merged(merge: Callable[[R, R], R], first: R, *others: R) -> R:
    for other in others:
        first = merge(first, other)
    return first


def _version() -> str:
    return __version__


def _untyped(function: Any) -> Any:
    """distributed's functions say nothing of their types."""
    return function
