from .averaged import Averaged as Averaged
from .forgetting import Forgetting as Forgetting
from .forgetting import half_lives as half_lives
from .forgetting import with_half_life as with_half_life
