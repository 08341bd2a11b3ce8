"""One command on many workflows: `drive.bulk(...)`.

Start with `bulk`, which counts the workflows and starts the workflow in `bulk_run`. That workflow
finds the next workflows (`selection`), runs the command on them in one transaction (`portions`),
and checks on those whose outcome it waits for (`follow_up`). `where` holds the filters, `plan` the
stored order, `bulk_cursor` the counts so far.
"""
