"""The browser: a small web server, stateless, and one page that asks it for everything.

`server.py` is the application, `models.py` what goes over the wire, `views.py` a game as the page draws
it, `sowing.py` the steps of a move, `manual.py` the rules in sentences, `thinking.py` agents and analysts
in a bounded pool, `guard.py` what is refused before anything is read, `refusals.py` what is said of wrong
requests. Needs the extra `serve`; the command is `kalah serve`.
"""
