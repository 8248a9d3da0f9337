"""
The loop of a service
=====================

Predict each event when it arrives, learn it when its outcome is known, and continue after a restart. Run it as
``python live_stream.py``.
"""

from __future__ import annotations

import random
from collections import deque
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import coterie as ct

TOPICS = ("news", "sport", "music", "film", "science", "travel")
USERS = [f"user{i}" for i in range(200)]
LATE = 20  # a click is known twenty events after the page was shown


def events(n, seed=0):
    """Yield users, the pages shown to them, and whether they clicked; users have similar preferences."""
    draw = random.Random(seed)
    common = {topic: draw.gauss(0, 1) for topic in TOPICS}
    liking = {user: {topic: common[topic] + draw.gauss(0, 0.7) for topic in TOPICS} for user in USERS}
    for _ in range(n):
        user, topic, length = draw.choice(USERS), draw.choice(TOPICS), draw.uniform(0, 1)
        clicked = liking[user][topic] - length + draw.gauss(0, 0.3) > 0
        yield user, {"topic": topic, "length": length, "any": 1.0}, clicked


def serve(model, stream):
    """Predict each event and learn it when its outcome is known; return the share of wrong predictions."""
    shown, wrong, n = deque(), 0, 0
    for user, page, clicked in stream:
        wrong += model.predict_one(page, task=user) is not clicked
        n += 1
        shown.append((user, page, clicked))
        if len(shown) > LATE:
            user, page, clicked = shown.popleft()
            model.learn_one(page, clicked, task=user)
    return wrong / n


def main():
    """Run one day, a restart, and another day."""
    stream = events(8000)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "clicks.coterie"
        model = ct.MultitaskPerceptron(
            ct.MeanRegularized(share=0.75), ct.updates.PassiveAggressive(C=0.1), average=True
        )
        print(f"first day:  {serve(model, islice(stream, 4000)):.1%} wrong, {len(model.tasks_)} users")
        model.save(path)

        model = ct.load(path)  # a new process would begin here
        print(f"second day: {serve(model, stream):.1%} wrong")

    newcomer = model.predict_one({"topic": "news", "length": 0.1, "any": 1.0}, task="somebody new")
    print(f"a new user, shown short news: {'a click' if newcomer else 'no click'} is expected")


if __name__ == "__main__":
    main()
