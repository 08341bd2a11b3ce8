"""`geneva dev`: a worker, the API and the dashboard in one process that restarts on changes.

`reloader` is the parent: it holds the socket, watches files (`watched_files`) and restarts its
child. `local_server` is the child: it imports the app, serves and runs steps. `open_access` admits
requests without credentials, but only from this machine.
"""
