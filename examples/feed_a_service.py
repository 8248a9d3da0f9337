"""
A service fed from a log
========================

A consumer reads a log line by line, sends what it read to a service that learns, and remembers its place in the log
only after the service has said that it is durable. If either of them dies, the consumer sends some records again, and
the service counts them as duplicates, because each has an id: its place in the log.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
from starlette.testclient import TestClient

import coterie as ct
from coterie.serve.app import make_app
from coterie.serve.engine import Engine
from coterie.serve.service import Service

folder = Path(tempfile.mkdtemp())
log, place = folder / "orders.jsonl", folder / "place"

# %%
# The log: orders of thirty shops, and whether they were paid.
rng = np.random.default_rng(0)
lines = []
for _ in range(1000):
    shop, price, hour = int(rng.integers(30)), rng.random(), int(rng.integers(24))
    paid = bool(price < 0.6 + 0.02 * shop / 30 and not (shop % 3 == 0 and hour > 20))
    lines.append(json.dumps({"shop": f"shop {shop}", "price": price, "late": hour > 20, "paid": paid}))
log.write_text("\n".join(lines) + "\n")


# %%
# The consumer. A real one has ``httpx.Client(base_url="http://…")`` where this one has the service in the same process.
def consume(client, most=None):
    """Send what is new in the log, 100 lines at a time, at most so many times; returns how many were duplicates."""
    done = int(place.read_text()) if place.exists() else 0
    orders = [json.loads(line) for line in log.read_text().splitlines()]
    duplicates = 0
    for first in range(done, len(orders), 100)[:most]:
        records = [
            {"id": f"order {n}", "task": order.pop("shop"), "y": order.pop("paid"), "x": order}
            for n, order in enumerate(orders[first : first + 100], first)
        ]
        answer = client.post("/observe", json={"records": records})
        answer.raise_for_status()
        duplicates += answer.json()["duplicate"]
        place.write_text(str(first + len(records)))
    return duplicates


# %%
# It dies after 400 lines, and loses the note of its place: it begins anew, and nothing is learned twice.
with Service(folder / "state", lambda: Engine(ct.AdaptiveSharingClassifier())) as service:
    consume(TestClient(make_app(service), base_url="http://localhost"), most=4)
place.unlink()
with Service(folder / "state", lambda: Engine(ct.AdaptiveSharingClassifier())) as service:
    client = TestClient(make_app(service), base_url="http://localhost")
    print(consume(client), "duplicates,", len(service.engine.learned), "orders learned")
    print(client.get("/verdict").json()["sentence"])
