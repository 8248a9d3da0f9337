from . import bandit_bounds as bandit_bounds
from . import budget_bounds as budget_bounds
from . import geometry_bounds as geometry_bounds
from . import perceptron_bounds as perceptron_bounds
from . import view_bounds as view_bounds
