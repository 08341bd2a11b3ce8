"""Everything that goes wrong by name.

GenevaDriveError
├── StepConfigurationError   fix the workflow class (also a TypeError)
├── InvalidInput             fix what was passed (also a ValueError)
│   ├── NoSuchBranch         choose a node that depends on the decision
│   ├── NullCursor           leave such rows out, or take another column
│   ├── CsvChanged           put the file back, or rewind the step
│   ├── CursorTooLarge       pass less
│   └── PayloadTooLarge      pass less
├── NotFound                 look elsewhere
│   └── StepNotDefined
├── AlreadyRunning           reload and decide
├── InvalidStateError        reload and decide
│   └── UncommittedWork      commit before the loop goes on
├── MissingJob               bring the job back, or let the workflow go
├── ChildCanceled            the node's exception policy says what comes of it
├── IterationLimitExceeded   look whether the step loops for ever
├── ClaimLost                another worker has it; nothing was written
└── StorageError             the database needs attention
    └── NotMigrated          run `geneva migrate`
        └── NotCreated

`PermanentError` and `RetryableError` are for users' steps to raise, and stand apart.
"""

from __future__ import annotations

from geneva_drive.errors.base import GenevaDriveError
from geneva_drive.errors.conflict import (
    AlreadyRunning,
    ClaimLost,
    IllegalMove,
    InvalidStateError,
    UncommittedWork,
)
from geneva_drive.errors.definition import Fault, StepConfigurationError
from geneva_drive.errors.input import (
    CsvChanged,
    CursorTooLarge,
    InvalidInput,
    NoSuchBranch,
    NullCursor,
    PayloadTooLarge,
)
from geneva_drive.errors.not_found import (
    HeroGone,
    NodeNotFound,
    NotFound,
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
    PermanentError,
    RetryableError,
    StepTimedOut,
)
from geneva_drive.errors.storage import (
    DatabaseBusy,
    DatabaseReadOnly,
    DatabaseUnavailable,
    NotCreated,
    NotMigrated,
    StorageError,
    TooNew,
)

__all__ = [
    "AlreadyRunning",
    "ChildCanceled",
    "ClaimLost",
    "CsvChanged",
    "CursorTooLarge",
    "DatabaseBusy",
    "DatabaseReadOnly",
    "DatabaseUnavailable",
    "Fault",
    "GenevaDriveError",
    "HeroGone",
    "IllegalMove",
    "InvalidInput",
    "InvalidStateError",
    "IterationLimitExceeded",
    "MissingJob",
    "NoSuchBranch",
    "NodeNotFound",
    "NotCreated",
    "NotFound",
    "NotMigrated",
    "NullCursor",
    "PayloadTooLarge",
    "PermanentError",
    "RetryableError",
    "StepConfigurationError",
    "StepNotDefined",
    "StepTimedOut",
    "StepVanished",
    "StorageError",
    "TooNew",
    "UncommittedWork",
    "UnknownEnum",
    "UnknownEnumMember",
    "UnknownStoredType",
    "UnknownWorkflowClass",
    "WorkflowNotFound",
]

# The name of an error's class is stored with a failed execution. It stays the same whichever of
# these files the class is in.
for _name in __all__:
    globals()[_name].__module__ = __name__
