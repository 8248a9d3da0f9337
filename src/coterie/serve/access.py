"""Who may ask a service that has no secret, and how long and how often a connection may wait.

A browser sends the name that a page was loaded by as ``Host``, whatever address that name has by now. So a page of
another site whose name was made to lead to this machine is told by it, and a page that asks from elsewhere by
``Origin``.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import time
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

#: Seconds within which the head of a request has to come.
HEAD_SECONDS = 10.0
#: Open files that are left for all else than connections: journal, snapshots, and what answers read.
RESERVED = 128
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:/@\s]+)(:\d*)?")


def is_local(host: str) -> bool:
    """Tell whether a name or an address is that of the machine itself, for itself.

    >>> is_local("localhost"), is_local("127.0.0.1"), is_local("::1"), is_local("0.0.0.0"), is_local("example.com")
    (True, True, True, False, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_known(host: str | None, names: Collection[str]) -> bool:
    """Tell whether a header ``Host`` names the machine itself, or one of these names, on any port.

    >>> is_known("localhost:8000", ()), is_known("[::1]:80", ()), is_known("evil.example", ()), is_known(None, ())
    (True, True, False, False)
    """
    found = None if host is None else _HOST.fullmatch(host.lower())
    if found is None:
        return False
    name = found[1].strip("[]")
    return is_local(name) or name in {each.lower() for each in names}


def is_same(origin: str, host: str | None) -> bool:
    """Tell whether a header ``Origin`` is of a page that was loaded from this ``Host``.

    >>> is_same("http://localhost:8000", "localhost:8000"), is_same("null", "localhost"), is_same("http://[::1", "[::1")
    (True, False, False)
    """
    try:
        return host is not None and urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:  # an address that is none
        return False


def most_connections() -> int:
    """The number of connections that leaves open files for all else."""
    try:
        import resource

        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    except ImportError:  # Windows has no such limit
        return 2**12
    return max(min(files, 2**16) - RESERVED, min(files, 2**16) // 2)


class Connection(HttpToolsProtocol):
    """A connection that is closed if a head does not come, or if it is idle where others need its place.

    The server itself waits without end for the first request, and for the rest of a head that has begun.
    """

    most = most_connections()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin; where too many connections are open, the one that is idle for longest ends."""
        super().connection_made(transport)
        self._head: asyncio.TimerHandle | None = None
        self._await_head()
        if len(self.connections) > self.most:
            idle = [each for each in self.connections if isinstance(each, Connection) and not each.is_busy]
            min(idle, key=lambda each: each.idle_since).transport.close()  # itself at least

    @property
    def is_busy(self) -> bool:
        """Whether a request waits for its answer."""
        return self.cycle is not None and not self.cycle.response_complete

    def _await_head(self) -> None:
        self.idle_since = time.monotonic()
        self._head = self.loop.call_later(HEAD_SECONDS, self.timeout_keep_alive_handler)

    def _unset_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def data_received(self, data: bytes) -> None:
        """Read on; what is no whole head, or behind a request that was answered already, has to end soon."""
        super().data_received(data)
        if not self.is_busy and self._head is None and not self.transport.is_closing():
            self._await_head()

    def on_headers_complete(self) -> None:
        """Begin to answer a request."""
        self._unset_head()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Wait for another request."""
        self.idle_since = time.monotonic()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._unset_head()
        super().connection_lost(exc)


def why_refused(headers: Any, names: Collection[str]) -> tuple[int, str] | None:
    """The status and the reason for which a service without a secret refuses a request, by its headers."""
    host, origin = headers.get("host"), headers.get("origin")
    if not is_known(host, names):
        given = "no Host" if host is None else f"the Host {host[:100]!r}"
        return 421, f"the request has {given}: a service that has no token answers as localhost or --allowed-host only"
    if origin is not None and not is_same(origin, host):
        return 403, "a page of another site may not ask a service that has no token"
    return None
