"""A store that speaks as much of S3 as reading takes, in this process: objects are entries of a dictionary."""

from __future__ import annotations

import hashlib
import threading
from email.utils import formatdate
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

#: Of this bucket nothing may be read.
CLOSED = "closed"
_WRITTEN = 1_750_000_000


class ObjectStore:
    """Objects by bucket and key, served until it is left; ``asked`` has the requests."""

    def __init__(self):
        self.buckets: dict[str, dict[str, bytes]] = {}
        self.asked: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"store": self}))
        self._server.daemon_threads = True

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *error):
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store: ObjectStore

    def log_message(self, *message):
        pass

    def do_HEAD(self):
        self.answer()

    def do_GET(self):
        self.answer()

    def answer(self):
        url = urlsplit(self.path)
        self.store.asked.append(f"{self.command} {self.path} {self.headers.get('Range', '')}".rstrip())
        bucket, _, key = unquote(url.path).lstrip("/").partition("/")
        objects = self.store.buckets.get(bucket)
        if bucket == CLOSED:
            self.send(HTTPStatus.FORBIDDEN, _error("AccessDenied"))
        elif objects is None:
            self.send(HTTPStatus.NOT_FOUND, _error("NoSuchBucket"))
        elif not key:
            self.send(HTTPStatus.OK, _listed(objects, {name: value[0] for name, value in parse_qs(url.query).items()}))
        elif key not in objects:
            self.send(HTTPStatus.NOT_FOUND, _error("NoSuchKey"))
        else:
            self.send_object(objects[key])

    def send_object(self, data):
        tag = {"ETag": f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'}
        wanted = self.headers.get("Range")
        if wanted is None:
            return self.send(HTTPStatus.OK, data, tag)
        first, last = (int(end) for end in wanted.removeprefix("bytes=").split("-"))
        if first >= len(data):
            return self.send(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, _error("InvalidRange"))
        last = min(last, len(data) - 1)
        return self.send(
            HTTPStatus.PARTIAL_CONTENT,
            data[first : last + 1],
            tag | {"Content-Range": f"bytes {first}-{last}/{len(data)}"},
        )

    def send(self, status, body, headers=()):
        self.send_response(status)
        times = {"Last-Modified": formatdate(_WRITTEN, usegmt=True), "Content-Length": str(len(body))}
        for name, value in (times | dict(headers)).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


def _error(code):
    return f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()


def _listed(objects, query):
    """All keys that begin with a prefix; folders in place of what is below them if there is a delimiter."""
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter")
    most = int(query.get("max-keys", 1000))
    keys, folders = [], set()
    for key in sorted(key for key in objects if key.startswith(prefix)):
        head, cut, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
        folders.add(prefix + head + cut) if cut else keys.append(key)
    parts = [
        f"<Contents><Key>{escape(key)}</Key><Size>{len(objects[key])}</Size>"
        f"<LastModified>{'2025-06-15T15:06:40.000Z'}</LastModified></Contents>"
        for key in keys[:most]
    ] + [f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>" for folder in sorted(folders)]
    count = f"<KeyCount>{len(parts)}</KeyCount><IsTruncated>false</IsTruncated>"
    return f"<ListBucketResult>{count}{''.join(parts)}</ListBucketResult>".encode()
