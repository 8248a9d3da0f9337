"""The names that users type: at the top of the package, and in its rooms."""

import inspect

import coterie as ct

ROOMS = ("bandits", "batch", "evaluation", "kernels", "tasks", "updates", "views")

#: Public names of rooms that are neither estimators nor parts.
OTHERS = {"BanditLog", "Comparison", "PartialBlock", "Trace", "pad_views", "ridge_path"}


def _named(room):
    """The estimators and parts of a room, and others that users take from it, with what they are."""
    own = [name for name, value in vars(room).items() if getattr(value, "__module__", "") == room.__name__]
    members = {name: getattr(room, name) for name in getattr(room, "__all__", own)}
    chosen = {name for name, value in members.items() if {"__dataclass_fields__", "__sklearn_tags__"} & {*dir(value)}}
    return {name: members[name] for name in members if name in chosen or name in OTHERS or room is ct}


#: Where each name is, the top first: the name of the module that users import it from.
WHERE = {}
#: What each name is.
NAMES = {}
for _room in (ct, *(getattr(ct, room) for room in ROOMS)):
    for _name, _each in _named(_room).items():
        if inspect.ismodule(_each):
            continue
        WHERE.setdefault(_name, _room.__name__)
        NAMES.setdefault(_name, _each)
