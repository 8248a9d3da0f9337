"""The names that users type: at the top of the package, and in its rooms."""

import inspect

import coterie as ct

ROOMS = (
    *("asking", "bandits", "batch", "budgets", "evaluation", "geometries", "hypotheses", "kernels", "potentials"),
    *("relations", "rules", "views"),
)

#: Public names of rooms that are neither estimators nor parts.
OTHERS = {"BanditLog", "Comparison", "PartialBlock", "Trace", "pad_views", "ridge_path", "view_baselines"}


def _named(room):
    """The estimators and parts of a room, and others that users take from it, with what they are."""
    own = [name for name, each in vars(room).items() if getattr(each, "__module__", "") == room.__name__]
    held = {name: getattr(room, name) for name in getattr(room, "__all__", own)}
    chosen = {name for name, each in held.items() if {"__dataclass_fields__", "__sklearn_tags__"} & {*dir(each)}}
    return {name: held[name] for name in held if name in chosen or name in OTHERS or room is ct}


#: Where each name is, the top first: the name of the module that users import it from.
WHERE = {}
#: What each name is.
NAMES = {}
for _room in (ct, *(getattr(ct, each) for each in ROOMS)):
    for _name, _each in _named(_room).items():
        if inspect.ismodule(_each):
            continue
        WHERE.setdefault(_name, _room.__name__)
        NAMES.setdefault(_name, _each)
