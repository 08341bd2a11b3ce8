"""The column types of MySQL and MariaDB."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeEngine

from geneva_drive.storage.schema.column_types import ColumnTypes


class MySQLTypes(ColumnTypes):
    # SQLAlchemy's types are imported on use: loading them takes longer than loading this package.

    def moment(self) -> TypeEngine[datetime]:
        from sqlalchemy.dialects.mysql import DATETIME

        return DATETIME(fsp=6)

    def name(self, length: int | None, dialect: Dialect) -> TypeEngine[str]:
        from sqlalchemy.dialects.mysql import VARCHAR

        # With the default collations 'abc' equals 'ABC', and with utf8mb4_bin it equals 'abc '.
        # The binary collation without padding has a different name on each server.
        is_mariadb = getattr(dialect, "is_mariadb", False)
        collation = "utf8mb4_nopad_bin" if is_mariadb else "utf8mb4_0900_bin"
        return VARCHAR(length, charset="utf8mb4", collation=collation)

    def long_text(self) -> TypeEngine[str]:
        from sqlalchemy.dialects.mysql import LONGTEXT

        return LONGTEXT()  # TEXT ends at 64 KiB
