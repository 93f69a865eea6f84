"""One function over many tasks, in processes of their own, none of which can harm the others."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

from lsmlab.sim.commands.batch import leave_ctrl_c_to_the_parent, stop

Task = TypeVar("Task")
Found = TypeVar("Found")


def each(
    function: Callable[[Task], Found], tasks: Sequence[Task], processes: int
) -> Iterator[tuple[Task, Found | Exception]]:
    """Every task with what `function` made of it, as they end; with its exception where it failed.

    `function` and the tasks must be picklable. Whoever stops listening (an exception, Ctrl-C) ends the workers.
    """
    if min(processes, len(tasks)) <= 1:
        for task in tasks:
            try:
                found: Found | Exception = function(task)
            except Exception as error:
                found = error
            yield task, found
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=leave_ctrl_c_to_the_parent) as pool:
        futures = {pool.submit(function, task): task for task in tasks}
        try:
            for future in as_completed(list(futures)):
                try:
                    result: Found | Exception = future.result()
                except Exception as error:  # a worker that died (memory) takes its pool along
                    result = error
                yield futures.pop(future), result
        except BaseException:
            stop(pool, futures)
            raise


def reason_of(error: Exception) -> str:
    """One line on what went wrong; a bug keeps its type."""
    from lsmlab.sim.configuration.messages import one_line

    text = one_line(error)
    if text is None:
        text = f"{type(error).__name__}: {' '.join(str(error).split())} (a fault of lsmlab: please report it)"
    return text
