"""Heroes: the records that workflows are about."""
