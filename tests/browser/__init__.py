"""The board in a real Chromium. `make interop` runs these; `.ci/interop` installs what they need."""
