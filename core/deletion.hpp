// One subset-minimal abductive explanation by canonical deletion: in the given order a feature is freed iff the others,
// kept at the instance's cells, still entail the claim. The last proved set answers questions early; it never changes an
// answer. (A witness cannot: it differs in the feature it was found for, which stays kept.)
#pragma once

#include <vector>

#include "search.hpp"

namespace treeproof {

struct Explanation {
  std::vector<std::uint8_t> kept;  // per feature
  bool minimal = true;             // false: stopped; the kept features suffice, but perhaps fewer would
  std::uint32_t entailed = 0, refuted = 0, stopped = 0, remembered = 0, near_ties = 0;
  std::uint64_t boxes = 0;
  std::vector<std::uint8_t> used_clauses;  // per clause: the proof that the kept features suffice used it
  double longest_entailed = 0, longest_refuted = 0;  // seconds of the longest query with that answer
};

Explanation explain(Searcher& searcher, const Forest& forest, const std::vector<Cell>& point, Claim claim,
                    const std::vector<std::int32_t>& order, const std::vector<std::uint8_t>& start, const Poll& must_stop);

}  // namespace treeproof
