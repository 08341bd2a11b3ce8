"""What a workflow is: classes, nodes, conditions and policies, compiled to a definition.

Pure: nothing here knows a database, a process or a terminal. A class body is read once, when the
class is created, and becomes an immutable `Definition`; whatever is wrong with it is said there,
with the file and the line.
"""
