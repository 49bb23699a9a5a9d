"""A program, run by its path: does `python -m MODULE` under a keeper, with the caller's own deep500.

Neither the current folder nor this one is on the path of imports, so a file there is never taken for a module.
Arguments: the parent's process number, the descriptor of the status, the module, and the module's own arguments.
"""

import importlib
import importlib.util
import os
import runpy
import sys


def main() -> None:
    parent, status, module, *arguments = sys.argv[1:]
    _load_own_package()
    keeper = importlib.import_module("deep500.supervision.keeper")
    keeper.keep(int(parent), int(status))
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _load_own_package() -> None:
    """Import deep500 from the folder of this file, even if another one is installed."""
    this_folder = os.path.dirname(os.path.abspath(__file__))
    folder = os.path.dirname(this_folder)
    spec = importlib.util.spec_from_file_location(
        "deep500",
        os.path.join(folder, "__init__.py"),
        submodule_search_locations=[folder],
    )
    # it is a file of Python
    assert spec is not None and spec.loader is not None
    package = sys.modules["deep500"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)


if __name__ == "__main__":
    main()
