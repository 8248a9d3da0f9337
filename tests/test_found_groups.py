"""The example that finds groups: the definition, its limits, and groups that were made."""

import re
import runpy

import numpy as np
import pytest
from examples import found_groups
from examples.found_groups import FoundGroups

from reference import found_groups as reference

K = 12


def make_stream(seed, records=100, noise=0.0, groups=3, features=4):
    """Records of unit length of K tasks in groups, and the group of each task."""
    rng = np.random.default_rng(seed)
    group, task = rng.permutation(np.arange(K) % groups), rng.permutation(np.repeat(np.arange(K), records))
    vectors, X = rng.normal(size=(groups, features)), rng.normal(size=(len(task), features))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.sign((X * vectors[group[task]]).sum(axis=1)) * rng.choice([1, -1], len(task), p=[1 - noise, noise])
    return X, y, task, group


def parts(groups):
    return frozenset(frozenset(np.flatnonzero(groups == group).tolist()) for group in np.unique(groups))


@pytest.mark.parametrize(("links", "alpha"), [(None, 1.2), (4, 1.8), (1, 1.2)])
def test_equal_to_the_definition(links, alpha):
    X, y, task, _ = make_stream(1, 25, 0.1)
    clustering = FoundGroups(K, 4, alpha, links)
    edges = [tuple(edge) for edge in clustering.edges.tolist()]
    assert parts(clustering.groups_) == reference.components(K, edges)
    for t, literal in enumerate(reference.rounds(X, y, task.tolist(), K, alpha, edges, K)):
        clustering.learn(X[t : t + 1], y[t : t + 1], task[t : t + 1])
        np.testing.assert_allclose(clustering.own_, literal.own, rtol=1e-9, atol=1e-12)
        assert {tuple(edge) for edge in clustering.edges[clustering.alive].tolist()} == literal.edges
        assert parts(clustering.groups_) == literal.groups
    assert 0 < clustering.alive.sum() < len(edges) or links == 1  # some edges go and some stay


def test_without_confidence_one_model_a_task_and_with_endless_confidence_one_for_all():
    X, y, task, _ = make_stream(0)
    separated, one = FoundGroups(K, 4, alpha=0.0), FoundGroups(K, 4, alpha=np.inf)
    assert len(np.unique(separated.learn(X, y, task)[-K:])) == len(np.unique(task[-K:]))
    assert len(np.unique(separated.groups_)) == K
    assert not one.learn(X, y, task).any()


def test_records_that_are_refused_change_nothing():
    X, y, task, _ = make_stream(0, 2)
    clustering = FoundGroups(K, 4)
    names, holes = np.array([f"t{i}" for i in task]), np.where(task[:, None] == 3, np.nan, X)
    for arguments, message in (
        ((X, y, task - 1), "tasks must be whole numbers from 0 to 11"),
        ((X, y, task + 1), "tasks must be whole numbers from 0 to 11"),
        ((X, y, names), "tasks must be whole numbers"),
        ((X, y, task.astype(float)), "tasks must be whole numbers"),
        ((X, y, task[:-1]), "X, y and task must be 4 numbers, a label and a task a record"),
        ((X[:, :3], y, task), "must be 4 numbers"),
        ((X, y[:-1], task), "must be 4 numbers"),
        ((holes, y, task), "X must hold finite numbers"),
        ((X, (y + 1) / 2, task), "y labels -1 and \\+1"),
    ):
        with pytest.raises(ValueError, match=message):
            clustering.learn(*arguments)
    assert not clustering.own_.any()
    assert not clustering.seen
    assert clustering.learn(X[:0], y[:0], task[:0]).shape == (0,)


def test_the_largest_part_keeps_its_number():
    X, y, task, _ = make_stream(3, 60)
    clustering, numbers = FoundGroups(K, 4, alpha=1.5), []
    for t in range(0, len(y), K):
        earlier = clustering.groups_
        clustering.learn(X[t : t + K], y[t : t + K], task[t : t + K])
        for group in np.unique(earlier):
            now, sizes = np.unique(clustering.groups_[earlier == group], return_counts=True)
            assert sizes[now == group] == sizes.max()
            assert not set(now.tolist()) - {group} & set(earlier.tolist())
        numbers.append(len(np.unique(clustering.groups_)))
    assert numbers == sorted(numbers)
    assert numbers[-1] > 1


def test_the_program_finds_its_groups_and_saves_mistakes_by_them(capsys):
    runpy.run_path(found_groups.__file__, run_name="__main__")
    output = capsys.readouterr().out
    assert "sizes: [15 15 15 15]" in output
    assert "pairs of tasks grouped correctly: 100.0%" in output
    errors = {name.strip(): float(error) for name, error in re.findall(r"^(.+) +([\d.]+)% error$", output, re.M)}
    assert errors["one per true group"] < errors["one per found group"] < errors["half shared"]
    assert errors["one per found group"] < errors["one per task"] < errors["one vector for all"]
