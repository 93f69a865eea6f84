"""Queue of requests for background jobs, with the time at which each request was added."""

from __future__ import annotations

from collections import deque
from typing import TypeVar

Request = TypeVar("Request")


class RequestQueue(deque[Request]):
    """Requests in the order of their arrival."""

    def __init__(self) -> None:
        super().__init__()
        self._added_s: deque[float] = deque()

    def add(self, request: Request, now_s: float) -> None:
        """Append a request at `now_s`."""
        self.append(request)
        self._added_s.append(now_s)

    def take(self, now_s: float) -> tuple[Request, float]:
        """Remove the oldest request. Return it and the time that it waited, in s."""
        return self.popleft(), now_s - self._added_s.popleft()
