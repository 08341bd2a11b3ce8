"""The socket at which a server of this process takes connections."""

from __future__ import annotations

import socket

_BACKLOG = 2048  # connections that wait to be accepted


def listen(address: str, port: int) -> socket.socket:
    """Return a socket that takes connections from now on; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.create_server((address, port), family=family, backlog=_BACKLOG)
    # Connections inherit it. Without it, the end of an answer waits 40 ms for a packet's receipt:
    # asyncio sets it only on sockets of its own.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
