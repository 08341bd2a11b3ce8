"""The JSON bodies that the command line and the REST API share."""
