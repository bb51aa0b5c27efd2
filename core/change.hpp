// One subset-minimal contrastive explanation by canonical deletion: in the given order a feature is put back to the
// instance's cell iff the others still refute the claim, each in its cells of a given box, `free`. The last witness
// with the feature put back answers most questions early; it never changes an answer. (A proof cannot: it needs the
// feature it was found for, which stays free.)
//
// Where the set need not be minimal, features that are not worth a question are put back only where the last witness
// does without, and a question about the others may be given up. All of these are put back at once first: more often
// than not there is a witness that does without.
#pragma once

#include <vector>

#include "search.hpp"
#include "tally.hpp"

namespace treeproof {

struct Change {
  std::vector<std::uint8_t> freed;  // per feature
  std::vector<Cell> witness;  // violates the claim, and differs from the instance in freed features only; empty: none
  int label = 0;  // of the witness
  bool finished = true;  // false: stopped; perhaps fewer would do, or, without a witness, the claim does not hold
  Tally tally;
};

// Which features may be left free though fewer would do.
struct Thrift {
  std::vector<std::uint8_t> unasked;  // per feature: not worth a question
  int effort = 0;  // steps of the bound after which any other question is given up; 0: never
  std::vector<Cell> hint = {};  // near which a witness may be, for example one of a similar question; empty: none
};

// `start` has the features that are free at first. `witness` violates the claim within them; if it is empty, it is
// looked for first. `free` contains the point.
Change change_features(Searcher& searcher, const Forest& forest, const std::vector<Cell>& point, Claim claim,
                       const Box& free, const std::vector<std::int32_t>& order, const std::vector<std::uint8_t>& start,
                       const std::vector<Cell>& witness, const Thrift& thrift, const Poll& must_stop);

}  // namespace treeproof
