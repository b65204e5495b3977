"""Text of a run made fit for a surface: masked by value and by shape, shortened, escaped, in that order; and cards of
plain values.

This room knows neither runs nor records. Whatever draws text of a run takes it through `shown`.
"""

from .addresses import secrets_of_url, url_host
from .card import (
    TONES,
    Card,
    Cell,
    Note,
    Row,
    Tone,
    card_text,
    coloured,
    cut,
    padded,
    shown,
    table_text,
    width_of,
    wrapped,
)
from .escaping import csv_cell, csv_text, html, storable, terminal, unstorable
from .key_shapes import MASK
from .masking import SHAPES_ONLY, Masker, mask, unmasked
from .shortening import bytes_text, count_text, duration_text, middle, preview, time_text
from .twins import Drawn, drawn_by

__all__ = [
    "Card",
    "Cell",
    "Drawn",
    "MASK",
    "Masker",
    "Note",
    "Row",
    "SHAPES_ONLY",
    "TONES",
    "Tone",
    "bytes_text",
    "card_text",
    "coloured",
    "count_text",
    "csv_cell",
    "csv_text",
    "cut",
    "drawn_by",
    "duration_text",
    "html",
    "mask",
    "middle",
    "padded",
    "preview",
    "secrets_of_url",
    "shown",
    "storable",
    "table_text",
    "terminal",
    "time_text",
    "unmasked",
    "unstorable",
    "url_host",
    "width_of",
    "wrapped",
]
