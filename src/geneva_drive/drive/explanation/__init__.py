"""What a workflow waits for, in the words of `why()`. Start with `explanation`."""
