"""One command on many workflows: `drive.bulk(...)`.

Start with `bulk`, which counts the workflows and starts the workflow of `bulk_run`. That one gives
the command to a portion of workflows at a time (`portions`), as `selection` finds them, and looks
after those whose outcome it waits for (`watch`). `where` is the filter, `plan` what is stored of
the order, `tally` what has been done so far.
"""
