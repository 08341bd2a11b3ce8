"""The workloads: each takes a system at work and gives figures by measure."""
