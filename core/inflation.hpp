// The widest box around a proved one. First all ends of intervals move outward together, each by the same share of the
// cells that lie there, so that no feature takes all the room; the share is a multiple of 1/64, found by bisection.
// Then feature by feature, in the given order, the ends of an interval move outward and values join a set, as far as
// the claim still holds everywhere in the box. A box entails the claim iff each of its cells of that feature does, so
// the ends and the values of one feature do not compete: the result depends on the order of the features alone.
// Afterwards no end can be moved and no value added, for the box has only grown since that was refuted.
#pragma once

#include <limits>
#include <vector>

#include "search.hpp"
#include "tally.hpp"

namespace treeproof {

struct Inflation {
  Box box;  // contains the given one and entails the claim
  bool widest = true;  // false: stopped, or the work was done; the box may be widened further
  bool stopped = false;
  std::uint32_t retaken = 0;  // how often a guess was refuted
  std::vector<std::uint8_t> used_clauses;  // per clause: a proof on the way used it
  Tally tally;
};

// How bold guesses are; it changes how soon the result comes, never which one. Found by trial on the paper's forests,
// where half or twice as much makes little difference.
struct Guessing {
  int patience = 10;  // polls of a search for a witness; doubled after a guess that was wrong
  int most_unproved = 16;  // guesses after which they are proved together; fewer at first, so that a stop loses little
};

// The last proofs, on the verge at every end, take most of the time. With at most so much work (see Outcome) the box is
// nearly as wide, and depends on the searcher.
constexpr std::uint64_t kAnyWork = std::numeric_limits<std::uint64_t>::max();

// `box` entails the claim and contains `home`; only the features of `order`, all different, are widened.
Inflation inflate(Searcher& searcher, const Forest& forest, const std::vector<Cell>& home, Claim claim, Box box,
                  const std::vector<std::int32_t>& order, const Poll& must_stop, std::uint64_t most_work = kAnyWork,
                  Guessing guessing = {});

}  // namespace treeproof
