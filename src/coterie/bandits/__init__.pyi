from .contextual_bandit import Bandit as Bandit
from .contextual_bandit import Choice as Choice
from .log import BanditLog as BanditLog
from .off_policy import PolicyValue as PolicyValue
from .off_policy import off_policy as off_policy
