"""Views for a notebook: a run under the hand. Each is a widget in JupyterLab and a static picture everywhere else.

Belongs here: what a person looks at and clicks. What is shown is made in `pictures` and below; text of a run reaches a
browser masked and with its control characters made visible, and the browser only ever sets it as text.
"""

from .asking import Asking, answer
from .effects import Effects, certainty
from .mirror_panel import MirrorPanel, mirror_panel
from .run_table import RunTable, browse
from .scrubber import Scrubber, timeline
from .workbench import Workbench, workbench

__all__ = [
    "Asking",
    "Effects",
    "MirrorPanel",
    "RunTable",
    "Scrubber",
    "Workbench",
    "answer",
    "browse",
    "certainty",
    "mirror_panel",
    "timeline",
    "workbench",
]
