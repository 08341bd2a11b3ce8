"""The column types of PostgreSQL."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.types import TypeEngine

from geneva_drive.storage.schema.column_types import ColumnTypes


class PostgreSQLTypes(ColumnTypes):
    keeps_time_zone = True

    def moment(self) -> TypeEngine[datetime]:
        # Imported on use: loading SQLAlchemy's dialect takes longer than loading this package.
        from sqlalchemy.dialects.postgresql import TIMESTAMP

        return TIMESTAMP(timezone=True, precision=6)
