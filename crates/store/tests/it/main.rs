//! What every journal must do, run unchanged on SQLite in memory, on a SQLite file and on PostgreSQL.

mod aging_out;
mod aside;
mod audit;
mod backup;
mod based;
mod checkpoints;
mod claims;
mod cluster;
mod commands;
mod durability;
mod erasing;
mod fixture;
mod old_format;
mod order;
mod paused;
mod people;
mod private;
mod queries;
mod rounds;
mod searching;
mod secrets;
mod settle;
mod unreadable;
mod went_back;

macro_rules! conformance {
    ($($module:ident { $($case:ident,)* })*) => {
        conformance!(@on memory, $($module { $($case,)* })*);
        conformance!(@on file, $($module { $($case,)* })*);
        conformance!(@on postgres, $($module { $($case,)* })*);
    };
    (@on $database:ident, $($module:ident { $($case:ident,)* })*) => {
        mod $database {
            $(mod $module {
                $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let fixture = crate::fixture::Fixture::$database().await;
                    crate::$module::$case(&fixture).await;
                    fixture.end().await;
                })*
            })*
        }
    };
}

conformance! {
    order {
        seq_has_no_gap_under_many_appenders,
        two_instances_append_to_the_same_sessions,
        calls_are_decided_in_their_order,
        replay_from_any_seq_is_the_journal,
        time_never_runs_backwards,
    }
    based {
        what_was_judged_before_a_rule_changed_is_rejected,
        a_rule_of_another_instance_counts_from_its_commit,
    }
    settle {
        one_of_a_hundred_answers_wins,
        two_instances_have_one_winner,
        what_another_instance_wrote_is_what_counts,
        the_same_key_gets_the_same_result,
        asking_twice_is_one_ask,
        an_ask_is_answered_in_its_own_session_only,
        an_ask_id_of_another_session_cannot_be_taken,
        what_is_refused_leaves_no_trace,
    }
    queries {
        the_inbox_comes_in_pages,
        an_ask_comes_with_its_prompt_and_its_answer,
        sessions_are_found_by_what_their_agents_do,
        sessions_come_in_pages_without_the_owners_journal,
        a_session_that_changes_is_listed_once,
        deadlines_are_found_in_time,
        what_waits_is_counted_by_age,
        what_needs_looking_after_is_found,
        a_head_does_not_grow_with_its_asks,
        what_is_on_its_way_to_an_agent_is_found,
        every_query_has_its_index,
    }
    durability {
        a_poisoned_item_fails_alone,
        a_panic_fails_its_item_alone,
        a_missing_ask_stops_nobody,
        a_panic_of_the_database_ends_no_writer,
        a_writer_that_hangs_is_not_ready,
        a_lost_reply_neither_loses_nor_doubles,
        a_lost_opening_opens_once,
        a_broken_connection_neither_loses_nor_doubles,
        everything_is_there_after_reopening,
        a_read_shows_a_state_of_another_version_and_writes_nothing,
        a_state_of_an_older_version_is_folded_when_it_is_written,
        many_come_for_one_session_of_an_older_version,
        a_state_of_a_newer_version_is_folded_from_the_events,
        what_only_a_newer_version_can_read_is_left_to_it,
        bytes_survive_as_they_were,
        what_is_too_large_is_refused_alone,
        closing_writes_what_is_queued,
    }
    aside {
        a_session_is_called_by_its_first_message,
        archived_sessions_leave_the_lists,
        an_erased_session_stays_where_it_is,
        a_snoozed_ask_is_due_when_its_time_comes,
    }
    claims {
        one_gateway_hosts_a_file,
    }
    audit {
        a_changed_byte_is_found,
        a_dropped_line_is_found,
        a_dropped_tail_is_found,
        a_swapped_pair_is_found,
        a_changed_state_is_found,
        a_changed_ask_is_found,
        a_changed_opening_is_found,
    }
    checkpoints {
        what_changed_is_signed_once,
        a_cut_tail_is_found,
        a_rewritten_chain_is_found,
        a_tampered_checkpoint_is_found,
        a_kept_copy_finds_what_was_taken,
        two_nodes_sign_one_journal,
        an_export_can_be_checked_without_a_database,
    }
    rounds {
        a_session_cannot_go_with_its_checkpoints,
        a_tampered_round_is_found,
        a_killed_notary_completes_its_file_by_one_round,
        many_checkpoints_are_several_rounds,
        nodes_that_sign_at_once_list_each_checkpoint_once,
    }
    erasing {
        only_what_has_ended_is_erased,
        an_erased_session_still_holds,
        an_erased_session_outlives_its_version,
        erasing_without_the_key_is_found,
        others_write_while_a_session_is_erased,
        an_erasure_that_was_cut_off_goes_on,
        a_mark_that_nobody_signed_is_found,
    }
    aging_out {
        what_went_to_a_file_comes_back,
        a_file_without_its_name_takes_nothing_away,
        what_somebody_erased_does_not_come_back,
        an_erasure_leaves_nothing_of_what_was_brought_back_in_part,
        an_erasure_leaves_nothing_while_another_process_brings_it_back,
    }
    old_format {
        compacted_text_is_refused,
    }
    searching {
        what_people_look_for_is_found,
        the_newest_are_found_first_in_pages,
        odd_queries_find_nothing_and_break_nothing,
        what_is_odd_is_kept_and_found,
        nothing_is_found_of_an_erased_session,
        journals_of_before_are_found_once_they_are_folded,
        what_was_changed_beside_the_journal_is_found_out,
        decisions_come_in_pages_the_newest_first,
    }
    secrets {
        a_secret_is_kept_until_it_is_dropped,
        secrets_go_with_an_erased_session,
    }
    people {
        a_row_without_the_key_lets_nobody_in,
        a_passkey_without_the_key_confirms_nothing,
        changes_of_one_person_at_once_are_all_written,
        a_device_is_exchanged_once,
        a_confirmation_counts_once,
        a_name_is_one_persons_and_stays_theirs,
        a_device_is_found_until_it_is_revoked,
        changes_are_found_by_their_revision,
        a_database_of_the_version_before_opens,
        a_link_lets_one_of_twenty_in,
        an_old_link_lets_nobody_in,
        a_ticket_opens_one_of_twenty,
        an_old_ticket_opens_nothing,
    }
    unreadable {
        an_event_is_told_in_its_place,
        an_ask_is_left_out_of_lists,
        a_session_is_left_out_of_lists,
        a_session_of_an_older_version_is_left_alone,
        a_deadline_of_another_ask_is_kept,
    }
}
