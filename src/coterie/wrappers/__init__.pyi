from .averaged import Averaged as Averaged
from .forgetting import Forgetting as Forgetting
from .forgetting import with_half_life as with_half_life
from .signed import Signed as Signed
