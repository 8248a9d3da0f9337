"""Who may ask a service, how long it waits for a request, and how it ends."""

import errno
import os
import resource
import socket
import threading
import time
from unittest.mock import Mock

import pytest

from coterie.server.app import make_app
from coterie.server.service import Service
from faults import full_disk
from terminal import refused, wait_until
from test_serve import TestClient, labelled, make, of_one, port_of, serving, start

BODY = of_one(task="ann")


@pytest.fixture
def client(tmp_path):
    with Service(tmp_path, make) as service:
        yield TestClient(make_app(service, max_body=4000))


# -- pages of other sites ----------------------------------------------------------------------------------------------


HOSTS = {
    200: ["localhost", "LOCALHOST:8000", "127.0.0.1:8000", "127.9.9.9", "[::1]:8000", "proxy.example:443"],
    421: [
        *("evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example"),
        *("localhost@evil.example", "192.168.1.7:8000", "[::1", ""),
    ],
}


@pytest.mark.parametrize(("host", "status"), [(host, status) for status, hosts in HOSTS.items() for host in hosts])
def test_a_name_that_was_made_to_lead_here_is_not_answered(tmp_path, host, status):
    """Without a token, a page of another site whose name leads to this machine would be of the same origin."""
    with Service(tmp_path, make) as service:
        client = TestClient(make_app(service, hosts=["proxy.example"]))
        for headers in ({"Host": host}, {"Host": host, "Origin": f"http://{host}"}):
            answers = [client.get(path, headers=headers) for path in ("/", "/state", "/readyz", "/tasks")]
            answers.append(client.post("/observe", content=BODY, headers=headers))
            assert {answer.status_code for answer in answers} == {status}
        assert len(service.engine.tasks) == (status == 200)
        bearing = TestClient(make_app(service, token="secret"))  # noqa: S106
        for scheme, answer in {"Bearer": 200, "bEARER": 200, "Basic": 401, "": 401}.items():
            assert (
                bearing.get("/state", headers={"Host": host, "Authorization": f"{scheme} secret"}).status_code == answer
            )


@pytest.mark.parametrize("name", ["http://a.example", "a.example:80", "*", "*.example", "[fe80::1]", "a.", "ü.example"])
def test_a_name_that_no_request_can_have_is_refused_at_the_start(tmp_path, name):
    message = refused("serve", "--data", tmp_path, "--allowed-host", name)
    assert f"{name!r} is not a host name; pass the name alone, such as models.example.com" in message


@pytest.mark.parametrize(
    "origin", ["http://elsewhere.example", "null", "http://[::1", "http://localhost:1", "//", "http://localhost.", ""]
)
def test_a_page_of_another_site_may_not_ask(client, origin):
    for origins in ([origin], ["http://localhost", origin]):
        elsewhere = client.post("/observe", content=BODY, headers=[("Origin", name) for name in origins])
        assert (elsewhere.status_code, elsewhere.json()["error"][:26]) == (403, "a service without a token ")
    assert client.post("/observe", content=BODY, headers={"Origin": "http://localhost"}).status_code == 200


def test_the_page_is_shown_in_no_other_page(client):
    assert "frame-ancestors 'none'" in client.get("/").headers["content-security-policy"]


# -- bodies and connections --------------------------------------------------------------------------------------------


def test_a_body_without_an_end_is_refused_once_it_is_too_long(client):
    endless = (b" " * 400 for _ in range(100_000))
    for content, headers in ((endless, {}), (b"{", {"Content-Length": "1000000"})):  # that says so need not come
        answer = client.post("/observe", content=content, headers=headers)
        assert (answer.status_code, answer.json()["error"]) == (413, "the body is longer than 4000 bytes")


def ask(place, method="GET", path="/healthz", body=b""):
    with socket.create_connection(place, timeout=60) as one:
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection:close\r\nContent-Length: {len(body)}\r\n\r\n"
        one.sendall(head.encode() + body)
        return b"".join(iter(lambda: one.recv(65536), b""))


def closed_within(one, seconds):
    one.settimeout(seconds)
    try:
        return one.recv(1000) == b""
    except OSError as error:
        return isinstance(error, ConnectionResetError)


def test_connections_that_say_nothing_end_and_leave_room(tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (160, 160))

    before = "import coterie.server.access as access; access.HEAD_SECONDS = 2; "
    before += "access.Connection.most = access.most_connections()"
    with serving(tmp_path, "--learner", "MultitaskLogistic()", before=before, preexec_fn=limit) as (_, url):
        place = port_of(url)
        half, second, silent = (socket.create_connection(place) for _ in range(3))
        half.sendall(b"POST /observe HTTP/1.1\r\nHost: local")
        second.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /heal")
        trickle = time.monotonic() + 60
        while time.monotonic() < trickle:  # a byte now and then is no head
            try:
                half.sendall(b"h")
            except OSError:
                break
            time.sleep(0.2)
        assert time.monotonic() < trickle
        assert closed_within(silent, 10)
        assert second.recv(1000).startswith(b"HTTP/1.1 200 OK")
        assert closed_within(second, 10)
        idle = [socket.create_connection(place) for _ in range(400)]
        assert b"200 OK" in ask(place)
        assert b'"learned":1' in ask(place, "POST", "/observe", BODY)
        for connection in (half, second, silent, *idle):
            connection.close()


# -- the end -----------------------------------------------------------------------------------------------------------

#: A disk that writes nothing before the file "go" is there; it tells by the file "waiting" that it was asked to.
SLOW = """
import os, pathlib, time
import coterie.cli.serve as serve
serve.GRACE, real, folder = 1, os.fdatasync, pathlib.Path({!r})
def slow(handle):
    (folder / "waiting").touch()
    while not (folder / "go").exists():
        time.sleep(0.01)
    real(handle)
os.fdatasync = slow
"""


def test_a_service_that_ends_while_the_disk_is_slow_ends_well(tmp_path):
    """Requests are not waited for longer than the grace; the thread that writes is, and a snapshot is made."""
    process, url = start(tmp_path / "state", "--learner", "MultitaskLogistic()", before=SLOW.format(str(tmp_path)))
    predictions = []
    asking = threading.Thread(target=lambda: predictions.append(ask(port_of(url), "POST", "/observe", BODY)))
    asking.start()
    wait_until((tmp_path / "waiting").exists)
    process.terminate()
    asking.join(60)
    (tmp_path / "go").touch()
    output = process.communicate(timeout=300)[1]
    assert (process.returncode, "Traceback" in output, "InvalidState" in output) == (0, False, False), output
    assert b"503 Service Unavailable" in predictions[0]
    with Service(tmp_path / "state", make) as service:
        assert (service.replayed, service.engine.tasks[:]) == (0, ["ann"])


def test_many_signals_are_as_one(tmp_path):
    with serving(tmp_path, "--learner", "MultitaskLogistic()") as (process, url):
        assert b'"learned":1' in ask(port_of(url), "POST", "/observe", BODY)
        for _ in range(20):
            process.terminate()
            time.sleep(0.01)
    with Service(tmp_path, make) as service:
        assert service.replayed == 0


@pytest.mark.parametrize(("reason", "status"), [("EACCES", 2), ("EPERM", 2), ("EROFS", 1)])
def test_a_start_is_repeated_only_if_it_may_succeed(reason, status, tmp_path, monkeypatch):
    """A folder may be forbidden for good; a disk is read-only after an error of the disk or of the network."""
    code, folder = getattr(errno, reason), tmp_path / "a"
    refusal = Mock(side_effect=OSError(code, os.strerror(code), str(folder)))
    monkeypatch.setattr("coterie.persistence.hold_folder", refusal)
    assert refused("serve", "--data", folder, code=status) == f"{folder}: {os.strerror(code)}"
    assert not folder.exists()


def test_a_file_in_place_of_the_folder_is_refused_as_a_restart_would_be(tmp_path):
    path = tmp_path / "file"
    path.touch()
    assert refused("serve", "--data", path, code=2) == f"{path / 'lock'}: Not a directory"
    long = tmp_path / ("a" * 300)
    assert refused("serve", "--data", long, code=2) == f"{long}: File name too long"


def test_errors_name_what_failed(tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        message = refused("serve", "--data", tmp_path / "a", "--port", port, code=1)
    assert message == f"127.0.0.1:{port}: Address already in use"
    full = "import os; os.fdatasync = lambda handle: (_ for _ in ()).throw(OSError(28, os.strerror(28)))"
    process, url = start(tmp_path / "b", "--learner", "MultitaskLogistic()", before=full)
    assert b"503 Service Unavailable" in ask(port_of(url), "POST", "/observe", BODY)
    output = process.communicate(timeout=300)[1]
    path = tmp_path / "b" / f"journal-{0:020d}"
    assert (process.returncode, output) == (1, f"coterie: error: {path}: No space left on device\n")
    with Service(tmp_path / "c", make) as service:
        service.observe(labelled(3))
        monkeypatch.setattr(os, "fsync", full_disk)
        with pytest.raises(OSError, match=rf"No space left on device: '{tmp_path}/c/snapshot-\d+.coterie'"):
            service.snapshot()
        monkeypatch.undo()
