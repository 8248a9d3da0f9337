"""Online multitask learning: a model for each user, customer or sensor, all learning from each other."""

import sysconfig

import lazy_loader

if sysconfig.get_config_var("Py_GIL_DISABLED"):
    raise ImportError(
        "coterie does not support free-threaded builds of Python yet, because compiled code relies on the interpreter "
        "lock; use a build with the lock"
    )

__version__ = "1.0.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
