"""Log of transfers from and to a device."""

from __future__ import annotations

from array import array
from typing import Final

import simpy


class TransferLog:
    """Times of transfers, for the per-second series. Columns: consumer (0 = clients), start, end, bytes."""

    WRITE: Final = 16
    """Added to a consumer's number for writes."""

    def __init__(self) -> None:
        self.rows = array("d")

    def start(self, event: simpy.Event, consumer: int, now_s: float, size_bytes: float) -> None:
        """Log a transfer that starts now and ends when `event` fires."""
        rows = self.rows

        def end(done: simpy.Event) -> None:
            rows.extend((consumer, now_s, done.env.now, size_bytes))

        assert event.callbacks is not None
        event.callbacks.append(end)
