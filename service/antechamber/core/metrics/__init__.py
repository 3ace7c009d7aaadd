"""Figures of running processes: their names and labels, how they are counted, and how several processes are joined."""
