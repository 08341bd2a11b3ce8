"""`geneva dev`: a worker, the API and the dashboard in one process that restarts on changes.

`reloader` is the parent: it holds the socket, watches files (`watched_files`) and restarts its
child. `local_server` is the child: it imports the app, serves and works. `open_access` keeps what
is open without credentials on this machine.
"""
