from .averaging import Averaged as Averaged
from .time_decay import Forgetting as Forgetting
from .time_decay import half_lives as half_lives
from .time_decay import with_half_life as with_half_life
