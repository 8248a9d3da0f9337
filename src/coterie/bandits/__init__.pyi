from . import off_policy as off_policy
