"""Access control for services without a token, and limits on connections.

A browser sends the name by which a page was loaded as ``Host``, whatever address that name has now. ``Host`` therefore
reveals DNS rebinding: a page of another site whose name was made to point to this machine. ``Origin`` reveals a page
that sends requests to other sites.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import time
from collections.abc import Collection
from contextlib import suppress
from typing import NoReturn
from urllib.parse import unquote_to_bytes, urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from .events import to_json

#: Seconds within which the head of a request has to come.
HEAD_SECONDS = 10.0
#: Bytes of a head: its URL, names and values, and 32 more for each header, as HTTP/2 counts.
HEAD_BYTES = 2**16
#: Requests that may wait on one connection behind the one being answered.
PIPELINED = 64
#: The seconds for which a rejected connection is still read; an immediate close would lose the answer.
LINGER = 1.0
#: The number of open files reserved for the journal, snapshots and files of answers.
RESERVED = 128
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:/@\s]+)(:\d*)?")


def is_local(host: str) -> bool:
    """Return True for a host name or address of this machine.

    >>> is_local("localhost"), is_local("127.0.0.1"), is_local("::1"), is_local("0.0.0.0"), is_local("example.com")
    (True, True, True, False, False)
    """
    with suppress(ValueError):
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    return False


def is_known(host: str | None, names: Collection[str]) -> bool:
    """Return True for a ``Host`` header with a local name or one of ``names``, on any port.

    >>> is_known("localhost:8000", ()), is_known("[::1]:80", ()), is_known("evil.example", ()), is_known(None, ())
    (True, True, False, False)
    """
    match = _HOST.fullmatch((host or "").lower())
    name = match[1].strip("[]") if match else ""
    return is_local(name) or name in {known.lower() for known in names}


def is_same(origin: str, host: str | None) -> bool:
    """Return True if the page named in an ``Origin`` header was loaded from this ``Host``.

    >>> is_same("http://localhost:8000", "localhost:8000"), is_same("null", "localhost"), is_same("http://[::1", "[::1")
    (True, False, False)
    """
    with suppress(ValueError):  # no address
        return host is not None and urlsplit(origin).netloc.lower() == host.lower()
    return False


def most_connections() -> int:
    """Return the maximum number of connections, which is below the system's limit on open files."""
    try:
        import resource

        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    except ImportError:  # Windows has no such limit
        return 2**12
    return max(min(files, 2**16) - RESERVED, min(files, 2**16) // 2)


class Connection(HttpToolsProtocol):
    """An HTTP connection with limits, which rejects ambiguous requests (request smuggling).

    uvicorn alone waits forever for a head, reads heads of any length, merges trailers into the headers, ignores
    ``Upgrade`` but not the data after it, and answers a malformed request before earlier ones that are still running.
    """

    most = most_connections()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection; if too many are open, close the one that has been idle longest."""
        super().connection_made(transport)
        self._reads_head, self._unparsed_bytes = True, 0
        self._refusal: tuple[int, str] | None = None
        self._last_answer: bytes | None = None
        self._head: asyncio.TimerHandle | None = None
        self._await_head()
        if len(self.connections) > self.most:
            idle = [other for other in self.connections if isinstance(other, Connection) and not other.is_busy]
            min(idle, key=lambda other: other.idle_since).transport.close()  # itself at least

    @property
    def is_busy(self) -> bool:
        """True while a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def _await_head(self) -> None:
        self.idle_since = time.monotonic()
        self._head = self.loop.call_later(HEAD_SECONDS, self.timeout_keep_alive_handler)

    def _unset_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def data_received(self, data: bytes) -> None:
        """Parse received data; set a timeout for incomplete heads and for idle connections."""
        if self._last_answer is not None:
            return
        self._unparsed_bytes += len(data)  # the end of a head or a part of a body sets it to 0
        super().data_received(data)
        if self._unparsed_bytes > HEAD_BYTES and self._last_answer is None:
            self._refusal = 431, _TOO_LONG
            self.send_400_response("")
        if not self.is_busy and self._head is None and not self.transport.is_closing():
            self._await_head()

    # -- callbacks of the parser

    def on_headers_complete(self) -> None:
        """Start to answer a request; reject heads that are too long or ambiguous, and too many pending requests."""
        size, hosts, codings = len(self.url), 0, []
        for name, value in self.headers:
            size += len(name) + len(value) + 32
            if name == b"host":
                hosts += 1
            elif name == b"transfer-encoding":
                codings.append(value.lower())
        if size > HEAD_BYTES:
            self._refuse(431, _TOO_LONG)
        if b"#" in self.url or (b"%" in self.url and not _is_utf8(unquote_to_bytes(self.url))):
            self._refuse(400, "the URL must be in UTF-8, with %23 for #")  # else another task would be named
        if self.parser.should_upgrade():
            self._refuse(400, "Upgrade and CONNECT are not supported: send HTTP/1.1 without them")
        if hosts > 1:
            self._refuse(400, "the request has several Host headers")
        if codings and (codings != [b"chunked"] or self.parser.get_http_version() != "1.1"):
            self._refuse(400, "the Transfer-Encoding is not supported: send 'chunked' alone, by HTTP/1.1")
        if len(self.pipeline) >= PIPELINED:
            self._refuse(400, f"more than {PIPELINED} requests wait on this connection: wait for answers")
        self._unset_head()
        self._reads_head, self._unparsed_bytes = False, 0
        super().on_headers_complete()
        self.headers = []  # trailers, which a proxy does not check as it checks headers, are added to it, and ignored

    def on_body(self, body: bytes) -> None:
        """Append received data to the body of the request."""
        self._unparsed_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Complete a request."""
        self._reads_head, self._unparsed_bytes = True, 0
        super().on_message_complete()

    # -- answers

    def _refuse(self, status: int, error: str) -> NoReturn:
        """Stop the parser, which then calls :meth:`send_400_response`."""
        self._refusal = status, error
        raise ValueError(error)

    def send_400_response(self, msg: str) -> None:
        """Reject the last request after earlier ones have been answered, and close the connection."""
        status, error = self._refusal or (400, "the request is not valid HTTP/1.1")
        body = to_json({"error": error})
        head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        self._last_answer = STATUS_LINE[status] + head + body
        if self._reads_head or self.pipeline:  # other requests are counted when they are answered
            self.config.app.state.app.metrics.refused.labels(status).inc()  # type: ignore[union-attr]
        if self._reads_head and not self.is_busy:
            self._end()
        elif not self._reads_head and self.pipeline:
            self.pipeline.popleft()  # its body is malformed
        elif not self._reads_head and self.cycle.response_started:
            self.transport.close()
        elif not self._reads_head:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            self._end()

    def _end(self) -> None:
        if self._last_answer is not None and not self.transport.is_closing():
            self.transport.write(self._last_answer)
            self.transport.write_eof()
            self.loop.call_later(LINGER, self.transport.close)

    def on_response_complete(self) -> None:
        """Wait for the next request after a response."""
        self.idle_since, was_last = time.monotonic(), not self.pipeline
        super().on_response_complete()
        if was_last:
            self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        """Clean up after the connection was closed."""
        self._unset_head()
        super().connection_lost(exc)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


_TOO_LONG = f"the head of the request is longer than {HEAD_BYTES} bytes"


def require_same_site(headers: Headers, names: Collection[str]) -> None:
    """Reject a request with an unknown ``Host``, or from a page of another site, if a service has no token."""
    host = headers.get("host")
    if not is_known(host, names):
        name = "no Host" if host is None else f"the Host {host[:100]!r}"
        raise HTTPException(
            421, f"the request has {name}; a service without a token accepts only localhost and names of --allowed-host"
        )
    if not all(is_same(origin, host) for origin in headers.getlist("origin")):
        raise HTTPException(403, "a service without a token does not accept requests from pages of other sites")
