"""The engine's tests run in one kind of event loop, as talosmith does."""

from __future__ import annotations
