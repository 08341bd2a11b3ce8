"""The routes at the root of the application, beside `/api/v1`."""
