"""The closed list of findings (docs/findings.md): a kind, how bad it is, and what it says."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "info"]

SEVERITY: dict[str, Severity] = {
    "torn_tail": "warning",
    "records_hidden_behind_a_tear": "error",
    "journal_behind_meta": "warning",
    "unreadable_frame": "warning",
    "unreadable_frame_holds_a_result": "warning",
    "unknown_record": "info",
    "zero_filled": "warning",
    "newer_version": "error",
    "bad_magic": "error",
    "short_preamble": "error",
    "empty_file": "error",
    "meta_unreadable": "error",
    "interactions_json_unreadable": "warning",
    "sidecar_unreadable": "warning",
    "files_disagree": "warning",
    "run_id_is_not_folder_name": "error",
    "link_refused": "error",
    "child_id_unsafe": "error",
    "finished_run_would_resume": "warning",
    "approval_not_carried_over": "warning",
    "prompt_stranded": "warning",
    "call_ids_not_unique": "warning",
    "fold_and_executions_disagree": "warning",
    "engine_will_not_mention_this_batch_to_the_model": "warning",
    "inline_batch_replayed": "warning",
    "inline_batch_reissued": "warning",
    "pending_batch_already_applied": "warning",
    "result_invented_by_a_restart": "warning",
    "first_batch_not_journaled": "warning",
    "journal_starts_late": "info",
    "regions_lost_on_reload": "warning",
    "fan_out_forgotten": "warning",
    "finished_worker_will_count_as_failed": "warning",
    "waits_for_paused_worker": "warning",
    "fan_out_is_paused": "warning",
    "parent_missing": "warning",
    "child_missing": "warning",
    "change_to_unknown_region": "warning",
    "restart_window_larger_than_last_seen": "warning",
    "chain_gap_unexplained": "warning",
    "window_not_named_by_chain": "warning",
    "blob_missing": "warning",
    "blob_altered": "warning",
    "artifact_without_a_call": "info",
    "final_output_missing": "warning",
    "attempt_without_usage": "warning",
    "cost_not_exact": "info",
    "request_id_reused": "info",
    "visit_id_unknown": "info",
    "stage_ledger_zeroed": "warning",
    "stage_complete_but_never_entered": "warning",
    "blueprint_digest_mismatch": "warning",
    "blueprint_script_missing": "warning",
    "agent_path_in_another_run": "warning",
    "secret_in_run": "info",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something damaged, contradictory, lost or suspicious."""

    kind: str
    """A key of `SEVERITY`."""
    sentence: str
    """Raw text; surfaces mask and escape it."""
    file: str | None = None
    """Name inside the run."""
    offset: int | None = None
    """Byte offset of the frame's length prefix in the journal."""
    engine_does: str = ""
    """What the engine will do about it, where that is known."""

    @property
    def severity(self) -> Severity:
        return SEVERITY[self.kind]

    def __str__(self) -> str:
        return f"{self.kind}: {self.sentence}"
