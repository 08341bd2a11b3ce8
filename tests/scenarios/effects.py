"""A table of the user's own, in which steps leave what they did."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, MetaData, String, Table

EFFECTS = Table(
    "effects", MetaData(), Column("workflow_id", BigInteger), Column("step", String(50))
)
