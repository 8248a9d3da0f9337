from .averaged import Averaged as Averaged
from .fading import Forgetting as Forgetting
from .forgetting import forgetting as forgetting
from .signed import Signed as Signed
