from .driver import learn as learn
from .planning import LanePlan as LanePlan
from .planning import Plan as Plan
from .planning import plan as plan
from .sharded import ShardedModel as ShardedModel
from .sharded import load as load
from .sharded import save as save
