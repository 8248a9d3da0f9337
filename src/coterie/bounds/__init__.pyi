from . import bandits as bandits
from . import budget as budget
from . import geometries as geometries
from . import perceptron as perceptron
from . import views as views
