// Exact branch and bound over boxes with the naive bound.
//
// A goal asks for a point at which one class beats others: "the label leaves c" is one goal for each rival k with the
// pair (k beats c); "the label becomes k" is one goal with a pair (k beats j) for every other j. For a pair and a box
//
//   upper = sum over trees of the largest, over leaves that the box reaches, of score[winner] - score[loser]
//
// bounds the difference at every point of the box, so upper < theta - band closes the box; lower likewise proves that
// every point of it wins. Where the box reaches exact leaves only, there is no band. A box in which every tree has one
// value left, and which neither closes nor wins, lies in the band: there the model's own arithmetic decides.
#pragma once

#include <functional>
#include <vector>

#include "box.hpp"
#include "forest.hpp"
#include "record.hpp"
#include "residual.hpp"

namespace treeproof {

enum class ClaimKind { stays, never };

struct Claim {
  ClaimKind kind;
  int label;
  bool violated_by(int other) const { return (kind == ClaimKind::stays) == (other != label); }
};

enum class Status { entailed, refuted, stopped };

struct Outcome {
  Status status = Status::entailed;
  std::vector<Cell> witness;       // refuted: a point of the box that violates the claim
  int label = -1;                  // refuted: its label
  std::vector<std::uint8_t> used;  // entailed: per feature, whether the proof used its restriction
  std::vector<std::uint8_t> used_clauses;  // entailed: per clause, whether the proof used it
  bool near_tie = false;           // the answer rests on float sums inside the rounding band
  std::uint64_t boxes = 0;         // boxes examined
  std::uint64_t work = 0;          // about as many nodes were passed over: effort that depends on no clock
};

// Returns true when the search must stop (deadline, Ctrl-C); called every few microseconds to milliseconds.
using Poll = std::function<bool()>;

Outcome decide_plainly(const Forest& forest, const Box& box, Claim claim, const Poll& must_stop);

// One goal within a larger search: true if no point of the box wins all pairs; otherwise `outcome` says why not. Marks
// in `outcome.used` the features of `restricted` that the proof used.
bool close_plainly(const Forest& forest, const Box& box, const std::vector<Pair>& goal, Claim claim,
                   const std::vector<std::uint8_t>& restricted, const Poll& must_stop, Outcome& outcome,
                   Recorder* recorder = nullptr);

}  // namespace treeproof
