"""Registers of claims: one conditional write each, as a job's first act or a driver's seal."""

from __future__ import annotations

from collections.abc import Sequence

from npac.launch.claims import ClaimError, Holder
from tests.simulator.kernel import Actor, Kernel
from tests.simulator.schedule import Fault

REPLY = 0.03


class Registers:
    """All registers, as the store has them."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self.held: dict[str, Holder] = {}
        self.granted: list[str] = []
        self.down_until = 0.0

    def key(self, launch_id: str, n: int) -> str:
        """Name one register."""
        return f"claims/{launch_id}/{n}"

    def claim(self, url: str, job_id: str, instance: str) -> bool:
        """Do what a job does first; gives whether it may go on.

        A reply that is lost makes the job write again, and find its own id.
        """
        key = url.removeprefix("sim://")
        mine = Holder(False, job_id, instance)
        now = self.held.setdefault(key, mine)
        self._kernel.say(f"job {job_id}", f"writes {key}: {'holds it' if now == mine else f'{now} does'}")
        return now == mine


class SimClaims:
    """The registers as one driver sees them."""

    def __init__(self, kernel: Kernel, registers: Registers, actor: Actor) -> None:
        self._kernel, self._registers, self._actor = kernel, registers, actor

    def grant(self, launch_id: str, n: int) -> str:
        return f"sim://{self._registers.key(launch_id, n)}"

    def seal(self, launch_id: str, n: int) -> Holder:
        key = self._registers.key(launch_id, n)

        def effect(faults: Sequence[Fault]) -> Holder:
            self._demand(faults)
            now = self._registers.held.setdefault(key, Holder(True))
            self._kernel.say(self._actor.name, f"seals {key}: {'sealed' if now.sealed else now}")
            if any(fault.what == "claim-reply-lost" for fault in faults):
                self._kernel.say("registers", "their answer is lost")
                raise ClaimError("the register took the write, or did not: no answer")
            return now

        return self._kernel.call(self._actor, "claims.seal", REPLY, effect)

    def holder(self, launch_id: str, n: int) -> Holder | None:
        key = self._registers.key(launch_id, n)

        def effect(faults: Sequence[Fault]) -> Holder | None:
            self._demand(faults)
            return self._registers.held.get(key)

        return self._kernel.call(self._actor, "claims.holder", REPLY, effect)

    def _demand(self, faults: Sequence[Fault]) -> None:
        for fault in faults:
            if fault.what == "claim-down":
                self._registers.down_until = self._kernel.now + fault.amount
        if self._kernel.now < self._registers.down_until or any(f.what == "claim-error" for f in faults):
            self._kernel.say("registers", "do not answer")
            raise ClaimError("503", remedy="make the claim store reachable")
