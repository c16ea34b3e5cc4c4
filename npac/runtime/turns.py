"""Turns that a run takes by order: another program for the rest of it, or back to an earlier wave."""

from __future__ import annotations

import copy

from npac.ir.canonical import digest_bytes, program_bytes
from npac.ir.program import Program
from npac.runtime import admission, outputs
from npac.runtime import events as ev
from npac.runtime.amending import Amend, Consequences, consequences
from npac.runtime.fold_turns import set_aside
from npac.runtime.rewinding import Rewind, rewind
from npac.runtime.session import Session
from npac.runtime.view import RunView


def turn(
    view: RunView, program: Program, amend: Amend | None, rerun_from: str
) -> tuple[Consequences | None, Rewind | None]:
    """Say what an amendment and a rerun do to a run.  Raises :class:`Refused` where they may not be."""
    back = rewind(view, program, rerun_from) if rerun_from else None
    if back is not None and amend is not None:
        # What is set aside may change.
        view = copy.deepcopy(view)
        set_aside(view, back.set_aside, back.unchecked)
    return None if amend is None else consequences(view, program, amend), back


def put_on_record(session: Session, program: Program, amend: Amend | None, rerun_from: str) -> None:
    """Put on record that the run is amended, or goes back; from then on that is so for every driver."""
    view, ledger = session.view, session.ledger
    done, back = turn(view, program, amend, rerun_from)
    if back is not None:
        session.append(
            ev.RUN_REWOUND,
            {
                "node": back.node,
                "set_aside": list(back.set_aside),
                "unchecked": list(back.unchecked),
                "reason": f"it runs again, and {len(back.set_aside) - 1} that followed",
            },
        )
    if amend is not None and done is not None:
        after = program_bytes(amend.program)
        blobs = {"program": after, **amend.blobs}
        written = outputs.of_program(amend.program, view.run_id)
        after_digest = digest_bytes(after)
        session.append(
            ev.RUN_AMENDED,
            {
                "before": view.blobs["program"],
                "after": after_digest,
                "blobs": {f"{name}_blob": ledger.put_blob(data) for name, data in blobs.items()},
                "outputs_blob": ledger.put_blob(ev.encode({"outputs": written})),
                "secrets": list(admission.needed_secrets(amend.program)),
                "target": amend.target,
                "set_aside": list(done.set_aside),
                "untriggered": [list(each) for each in done.untriggered],
                "unchecked": list(done.unchecked),
                "edges": done.edges,
                "retry": view.ended,
                "reason": f"program {view.blobs['program'][:12]} -> {after_digest[:12]}",
                **ev.told(amend.changes, amend.text, ledger.put_blob),
            },
        )
        session.world.progress.note(f"run {view.run_id} goes on with another program:\n{amend.text.rstrip()}")
