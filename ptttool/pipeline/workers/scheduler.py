"""The address of a Dask scheduler, and the certificates for one that speaks TLS."""

from __future__ import annotations

import os
import re
import shlex
import stat
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from ptttool.errors import AccessError, InputError, UsageError

_ADDRESS = re.compile(r"(tcp|tls|ucx|ws|wss)://[^/]+$")
_TLS = "tls://"


class Scheduler(Struct, frozen=True):
    """A scheduler, as the command line names it.

    Whoever reaches a scheduler without TLS has its workers run any code. With TLS, scheduler, workers and clients show each other
    certificates of the same certificate authority (CA), and everything is encrypted.

    Parameters
    ----------
    address : str
        ``tcp://HOST:PORT`` or ``tls://HOST:PORT``.
    ca, certificate, key : Path or None
        PEM files: the certificates of the CA; this client's certificate; its key, None where it is in the same file. Without any, those
        of Dask's configuration (``distributed.comm.tls``) are used.

    Raises
    ------
    UsageError
        The address is malformed (``bad-scheduler``), or the files do not go with it (``tls-options``).
    InputError
        A file does not exist or cannot be read.
    AccessError
        A file may not be read.
    """

    address: str
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        """Check the address and the files."""
        if not _ADDRESS.match(self.address):
            raise UsageError(
                f"--scheduler: {self.address!r} is not the address of a scheduler",
                hint="such as tcp://127.0.0.1:8786 or tls://head:8786",
                code="bad-scheduler",
            )
        files = {"--tls-ca": self.ca, "--tls-cert": self.certificate, "--tls-key": self.key}
        options = [option for option, path in files.items() if path is not None]
        if options and not self.encrypted:
            raise UsageError(f"{options[0]} needs a scheduler that speaks TLS", hint=f"--scheduler {_TLS}HOST:PORT", code="tls-options")
        if options and (self.ca is None or self.certificate is None):
            missing = "--tls-ca" if self.ca is None else "--tls-cert"
            raise UsageError(f"{options[0]} needs {missing}", hint="scheduler and client show each other certificates", code="tls-options")
        for path in files.values():
            if path is not None:
                _require(path)

    @property
    def encrypted(self) -> bool:
        """Whether the connection is encrypted."""
        return self.address.startswith(_TLS)

    def security(self) -> Any:
        """Return what ``distributed.Client`` takes: a ``distributed.Security``; None without TLS.

        Raises
        ------
        UsageError
            No files are given, and Dask's configuration has none (``no-certificates``).
        InputError
            A file does not hold what it should (``bad-certificate``).
        AccessError
            Others can read the key, or change it (``open-key``).
        """
        if not self.encrypted:
            return None
        import distributed

        names = {"tls_ca_file": self.ca, "tls_client_cert": self.certificate, "tls_client_key": self.key or self.certificate}
        paths = {name: str(path) for name, path in names.items() if path is not None}
        make: Any = distributed.Security
        security = make(require_encryption=True, **paths)
        if security.tls_ca_file is None or security.tls_client_cert is None:
            raise UsageError(
                f"{self.address}: no certificates",
                hint="give --tls-ca, --tls-cert and --tls-key, or set distributed.comm.tls in Dask's configuration",
                code="no-certificates",
            )
        _try(security.tls_ca_file, security.tls_client_cert, security.tls_client_key)
        _require_private(security.tls_client_key or security.tls_client_cert)
        return security


def _try(ca: str, certificate: str, key: str | None) -> None:
    """Load the certificates, so that an error names the file. Dask takes texts in place of files, too; those are left to it."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for path, load in ((ca, partial(context.load_verify_locations, ca)), (certificate, partial(context.load_cert_chain, certificate, key))):
        if "\n" in path:
            continue
        try:
            load()
        except (ssl.SSLError, OSError) as error:
            reason = getattr(error, "reason", None) or error.strerror or str(error)
            what = "not certificates of an authority" if path == ca else "not a certificate with this key"
            raise InputError(path, f"{what} in PEM form ({reason})", code="bad-certificate") from None


def _require_private(key: str) -> None:
    """Raise AccessError for a key that every user of the machine can read, or others can change."""
    if "\n" in key:
        return
    mode = stat.S_IMODE(os.stat(key).st_mode)  # noqa: PTH116 - a text, as Dask has it
    if mode & (stat.S_IROTH | stat.S_IWOTH | stat.S_IWGRP):
        raise AccessError(
            f"{key}: other users can read or change this key (mode {mode:04o})", hint=f"chmod 600 {shlex.quote(key)}", code="open-key"
        )


def _require(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
    except PermissionError as error:
        raise AccessError(f"{path}: {error.strerror}") from None
    except (OSError, ValueError) as error:
        raise InputError(path, getattr(error, "strerror", None) or str(error), code="no-such-file") from None
