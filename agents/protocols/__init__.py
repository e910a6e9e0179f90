"""Our agents as bots under the protocols of others; `docs/PROTOCOLS.md` says how each is spoken.

Kalah Game Protocol (`kgp.py`), Manchester engine (`mankalah.py`), UCI (`uci.py`), OpenSpiel (`openspiel.py`).
"""
