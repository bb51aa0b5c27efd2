// Rules between features: clauses, each a choice of literals, and a literal says that a feature's cell lies in a part
// of its domain. Points that break a clause are outside the space.
#pragma once

#include <vector>

#include "box.hpp"
#include "record.hpp"

namespace treeproof {

// What the clauses leave of the box by unit propagation: where all literals of a clause but one are false everywhere in
// the box, the last one must hold. False if nothing is left. Marks in `used` the features of `restricted` that a clause
// which took part mentions, and in `used_clauses` that clause.
bool propagate(const Forest& forest, Box& box, const std::vector<std::uint8_t>& restricted,
               std::vector<std::uint8_t>& used, std::vector<std::uint8_t>& used_clauses, Recorder* recorder = nullptr);

// Whether a point keeps all clauses.
bool keeps_clauses(const Forest& forest, const std::vector<Cell>& point);

// Whether a point keeps one clause.
bool keeps_clause(const Forest& forest, const Clause& clause, const std::vector<Cell>& point);

// A literal of the first clause that the point breaks, true at some points of the box and false at others. There is one
// if `propagate` left the box as it is and the point lies in it.
const Literal& open_literal(const Forest& forest, const Box& box, const std::vector<Cell>& point);

// Keep the points of the box at which the literal is true, or those at which it is false.
void restrict(const Forest& forest, Box& box, const Literal& literal, bool truth);

}  // namespace treeproof
