"""Workflows out of a module that somebody names: it is imported, which runs it, so it has to be one's own."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from .refusals import Refused
from .workflow import Workflow


def load_workflows(module: str) -> list[Workflow]:
    """Every Workflow that a module holds by a name of its own; `module` is a dotted name or the path of a `.py` file.

    Raises Refused (`KERNEL_UNAVAILABLE`) where it cannot be imported or holds none.
    """
    found = [value for value in vars(_imported(module)).values() if isinstance(value, Workflow)]
    if not found:
        raise Refused("KERNEL_UNAVAILABLE", "the module holds no Workflow", path=module)
    return list(dict.fromkeys(found))


def _imported(module: str) -> ModuleType:
    try:
        if not module.endswith(".py"):
            return importlib.import_module(module)
        path = Path(module)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            raise ImportError(module)
        loaded = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        return loaded
    except Exception as no:  # somebody's own code: whatever it raises, it was not loaded
        raise Refused("KERNEL_UNAVAILABLE", f"the module cannot be imported ({type(no).__name__})", path=module) from no
