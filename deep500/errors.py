"""What Deep500 says when something cannot be done.

Deep500Error          every error meant for users: one line, exit code 2
├── Unsupported       a framework (or this machine) cannot do what was asked
├── Wrong             what was timed gives wrong results, so its times are not shown: exit code 1
└── Refused           it could be computed, and it would mislead
    └── TooFewSamples it could be computed honestly, from more data
"""


class Deep500Error(Exception):
    """An error meant for users; its text is one line that says what was asked, what there is and what to do."""


class Unsupported(Deep500Error):
    """What was asked is not offered by this framework or machine."""


class Wrong(Deep500Error):
    """What was timed does not compute what it should."""


class Refused(Deep500Error):
    """What was asked would give a misleading number."""


class TooFewSamples(Refused):
    """There are too few samples (or too few independent ones) for the statement that was asked for."""
