// How many queries of a search had which answer.
#pragma once

#include <algorithm>
#include <cstdint>

#include "branch_and_bound.hpp"

namespace treeproof {

struct Tally {
  std::uint32_t entailed = 0, refuted = 0, unknown = 0;  // unknown: stopped
  std::uint32_t remembered = 0;                          // answered by what was known
  std::uint32_t near_ties = 0;                           // answers that rest on float sums inside the rounding band
  std::uint64_t work = 0;                                // of all queries, see Outcome
  double longest_entailed = 0, longest_refuted = 0;      // seconds of the longest query with that answer

  // Count an answer. A stop is counted by the caller, who knows whether it was asked for.
  void count(const Outcome& outcome, double seconds) {
    work += outcome.work;
    if (outcome.status == Status::stopped) return;
    near_ties += outcome.near_tie;
    const bool holds = outcome.status == Status::entailed;
    ++(holds ? entailed : refuted);
    double& longest = holds ? longest_entailed : longest_refuted;
    longest = std::max(longest, seconds);
  }

  void add(const Tally& other) {
    entailed += other.entailed;
    refuted += other.refuted;
    unknown += other.unknown;
    remembered += other.remembered;
    near_ties += other.near_ties;
    work += other.work;
    longest_entailed = std::max(longest_entailed, other.longest_entailed);
    longest_refuted = std::max(longest_refuted, other.longest_refuted);
  }
};

}  // namespace treeproof
