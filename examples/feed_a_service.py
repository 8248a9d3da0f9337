"""
A service fed from a log
========================

A consumer reads a log, sends its lines to a service that learns them, and stores its position in the log after the
service has acknowledged them. If the consumer or the service crashes, the consumer sends some records again.
Each record has an id, its line number, so the service recognizes duplicates.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
from starlette.testclient import TestClient

import coterie as ct
from coterie.server.app import make_app
from coterie.server.engine import Engine
from coterie.server.service import Service

folder = Path(tempfile.mkdtemp())
log, place = folder / "orders.jsonl", folder / "place"

# %%
# Write a log of orders of thirty shops, with the label ``paid``.
rng = np.random.default_rng(0)
lines = []
for _ in range(1000):
    shop, price, hour = int(rng.integers(30)), rng.random(), int(rng.integers(24))
    paid = bool(price < 0.6 + 0.02 * shop / 30 and not (shop % 3 == 0 and hour > 20))
    lines.append(json.dumps({"shop": f"shop {shop}", "price": price, "late": hour > 20, "paid": paid}))
log.write_text("\n".join(lines) + "\n")


# %%
# The consumer. Here the service runs in the same process; a real consumer uses ``httpx.Client(base_url="http://…")``.
def consume(client, most=None):
    """Send new lines of the log in batches of 100, at most ``most`` batches; return the number of duplicates."""
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
# The consumer crashes after 400 lines and loses its position. It starts again, and no record is learned twice.
with Service(folder / "state", lambda: Engine(ct.AdaptiveSharingClassifier())) as service:
    consume(TestClient(make_app(service), base_url="http://localhost"), most=4)
place.unlink()
with Service(folder / "state", lambda: Engine(ct.AdaptiveSharingClassifier())) as service:
    client = TestClient(make_app(service), base_url="http://localhost")
    print(consume(client), "duplicates,", len(service.engine.learned), "orders learned")
    print(client.get("/verdict").json()["sentence"])
