from .driver import ShardedOutcome as ShardedOutcome
from .driver import learn as learn
from .folder import ShardedModel as ShardedModel
from .folder import load as load
from .routing import shard_of as shard_of
