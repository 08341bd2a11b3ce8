"""The engine's side of graphs: from nodes that are done to those that may run; commands on them."""
