from .averaged import Averaged as Averaged
from .forgetting import Forgetting as Forgetting
from .half_life import forgetting as forgetting
from .signed import Signed as Signed
