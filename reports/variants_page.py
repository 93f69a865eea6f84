"""Page of a comparison of variants: combinations of engines compared with their parents in each setting."""

from __future__ import annotations

import html
from pathlib import Path

from lsmlab.reports import numbers
from lsmlab.reports.figures.variants import panels
from lsmlab.reports.page import assemble, paragraphs, section, write_page
from lsmlab.reports.parts import html_section
from lsmlab.reports.variants import MEASURES, Variants, against_parents, read_variants, readings


def write_variants(directory: Path) -> Path:
    """Write DIR/report.html of a comparison of variants; return its path."""
    return write_page(directory / "report.html", variants_page(read_variants(directory)))


def variants_page(comparison: Variants) -> str:
    """Return the HTML page of a comparison of variants."""
    figures = [panels(comparison, measure, number) for number, measure in enumerate(MEASURES)]
    sentences = readings(comparison) or ["No variant of this comparison combines others."]
    body = f"{paragraphs(sentences)}{''.join(section(figure) for figure in figures)}{_table(comparison)}"
    names = ", ".join(comparison.combinations) or ", ".join(comparison.names)
    many = f"{numbers.plural(len(comparison.settings), 'setting')}, {numbers.plural(comparison.seeds, 'run')} of each"
    subtitle = f"{names}; {many}"
    footer = "Better and worse mean that the 90 % intervals do not overlap. This file needs no network."
    return assemble(f"LSMLab: {comparison.description}", subtitle, body, figures, footer)


def _table(comparison: Variants) -> str:
    parts = []
    for setting in comparison.settings:
        head = "".join(f"<th>{html.escape(m.title)}</th>" for m in MEASURES)
        rows = "".join(_row(comparison, name, setting) for name in comparison.names)
        parts.append(
            f'<div class="scroll"><h3>{html.escape(setting)}</h3><table class="compare"><thead><tr><td></td>{head}</tr></thead>'
            f"<tbody>{rows}</tbody></table></div>"
        )
    caption = "A star marks a combination that is better than all its parents, with intervals that do not overlap."
    tables = f'<div style="display:flex;flex-wrap:wrap;gap:0 56px">{"".join(parts)}</div>'
    return html_section("numbers", "All numbers", tables, caption)


def _row(comparison: Variants, name: str, setting: str) -> str:
    cells = []
    for measure in MEASURES:
        number = comparison.numbers.get((name, setting, measure.title))
        relation = against_parents(comparison, name, setting, measure) if comparison.parents.get(name) else None
        best = " best" if relation is not None and relation[0] > 0 else ""
        text = "did not run" if number is None else measure.text(number.value)
        cells.append(f'<td class="number{best}">{html.escape(text)}</td>')
    return f"<tr><th>{html.escape(name)}</th>{''.join(cells)}</tr>"
