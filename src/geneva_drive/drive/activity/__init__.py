"""The front page: charts of ended executions, and who acts next on which workflows."""
