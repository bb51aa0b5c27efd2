// One subset-minimal abductive explanation by canonical deletion: in the given order a feature is freed iff the others,
// kept at the instance's cells, still entail the claim. A freed feature takes its cells of a given box, `free`. The
// last proved set answers questions early; it never changes an answer. (A witness cannot: it differs in the feature it
// was found for, which stays kept.)
#pragma once

#include <vector>

#include "search.hpp"
#include "tally.hpp"

namespace treeproof {

struct Deletion {
  std::vector<std::uint8_t> kept;  // per feature
  bool minimal = true;  // false: stopped; the kept features suffice, but perhaps fewer would
  std::vector<std::uint8_t> used_clauses;  // per clause: the proof that the kept features suffice used it
  Tally tally;
};

// `start` has the features that are kept at first; with them the claim holds. `free` contains the point.
// (`delete` is a word of C++.)
Deletion delete_features(Searcher& searcher, const Forest& forest, const std::vector<Cell>& point, Claim claim,
                         const Box& free, const std::vector<std::int32_t>& order,
                         const std::vector<std::uint8_t>& start, const Poll& must_stop);

}  // namespace treeproof
