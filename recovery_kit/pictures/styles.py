"""What pictures look like: a style for each of our classes, and the stylesheet of a page.

Belongs here: colours, spaces, letters. Every class has one declaration that works on a light and on a dark page, so
that a picture carries its own style into a notebook (`twin`); a report puts `PAGE` in its head, which sets the colours
for light, dark and paper.
"""

import re

CLASSES: dict[str, str] = {
    "rk-muted": "color:var(--rk-muted,#7a828e)",
    "rk-good": "color:var(--rk-good,#2e8b57)",
    "rk-attention": "color:var(--rk-attention,#b7791f)",
    "rk-bad": "color:var(--rk-bad,#d1453b)",
    "rk-badge": "border:1px solid;border-radius:4px;padding:0 .4em;font-weight:600;white-space:nowrap",
    "rk-card": "border:1px solid var(--rk-line,rgba(127,127,127,.4));border-radius:6px;padding:.7em 1em;margin:.5em 0;"
    "max-width:60em",
    "rk-name": "font-weight:700;overflow-wrap:anywhere",
    "rk-pre": "white-space:pre-wrap;overflow-wrap:anywhere;max-height:30em;overflow:auto;"
    "margin:.3em 0;padding:.5em .7em;border-radius:4px;"
    "background:var(--rk-soft,rgba(127,127,127,.12));color:inherit;font-size:.9em",
    "rk-t": "text-align:left;vertical-align:top",
    "rk-x": "text-align:left;vertical-align:top;min-width:15em;white-space:normal",
    "rk-n": "text-align:right;vertical-align:top;white-space:nowrap",
    "rk-w": "text-align:left;vertical-align:top;white-space:nowrap",
    "rk-scroll": "overflow-x:auto;max-width:100%",
    "rk-figure": "margin:.6em 0;max-width:100%",
    "rk-lanes": "display:block;box-sizing:border-box;width:100%;padding-left:62px;overflow:visible",
    "rk-halo": "paint-order:stroke;stroke:var(--rk-ground,var(--jp-layout-color0,#fff));stroke-width:3px;"
    "stroke-linejoin:round",
    "rk-swatch": "vertical-align:-1px",
    "rk-legend": "list-style:none;margin:.4em 0;padding:0;display:flex;flex-wrap:wrap;gap:.1em 1.1em;font-size:13px",
    "rk-key": "margin:0;padding:0",
    "rk-headline": "font-size:1.3em;font-weight:700;margin:.2em 0",
    "rk-fold": "margin:.25em 0",
    "rk-inner": "margin:.25em 0 .25em 1.1em",
    "rk-verdict": "border-left:5px solid;padding:.2em 0 .2em 1em;margin:.6em 0",
    "rk-edge-plain": "border-left-color:var(--rk-line,rgba(127,127,127,.6))",
    "rk-edge-muted": "border-left-color:var(--rk-muted,#7a828e)",
    "rk-edge-good": "border-left-color:var(--rk-good,#2e8b57)",
    "rk-edge-attention": "border-left-color:var(--rk-attention,#b7791f)",
    "rk-edge-bad": "border-left-color:var(--rk-bad,#d1453b)",
}

_CLASS = re.compile(r'class="(rk-[a-z -]+)"')


def twin(picture: str) -> str:
    """The picture with its styles inline: for a notebook, which strips stylesheets and would read `$x$` as mathematics.

    All text in a picture is escaped, so what reads like an attribute is one.
    """
    return f'<div class="mathjax_ignore tex2jax_ignore">{_CLASS.sub(_inlined, picture)}</div>'


def _inlined(found: re.Match[str]) -> str:
    rules = ";".join(CLASSES[name] for name in found[1].split() if name in CLASSES)
    return f'{found[0]} style="{rules}"' if rules else found[0]


_TWINNED = re.compile(_CLASS.pattern + r' style="[^"]*"')


def bare(twinned: str) -> str:
    """A picture without the styles that `twin` put in: on a page with `PAGE` they would only repeat it."""
    return _TWINNED.sub(lambda found: f'class="{found[1]}"', twinned)


_RULES = "\n".join(f".{name} {{ {rules} }}" for name, rules in CLASSES.items())

PAGE = f"""
:root {{ color-scheme: light dark; --rk-ink: #1c2330; --rk-ground: #ffffff; --rk-soft: #f3f5f8; --rk-line: #d8dee6;
  --rk-muted: #5b6472; --rk-good: #1d7245; --rk-attention: #8a5a00; --rk-bad: #b3261e; --rk-link: #1f5f9e; }}
@media (prefers-color-scheme: dark) {{ :root {{ --rk-ink: #e4e8ee; --rk-ground: #14181f; --rk-soft: #1e252f;
  --rk-line: #37414e; --rk-muted: #9aa5b3; --rk-good: #5fc48d; --rk-attention: #e0b050; --rk-bad: #ff8a80;
  --rk-link: #7ab8f0; }} }}
* {{ box-sizing: border-box }}
html {{ -webkit-text-size-adjust: 100% }}
body {{ margin: 0 auto; max-width: 1040px; padding: 20px 18px 60px; background: var(--rk-ground); color: var(--rk-ink);
  font: 15px/1.5 system-ui, "Segoe UI", "Liberation Sans", "DejaVu Sans", sans-serif; overflow-wrap: break-word }}
h1 {{ font-size: 22px; line-height: 1.25; margin: 0 0 2px; overflow-wrap: anywhere }}
h2 {{ font-size: 18px; margin: 34px 0 8px; padding-bottom: 4px; border-bottom: 1px solid var(--rk-line) }}
h3 {{ font-size: 15px; margin: 18px 0 4px }}
p {{ margin: .4em 0 }}
table {{ border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; margin: .4em 0 }}
caption {{ text-align: left; color: var(--rk-muted); padding: 0 0 4px }}
th, td {{ padding: 4px 12px 4px 0; border-bottom: 1px solid var(--rk-line) }}
thead th {{ color: var(--rk-muted); font-weight: 600 }}
tbody th {{ font-weight: 600 }}
tfoot th, tfoot td {{ font-weight: 600; border-bottom: 0 }}
pre, code {{ font-family: ui-monospace, "Liberation Mono", "DejaVu Sans Mono", monospace; font-size: 12.5px }}
summary {{ cursor: pointer; overflow-wrap: anywhere }}
summary:focus-visible, .rk-scroll:focus-visible {{ outline: 2px solid var(--rk-link); outline-offset: 2px }}
td .rk-pre {{ min-width: 26em }}
svg text {{ font-family: inherit }}
footer {{ margin-top: 40px; color: var(--rk-muted); font-size: 13px }}
{_RULES}
@media (max-width: 520px) {{ body {{ padding: 14px 12px 40px }} th, td {{ padding-right: 9px }}
  .rk-inner {{ margin-left: .5em }} }}
@media print {{ :root {{ color-scheme: light; --rk-ink: #000; --rk-ground: #fff; --rk-soft: #f3f5f8; --rk-line: #bbb;
  --rk-muted: #444; --rk-good: #1d7245; --rk-attention: #7a4f00; --rk-bad: #a3201a }}
  body {{ max-width: none; padding: 0 }} h2, h3 {{ break-after: avoid }} tr, figure {{ break-inside: avoid }}
  .rk-scroll, .rk-pre {{ overflow: visible; max-height: none }} }}
"""
"""The stylesheet of a report. No font, picture or sheet is loaded from anywhere."""
