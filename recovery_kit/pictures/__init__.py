"""Values → text, HTML and SVG without script: every static twin and every figure of a report.

Each function takes values and the masker of their run, and masks, shortens and escapes whatever text they hold. What
comes back is `Safe` markup with classes; `twin` puts the styles inline for a notebook, `PAGE` is the stylesheet of a
page.
"""

from .branches import comparison_html, edits_html, lineage_html
from .cards import (
    card_html,
    mimebundle,
    point_card,
    point_html,
    run_card,
    run_html,
    run_text,
    runs_html,
    runs_text,
    state_card,
    state_html,
    verdict_text,
)
from .context import context_html, context_svg, pending_html, window_html
from .folder import by_weight, each_html, folder_html
from .headings import folder_heading, heading
from .ledger import answer_html, attempts_html, effects_html, evidence_html, findings_html, prompts_html, spending_html
from .looms import (
    boundaries_html,
    loom_effects_html,
    loom_findings_html,
    loom_heading,
    loom_prompts_html,
    loom_verdict_html,
    sentences_html,
)
from .markup import Pen, Safe, el, join
from .styles import PAGE, bare, twin
from .tables import Column, table_html
from .time_bar import time_html, time_svg
from .timeline import timeline_html, timeline_svg
from .verdict import headline, restart_html, status_badge, verdict_html

__all__ = [
    "Column",
    "PAGE",
    "Pen",
    "Safe",
    "answer_html",
    "attempts_html",
    "bare",
    "boundaries_html",
    "by_weight",
    "card_html",
    "comparison_html",
    "context_html",
    "context_svg",
    "each_html",
    "edits_html",
    "effects_html",
    "el",
    "evidence_html",
    "findings_html",
    "folder_heading",
    "folder_html",
    "heading",
    "headline",
    "join",
    "lineage_html",
    "loom_effects_html",
    "loom_findings_html",
    "loom_heading",
    "loom_prompts_html",
    "loom_verdict_html",
    "mimebundle",
    "pending_html",
    "point_card",
    "point_html",
    "prompts_html",
    "restart_html",
    "run_card",
    "run_html",
    "run_text",
    "runs_html",
    "runs_text",
    "sentences_html",
    "spending_html",
    "state_card",
    "state_html",
    "status_badge",
    "table_html",
    "time_html",
    "time_svg",
    "timeline_html",
    "timeline_svg",
    "twin",
    "verdict_html",
    "verdict_text",
    "window_html",
]
