"""Divide the work of batches and maps into workers, and collect their results.

Start with `ranges`, which makes the workers; `batch_results` is what an aggregate receives.
"""
