from . import errors as errors
from . import lines as lines
from . import readers as readers
from . import schema as schema
from . import sources as sources
from . import urls as urls
