"""Which databases each test module runs on.

Whatever issues SQL of its own, takes locks or races runs on all three databases. The modules below
test rules that stand above the statements, which other tests run on every database: they take
SQLite and one server, always the same one. A test that says something about some databases only
names them by `@pytest.mark.databases`, and runs on these wherever it stands.
"""

from __future__ import annotations

import os

ALL = ("sqlite", "postgresql", "mysql")


def wanted() -> tuple[str, ...]:
    """Return the databases to run on, which `make quick` names; the soak sets them late."""
    return tuple(os.environ.get("GENEVA_TEST_DATABASES", ",".join(ALL)).split(","))


_AND_POSTGRESQL = """
    cli/test_apps.py cli/test_batches.py cli/test_bench.py cli/test_commanding.py
    cli/test_listing.py
    drive/approvals/test_events.py drive/approvals/test_holding_decisions.py
    drive/approvals/test_late_decisions.py drive/approvals/test_votes.py
    drive/approvals/test_waiting_states.py
    drive/test_async_forms.py drive/test_ends.py drive/test_events.py drive/test_graph_views.py
    drive/test_logging.py drive/test_manual_completion.py drive/test_settings.py
    engine/approvals/test_bodies.py engine/approvals/test_forms.py
    engine/approvals/test_pause_and_resume.py engine/approvals/test_waiting_for_decisions.py
    engine/batches/test_counts.py
    engine/test_ancestry.py engine/test_async_loops.py engine/test_branches.py
    engine/test_changed_definitions.py engine/test_children_in_chains.py engine/test_conditions.py
    engine/test_cursors.py engine/test_exception_policies.py engine/test_flow_control.py
    engine/test_graph_partitions.py engine/test_interrupting.py
    engine/test_interrupts.py
    engine/test_graph_endings.py engine/test_graph_regressions.py engine/test_healing.py
    engine/test_hooks.py engine/test_item_errors.py engine/test_kept_loops.py
    engine/test_loop_timeouts.py engine/test_rewinding.py engine/test_scheduling_unknown_jobs.py
    engine/test_throttling.py engine/test_typed_context.py engine/test_unreadable_cursors.py
    engine/documents/test_step_types.py engine/test_waits.py
    examples/test_fastapi_orders.py scenarios/test_storm_ledger.py
    testing/test_assertions.py testing/test_crashing.py testing/test_decisions.py
    testing/test_resumable_helpers.py
    web/test_approvals.py web/test_bulk.py web/test_events.py web/test_generated_requests.py
    web/test_hostile_input.py web/test_main_story.py web/test_stream.py
"""

_AND_MYSQL = """
    cli/test_checking.py cli/test_doctor.py cli/test_graphs.py cli/test_history.py
    cli/test_showing.py
    drive/approvals/test_pausing.py drive/approvals/test_reassignment.py
    drive/approvals/test_records.py drive/approvals/test_step_executions.py
    drive/test_commands.py drive/test_graph_events.py drive/test_handles.py drive/test_why.py
    drive/test_resetting.py drive/test_workflow_results.py
    engine/approvals/test_changed_classes.py engine/approvals/test_conditions.py
    engine/approvals/test_held_decisions.py
    engine/approvals/test_rejections.py engine/approvals/test_terms.py
    engine/test_async_functions.py engine/test_backing_off.py
    engine/test_blocked_event_loop.py engine/test_context.py engine/test_empty_pages.py
    engine/test_exceptions.py engine/test_freezing.py engine/test_graph_retries.py
    engine/test_graphs.py engine/test_healing_into_chains.py engine/test_job_options.py
    engine/test_leaving_loops.py engine/test_moments.py engine/test_progress.py
    engine/test_reattempt_limits.py
    engine/test_resumable_steps.py engine/test_templates.py engine/test_timeouts.py
    engine/test_unstorable_cursors.py engine/test_wrapped_async_bodies.py
    engine/documents/test_document_branches.py engine/documents/test_document_commands.py
    parity/test_feature_parity.py
    testing/test_bare_instances.py testing/test_draining.py testing/test_speedrunning.py
    web/test_executions.py web/test_operating.py
"""

ONE_SERVER = {
    **dict.fromkeys(_AND_POSTGRESQL.split(), ("sqlite", "postgresql")),
    **dict.fromkeys(_AND_MYSQL.split(), ("sqlite", "mysql")),
}
