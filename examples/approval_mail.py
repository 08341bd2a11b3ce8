"""Mail a decision link to the people who have to approve a refund.

    python examples/approval_mail.py

asks whether to pay a refund, mails the question to the manager, and waits. If the manager does not
answer within ten minutes, the director gets a mail. Decide from another terminal, with the link of
the mail:

    python examples/approval_mail.py LINK approve
    python examples/approval_mail.py LINK reject

The mail goes to localhost:1025, where a mail catcher such as Mailpit listens. Set SMTP_HOST and
SMTP_PORT for another server, and GENEVA_DATABASE_URL for another database than approval_mail.db.
"""

from __future__ import annotations

import os
import smtplib
import sys
from datetime import timedelta
from email.message import EmailMessage

import geneva_drive as gd

DATABASE_URL = os.environ.get("GENEVA_DATABASE_URL", "sqlite:///approval_mail.db")
SMTP_HOST = os.environ.get("SMTP_HOST", "localhost")
SMTP_PORT = int(os.environ.get("SMTP_PORT", "1025"))
ADDRESSES = {"manager": ["mary@shop.example"], "director": ["dora@shop.example"]}


class Refund(gd.Workflow):
    @gd.approval(
        role="manager",
        ask="Pay {context[amount]} euros back for order {context[order]}?",
        timeout=timedelta(minutes=10),
        on_timeout="escalate",
        escalate_to="director",
    )
    def approval(self, decision: gd.ApprovalDecision) -> None:
        print(f"{decision.by} has decided: {decision.choice}.")

    @gd.step
    def pay_back(self) -> None:
        print(f"{self.context['amount']} euros are paid back.")


def notify(drive: gd.Drive, event: object) -> None:
    """Mail a link to everybody who can decide; each link is for one person.

    It runs after the commit, and not again if the process dies at that moment. What is still open
    is in `drive.approvals.pending()`, for a reminder every morning.
    """
    if not isinstance(event, gd.ApprovalChanged) or event.action not in ("requested", "escalated"):
        return
    approval = drive.approvals.get(event.approval_id)
    for address in ADDRESSES[approval.role or ""]:
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = "refunds@shop.example", address, approval.title
        mail.set_content(f"{approval.title}\n\nDecide here: {approval.link(for_=address)}\n")
        send(mail)


def send(mail: EmailMessage) -> None:
    try:
        with smtplib.SMTP(SMTP_HOST, SMTP_PORT, timeout=10) as server:
            server.send_message(mail)
    except OSError as error:
        print(
            f"The mail server {SMTP_HOST}:{SMTP_PORT} is not there ({error}). The mail would say:"
        )
        print(mail.get_content())
    else:
        print(f"A mail to {mail['To']} asks: {mail['Subject']}")


def ask(drive: gd.Drive) -> None:
    drive.events.subscribe(lambda event: notify(drive, event))
    with drive.worker():
        refund = Refund.create(context={"order": "A-1001", "amount": 80})
        refund.wait()
    print(f"The refund is {refund.reload().state}.")


def decide(drive: gd.Drive, link: str, choice: str) -> None:
    """Do what the page behind the link does: find the request by its token, and decide."""
    approval = drive.approvals.by_link(link.rpartition("/")[2])
    approval.decide(choice, comment="by mail")
    print(f"{approval.decided_by}: {approval.title} {approval.choice}.")


def main(arguments: list[str]) -> None:
    drive = gd.configure(DATABASE_URL, public_url="http://localhost:8000")
    drive.migrate()
    try:
        match arguments:
            case []:
                ask(drive)
            case [link, choice]:
                decide(drive, link, choice)
            case _:
                raise SystemExit(__doc__)
    except gd.errors.GenevaDriveError as error:
        raise SystemExit(str(error)) from error
    finally:
        drive.close()


if __name__ == "__main__":
    main(sys.argv[1:])
