"""Rules of the laboratory's server: which requests it answers, and what the browser may do with its pages.

A page of another site can send requests to a server on the user's machine (cross-site requests), also under a name of its
own that it lets point to 127.0.0.1 (DNS rebinding). Other users of the machine can connect as well. So each request must
name this server's address, come from its own pages, and carry a key that only the user's terminal shows.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Final

HOST: Final = "127.0.0.1"
"""The only address that the server listens on."""
MOST_UPLOAD_BYTES: Final = 32 << 20
"""Largest uploaded file; `lsmlab import` on the command line reads larger ones."""
MOST_REQUEST_BYTES: Final = MOST_UPLOAD_BYTES * 4 // 3 + (1 << 20)
"""Largest request: an upload in base64, and the values of the form."""
KEY: Final = "key"
"""Name of the key in the address that the terminal shows."""
_OWN_SITES: Final = ("same-origin", "none")
"""Values of Sec-Fetch-Site of a request from a page of this server, and of an address that the user typed."""


def refusal(headers: Mapping[str, str], method: str, port: int) -> str | None:
    """Return why a request is refused, in one line; None for a request to this server from its own pages."""
    names = {f"{name}:{port}" for name in (HOST, "localhost")}
    host = headers.get("Host", "")
    if host not in names:
        return f"Host {host!r} is not this server; open the address that the terminal shows"
    origin = headers.get("Origin")
    if origin is not None and origin != f"http://{host}":
        return f"Origin {origin!r} is another site; only the laboratory's own page may send requests"
    site = headers.get("Sec-Fetch-Site", "none")
    opened = method == "GET" and headers.get("Sec-Fetch-Mode") == "navigate" and headers.get("Sec-Fetch-Dest") == "document"
    if site not in _OWN_SITES and not opened:
        return f"a page of another site ({site}) sent this request; only the laboratory's own page may"
    if method not in ("GET", "HEAD") and origin is None and site != "same-origin":
        return "the request names no origin; only the laboratory's own page may change anything"
    return None


def has_key(given: str | None, key: str) -> bool:
    """Return whether the given key is right; takes the same time for every wrong key."""
    return given is not None and hmac.compare_digest(given.encode(), key.encode())


def cookie_name(port: int) -> str:
    """Return the name of the cookie with the key; cookies of other ports on this machine have other names."""
    return f"lsmlab-lab-{port}"


def response_headers(*, page_of_results: bool, script_hashes: tuple[str, ...] = ()) -> dict[str, str]:
    """Return headers of a response. The browser then loads nothing from other servers and sends them nothing.

    A page of results (`page_of_results`) may not even send requests to the laboratory.
    """
    if page_of_results:
        policy = "default-src 'none'; script-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src data:"
    else:
        scripts = " ".join(["'self'", *script_hashes])
        policy = f"default-src 'none'; script-src {scripts}; connect-src 'self'; img-src 'self' data: blob:"
        policy += "; font-src 'self' data:; frame-src 'self'"
    policy += "; style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    return {
        "Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "SAMEORIGIN",
        "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin", "Cache-Control": "no-store",
    }  # fmt: skip
