"""A mail server for tests, which keeps what it gets."""

from __future__ import annotations

import email
import queue
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from email.policy import default


class _Session(socketserver.StreamRequestHandler):
    """One client; enough of RFC 5321 for `smtplib`."""

    server: MailServer

    def handle(self) -> None:
        self._answer("220 ready")
        for line in self.rfile:
            match line.split()[0].upper():
                case b"DATA":
                    self._answer("354 go on")
                    self.server.inbox.put(self._message())
                    self._answer("250 taken")
                case b"QUIT":
                    return self._answer("221 bye")
                case _:
                    self._answer("250 fine")
        return None

    def _message(self) -> EmailMessage:
        lines = iter(self.rfile.readline, b".\r\n")
        # A line that begins with a point has another in front of it.
        text = b"".join(line.removeprefix(b".") for line in lines)
        return email.message_from_bytes(text, EmailMessage, policy=default)

    def _answer(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


class MailServer(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.inbox: queue.Queue[EmailMessage] = queue.Queue()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def environment(self) -> dict[str, str]:
        return {"SMTP_HOST": "127.0.0.1", "SMTP_PORT": str(self.port)}

    def next_mail(self) -> EmailMessage:
        """Return the oldest mail that was not returned yet, once there is one."""
        return self.inbox.get(timeout=60)


@contextmanager
def mail_server() -> Iterator[MailServer]:
    with MailServer() as server:
        thread = threading.Thread(target=server.serve_forever, name="mail server")
        thread.start()
        yield server
        server.shutdown()
        thread.join()
