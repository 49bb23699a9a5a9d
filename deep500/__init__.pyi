from . import measure as measure
from .errors import Deep500Error as Deep500Error
from .errors import Refused as Refused
from .errors import TooFewSamples as TooFewSamples
from .errors import Unsupported as Unsupported

__version__: str
