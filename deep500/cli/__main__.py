"""`python -m deep500.cli` is `d5`."""

import sys

from . import main

sys.exit(main())
