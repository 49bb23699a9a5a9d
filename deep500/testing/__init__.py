"""What helps to test code that runs under Deep500, such as operators: an accelerator that every machine has."""

from ..frameworks.pytorch import simulated_device as simulated_device
