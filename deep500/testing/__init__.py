"""What helps to test code that runs under Deep500, such as operators: an accelerator that every machine has."""

from ..frameworks.pytorch import simulated_device as simulated_device
from .delays import DelayedTime as DelayedTime
from .delays import delay_slope as delay_slope
from .delays import delayed_time as delayed_time
from .delays import kernels_of as kernels_of
