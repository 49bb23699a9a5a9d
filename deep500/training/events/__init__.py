"""Events, which observe, record or end a training run: one per file."""

from .event import Ending, Event
from .loss_reached import LossReached
from .not_finite import NotFinite
from .plateau import Plateau
from .progress_bar import ProgressBar
from .save_checkpoint import SaveCheckpoint
from .save_curves import SaveCurves
from .target_reached import TargetReached
from .time_limit import TimeLimit
from .write_csv import WriteCsv
from .write_tensorboard import WriteTensorboard

__all__ = [
    "Ending",
    "Event",
    "LossReached",
    "NotFinite",
    "Plateau",
    "ProgressBar",
    "SaveCheckpoint",
    "SaveCurves",
    "TargetReached",
    "TimeLimit",
    "WriteCsv",
    "WriteTensorboard",
]
