"""What each command that is possible now would do, before it is given.

Start with `what_if`, which reads where a workflow stands and lists the consequences. `situation` is
what was read, `walk` follows the graph from there, `sentence_parts` has the words. All but the
reading is pure.
"""
