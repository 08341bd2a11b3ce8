"""The types of actions in `execute`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag

from geneva_drive.declarative.field_types import DocumentPart, Listed, Name, SetPath, Text

BUILT_IN = ("set", "notify", "webhook")
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


class Action(DocumentPart):
    """The keys that every action has."""

    optional: Annotated[
        bool, Field(description="A failure is recorded, and does not fail the step.")
    ] = False


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


class SetAction(Action):
    """Write a value into the context."""

    type: Literal["set"]
    path: Annotated[SetPath, Field(description="Names with dots, such as order.status.")]
    value: Annotated[Any, Field(description="What is written.")]


class NotifyAction(Action):
    """Pass a message to the notifiers that are registered with `@gd.notifier`."""

    type: Literal["notify"]
    recipients: Annotated[
        Listed[Text],
        BeforeValidator(_listed, json_schema_input_type=list[str] | str),
        Field(description="Names that the notifiers know, or a template whose value is a list."),
    ]
    message: Annotated[Text, Field(description="The text of the message.")]


class WebhookAction(Action):
    """Send an HTTP request, signed as Standard Webhooks if `webhook_secret` is set."""

    type: Literal["webhook"]
    url: Annotated[Text, Field(description="With http:// or https://.")]
    method: Annotated[Method, Field(description="The HTTP method.")] = "POST"
    body: Annotated[Any, Field(description="What is sent, as JSON.")] = None
    headers: Annotated[
        dict[str, Text],
        Field(default_factory=dict, description="Headers besides those of the signature."),
    ]


class RegisteredAction(Action):
    """Call a function that is registered with `@gd.action(type)`; other keys are its arguments."""

    model_config = ConfigDict(extra="allow")

    type: Annotated[Name, Field(json_schema_extra={"not": {"enum": list(BUILT_IN)}})]

    @property
    def params(self) -> dict[str, Any]:
        """The arguments as the document has them, templates not rendered."""
        return dict(self.model_extra or {})


def _tag(value: Any) -> str | None:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    if not isinstance(kind, str):
        return None
    return f"<{kind}>" if kind in BUILT_IN else "<registered>"


AnyAction = Annotated[
    Annotated[SetAction, Tag("<set>")]
    | Annotated[NotifyAction, Tag("<notify>")]
    | Annotated[WebhookAction, Tag("<webhook>")]
    | Annotated[RegisteredAction, Tag("<registered>")],
    Discriminator(_tag),
]
Actions = Listed[AnyAction]
