"""A headless Chromium spoken to over a pipe (the DevTools protocol), with nothing but the standard library."""

import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

FLAGS = "--headless=new --no-sandbox --disable-gpu --hide-scrollbars --disable-background-networking --no-first-run "
FLAGS += "--disable-component-update --disable-sync --disable-dev-shm-usage --remote-debugging-pipe"


def find():
    """The browser's path, or None."""
    return next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )


@contextmanager
def running(binary):
    """A browser, which ends with the block."""
    to_browser, from_browser = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # The browser reads commands from file descriptor 3 and answers on 4: a shell puts the pipes there.
        command = f'exec "$@" 3<&{to_browser[0]} 4>&{from_browser[1]}'
        process = subprocess.Popen(
            [
                "/bin/bash",
                "-c",
                command,
                "browser",
                binary,
                *FLAGS.split(),
                f"--user-data-dir={profile}",
                "about:blank",
            ],
            pass_fds=(to_browser[0], from_browser[1]),
            **dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL),
        )
        os.close(to_browser[0])
        os.close(from_browser[1])
        try:
            yield Browser(to_browser[1], from_browser[0])
        finally:
            os.close(to_browser[1])
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(from_browser[0])


class Browser:
    """Sends commands to a browser and reads its messages."""

    def __init__(self, write_to, read_from):
        self._write_to, self._read_from = write_to, read_from
        self._buffer, self._numbers = b"", itertools.count(1)

    @contextmanager
    def page(self, timeout=60.0, **look):
        """One blank page of the given look, which shares nothing with others; it is closed with the block."""
        context = self.call(timeout, "Target.createBrowserContext")["browserContextId"]
        target = self.call(timeout, "Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call(timeout, "Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        yield Page(self, session, timeout, **look)
        self.call(timeout, "Target.disposeBrowserContext", browserContextId=context)

    def call(self, timeout, method, page=None, **arguments):
        """The answer to a command, which a page may give; what happens on the page until then is noted there."""
        message = {"id": next(self._numbers), "method": method, "params": arguments}
        if page is not None:
            message["sessionId"] = page.session
        os.write(self._write_to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read(timeout, page)
            if answer.get("id") == message["id"]:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def read(self, timeout, page):
        """The next message."""
        deadline = time.monotonic() + timeout
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read_from], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(self._read_from, 1 << 20) if ready else b""
            if not chunk:
                raise TimeoutError("the browser gave no answer")
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(line)
        if page is not None and message.get("sessionId") == page.session:
            page.record_event(message.get("method"), message.get("params", {}))
        return message


class Page:
    """What a test needs of a page: open a file, ask it something, and see what went wrong."""

    def __init__(self, browser, session, timeout, width=1280, height=900, dark=False, touch=False):
        self._browser, self.session, self._timeout = browser, session, timeout
        self.errors, self.requests, self._events = [], [], []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height, touch)
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def call(self, method, **arguments):
        return self._browser.call(self._timeout, method, self, **arguments)

    def resize(self, width, height=900, touch=False):
        """Show it in this many pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": touch}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def open(self, path):
        """Load a file, or an address, and wait until it and its scripts are done."""
        self._events.clear()
        self.call("Page.navigate", url=path if "://" in str(path) else Path(path).resolve().as_uri())
        while "Page.loadEventFired" not in self._events:
            self._browser.read(self._timeout, self)
        self.ask("new Promise(done => requestAnimationFrame(() => setTimeout(done, 100)))")

    def ask(self, expression):
        """The value of a JavaScript expression, its promise awaited."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def record_event(self, method, params):
        self._events.append(method)
        if method == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.errors.append(params["args"])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
