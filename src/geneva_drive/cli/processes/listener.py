"""The listening socket of a server in this process."""

from __future__ import annotations

import socket

_BACKLOG = 2048  # connections that wait to be accepted


def listen(address: str, port: int) -> socket.socket:
    """Return a socket that accepts connections from now on; port 0 means any free port."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.create_server((address, port), family=family, backlog=_BACKLOG)
    # Accepted connections inherit this option. Without it, the end of a response waits 40 ms for
    # the acknowledgement of the packet before; asyncio sets it only on sockets that it opened.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
