"""What each command that is possible now would do.

Start with `what_if`, which reads a workflow and lists the consequences. `what_if_facts` holds what
was read, `walk` follows the graph from there, and `sentence_parts` words the sentences. Everything
but the reading is pure.
"""
