"""The parameters and bodies of requests, and the bodies of responses."""
