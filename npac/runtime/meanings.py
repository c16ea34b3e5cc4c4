"""What each code of a blocked run means: what npac cannot know, and what it has left undone because of it."""

from __future__ import annotations

MEANINGS = {
    "CANCELLATION_UNVERIFIED": (
        "The engine was asked to end the job and has not shown that it did, so it may still run; nothing "
        "that could meet it is started before it is seen to have ended."
    ),
    "CLAIM_UNKNOWN": (
        "Several jobs may have come of one launch, and only the register that they claim tells which of them "
        "runs the step; it could not be read, and no job was taken for the right one."
    ),
    "DECISION_CHANGED": (
        "A decision counts only as the step wrote it. What is there now is something else, so the gate has "
        "decided nothing."
    ),
    "DECISION_NOT_WRITTEN": (
        "No step on the path that was taken has written the decision that this gate reads, and none is ever "
        "assumed."
    ),
    "ENGINE_MOVED": (
        "The engine that answers is not the one on which jobs of this run are under way, so that it does not "
        "show them says nothing about them; they were neither given up nor launched again."
    ),
    "ENGINE_SILENT": (
        "How the job is could not be seen for as long as --max-status-outage allows. It was left alone, and "
        "goes on if its engine does."
    ),
    "ENGINE_UNREACHABLE": (
        "No byte of the launch left this machine, so there is no job of it, and launching it later is safe."
    ),
    "GPU_HOURS_SPENT": "The bound is looked at before each launch; what ran was not ended by it.",
    "JOB_FOREIGN": (
        "The engine has given the job's id to another job. That one is not this run's: it was not cancelled, "
        "and its end is not taken for that of the step."
    ),
    "JOB_GONE": (
        "A job that is missing from a good answer has neither succeeded nor failed; whether its step did its "
        "work is not known, so it is not run again by itself."
    ),
    "LAUNCH_LOST": (
        "Each of these POSTs is proven to have made no job that could run the step, so nothing of it runs; "
        "more of them would hardly fare better."
    ),
    "LAUNCH_UNDECIDED": (
        "Whether the last launch has made a job, or will, could not be proven in time. A second one could "
        "make a second job, so nothing was launched, and nothing was cancelled."
    ),
    "LAUNCH_UNRECORDED": (
        "An intent is on disk before every launch. A job without one means that the log was cut or copied "
        "while the run went on elsewhere."
    ),
    "MAX_WAIT": (
        "The time that one attempt may take was over, and --on-timeout detach leaves the job to be taken up "
        "by a later driver."
    ),
    "OUTPUT_LOST": (
        "What is lost cannot be made again alone: later waves were made from what it was, and with another "
        "version of it they would not fit."
    ),
    "OUTPUT_TOUCHED": (
        "The step was ended by its machine, not by itself, and had begun to write. Another attempt would "
        "overwrite that, which takes a person's word."
    ),
    "SECRETS_MISSING": (
        "Values of secrets are stored nowhere, so each driver takes them from its own environment, and these "
        "are not in it. Nothing was launched without them."
    ),
    "STORE_UNAVAILABLE": (
        "A store that does not answer has not said that something is absent or unchanged, so nothing was "
        "decided from it."
    ),
    "STORE_UNUSABLE": (
        "The store refuses what is asked of it, and would again; that does not prove that a thing is absent."
    ),
}
"""By code; each is one or two sentences."""
