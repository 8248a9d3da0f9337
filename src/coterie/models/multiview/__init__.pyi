from .learner import KernelViewLearner as KernelViewLearner
from .learner import ViewLearner as ViewLearner
from .norms import GroupNorm as GroupNorm
from .norms import SchattenNorm as SchattenNorm
from .view_records import ViewRecords as ViewRecords
from .view_records import Views as Views
from .vocabularies import Vocabulary as Vocabulary
from .vocabularies import unusable as unusable
