// One subset-minimal contrastive explanation by canonical deletion: in the given order a feature is put back to the
// instance's cell iff the others, free, still refute the claim. The last witness with the feature put back answers most
// questions early; it never changes an answer. (A proof cannot: it needs the feature it was found for, which stays
// free.) Features that are not worth a question are put back only where the last witness does without.
#pragma once

#include <vector>

#include "search.hpp"
#include "tally.hpp"

namespace treeproof {

struct Change {
  std::vector<std::uint8_t> freed;  // per feature
  std::vector<Cell> witness;  // violates the claim, and differs from the instance in freed features only
  int label = 0;  // of the witness
  bool minimal = true;  // in the features that are asked about; false: stopped, perhaps fewer would do
  Tally tally;
};

// `start` has the features that are free at first, and `witness` violates the claim within them. Those of `unasked` are
// not worth a question.
Change change_features(Searcher& searcher, const Forest& forest, const std::vector<Cell>& point, Claim claim,
                       const std::vector<std::int32_t>& order, const std::vector<std::uint8_t>& start,
                       const std::vector<std::uint8_t>& unasked, const std::vector<Cell>& witness,
                       const Poll& must_stop);

}  // namespace treeproof
