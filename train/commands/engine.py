"""`kalah engine`: an agent as a bot under a protocol of others (`agents/protocols/`)."""

import argparse
import io
import os
import sys
import time
from typing import TextIO

from kalah_env.specs import agent_names
from train.commands import add_seed, whole

HELP = "Play as a bot: kgp connects to a server; mankalah and uci talk on standard input and output."
EXAMPLE = "kalah engine --protocol kgp --url tcp://localhost:2671 --name my-bot"
PROTOCOLS = ("kgp", "mankalah", "uci")
AGENTS = {"kgp": "bot:memory=64", "mankalah": "bot", "uci": "bot"}  # kgp: several at once, in 1 GiB
MS = {"kgp": 2000, "mankalah": 5000, "uci": 1000}
_KGP_ONLY = ("url", "token", "name", "authors", "mode", "problems", "tries", "verbose")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    times = ", ".join(f"{name} {ms}" for name, ms in MS.items())
    parser.add_argument("--protocol", required=True, choices=PROTOCOLS, help="what is spoken")
    names = agent_names()
    usual = "bot" if "bot" in names else "bundled"
    parser.add_argument(
        "--agent", metavar="AGENT", help=f"an agent's text ({usual}); agents: {', '.join(names)}"
    )
    parser.add_argument(
        "--ms",
        type=whole(1, 10**7),
        metavar="N",
        help=f"milliseconds a move for agents that take ms= where their text has none ({times})",
    )
    add_seed(parser)
    kgp = parser.add_argument_group("kgp")
    kgp.add_argument("--url", help="tcp://HOST:PORT, ws://HOST/PATH or wss://... (KGP_HOST and KGP_PORT)")
    kgp.add_argument("--token", metavar="TEXT", help="any secret, the bot's identity there (TOKEN)")
    kgp.add_argument("--name", metavar="TEXT", help="the bot's name there (kalah-env)")
    kgp.add_argument("--authors", metavar="TEXT", help="its authors")
    kgp.add_argument("--mode", choices=("freeplay", "verify"), help="play, or the server's test of the rules")
    kgp.add_argument("--problems", type=whole(1), metavar="N", help="end `--mode verify` after N problems")
    kgp.add_argument(
        "--tries", type=whole(1), metavar="N", help="give up after N failed connections in a row (10)"
    )
    kgp.add_argument("--verbose", action="store_true", default=None, help="show the lines sent and received")


def run(args: argparse.Namespace) -> int:
    """Play until the other side ends it."""
    from kalah_env.errors import KalahError

    given = [f"--{name}" for name in _KGP_ONLY if getattr(args, name) is not None]
    if args.protocol != "kgp" and given:
        raise KalahError(
            f"{given[0]} is for --protocol kgp; {args.protocol} talks on standard input and output."
        )
    if args.problems is not None and args.mode != "verify":
        raise KalahError("--problems is for --mode verify; give that, too.")
    args.agent = args.agent or AGENTS[args.protocol]
    seconds = (args.ms or MS[args.protocol]) / 1000
    return {"kgp": _kgp, "mankalah": _mankalah, "uci": _uci}[args.protocol](args, seconds)


def _input() -> TextIO:
    """Return standard input, in which no byte is an error of its own."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace")
    return sys.stdin


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _kgp(args: argparse.Namespace, seconds: float) -> int:
    from agents.protocols.kgp import Client, Settings, server_url
    from agents.protocols.kgp_games import warm_up
    from agents.protocols.minds import Minds, own_seconds

    url = server_url(args.url, os.environ)
    minds = Minds(args.agent, seed=args.seed)
    settings = Settings(
        url=url,
        mode=args.mode or "freeplay",
        token=args.token or os.environ.get("TOKEN") or None,
        name=args.name or "kalah-env",
        authors=args.authors,
        description=f"kalah-env, agent {minds.first.spec}",
        seconds=own_seconds(args.agent, minds.first) or seconds,
        problems=args.problems or 0,
        tries=10 if args.tries is None else args.tries,
        verbose=bool(args.verbose),
    )
    warm_up(minds)
    return Client(settings, minds, _say).run()


def _mankalah(args: argparse.Namespace, seconds: float) -> int:
    from agents.base import make_agent
    from agents.protocols import mankalah
    from agents.protocols.minds import own_seconds, warm

    began = time.monotonic()
    agent = make_agent(args.agent, args.seed)
    seconds = own_seconds(args.agent, agent) or seconds
    warm(agent, [mankalah.RULES._replace(pits=3, seeds=2), mankalah.RULES])
    return mankalah.play(agent, _input(), sys.stdout, seconds, began)


def _uci(args: argparse.Namespace, seconds: float) -> int:
    from agents.protocols.uci import Engine

    return Engine(args.agent, seconds, sys.stdout, seed=args.seed).run(_input())
