"""Tasks: their numbering in order of first appearance, the ``max_tasks`` limit, and relations between tasks."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
