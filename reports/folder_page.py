"""Page of a folder of results: of a finished run, of an imported LOG, of variants, or of the runs in it side by side."""

from __future__ import annotations

from pathlib import Path

from lsmlab.models.errors import InputError
from lsmlab.reports.page import Page
from lsmlab.reports.run_data import PAGE, RunData, is_run, load_run
from lsmlab.reports.variants import FILE, read_variants


def draw_run(directory: Path) -> Path:
    """Write DIR/report.html of a finished run; return its path."""
    return draw(directory, directory / PAGE)


def draw(directory: Path, out: Path) -> Path:
    """Write the page of a run, of variants, or of the runs in a directory, into the file `out`; return its path."""
    if not directory.is_dir():
        raise InputError(f"{directory}: no such directory; give the directory of a finished run")
    if is_run(directory):
        return page_of(load_run(directory)).write(out)
    if (directory / FILE).is_file():
        from lsmlab.reports.variants_page import variants_page

        return variants_page(read_variants(directory)).write(out)
    runs = runs_inside(directory)
    if len(runs) < 2:
        inside = (
            f"; it contains one run: lsmlab report {runs[0]}" if runs else "; run it again, or give a finished run's directory"
        )
        raise InputError(f"{directory}: no finished run here (no summary.json with its tables){inside}")
    from lsmlab.reports.comparison.page import write_comparison

    return write_comparison(out, directory, runs)


def runs_inside(directory: Path) -> list[Path]:
    """Return the finished runs in the subdirectories, sorted by name; numbers (--multirun) come first, by value."""
    runs = [path for path in directory.iterdir() if path.is_dir() and not path.name.startswith(".") and is_run(path)]
    return sorted(runs, key=lambda path: (not path.name.isdigit(), int(path.name) if path.name.isdigit() else 0, path.name))


def page_of(run: RunData) -> Page:
    """Return the page of a finished run or of an imported LOG."""
    if "import" in run.summary:
        from lsmlab.reports.import_page import import_page

        return import_page(run)
    from lsmlab.reports.run_page import run_page

    return run_page(run)
