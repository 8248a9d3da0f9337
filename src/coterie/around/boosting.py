"""Boosted trees fitted by LightGBM, or by scikit-learn where that is not installed, as plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.numeric.core.records import Csr
from coterie.numeric.tabular.crossings import constant_of
from coterie.numeric.tabular.forest import CATEGORIES, Forest, Nodes, columns_of, matrix_of
from coterie.types import Floats

Categories = NDArray[np.int64]

TREES, LEAVES, RATE = 60, 31, 0.1

#: A leaf has so many records at least, and so does a column in which there may be a split.
LEAST = 20

#: Log-odds are clipped to this: beyond it a prediction is as good as certain, and sums of slopes stay finite.
SURE = 50.0

#: The constant feature is looked for among so many records.
LOOKED_AT = 300


def has_lightgbm() -> bool:
    """True where LightGBM can be used."""
    try:
        import lightgbm  # noqa: F401
    except (ImportError, OSError):  # OSError: the library of threads that it needs is not there
        return False
    return True


def boosted(rows: Csr, categories: Categories, y: Floats, told: Floats) -> Forest | None:
    """Fit trees to records, on top of log-odds predicted for them; None where there is nothing to learn from.

    LightGBM's trees are fitted on top of these log-odds; scikit-learn's cannot be, and predict log-odds by themselves.

    Parameters
    ----------
    rows : Csr
        Sorted entries, (n, d).
    categories : ndarray of int64, shape (n,)
        The category of each record's task.
    y : ndarray of float64, shape (n,)
        Labels, -1 and +1.
    told : ndarray of float64, shape (n,)
        Log-odds predicted before the labels came.
    """
    if len(y) < 2 * LEAST or (y > 0.0).all() or (y < 0.0).all():
        return None
    constant = constant_of(rows.cut(0, min(len(y), LOOKED_AT)).trimmed())
    columns = columns_of(rows, constant, LEAST)
    Z = np.column_stack([matrix_of(rows, columns, constant), categories])
    on_top = has_lightgbm()
    nodes = _by_lightgbm(Z, y, told) if on_top else _by_scikit_learn(Z, y)
    return nodes.forest(columns, constant, on_top)


def _by_lightgbm(Z: Floats, y: Floats, told: Floats) -> Nodes:
    """Trees that LightGBM fits on top of log-odds: in one thread, so that they are the same each time."""
    import lightgbm

    parameters = {
        "objective": "binary",
        "num_leaves": LEAVES,
        "learning_rate": RATE,
        "min_data_in_leaf": LEAST,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "seed": 0,
        "verbosity": -1,
    }
    key = Z.shape[1] - 1
    data = lightgbm.Dataset(
        Z,
        (y > 0.0).astype(np.float64),
        init_score=np.clip(told, -SURE, SURE),
        categorical_feature=[key],
        params={"verbosity": -1},
    )
    nodes = Nodes()
    for tree in lightgbm.train(parameters, data, TREES).dump_model()["tree_info"]:
        nodes.roots.append(_grown(nodes, tree["tree_structure"]))
    return nodes


def _grown(nodes: Nodes, said: Any) -> int:
    """A node of a tree as LightGBM tells it, and all below; returns its number."""
    if "split_feature" not in said:
        return nodes.add(float(said["leaf_value"]))
    node = nodes.add()
    if said["decision_type"] == "==":
        group = np.zeros(CATEGORIES, bool)
        group[[int(category) for category in str(said["threshold"]).split("||")]] = True
        nodes.split(node, said["split_feature"], 0.0, group)
    else:
        nodes.split(node, said["split_feature"], float(said["threshold"]))
    nodes.lead(node, _grown(nodes, said["left_child"]), _grown(nodes, said["right_child"]))
    return node


def _by_scikit_learn(Z: Floats, y: Floats) -> Nodes:
    """Trees that scikit-learn fits; the first one is a constant, the log-odds of all records."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    key = Z.shape[1] - 1
    known, codes = np.unique(Z[:, key].astype(np.int64), return_inverse=True)  # scikit-learn numbers them so, too
    model = HistGradientBoostingClassifier(
        max_iter=TREES,
        max_leaf_nodes=LEAVES,
        learning_rate=RATE,
        min_samples_leaf=LEAST,
        early_stopping=False,
        categorical_features=[key],
        random_state=0,
    )
    with threadpool_limits(1):  # for so few records threads wait for each other longer than they compute
        model.fit(np.column_stack([Z[:, :key], codes]), y > 0.0)
    nodes = Nodes()
    nodes.roots.append(nodes.add(float(np.ravel(model._baseline_prediction)[0])))
    for (tree,) in model._predictors:
        first = len(nodes.rows)
        nodes.roots.append(first)
        for said in tree.nodes:
            node = nodes.add(float(said["value"]))
            if said["is_leaf"]:
                continue
            group = _group(tree, said, known) if said["is_categorical"] else None
            nodes.split(node, _column(said["feature_idx"], key), float(said["num_threshold"]), group)
            nodes.lead(node, first + int(said["left"]), first + int(said["right"]))
    return nodes


def _column(number: Any, key: int) -> int:
    """The column of Z of a column that scikit-learn numbers: it puts categories first."""
    return key if number == 0 else int(number) - 1


def _group(tree: Any, said: Any, known: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The categories that a node of scikit-learn's sends to the left; unknown ones go where missing ones go."""
    bits = tree.raw_left_cat_bitsets[said["bitset_idx"]]
    group = np.full(CATEGORIES, bool(said["missing_go_to_left"]))
    codes = np.arange(len(known))
    group[known] = (bits[codes // 32] >> (codes % 32).astype(np.uint32)) & 1
    return group
