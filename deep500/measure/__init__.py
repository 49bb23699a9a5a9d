"""Scientific benchmarking after Hoefler & Belli's twelve rules; knows nothing of deep learning, usable alone.

clock, candidates, plan, session, fresh, worker, running   take samples
samples, steadiness, intervals, comparison, derivation     say what they mean
bounds, regions, sensing, machine                          what surrounds them
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
