"""The rules of OpenRLHF."""
