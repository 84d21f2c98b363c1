"""Faults that systems of this kind have had, each shown not to be here.

The list names, for each numbered case, the tests that hold it off, wherever they are;
`test_every_case_of_the_list_is_held_off` checks that they exist.

   1 an interrupt leaves a call without its result
       acceptance/test_cancellation.py::test_one_signal_with_eight_at_work_leaves_nothing_and_resume_completes
       acceptance/test_context_faults.py::test_an_interrupted_call_keeps_its_result_through_compactions
   2 a cancellation of one tool takes its siblings along
       acceptance/test_context_faults.py::test_a_cancelled_sibling_costs_nothing_but_itself_through_compactions
       tools/test_executor.py::test_whatever_a_tool_raises_fails_that_call_only
       tools/test_executor.py::test_cancelling_the_task_itself_propagates_too
       acceptance/test_failures.py::test_a_tool_that_breaks_is_one_failed_call
   3 of three subagent calls in one turn, one result came
       acceptance/test_context_faults.py::test_three_sent_in_one_turn_have_three_results_beside_a_compaction
       test_three_calls_of_one_turn_have_three_results_in_their_order
   4 text of a retry behind a call of the broken try
       acceptance/test_context_faults.py::test_half_answers_and_repeated_ids_stay_legal_through_compactions
       models/test_anthropic.py::test_text_of_a_broken_try_is_never_joined_with_the_next
   5 results of one turn in several messages
       acceptance/test_context_faults.py::test_half_answers_and_repeated_ids_stay_legal_through_compactions
       test_three_calls_of_one_turn_have_three_results_in_their_order
       models/test_shape.py::test_a_wrong_request_is_told
   6 one id twice; an error of the service that ends as a success
       acceptance/test_context_faults.py::test_half_answers_and_repeated_ids_stay_legal_through_compactions
       test_an_id_that_comes_twice_never_goes_out_twice
       test_a_run_that_the_service_refuses_fails
   7 thinking blocks changed on replay
       models/test_stream.py::test_interleaved_thinking_comes_back_byte_for_byte
       test_interleaved_thinking_goes_back_as_it_came
       acceptance/test_isolation.py::test_no_request_of_an_exploring_run_is_refused
   8 a call goes and the thinking beside it stays
       acceptance/test_context_faults.py::test_a_clear_changes_results_only_and_thinking_goes_whole
   9 a cut between thinking, its call and the result of an open turn
       context/test_cuts.py::test_a_cut_keeps_pairs_whole_and_roles_legal
       acceptance/test_context_faults.py::test_the_open_step_stays_whole_where_a_request_is_refused_as_too_long
  10 an empty text beside a call goes back
       test_an_empty_text_is_never_sent_back
  11 one empty text makes every later turn fail
       test_a_blank_objective_is_refused_before_a_run
       test_an_empty_tool_result_becomes_a_placeholder
       test_empty_findings_are_refused
  12 one picture that is too wide makes all requests refused
       tools/test_executor.py::test_a_picture_that_would_have_requests_refused_is_a_note
       tools/mcp/test_results.py::test_what_the_api_would_refuse_is_told_in_words
  13 a cut write is run with what had arrived
       test_a_cut_write_leaves_its_file_alone
       tools/test_writing.py::test_a_disk_that_refuses_leaves_everything_as_it_was
  14 the same cut call again and again
       test_cut_calls_are_named_get_more_room_and_end
  15 a call known to be cut is run
       test_of_two_calls_the_whole_one_runs_and_the_cut_one_does_not
  16 an answer that fills the window counts as a finished turn
       acceptance/test_context_faults.py::test_an_answer_that_fills_the_window_is_no_finished_turn
  17 a reply without any block ends the turn in silence
       test_a_reply_that_says_nothing_gets_one_nudge_and_then_fails
  18 a reply of thinking alone ends the work
       test_a_reply_that_says_nothing_gets_one_nudge_and_then_fails
  19 a cut between the results of one step
       context/test_cuts.py::test_a_cut_keeps_pairs_whole_and_roles_legal
  20 what cannot become smaller is compacted again and again
       context/test_ladder.py::test_a_futile_compaction_is_not_tried
       acceptance/test_context_faults.py::test_what_cannot_become_smaller_is_not_compacted_again_and_again
  21 an empty summary takes the place of the history
       acceptance/test_summaries.py::test_whatever_the_answer_the_run_goes_on_and_the_event_says_how
  22 a summary that times out leaves the run unusable
       acceptance/test_summaries.py::test_a_summary_that_takes_too_long_is_given_up
       acceptance/test_compactions_killed.py::test_killed_around_an_edit_the_same_bytes_leave_and_no_summary_is_paid_twice
  23 the size of before a compaction fires it again
       acceptance/test_context_faults.py::test_the_size_of_before_a_compaction_does_not_fire_it_again
  24 what arrives during a summary is lost
       acceptance/test_compactions.py::test_subagents_that_run_through_compactions_are_heard_of_exactly_once
  25 empty answers cut by length are compacted and asked again for ever
       acceptance/test_context_faults.py::test_empty_answers_cut_by_length_are_bounded_and_no_reason_to_compact
  26 after many compactions the rules are broken
       acceptance/test_compactions.py::test_after_ten_compactions_objective_and_constraints_are_there_word_for_word
  27 a prohibition loses its force in a summary
       acceptance/test_compactions.py::test_a_must_not_still_binds_where_a_summary_weakens_it
       acceptance/test_compactions.py::test_a_correction_by_a_person_survives_ten_compactions
  28 a subagent that ends after a compaction is never heard of
       acceptance/test_compactions.py::test_subagents_that_run_through_compactions_are_heard_of_exactly_once
  29 the ids of running subagents are lost in a summary
       acceptance/test_compactions.py::test_subagents_that_run_through_compactions_are_heard_of_exactly_once
  30 Chinese is counted too short, and all history goes
       acceptance/test_context_faults.py::test_chinese_is_counted_as_what_it_is_and_a_tail_stays
  31 usage of the end overwrites that of the start
       models/test_stream.py::test_usage_of_the_end_replaces_only_what_it_names
  32 cache reads are counted as the largest turn
       models/test_stream.py::test_cache_reads_of_several_replies_add_up
       test_cache_reads_of_a_run_add_up
  33 prompt and output are one token above the window
       agent/test_window.py::test_the_output_is_lowered_to_what_fits_and_stays_so
       acceptance/test_context_faults.py::test_a_prompt_one_token_too_long_costs_one_more_request
  34 all parallel subagents come back on the same beat, too early
       models/test_rate_limits.py::test_two_a_second_take_hardly_longer_than_the_limit_itself
       models/test_rate_limits.py::test_agents_that_met_a_limit_together_do_not_come_back_together
       acceptance/test_rate_limits.py::test_eight_behind_one_limit_all_end_and_nothing_leaves_too_early
  35 a told time as a date, negative, or garbage
       models/test_governor.py::test_retry_after_is_obeyed_in_all_its_forms
  36 failed calls are issued again without bound
       models/test_governor.py::test_tries_are_bounded_where_every_one_is_rejected
       acceptance/test_rate_limits.py::test_where_every_subagent_is_rejected_for_ever_tries_are_bounded
  37 an overload inside a stream of status 200 is not tried again
       models/test_anthropic.py::test_an_overload_told_inside_the_stream_is_an_overload
       test_faults_of_the_wire_cost_a_retry_and_nothing_else
       acceptance/test_fault_matrix.py::test_what_is_no_answer_costs_a_retry_and_nothing_else
  38 a stream that closes inside a call
       models/test_stream.py::test_a_stream_without_its_end_is_no_reply
       test_faults_of_the_wire_cost_a_retry_and_nothing_else
       acceptance/test_fault_matrix.py::test_what_is_no_answer_costs_a_retry_and_nothing_else
  39 JSON of the retry glued to that of the broken try
       models/test_anthropic.py::test_only_the_second_try_counts_after_a_drop_inside_a_call
       models/test_odd_streams.py::test_a_second_message_inside_the_first_is_never_glued_to_it
       runtime/test_faults.py::test_half_a_call_is_never_glued_to_the_next_try
  40 pings keep a call alive for ever
       models/test_anthropic.py::test_pings_for_ever_do_not_hold_a_call_beyond_its_limit
       models/test_anthropic.py::test_pings_do_not_break_a_silence
       models/test_wire.py::test_what_says_nothing_is_silence
       models/test_wire.py::test_a_trickle_of_tokens_ends_with_the_time_of_the_call
  41 a lead waits for ever for one that never answers
       acceptance/test_failures.py::test_one_that_alone_gets_no_answer_is_given_up
       acceptance/test_hangs.py::test_nine_of_which_one_hangs_end_with_eight_findings_and_one_named_failure
       runtime/test_stalls.py::test_one_that_stalls_costs_its_siblings_nothing
  42 the lead is stopped, and its subagents go on spending
       acceptance/test_hangs.py::test_after_an_interrupt_three_in_long_calls_ask_for_nothing_more
       acceptance/test_cancellation.py::test_one_signal_with_eight_at_work_leaves_nothing_and_resume_completes
  43 the run is cancelled, and its tools go on
       acceptance/test_hangs.py::test_after_an_interrupt_the_tools_of_subagents_work_on_nothing
       acceptance/test_hangs.py::test_one_that_is_cancelled_has_no_tool_at_work_any_more
       tools/test_executor.py::test_a_real_cancellation_ends_the_tools_and_propagates
  44 a cancellation out of a client takes the process along
       tools/mcp/test_link.py::test_a_cancellation_that_nobody_asked_for_is_a_failed_call
       tools/test_executor.py::test_whatever_a_tool_raises_fails_that_call_only
  45 a subagent that may delegate starts its own kind without end
       acceptance/test_depth.py::test_one_that_always_delegates_is_bounded_by_depth
       test_a_profile_that_may_send_its_own_kind_is_told_of_and_bounded
       spec/test_delegating.py::test_a_profile_that_may_send_its_own_kind_is_named_with_what_bounds_it
  46 two tasks of one title share a transcript
       acceptance/test_briefs.py::test_same_title_and_other_questions_are_two_subagents
  47 a failing subagent cancels its siblings
       test_a_fault_in_the_programs_own_code_costs_its_siblings_nothing
       acceptance/test_failures.py::test_two_of_five_fail_and_three_findings_arrive
       acceptance/test_failures.py::test_a_cancellation_from_within_a_subagent_is_its_own_failure
  48 a child that ignores the request to end
       tools/test_shell.py::test_a_child_that_ignores_term_and_holds_the_output_is_ended
       security/test_sandbox.py::test_time_is_up_for_what_ignores_it_too
  49 a final text of 200 KB floods the parent
       acceptance/test_bounds.py::test_a_final_text_of_200_kb_arrives_bounded_and_can_be_opened
  50 the size limit holds for the lead alone
       acceptance/test_bounds.py::test_eight_megabytes_from_a_tool_are_clipped_in_every_agent
  51 results of servers are not clipped
       tools/mcp/test_hostile.py::test_a_line_of_megabytes_is_clipped_like_any_other
  52 a picture comes as text, too
       tools/mcp/test_results.py::test_an_image_is_an_image_once_and_never_text
  53 a pointer that its agent cannot open
       acceptance/test_references.py::test_a_clipped_result_is_opened_by_its_own_agent_in_a_narrow_scope
       acceptance/test_references.py::test_nothing_but_the_runs_own_store_is_opened
  54 names of spilled results collide
       acceptance/test_bounds.py::test_first_clipped_results_of_two_subagents_do_not_collide
       test_first_clipped_results_of_two_runs_do_not_collide
  55 asking again for what was cleared counts as a loop
       acceptance/test_context_faults.py::test_asking_again_for_what_was_cleared_is_no_repeat
  56 a dummy given under exhaustion is taken as real
       test_a_dummy_after_refusals_is_marked_and_not_done
       test_a_dummy_after_invalid_findings_is_not_taken_as_real
       subagents/test_intake.py::test_a_dummy_insisted_on_is_failed_and_marked
  57 the work is thrown away where the form is wrong
       test_useful_words_of_invalid_findings_are_kept_and_marked
  58 "completed" beside "invalid"
       test_there_is_one_state_only_and_it_is_not_done
       subagents/test_intake.py::test_one_state_only_and_it_is_never_complete_with_faults
  59 half a character makes the log unreadable
       test_half_a_character_reaches_neither_log_nor_wire
       tools/test_entry.py::test_a_cut_emoji_or_flag_reaches_neither_log_nor_wire
       context/test_clipping.py::test_no_cut_falls_inside_one_visible_character
       tools/mcp/test_hostile.py::test_what_reaches_the_log_is_whole_characters
  60 output that is no text ends the work
       tools/test_shell.py::test_output_that_is_no_text_is_replaced
  61 the search limit counts matches, not their width
       tools/test_search.py::test_one_line_of_2_mb_shows_the_match_itself
       tools/test_files.py::test_a_line_of_100_kb_is_cut_and_the_rest_is_two_calls_away
  62 colour codes reach the model
       tools/test_entry.py::test_terminal_codes_are_stripped_and_the_last_state_stays
       test_terminal_codes_of_a_tool_reach_no_agent
       tools/test_shell.py::test_terminal_codes_go_and_a_redrawn_line_has_its_last_state
  63 a link leads out of the root
       security/test_workspace.py::test_links_out_are_refused_and_links_inside_work
       tools/test_files.py::test_no_link_leads_out_and_one_that_stays_inside_works
       test_a_link_out_of_the_workspace_is_refused_to_every_agent
       security/test_escapes.py::test_no_path_leads_out
       security/test_escapes.py::test_no_race_of_links_leads_out
  64 names that a file system refuses
       store/test_layout.py::test_an_agent_folder_has_a_safe_name_in_its_place
       test_a_profile_of_any_name_is_copied_under_a_safe_one
  65 a record glued to a torn one
       store/test_eventlog.py::test_cut_at_any_byte_every_whole_record_stays_and_new_ones_are_readable
       runtime/test_cuts.py::test_cut_at_any_byte_all_whole_records_stay_and_new_ones_are_readable
       runtime/test_cuts.py::test_cut_at_a_byte_the_run_goes_on_to_the_same_report
  66 NUL bytes in the middle hide what follows
       store/test_eventlog.py::test_damage_costs_the_damaged_record_and_is_announced
       runtime/test_cuts.py::test_a_block_of_nul_bytes_inside_costs_no_work_and_is_told
  67 a crash inside a character makes the log unreadable
       runtime/test_cuts.py::test_cut_inside_a_character_or_beside_a_line_end_only_that_record_is_lost
  68 the whole step in flight is run again, with its effects
       acceptance/test_kill_cases.py::test_of_a_step_that_is_killed_only_reads_that_had_not_ended_run_again
       acceptance/test_kill.py::test_an_effect_is_never_made_twice_unless_the_model_was_told
  69 a failing step is made again from its start
       acceptance/test_kill_cases.py::test_a_step_in_which_a_call_broke_is_not_made_again
  70 a resumed run has lost its servers and tools
       acceptance/test_real_work.py::test_a_server_that_is_gone_on_resume_is_left_out
       acceptance/test_own_tools.py::test_what_is_gone_on_resume_says_so_and_the_run_goes_on
  71 the records of running subagents are lost
       acceptance/test_kill_cases.py::test_of_three_subagents_the_finished_one_is_used_and_two_go_on
       acceptance/test_kill.py::test_killed_at_any_moment_a_run_ends_the_same_and_pays_once
  72 a write from what was read before erases what others saved
       acceptance/test_memory_writers.py::test_two_processes_write_and_nothing_of_either_is_lost
       acceptance/test_memory_writers.py::test_two_processes_add_fifty_entries_each_while_it_is_tidied
  73 a stale copy is written over a file that was edited by hand
       acceptance/test_memory_writers.py::test_an_edit_by_hand_after_the_view_survives_a_replacement
       acceptance/test_memory_writers.py::test_an_insert_by_lines_of_before_is_refused
       acceptance/test_memory_writers.py::test_a_file_of_before_is_not_written_over_a_larger_one
       acceptance/test_memory_writers.py::test_an_edit_by_hand_at_any_moment_of_a_write_is_kept
  74 of seven that remember at once two facts are left
       acceptance/test_memory_writers.py::test_seven_subagents_remember_at_once_and_seven_entries_are_there
       acceptance/test_memory_writers.py::test_seven_subagents_add_to_one_file_at_once
  75 two servers offer one name
       tools/mcp/test_names.py::test_a_name_of_two_servers_gets_the_server_before_it
       tools/mcp/test_names.py::test_a_name_of_ours_stays_ours
  76 a server dies in a call
       tools/mcp/test_hostile.py::test_a_server_that_dies_is_started_once_more
       tools/mcp/test_http.py::test_a_server_that_comes_back_is_found_again_once
  77 a call that never returns
       tools/mcp/test_hostile.py::test_a_call_has_its_limit_and_the_server_goes_on
  78 a server prints to its protocol
       tools/mcp/test_hostile.py::test_a_banner_is_read_over
  79 names that the service refuses
       tools/mcp/test_names.py::test_all_names_are_legal_unique_and_free_whatever_comes_first
       tools/mcp/test_servers.py::test_a_mapped_name_reaches_the_tool_it_stands_for
  80 a made-up tool raises
       tools/test_executor.py::test_a_tool_that_is_not_there_gives_the_list_of_names
       test_a_made_up_tool_is_answered_and_the_work_goes_on
  81 a wrong tool name ends the program
       tools/test_executor.py::test_a_slip_in_a_name_gets_the_right_one
       test_a_made_up_tool_is_answered_and_the_work_goes_on
  82 tools in another order from turn to turn
       tools/mcp/test_servers.py::test_definitions_are_the_same_whoever_is_first
       tools/mcp/test_names.py::test_names_are_the_same_in_every_process
       tools/test_registry.py::test_definitions_do_not_change_with_the_hash_seed
  84 a synchronous tool holds up the loop
       tools/test_executor.py::test_sync_tools_run_side_by_side_and_leave_the_loop_free
       acceptance/test_concurrency.py::test_sync_tools_of_all_subagents_run_side_by_side
  87 an unquoted colon makes an agent vanish
       spec/test_profiles.py::test_an_unquoted_colon_is_named_with_the_way_out
  88 one bad file makes the folder unloadable
       spec/test_profiles.py::test_one_broken_file_leaves_the_others_usable
  89 `end_turn` with a call in it
       models/test_stream.py::test_blocks_decide_where_end_turn_comes_with_a_call
       test_a_call_runs_though_the_reply_says_end_turn
       acceptance/test_fault_matrix.py::test_what_is_odd_but_right_costs_nothing
  91 a runs folder that cannot be written
       store/test_layout.py::test_a_read_only_runs_folder_is_refused
       test_a_file_in_the_place_of_the_runs_folder_costs_nothing
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from fake_endpoint import (
    FakeEndpoint,
    dropped,
    stream,
    stream_error,
    text,
    tool_use,
)
from pydantic import BaseModel
from run_bench import (
    OBJECTIVE,
    Ended,
    Prints,
    RunBench,
    brief,
    delegate,
    finish,
    item,
    last_results,
    played,
    submit,
)

from orchestrator.cli.main import main
from orchestrator.messages import Block, text_of, tool_calls
from orchestrator.models.anthropic import AnthropicModel
from orchestrator.models.base import ModelRequest, OnRetry, Reply, Usage
from orchestrator.models.governor import Governor
from orchestrator.testing import (
    FakeClock,
    ScriptedModel,
    Step,
    call,
    fail,
    reply,
    say,
    think,
)
from orchestrator.tools.base import Effects, ToolContext

TESTS = Path(__file__).resolve().parents[1]
CASES = (*range(1, 83), 84, 87, 88, 89, 91)
LINE = "A refund takes 14 days from the day the goods arrive."
QUOTE = item("A refund takes 14 days after arrival.", "refunds.md:1", LINE)
READ = call("read_file", path="refunds.md")
DONE = finish("It takes 14 days [refunds.md:1].")
WORK: list[Step] = [READ, submit(QUOTE)]


def listed() -> dict[int, list[str]]:
    """The tests of each case, as the list above has them."""
    found: dict[int, list[str]] = {}
    number = 0
    for line in (__doc__ or "").split("\n"):
        if match := re.fullmatch(r" {2,4}(\d+) .*", line):
            number = int(match[1])
            found[number] = []
        elif match := re.fullmatch(r" {7}((?:\S+::)?test_\w+)", line):
            found[number].append(match[1])
    return found


@pytest.mark.parametrize("case", CASES)
def test_every_case_of_the_list_is_held_off(case: int) -> None:
    tests = listed()[case]

    assert tests
    for name in tests:
        file, _, function = name.rpartition("::")
        source = (TESTS / file if file else Path(__file__)).read_text("utf-8")
        assert re.search(rf"^ *(?:async )?def {function}\(", source, re.MULTILINE), name


def test_the_list_has_no_case_twice_and_none_too_many() -> None:
    assert tuple(listed()) == CASES


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path, {"refunds.md": f"{LINE}\n"})


def blocks(request: ModelRequest) -> Iterator[Block]:
    for message in request.messages:
        yield from message["content"]


# ---- pairs of call and result --------------------------------------------------------


async def test_three_calls_of_one_turn_have_three_results_in_their_order(
    bench: RunBench,
) -> None:
    sent = [delegate(brief("Slow")), delegate(brief("Quick")), delegate(brief("Bad"))]
    ended = await bench.play(
        [sent, finish("It takes 14 days [a2#1].")],
        {
            "Slow": [READ, call("list_dir"), call("glob", pattern="*"), submit(QUOTE)],
            "Quick": WORK,
            "Bad": [fail("invalid", "refused by the service")],
        },
    )

    last = ended.requests_of("lead")[-1].messages
    asked = [each["id"] for each in tool_calls(last[-2]["content"])]
    assert len(asked) == 3
    assert [each["tool_use_id"] for each in last[-1]["content"]] == asked
    first, second, third = (text_of([each]) for each in last[-1]["content"])
    assert "| Slow |" in first
    assert "[a2#1]" in second
    assert "refused by the service" in third


async def test_an_id_that_comes_twice_never_goes_out_twice(bench: RunBench) -> None:
    def same(name: str, **arguments: Any) -> Block:
        return {**call(name, **arguments), "id": "toolu_1"}

    ended = await bench.play(
        [
            same("list_dir"),
            [same("read_file", path="refunds.md"), same("glob", pattern="*")],
            DONE,
        ],
        {},
    )

    assert ended.result.state == "done"
    last = ended.requests[-1]
    asked = [each["id"] for each in blocks(last) if each["type"] == "tool_use"]
    answered = [
        each["tool_use_id"] for each in blocks(last) if each["type"] == "tool_result"
    ]
    assert len(set(asked)) == len(asked) == 3
    assert answered == asked


async def test_a_run_that_the_service_refuses_fails(bench: RunBench) -> None:
    ended = await bench.play(
        [READ, fail("invalid", "`tool_use` ids must be unique")], {}
    )

    assert (ended.result.state, ended.result.exit_code) == ("failed", 1)
    assert "`tool_use` ids must be unique" in ended.result.reason


# ---- what goes back to the service ---------------------------------------------------


async def test_interleaved_thinking_goes_back_as_it_came(bench: RunBench) -> None:
    said = [think("A"), say("I look."), think("B"), READ]
    ended = await bench.play(
        [said, [think("C"), delegate(brief("Goods"))], DONE],
        {"Goods": [said, submit(QUOTE)]},
    )

    for agent in ("lead", "a1"):
        back = ended.requests_of(agent)[-1].messages[1]["content"]
        assert [each["type"] for each in back] == [each["type"] for each in said]
        assert back[:3] == said[:3]
    assert ended.result.state == "done"


async def test_an_empty_text_is_never_sent_back(bench: RunBench) -> None:
    ended = await bench.play([reply(say(""), READ), reply(say(" \n"), DONE)], {})

    assert [each["type"] for each in ended.requests[-1].messages[1]["content"]] == [
        "tool_use"
    ]
    assert ended.result.state == "done"


async def test_a_call_runs_though_the_reply_says_end_turn(bench: RunBench) -> None:
    ended = await bench.play([reply(say(""), READ, stop_reason="end_turn"), DONE], {})

    assert LINE in ended.results("read_file")[0]
    assert ended.result.state == "done"


@pytest.mark.parametrize("objective", ["", "  \n\t "])
def test_a_blank_objective_is_refused_before_a_run(
    bench: RunBench, objective: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--workspace", str(bench.root), "--runs-dir", str(bench.runs)]

    assert main(["run", "--objective", objective, *given]) == 2
    assert "objective" in capsys.readouterr().err
    assert not bench.runs.exists()


async def test_an_empty_tool_result_becomes_a_placeholder(bench: RunBench) -> None:
    ended = await bench.play(
        [call("prints"), READ, DONE], {}, tools=[Prints(lambda agent: " \n")]
    )

    assert ended.results("prints") == ["(no output)"]
    assert ended.result.state == "done"


async def test_empty_findings_are_refused(bench: RunBench) -> None:
    empty = call("submit_findings", status="complete", summary="", items=[])
    blank = submit(summary=" ", status="nothing_found")
    ended = await bench.play(
        [delegate(brief("Goods")), finish("It takes 14 days [a1#1].")],
        {"Goods": [READ, empty, blank, submit(QUOTE)]},
    )

    first, second, third = ended.results("submit_findings", "a1")
    assert "`summary`" in first
    assert "`summary` says nothing" in second
    assert third == "Accepted."
    assert ended.result.state == "done"


# ---- cut replies ---------------------------------------------------------------------


class WritesArgs(BaseModel):
    """Arguments of `writes`."""

    path: str
    content: str = ""


class Writes:
    """A tool with effects, of a kind that takes what is not given as empty."""

    name: ClassVar[str] = "writes"
    description: ClassVar[str] = "Writes a file."
    Args: ClassVar[type[BaseModel]] = WritesArgs
    effects: ClassVar[Effects] = "effects"
    timeout_s: ClassVar[float] = 5

    def run(self, args: WritesArgs, context: ToolContext) -> str:
        path = context.workspace.resolve(args.path)
        path.write_text(args.content, encoding="utf-8")
        return f"wrote {args.path}"


async def test_a_cut_write_leaves_its_file_alone(bench: RunBench) -> None:
    cut = reply(call("writes", path="refunds.md"), is_cut=True)
    ended = await bench.play([cut, READ, DONE], {}, tools=[Writes()])

    assert (bench.root / "refunds.md").read_text() == f"{LINE}\n"
    [told] = ended.results("writes")
    assert "was cut by the output limit before it was complete" in told
    assert ended.events("tool.started")[0].data["name"] == "read_file"


async def test_cut_calls_are_named_get_more_room_and_end(bench: RunBench) -> None:
    cut = reply(call("writes", path="refunds.md"), is_cut=True)
    ended = await bench.play([cut, cut, cut, finish("Nothing.")], {}, tools=[Writes()])

    first, second, *_ = (each.max_output_tokens for each in ended.requests)
    assert second == 2 * first
    assert all("was cut" in told for told in ended.results("writes"))
    assert (ended.result.state, ended.result.exit_code) == ("partial", 3)
    assert "cut_replies" in ended.result.reason
    assert (bench.root / "refunds.md").read_text() == f"{LINE}\n"


async def test_of_two_calls_the_whole_one_runs_and_the_cut_one_does_not(
    bench: RunBench,
) -> None:
    whole = call("writes", path="a.md", content="whole")
    cut = reply(whole, call("writes", path="b.md", content="ha"), is_cut=True)
    ended = await bench.play([cut, READ, DONE], {}, tools=[Writes()])

    first, second = ended.requests[1].messages[-1]["content"]
    assert first["content"] == "wrote a.md"
    assert "was cut" in second["content"]
    assert not (bench.root / "b.md").exists()
    assert ended.events("model.answered")[0].data["cut_calls"]


# ---- replies that say nothing --------------------------------------------------------


@pytest.mark.parametrize(
    "nothing",
    [
        pytest.param(reply(stop_reason="tool_use"), id="no block"),
        pytest.param(reply(think("hm")), id="thinking alone"),
        pytest.param(reply("(empty content)"), id="a placeholder"),
    ],
)
async def test_a_reply_that_says_nothing_gets_one_nudge_and_then_fails(
    bench: RunBench, nothing: Step
) -> None:
    mended = await bench.play([READ, nothing, DONE], {})
    ended = await bench.play([READ, nothing, nothing], {})

    assert mended.result.state == "done"
    assert "Your last answer was empty" in last_results(mended.requests[-1])
    for request in (*mended.requests, *ended.requests):
        assert all(message["content"] for message in request.messages)
    assert (ended.result.state, ended.result.exit_code) == ("failed", 1)
    assert "2 empty replies in a row" in ended.result.reason
    assert len(ended.requests) == 3


# ---- tokens and the wire -------------------------------------------------------------


async def test_cache_reads_of_a_run_add_up(bench: RunBench) -> None:
    def read(tokens: int) -> Usage:
        return Usage(input_tokens=10, cache_read_tokens=tokens, output_tokens=5)

    ended = await bench.play(
        [
            reply(READ, usage=read(100)),
            reply(call("list_dir"), usage=read(300)),
            reply(DONE, usage=read(200)),
        ],
        {},
    )

    assert ended.result.totals.cache_read_tokens == 600
    assert ended.json("run.json")["totals"]["cache_read_tokens"] == 600


async def test_faults_of_the_wire_cost_a_retry_and_nothing_else(
    bench: RunBench,
) -> None:
    look = tool_use("toolu_1", "read_file", path="refunds.md")
    report = "It takes 14 days [refunds.md:1]."
    script = [
        stream_error("overloaded_error"),
        dropped(text("I look at the paper."), look, ending="close"),
        dropped(look, ending="abort", keep=0.5),
        stream(text("I look."), look),
        stream(tool_use("toolu_2", "finish", report=report)),
    ]
    async with FakeEndpoint(script) as endpoint:
        model = AnthropicModel(api_key="key", base_url=endpoint.url)
        clock = FakeClock()
        try:
            ended = await bench.run(
                Governor(model, clock), clock=clock, model="claude-x"
            )
        finally:
            await model.aclose()

    assert ended.result.state == "done"
    assert endpoint.violations == []
    assert len(ended.events("model.retried")) == 3
    assert len(ended.events("tool.started")) == 2
    assert [
        each["type"] for each in endpoint.requests[-1]["messages"][1]["content"]
    ] == [
        "text",
        "tool_use",
    ]
    assert ended.result.totals.calls == 2


# ---- subagents -----------------------------------------------------------------------


class Malformed:
    """A model whose reply to one subagent breaks the code that takes it in."""

    def __init__(self, model: ScriptedModel, title: str) -> None:
        self.model = model
        self.title = title

    async def complete(self, request: ModelRequest, *, on_retry: OnRetry) -> Reply:
        made = await self.model.complete(request, on_retry=on_retry)
        if f"# {self.title}\n" in text_of(request.messages[0]["content"]):
            return replace(made, content=[{"type": "tool_use", "name": "grep"}])
        return made

    async def aclose(self) -> None:
        await self.model.aclose()


async def test_a_fault_in_the_programs_own_code_costs_its_siblings_nothing(
    bench: RunBench,
) -> None:
    titles = ("One", "Two", "Three", "Four")
    script = [delegate(*map(brief, titles)), finish("It takes 14 days [a1#1].")]
    model = played(script, dict.fromkeys(titles, WORK))
    ended = await bench.run(Malformed(model, "Three"))

    assert (ended.result.state, ended.result.exit_code) == ("partial", 3)
    [told] = ended.results("delegate")
    assert told.count('status="complete"') == 3
    [missing] = ended.result.missing
    assert missing.startswith("subagent a3 (Three) failed: a fault of the program: Key")
    [event] = ended.events("subagent.ended", "a3")
    assert "orchestrator/agent/loop.py" in event.data["traceback"]


async def test_a_profile_that_may_send_its_own_kind_is_told_of_and_bounded(
    bench: RunBench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.write(
        "agents/endless.md",
        "---\nname: endless\ndescription: Sends its own kind.\n"
        "tools: [delegate]\n---\nYou send others.\n",
    )
    task = bench.root / "task.yaml"
    task.write_text(
        f"objective: {OBJECTIVE}\nagents: [endless]\nmodel: offline\ncontext: []\n"
        "limits: {depth: 2, subagents: 5}\n"
    )

    assert main(["check", str(task)]) == 0
    shown = capsys.readouterr()
    assert "`endless` may send its own kind again" in shown.out + shown.err

    numbers = iter(range(100))

    def again(request: ModelRequest) -> Step:
        if any(tool["name"] == "delegate" for tool in request.tools):
            return delegate(brief(f"Again {next(numbers)}", agent="endless"))
        return submit(status="nothing_found")

    ended = await bench.play(
        [delegate(brief("First", agent="endless")), finish("Nothing."), finish("No.")],
        {"First": again, **{f"Again {n}": again for n in range(100)}},
        agents=["endless"],
        limits={"depth": 2, "subagents": 5, "turns": 6},
    )

    parents = {e.data["id"]: e.agent for e in ended.events("subagent.accepted")}
    assert 2 <= len(parents) <= 5
    assert parents["a1"] == "lead"
    assert {parent for agent, parent in parents.items() if agent != "a1"} == {"a1"}


# ---- findings ------------------------------------------------------------------------


FALSE = submit(item("Refunds take 90 days.", "refunds.md:1", "nobody wrote any of it"))
DUMMY = submit(item("some claim", "refunds.md:1", "b"), summary="test")
INVALID = call("submit_findings", summary="test", findings=[{"title": "b"}])


def delivered(ended: Ended) -> tuple[str, dict[str, Any]]:
    """What the lead was told of the first subagent, and its findings file."""
    return ended.results("delegate")[-1], ended.json("agents/a1/findings.json")


async def test_a_dummy_after_refusals_is_marked_and_not_done(bench: RunBench) -> None:
    ended = await bench.play(
        [delegate(brief("Goods")), finish("Nobody knows.")],
        {"Goods": [READ, FALSE, FALSE, DUMMY]},
    )

    told, kept = delivered(ended)
    assert kept["status"] == "failed"
    assert "Note: taken as it is, with what is wrong still in it" in told
    assert "[a1#1] UNSUPPORTED" in told
    assert ended.result.state == "partial"


async def test_a_dummy_after_invalid_findings_is_not_taken_as_real(
    bench: RunBench,
) -> None:
    ended = await bench.play(
        [delegate(brief("Goods")), finish("Nobody knows.")],
        {"Goods": [READ, INVALID, INVALID, INVALID, INVALID]},
    )

    told, kept = delivered(ended)
    assert kept["outcome"] == "unvalidated"
    assert kept["items"] == []
    assert "none of it was checked" in told
    assert ended.result.state == "partial"
    assert "4 hand-ins were sent back" in ended.result.missing[0]


async def test_useful_words_of_invalid_findings_are_kept_and_marked(
    bench: RunBench,
) -> None:
    useful = call("submit_findings", answer="It takes 14 days, says refunds.md.")
    ended = await bench.play(
        [delegate(brief("Goods")), finish("14 days, perhaps.")],
        {"Goods": [READ, useful, useful, useful, useful]},
    )

    told, kept = delivered(ended)
    assert "answer: It takes 14 days, says refunds.md." in kept["summary"]
    assert "answer: It takes 14 days, says refunds.md." in told
    assert "unvalidated" in told
    assert kept["status"] == "partial"
    assert ended.result.state == "partial"


@pytest.mark.parametrize(
    "script",
    [
        pytest.param([READ, FALSE, FALSE, FALSE], id="false quotes"),
        pytest.param([READ, FALSE, FALSE, DUMMY], id="a dummy"),
        pytest.param([READ, INVALID, INVALID, INVALID, INVALID], id="another form"),
        pytest.param([READ, "Text.", "More text.", "All is said."], id="text alone"),
    ],
)
async def test_there_is_one_state_only_and_it_is_not_done(
    bench: RunBench, script: list[Step]
) -> None:
    ended = await bench.play(
        [delegate(brief("Goods")), finish("Nobody knows.")], {"Goods": script}
    )

    told, kept = delivered(ended)
    [event] = ended.events("subagent.ended")
    states = {kept["status"], event.data["status"], event.data["findings"]["status"]}
    assert len(states) == 1
    assert "complete" not in states
    assert f'status="{kept["status"]}"' in told
    assert 'status="complete"' not in told
    row = [line for line in ended.text("progress.md").split("\n") if "| a1 |" in line]
    assert all("complete" not in line for line in row)


# ---- bytes, paths and names ----------------------------------------------------------


async def test_half_a_character_reaches_neither_log_nor_wire(bench: RunBench) -> None:
    flags = "\U0001f1e9\U0001f1ea" * 20_000
    ended = await bench.play(
        [call("prints"), delegate(brief("Halves")), READ, DONE],
        {"Halves": [call("prints"), submit(status="nothing_found")]},
        tools=[Prints(lambda agent: f"a \ud83d b {flags} e\u0301 \udc00")],
    )

    assert ended.result.state == "done"
    for _, data in ended.everything():
        assert data.decode("utf-8").encode("utf-8") == data
    for request in ended.requests:
        assert "\\ud83d" not in request.body.decode("utf-8")


async def test_terminal_codes_of_a_tool_reach_no_agent(bench: RunBench) -> None:
    codes = (
        "\x1b]0;owned\x07\x1b[38;2;255;0;0mred\x1b[0m words\n"
        "loading  1%\rloading 50%\rloaded 100%\n"
    )
    ended = await bench.play(
        [call("prints"), delegate(brief("Colours")), READ, DONE],
        {"Colours": [call("prints"), submit(status="nothing_found")]},
        tools=[Prints(lambda agent: codes)],
    )

    for agent in ("lead", "a1"):
        assert ended.results("prints", agent) == ["red words\nloaded 100%\n"]


async def test_a_link_out_of_the_workspace_is_refused_to_every_agent(
    bench: RunBench,
) -> None:
    outside = bench.folder / "outside"
    outside.mkdir()
    (outside / "b.md").write_text("canary-outside\n")
    (bench.root / "out").symlink_to(outside)
    (bench.root / "in.md").symlink_to(bench.root / "refunds.md")
    looks = [
        call("read_file", path="out/b.md"),
        call("read_file", path="in.md"),
        call("grep", pattern="canary|refund", path="out"),
        call("list_dir", path="out"),
    ]
    ended = await bench.play(
        [looks, delegate(brief("Links")), READ, DONE],
        {"Links": [looks, submit(status="nothing_found")]},
    )

    for agent in ("lead", "a1"):
        refused, shown, *_ = ended.results("read_file", agent)
        assert "outside" in refused or "leads out" in refused
        assert LINE in shown
    said = b"".join(request.body for request in ended.requests)
    assert b"canary-outside" not in said


async def test_first_clipped_results_of_two_runs_do_not_collide(
    bench: RunBench,
) -> None:
    names = iter(("one", "two"))
    tool = Prints(lambda agent: f"noise of run {next(names)}\n" * 5000)
    script: list[Step] = [call("prints"), READ, DONE]
    runs = [await bench.play(script, {}, tools=[tool]) for _ in range(2)]

    for ended, name in zip(runs, ("one", "two"), strict=True):
        [event] = [
            each for each in ended.events("tool.ended") if each.data["name"] == "prints"
        ]
        [path] = (ended.folder / "artifacts").glob(f"{event.data['artifact']}.*")
        assert path.read_text().startswith(f"noise of run {name}\n")


async def test_a_profile_of_any_name_is_copied_under_a_safe_one(
    bench: RunBench,
) -> None:
    names = ["a:b/c?*", "con", "../../up", "名字", "end.", "x" * 64, "a b"]
    for number, name in enumerate(names):
        page = f"---\nname: '{name}'\ndescription: One.\n---\nYou look things up.\n"
        bench.write(f"agents/p{number}.md", page)
    briefs = [brief(f"Case {n}", agent=name) for n, name in enumerate(names)]
    ended = await bench.play(
        [delegate(*briefs), finish("It takes 14 days [a1#1].")],
        {f"Case {n}": WORK for n in range(len(names))},
        agents=names,
    )

    assert ended.result.state == "done"
    copies = [
        path
        for path in (ended.folder / "inputs" / "agents").iterdir()
        if path.stem != "lead"
    ]
    assert len(copies) == len(names)
    assert all(re.fullmatch(r"[\w-]{1,48}", path.stem) for path in copies)
    assert not {"con", "CON"} & {path.stem for path in copies}
    texts = [path.read_text(encoding="utf-8") for path in copies]
    assert all(any(f"name: '{name}'" in text for text in texts) for name in names)
    inside = {path for path in copies if "up" in path.stem}
    ours = {f"{name}.md" for name in ("follow_up", "wrap_up_lead", "wrap_up_subagent")}
    assert set((ended.folder / "inputs").glob("**/*up*.md")) == inside | {
        ended.folder / "inputs" / "prompts" / name for name in ours
    }


# ---- tool names ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "execute_python",
        "read files",
        " read_file ",
        "READ_FILE",
        pytest.param("", id="empty"),
        pytest.param("x" * 1000, id="long"),
        pytest.param("\x1b[31m\n`", id="codes"),
    ],
)
async def test_a_made_up_tool_is_answered_and_the_work_goes_on(
    bench: RunBench, name: str
) -> None:
    made_up = call(name, path="refunds.md")
    ended = await bench.play(
        [made_up, delegate(brief("Goods")), finish("It takes 14 days [a1#1].")],
        {"Goods": [[made_up, READ], submit(QUOTE)]},
    )

    assert ended.result.state == "done"
    for agent in ("lead", "a1"):
        [event] = [
            each for each in ended.events("tool.ended", agent) if each.data["is_error"]
        ]
        assert "`read_file`" in event.data["content"]
        assert len(event.data["content"]) < 1000


def test_a_file_in_the_place_of_the_runs_folder_costs_nothing(
    bench: RunBench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.runs.write_text("a file")
    given = ["--workspace", str(bench.root), "--runs-dir", str(bench.runs)]

    status = main(["run", "--objective", OBJECTIVE, "--model", "offline", *given])

    assert status not in (0, 3)
    shown = capsys.readouterr()
    assert shown.out == ""
    [error] = [line for line in shown.err.splitlines() if line.startswith("error: ")]
    assert str(bench.runs) in error
    assert bench.runs.read_text() == "a file"
