#include "model/reason.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace paceline {
namespace {

const std::vector<std::pair<Reason, std::string>> kSentences = {
    {{ReasonCode::held, {}, {}}, "held by its owner: 'resume' lets it go"},
    {{ReasonCode::waits_for_jobs, {1, 3}, {}}, "waits for a job to complete, job 3 first"},
    {{ReasonCode::waits_for_jobs, {2, 3}, {}}, "waits for 2 jobs to complete, job 3 first"},
    {{ReasonCode::backs_off, {2, 0}, {}}, "backs off after 2 failed starts: tried again soon"},
    {{ReasonCode::backs_off, {0, 0}, {}},
     "was lost with its node, or not started by it: tried again soon"},
    {{ReasonCode::backs_off, {0, 0}, "no space is left on gpu-1"},
     "was not started: no space is left on gpu-1; tried again soon"},
    {{ReasonCode::waits_for_slots, {4, 1}, {}}, "needs 4 slots, 1 free now"},
    {{ReasonCode::waits_behind, {7, 4, 1}, {}},
     "waits behind job 7, which is ahead and needs 4 slots (1 free now)"},
    {{ReasonCode::waits_for_giver, {2, 0, 3}, {}},
     "needs 2 slots, 0 free now: job 3 would give some up, but is left alone for now"},
    {{ReasonCode::waits_for_fit, {4, 6}, {}},
     "needs 4 slots; 6 are free, but not where its workers would fit"},
    {{ReasonCode::waits_for_fit, {4, 6}, "keeps its workers on one node"},
     "needs 4 slots; 6 are free, but not as it asks: it keeps its workers on one node"},
    {{ReasonCode::waits_for_place, {4, 8}, "needs label disk=nvme"},
     "needs label disk=nvme; 8 slots are free elsewhere"},
    {{ReasonCode::waits_for_empty, {1}, {}}, "starts as soon as 1 slot promised to it is empty"},
    {{ReasonCode::waits_for_checkpoint, {3}, {}},
     "is to have 3 workers: resized once it acknowledges a checkpoint"},
    {{ReasonCode::waits_for_leavers, {3, 1}, {}},
     "is to have 3 workers: resized once a worker that leaves it has ended"},
    {{ReasonCode::waits_for_leavers, {1, 3}, {}},
     "is to have 1 worker: resized once 3 workers that leave it have ended"},
    {{ReasonCode::waits_for_node, {3}, "gpu-1"},
     "is to have 3 workers: resized once gpu-1 is heard again"},
    {{ReasonCode::waits_for_window, {3, 0}, {}},
     "is to have 3 workers, but is left alone until its last disturbance is paid for"},
    {{ReasonCode::waits_for_window, {0, 0}, {}},
     "is to give way, but is left alone until its last disturbance is paid for"},
    {{ReasonCode::waits_for_checkpoint, {0}, {}},
     "is to give way once it acknowledges a checkpoint"},
    {{ReasonCode::too_costly, {10, 40}, {}},
     "would lose 40 slot-seconds by a change that gains 10: it stays as it is"},
    {{ReasonCode::waits_for_reclaim, {2, 0, 5, 555}, {}},
     "needs 2 slots, 0 free now: job 5 was asked to save, and gives way within 9m15s"},
    {{ReasonCode::asked, {1, 6, 600, 45}, {}},
     "is asked for 1 slot by job 6: stopped in 10m00s unless it saves or ends before; it would "
     "lose "
     "45s"},
    {{ReasonCode::asked, {2, 6, 0, 7260}, {}},
     "is asked for 2 slots by job 6: stopped at any moment unless it saves or ends before; it "
     "would "
     "lose 2h01m"},
    {{ReasonCode::waits_for_others, {4, 1}, "jobs with less left"},
     "needs 4 slots, 1 free now: jobs with less left go first"},
    {{ReasonCode::stops_for, {9}, "has less left"},
     "stops so that job 9, which has less left, can start"},
    {{ReasonCode::waits_for_turn, {2}, {}},
     "could use 2 workers, but the policy gives the slots to others"},
    {{ReasonCode::waits_for_own, {9, 1'000'000}, {}},
     "is frozen with its work in memory, in slots that job 9 has now"},
    {{ReasonCode::waits_for_kept, {4, 1, 12}, {}},
     "waited for too long: 4 slots are kept for it, 1 free now, job 12 is the last to leave"},
    {{ReasonCode::waits_for_patient, {1, 3, 7}, {}},
     "needs 1 slot, 3 free now: slots are kept for job 7, which waited for too long"},
    {{ReasonCode::leaves_slots, {1, 2, 7}, {}},
     "runs with 1 worker of at most 2: it leaves free slots to job 7, which is ahead"},
    {{ReasonCode::no_node, {}, {}}, "no node is up"},
    {{ReasonCode::fits_nowhere, {}, "No node has a device a100; there is cpu."},
     "fits nowhere any more: No node has a device a100; there is cpu."},
    {{ReasonCode::node_refuses, {}, "node box starts nothing for 4 s more: no space is left"},
     "node box starts nothing for 4 s more: no space is left"},
    {{ReasonCode::starts, {1}, {}}, "starts with 1 worker"},
    {{ReasonCode::starts, {2}, "shares n-0 with 'prep'"},
     "starts with 2 workers; shares n-0 with 'prep'"},
    {{ReasonCode::starts_at_min, {2, 8}, {}}, "starts with 2 workers of the 8 it would like"},
    {{ReasonCode::grows, {2, 4}, {}}, "grows from 2 to 4 workers: slots are free"},
    {{ReasonCode::shrinks_for, {4, 2, 9}, {}},
     "shrinks from 4 to 2 workers so that job 9 can start"},
    {{ReasonCode::shrinks_to_share, {4, 3}, {}}, "shrinks from 4 to 3 workers, its even share"},
    {{ReasonCode::stops_for, {9}, {}}, "stops so that job 9 can start"},
    {{ReasonCode::pauses_for, {9}, "has less left"},
     "is frozen where it is so that job 9, which has less left, can start"},
    {{ReasonCode::goes_on, {1}, {}}, "goes on with 1 worker where it was frozen"},
    {{ReasonCode::starts_anew, {1}, {}},
     "starts anew with 1 worker: its own slots were not to be had"},
    {{ReasonCode::moves_for, {9}, {}}, "moves so that job 9 finds seats together"},
    {{ReasonCode::owner_resized, {4, 2}, {}}, "is resized by its owner from 4 to 2 workers"},
    {{ReasonCode::replaces_dead, {1, 2}, {}},
     "gets others in place of workers that died: 2 workers, of which 1 is left"},
    {{ReasonCode::leaves_node, {4, 4}, "gpu1"},
     "leaves node gpu1, which drains, and goes on with 4 workers"},
    {{ReasonCode::leaves_node, {4, 2}, "gpu1 (new kernel)"},
     "leaves node gpu1 (new kernel), which drains, and goes on with 2 workers of 4"},
    {{ReasonCode::leaves_node, {4, 0}, "gpu1"}, "is stopped: node gpu1 drains"},
    {{ReasonCode::stays_on_node, {-1}, "gpu1"},
     "runs on node gpu1, which drains: it leaves when it can go on elsewhere without losing work, "
     "or "
     "ends"},
    {{ReasonCode::stays_on_node, {90}, "gpu1"},
     "runs on node gpu1, which drains: it is stopped in 1m30s unless it can leave before"},
    {{ReasonCode::runs, {4, 4}, {}}, "runs with 4 workers, as many as it may have"},
    {{ReasonCode::runs, {2, 4}, {}}, "runs with 2 workers of at most 4"},
    {{ReasonCode::node_away, {2, 0}, "gpu1"},
     "ran with 2 workers when node gpu1 was last heard of, which does not answer: it goes on "
     "there, and is heard of again when the node is"},
    {{ReasonCode::node_away, {2, 900}, "gpu1"},
     "ran with 2 workers when node gpu1 was last heard of, which does not answer: it goes on "
     "there, and is heard of again when the node is; a machine that hears of no server for 15m00s "
     "ends its workers, and the job then starts elsewhere"},
    {{ReasonCode::target_reached, {2}, {}}, "has reached its target: its script is told to stop"},
    {{ReasonCode::starting, {1, 4}, {}}, "has 1 of 4 workers running"},
    {{ReasonCode::resizing, {4, 2}, {}}, "goes from 4 to 2 workers"},
    {{ReasonCode::awaits_checkpoint, {}, "gpu-2"},
     "starts again once gpu-2 has sent its newest checkpoint to the server"},
    {{ReasonCode::awaits_newcomers, {2, 4}, {}},
     "runs with 2 workers, and goes on with 4 once the new ones are ready"},
    {{ReasonCode::awaits_replacements, {1, 2}, {}},
     "waits with 1 of 2 workers until others join in place of those that died"},
    {{ReasonCode::meets_anew, {3}, {}}, "goes on with 3 workers, which meet now"},
    {{ReasonCode::paused, {}, {}},
     "paused by its owner: it keeps its slots, 'resume' lets it go on"},
    {{ReasonCode::stopping, {}, "its owner cancelled it"}, "is stopping: its owner cancelled it"},
    {{ReasonCode::ended, {}, "exited with code 1"}, "exited with code 1"},
    {{ReasonCode::script, {}, "its group had its turn"}, "its group had its turn"},
};

TEST(Reason, IsASentenceThatSaysWhatWouldChangeIt) {
  for (const auto& [reason, text] : kSentences) EXPECT_EQ(sentence(reason), text);
}

TEST(Reason, HasANameAndASentenceForEveryCode) {
  std::set<std::string_view> names;
  std::set<ReasonCode> told;
  for (int code = 0; code <= static_cast<int>(kLastReasonCode); ++code) {
    EXPECT_TRUE(names.insert(name(static_cast<ReasonCode>(code))).second) << code;
  }
  for (const auto& [reason, text] : kSentences) told.insert(reason.code);
  EXPECT_EQ(told.size() + 1, names.size());  // all but `none`
}

TEST(Reason, HasACodeThatReadsBack) {
  for (int i = 0; i <= static_cast<int>(kLastReasonCode); ++i) {
    const auto code = static_cast<ReasonCode>(i);
    EXPECT_EQ(parse_reason_code(name(code)), code);
  }
  EXPECT_EQ(name(ReasonCode::waits_for_slots), "waits_for_slots");
  for (const char* text : {"", "waits", "Waits for slots", "waits__for_slots"})
    EXPECT_EQ(parse_reason_code(text), std::nullopt) << text;
}

TEST(Reason, ReadsTheCodesOfOlderJournals) {
  EXPECT_EQ(parse_reason_code("WaitsForSlots"), ReasonCode::waits_for_slots);
  EXPECT_EQ(parse_reason_code("StartsAtMin"), ReasonCode::starts_at_min);
  EXPECT_EQ(parse_reason_code("None"), ReasonCode::none);
  EXPECT_EQ(parse_reason_code("Running"), ReasonCode::runs);
  EXPECT_EQ(parse_reason_code("waits_for_donor"), ReasonCode::waits_for_giver);
}

TEST(Reason, DoesNotStumbleOverMissingNumbers) {
  EXPECT_EQ(sentence({ReasonCode::waits_for_slots, {}, {}}), "needs 0 slots, 0 free now");
  EXPECT_EQ(sentence({}), "");
}

}  // namespace
}  // namespace paceline
