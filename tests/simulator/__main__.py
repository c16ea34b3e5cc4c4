"""Tell the story of one schedule: ``python -m tests.simulator 'one/plain/3: engine.launch#1 reply-lost'``."""

from __future__ import annotations

import sys

from tests.simulator.schedule import Schedule
from tests.simulator.world import play

if __name__ == "__main__":
    outcome = play(Schedule.parse(" ".join(sys.argv[1:])), tell=True)
    print("\n".join(map(str, outcome.story)))
    print(f"{outcome.state} {outcome.code}; {len(outcome.violations)} violations")
    sys.exit(1 if outcome.violations else 0)
