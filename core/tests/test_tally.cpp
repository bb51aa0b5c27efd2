// Counting answers.
#include "../tally.hpp"
#include "checks.hpp"

namespace treeproof::testing {

void check_tally() {
  const auto outcome = [](Status status, bool near_tie) {
    Outcome answer;
    answer.status = status;
    answer.near_tie = near_tie;
    return answer;
  };
  Tally tally;
  tally.count(outcome(Status::entailed, true), 2);
  tally.count(outcome(Status::entailed, false), 1);
  tally.count(outcome(Status::refuted, false), 0.5);
  tally.count(outcome(Status::stopped, true), 9);
  CHECK(tally.entailed == 2 && tally.refuted == 1 && tally.unknown == 0 && tally.remembered == 0,
        "answers are counted");
  CHECK(tally.near_ties == 1, "near-ties of answers are counted");
  CHECK(tally.longest_entailed == 2 && tally.longest_refuted == 0.5, "the longest of each kind");
  Tally sum;
  sum.unknown = sum.remembered = 3;
  sum.longest_refuted = 4;
  sum.add(tally);
  sum.add(tally);
  CHECK(sum.entailed == 4 && sum.refuted == 2 && sum.unknown == 3 && sum.remembered == 3 && sum.near_ties == 2,
        "counts are added");
  CHECK(sum.longest_entailed == 2 && sum.longest_refuted == 4, "the longest of both");
}

}  // namespace treeproof::testing
