"""What the doors of a Drive show: the JSON bodies that the command line and the REST API share."""
