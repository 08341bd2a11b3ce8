"""The errors of this library, grouped by what the caller can do.

GenevaDriveError
├── StepConfigurationError   fix the workflow class (also a TypeError)
├── InvalidInput             fix what was passed (also a ValueError)
│   ├── InvalidRecord        fix the values; `faults` names the fields
│   │   ├── InvalidContext
│   │   └── InvalidForm
│   ├── NoSuchBranch         choose one of the decision's dependants
│   ├── NullCursor           exclude such rows, or choose another column
│   ├── CsvChanged           restore the file, or rewind the step
│   ├── CursorTooLarge       pass less
│   ├── MissingExtra         install it
│   └── PayloadTooLarge      pass less
├── NotFound                 look elsewhere
│   ├── NotCommitted         commit the session that created the workflow
│   └── StepNotDefined
├── AlreadyRunning           reload and decide
├── InvalidStateError        reload and decide
│   └── UncommittedWork      commit before the loop continues
├── NotPermitted             ask a person who has the right
├── MissingJob               restore the job, or cancel the workflow
├── ChildCanceled            the node's exception policy decides
├── OutdatedContext          resume with what is missing, or change the context type
├── ExpressionFailed         fix the document, or pass what it reads (also a PermanentError)
│   ├── MissingField
│   └── NotComparable
├── UnknownAction            register it, and reattempt (also a PermanentError)
├── AddressRefused           allow the host of the webhook (also a PermanentError)
├── IterationLimitExceeded   check whether the step loops forever
├── ClaimLost                another worker holds the execution; nothing was written
└── StorageError             the database needs attention
    └── NotMigrated          run `geneva migrate`
        └── NotCreated

Users' steps raise `PermanentError` and `RetryableError`, which are outside the tree.
"""

from __future__ import annotations

from geneva_drive.errors.base import GenevaDriveError
from geneva_drive.errors.conflict import (
    AlreadyRunning,
    ClaimLost,
    IllegalMove,
    InvalidStateError,
    NotPermitted,
    UncommittedWork,
)
from geneva_drive.errors.definition import Fault, StepConfigurationError
from geneva_drive.errors.documents import (
    AddressRefused,
    ExpressionFailed,
    MissingExtra,
    MissingField,
    NotComparable,
    UnknownAction,
)
from geneva_drive.errors.input import (
    CsvChanged,
    CursorTooLarge,
    InvalidContext,
    InvalidForm,
    InvalidInput,
    InvalidRecord,
    NoSuchBranch,
    NullCursor,
    PayloadTooLarge,
)
from geneva_drive.errors.not_found import (
    ApprovalNotFound,
    DeadLetterNotFound,
    DefinitionNotFound,
    HeroGone,
    KeyNotFound,
    NodeNotFound,
    NotCommitted,
    NotFound,
    ScheduleNotFound,
    StepNotDefined,
    StepVanished,
    UnknownEnum,
    UnknownEnumMember,
    UnknownStoredType,
    UnknownWorkflowClass,
    WorkflowNotFound,
)
from geneva_drive.errors.steps import (
    ChildCanceled,
    IterationLimitExceeded,
    MissingJob,
    OutdatedContext,
    PermanentError,
    RetryableError,
    StepTimedOut,
)
from geneva_drive.errors.storage import (
    DatabaseBusy,
    DatabaseFull,
    DatabaseReadOnly,
    DatabaseUnavailable,
    MissingRights,
    NotCreated,
    NotMigrated,
    StorageError,
    TooNew,
)

__all__ = [
    "AddressRefused",
    "AlreadyRunning",
    "ApprovalNotFound",
    "ChildCanceled",
    "ClaimLost",
    "CsvChanged",
    "CursorTooLarge",
    "DatabaseBusy",
    "DatabaseFull",
    "DatabaseReadOnly",
    "DatabaseUnavailable",
    "DeadLetterNotFound",
    "DefinitionNotFound",
    "ExpressionFailed",
    "Fault",
    "GenevaDriveError",
    "HeroGone",
    "IllegalMove",
    "InvalidContext",
    "InvalidForm",
    "InvalidInput",
    "InvalidRecord",
    "InvalidStateError",
    "IterationLimitExceeded",
    "KeyNotFound",
    "MissingExtra",
    "MissingField",
    "MissingJob",
    "MissingRights",
    "NoSuchBranch",
    "NodeNotFound",
    "NotCommitted",
    "NotComparable",
    "NotCreated",
    "NotFound",
    "NotMigrated",
    "NotPermitted",
    "NullCursor",
    "OutdatedContext",
    "PayloadTooLarge",
    "PermanentError",
    "RetryableError",
    "ScheduleNotFound",
    "StepConfigurationError",
    "StepNotDefined",
    "StepTimedOut",
    "StepVanished",
    "StorageError",
    "TooNew",
    "UncommittedWork",
    "UnknownAction",
    "UnknownEnum",
    "UnknownEnumMember",
    "UnknownStoredType",
    "UnknownWorkflowClass",
    "WorkflowNotFound",
]

# The full name of an error's class is stored with a failed execution, so it must not depend on the
# module that defines the class.
for _name in __all__:
    globals()[_name].__module__ = __name__
