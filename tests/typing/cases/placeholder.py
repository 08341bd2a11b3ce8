"""Placeholder: a case is a module of `assert_type` calls that is checked and never run."""

from __future__ import annotations

from datetime import timedelta
from typing import assert_type

assert_type(timedelta(days=1) * 2, timedelta)
