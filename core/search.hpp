// Decides queries: the naive bound first, then, for each rival that is left, branch and bound with the Lagrangian bound
// on residual forests. A Searcher keeps prices and buffers between queries about one instance; what it keeps changes
// how soon an answer comes, never which one.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "branch_and_bound.hpp"
#include "lagrangian.hpp"
#include "local_search.hpp"
#include "parts.hpp"
#include "residual.hpp"
#include "table.hpp"
#include "trail.hpp"

namespace treeproof {

class Searcher {
 public:
  // `table`, if not null, is that of the forest, and answers instead of a search.
  explicit Searcher(const Forest& forest, const Table* table = nullptr);

  // Start on another instance: prices begin at 0 again. (Those of another instance helped with two classes and hurt
  // with many.)
  void forget();

  // `home` is a point, usually the instance; a witness takes its cells where they do not matter.
  // `recorder`, if given, gets the proof of an entailed claim; then no table is used.
  Outcome decide(const Box& box, Claim claim, const std::vector<Cell>& home, const Poll& must_stop,
                 Recorder* recorder = nullptr);

  // Look near this point for a witness of the next query, before anything else is tried.
  void suggest(const std::vector<Cell>& point);

  // What the query at hand, or the last one, has taken so far; see Outcome.
  std::uint64_t work() const { return outcome_.work; }

 private:
  struct Level {  // buffers of one depth of the search
    Outline outline;
    Residual residual;
    Residual around;  // one that was
    bool outlined = false;  // the outline is that of the box at hand
    Lagrangian lagrangian;
    Parts parts;
  };

  std::vector<int> possible_rivals(int label, bool all);
  // Whether the residual forest of a box is made from the one around it, and lanes take it; else from an outline. A
  // proof has no absorbed trees, and of several pairs each has residual forests of its own.
  bool narrows(const std::vector<Pair>& pairs) const { return recorder_ == nullptr && pairs.size() == 1; }
  bool close(Box box, const std::vector<Pair>& pairs, std::size_t depth, const Branches* improved = nullptr);
  bool optimise(Level& level, const Box& box, Pair pair, std::int64_t& target, std::size_t depth, bool improved);
  bool close_parts(const Box& box, const Branches& branches, Pair pair, std::int64_t target, std::size_t depth);
  const Scale& scale() const { return recorder_ == nullptr ? forest_.finest() : forest_.scale; }
  const Outline& outline_of(Level& level, const Box& box);
  bool choose_pair(const Box& box, const std::vector<Pair>& pairs, std::size_t depth, bool again, Pair& chosen,
                   bool& closed);
  bool refutes(std::vector<Cell> point);
  bool refutes(std::vector<Cell> point, const std::vector<std::int32_t>& leaves);
  void witness(std::vector<Cell> point, int label, bool certain);
  bool moves_witness(const Box& box);
  bool is_certain(const std::vector<std::int32_t>& leaves) const;
  bool decide_exactly(const Outline& outline, const std::vector<Pair>& pairs);
  Prices& prices(Pair pair);
  std::int64_t exact_target(Pair pair) const;
  Level& level(std::size_t depth);
  bool finds_witness(const Residual& residual, const Box& box, std::vector<Cell> point, std::int64_t target,
                     int patience);
  bool finds_witness_around(const Level& level, const Box& part, Pair pair, std::int64_t target);
  std::vector<Cell> nearest_in(const Box& box, const std::vector<Cell>& point) const;

  const Forest& forest_;
  const Table* table_;
  Outliner outliner_;
  Outline outline_;  // of the last query's box
  ResidualBuilder builder_;
  LocalSearch local_;
  std::map<std::pair<int, int>, std::unique_ptr<Prices>> prices_;  // per winner and loser, as they are met
  std::vector<std::unique_ptr<Level>> levels_;
  std::vector<Cell> last_witness_;  // empty: none yet
  int last_winner_ = -1;  // its label; -1 if it was suggested
  Trail trail_;
  Box last_box_;  // of the last query
  std::vector<std::int64_t> most_;  // per tree and class: see possible_rivals
  int most_label_ = -1;  // of which label
  std::uint64_t most_when_ = 0;  // of which box that the outline followed
  std::vector<int> rival_rank_;  // rivals that refuted lately come first

  // The query at hand.
  Claim claim_{};
  const std::vector<Cell>* home_ = nullptr;
  const Poll* must_stop_ = nullptr;
  Recorder* recorder_ = nullptr;
  std::uint64_t next_local_ = 0;  // the work after which there is a local search in the whole box
  bool scatters_ = false;  // the last one started from random cells
  Residual whole_;  // of the whole box, once it is needed
  Pair whole_pair_{-1, -1};  // of which pair
  std::vector<std::int32_t> leaves_;  // of the last point evaluated
  std::vector<std::uint8_t> restricted_;
  Outcome outcome_;
};

}  // namespace treeproof
