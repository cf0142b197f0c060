"""What a machine boots that is only to be there: it halts at once, and costs the host nothing."""

# A sector that a BIOS starts: interrupts off, halt, for ever.
HALTS = b"\xfa\xf4\xeb\xfc".ljust(510, b"\0") + b"\x55\xaa"
