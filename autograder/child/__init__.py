"""The process that student code runs in: its shell, its confinement, the protocol's far end."""
