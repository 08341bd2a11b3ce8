"""The errors of the drivers for MySQL and MariaDB, by number."""

from __future__ import annotations

import re

from geneva_drive.storage.dialects.trouble import Trouble

DRIVERS = frozenset({"pymysql", "MySQLdb", "mysql", "mariadb", "aiomysql", "asyncmy"})

_NO_SPACE = re.compile(r"[Ee]rr(or|code:?) 28\b|No space left")
# A deadlock or a statement timeout ended the whole transaction. SQLAlchemy then rolls back to its
# savepoint and raises this error instead. A missing procedure has the same number.
_ROLLED_BACK = re.compile(r"\b1305\b.*SAVEPOINT \S+ does not exist")

_NUMBERS = {
    Trouble.UNAVAILABLE: (
        *(2002, 2003, 2006, 2013, 2055),  # cannot connect, gone away, lost
        *(1053, 1927, 4031, 1158, 1159, 1160, 1161),  # shutdown, killed, idle, the network
        *(1040, 1203, 1226),  # too many connections
        *(1044, 1045, 1049, 1129, 1130, 1698),  # access denied, host blocked, no such database
    ),
    Trouble.READ_ONLY: (1290, 1792, 1836, 1874),
    Trouble.BUSY: (
        *(1205, 1213, 1020, 3572),  # lock wait timeout, deadlock, record changed, NOWAIT
        *(1317, 1969, 3024),  # interrupted, the statement timeouts of MariaDB and of MySQL
        *(1206, 1615),  # the lock table is full, prepared statement out of date
    ),
    Trouble.FULL: (1021, 1114),
    Trouble.MISSING_RIGHTS: (1142, 1143, 1227, 1370),
    Trouble.NOT_MIGRATED: (1146, 1054),  # no such table, unknown column
    # Out of range, truncated, wrong, incorrect, too long, a trigger's SIGNAL, CHECK on each server.
    Trouble.VALUE: (1264, 1265, 1292, 1366, 1406, 1644, 3819, 4025),
}
_BY_NUMBER = {number: kind for kind, numbers in _NUMBERS.items() for number in numbers}


def sort(error: BaseException) -> Trouble:
    number = error.args[0] if error.args else None
    if isinstance(number, int) and number in _BY_NUMBER:
        return _BY_NUMBER[number]
    if _NO_SPACE.search(str(error)):
        return Trouble.FULL
    if _ROLLED_BACK.search(str(error)):
        return Trouble.BUSY
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if "InterfaceError" in kinds:  # the driver's connection is closed
        return Trouble.UNAVAILABLE
    return Trouble.OTHER if "OperationalError" in kinds else Trouble.VALUE
