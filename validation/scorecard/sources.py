"""Collects the cases and replays of one `lsmlab validate`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.validation.casefiles.case import Case, find_cases, read_case
from lsmlab.validation.checkout import ENGINE_DATA, OWN_CASES, PUBLIC_DATA, RECORDINGS, source_tree_or_error
from lsmlab.validation.replays.recording import load_recording
from lsmlab.validation.replays.replay import replay
from lsmlab.validation.scorecard.card import (
    CALIBRATION,
    ENGINES,
    PUBLIC,
    PUBLIC_2,
    QUARANTINE,
    RERUNS,
    TEST,
    UNEXPRESSED,
    WHAT_IFS,
    WIDER,
    ReplayCheck,
    Scorecard,
)

SETS: Final = ("own", "public", "real_engines", "logs", "replay", "theory")
"""Sets of docs/validation.md, scored unless --only chooses."""
FURTHER_SETS: Final = ("public_2",)
"""Sets that --only may choose besides."""


def check_sets(sets: Sequence[str], public_data: Path) -> None:
    """Raise InputError if a set needs recordings of the source tree and the package is installed without it."""
    lacking = [name for name in sets if not (name == "theory" or (name in ("public", "public_2") and public_data.is_dir()))]
    if lacking:
        source_tree_or_error(
            f"validate: {', '.join(lacking)} {'needs' if len(lacking) == 1 else 'need'} LSMLab's recorded runs",
            "score runs of your own with --cases DIR (--only theory needs no recordings)",
        )


def gather_cases(card: Scorecard, directory: Path, *, release: bool) -> list[tuple[str, Case]]:
    """Return (set, case) for all cases below a directory; add unreadable case files to `card.unreadable`."""
    found: list[tuple[str, Case]] = []
    quarantined = 0
    for path in find_cases(directory):
        try:
            case = read_case(path)
        except InputError as error:
            card.unreadable.append((str(path), str(error)))
            continue
        if case.part == "quarantine" and not release:
            quarantined += 1
            continue
        test = WIDER if WIDER in path.relative_to(directory).parts else TEST
        found.append(({"calibration": CALIBRATION, "quarantine": QUARANTINE}.get(case.part, test), case))
    if quarantined:
        card.skipped.append(f"{quarantined} cases in quarantine: scored only for a release (--release)")
    return _with_measurements(card, found)


def gather_public(card: Scorecard, data: Path = PUBLIC_DATA) -> list[tuple[str, Case]]:
    """Return (set, case) for all public runs; without their folder, none and a note in `card.skipped`."""
    from lsmlab.validation.casefiles.public.cases import public_cases

    if _missing(card, "public runs", data):
        return []
    cases = [(CALIBRATION if case.part == "calibration" else PUBLIC, case) for case in public_cases(data)]
    return _with_measurements(card, cases)


def gather_second(card: Scorecard, data: Path = PUBLIC_DATA) -> list[tuple[str, Case]]:
    """Return (set, case) for the public runs of ../shared/data/public_runs_2; without that folder, none and a note."""
    from lsmlab.validation.casefiles.public.cases import public_cases
    from lsmlab.validation.casefiles.public.table import SECOND

    if _missing(card, "public runs, second half", data.with_name("public_runs_2")):
        return []
    sets = {"calibration": CALIBRATION}
    cases = public_cases(data, folder=SECOND)
    return _with_measurements(
        card, [(UNEXPRESSED if case.not_expressed else sets.get(case.part, PUBLIC_2), case) for case in cases]
    )


def gather_engines(card: Scorecard, data: Path = ENGINE_DATA) -> list[tuple[str, Case]]:
    """Return (set, case) for the recorded runs of other engines; without their folder, none and a note.

    A folder that cannot become a case is added to `card.unreadable`.
    """
    from lsmlab.validation.scorecard.real_engines import real_engine_cases

    if _missing(card, "recorded engines", data):
        return []
    found: list[tuple[str, Case]] = []
    for case in real_engine_cases(data):
        if isinstance(case, Case):
            found.append((ENGINES, case))
        else:
            card.unreadable.append(case)
    return found


def gather_logs(data: Path = PUBLIC_DATA) -> list[tuple[str, Case]]:
    """Return (set, case) for reruns and what-ifs from the available LOGs of the own and the public runs."""
    from lsmlab.validation.scorecard.imported_cases import reruns, what_ifs

    return [
        *((RERUNS, case) for case in reruns(OWN_CASES, data)),
        *((WHAT_IFS, case) for case in what_ifs(OWN_CASES, data)),
    ]


def _missing(card: Scorecard, what: str, data: Path) -> bool:
    """Return whether a folder of data is missing, with a note on the card."""
    if not data.is_dir():
        card.skipped.append(f"{what}: the folder {data} is missing")
    return not data.is_dir()


def _with_measurements(card: Scorecard, cases: list[tuple[str, Case]]) -> list[tuple[str, Case]]:
    """Return the cases that have measurements; the others have not been recorded yet."""
    kept = [(name, case) for name, case in cases if case.measured or case.tables or case.series or case.logs]
    if len(kept) < len(cases):
        card.skipped.append(f"{len(cases) - len(kept)} cases without measurements: record them with 'lsmlab record'")
    return kept


def replays(card: Scorecard, directories: Sequence[Path] | None = None, *, release: bool = False) -> None:
    """Replay every recording with a MANIFEST and add the checks to the card; add a note for each failed replay."""
    found = list(_recordings(release=release)) if directories is None else directories
    if not found:
        card.skipped.append(f"exact replays: the folder {RECORDINGS} is missing")
    for directory in found:
        name = directory.name if directory.parent == RECORDINGS else f"{directory.parent.name}/{directory.name}"
        try:
            result = replay(load_recording(directory))
        except Exception as error:  # a recording that the replay does not support must not stop the scorecard
            card.skipped.append(f"replay of {name}: {type(error).__name__}: {' '.join(str(error).split())}")
            continue
        card.replays += [ReplayCheck(name, kind, check.matched, check.total) for kind, check in result.checks.items()]


def _recordings(*, release: bool) -> Iterator[Path]:
    """Yield the folders of the short recordings for replays and of the own cases' repeats with a MANIFEST."""
    if RECORDINGS.is_dir():
        yield from sorted(path for path in RECORDINGS.iterdir() if path.is_dir())
    for manifest in sorted(OWN_CASES.rglob("MANIFEST.txt*")):
        if release or not _is_quarantined(manifest.parent.parent):
            yield manifest.parent


def _is_quarantined(folder: Path) -> bool:
    """Whether the case of a folder is in quarantine; one that cannot be read is not, and `gather_cases` reports it."""
    try:
        return read_case(folder).part == "quarantine"
    except InputError:
        return False
