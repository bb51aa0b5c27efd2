// The dual of canonical deletion, by its definition.
#include "../change.hpp"
#include "checks.hpp"

namespace treeproof::testing {

bool suffices(const Case& c, const Point& point, const Flags& kept, Claim claim, Allowed allowed);
Allowed free_around(Random& random, const Case& c, const Point& point);

void check_change(Random& random, const Case& c, Searcher& reused) {
  const Point point = random.pick(c.points);
  const Claim claim = true_claim(random, c, point);
  const Allowed free = free_around(random, c, point);
  const Box box = box_of(c, free);
  const auto breaks = [&](Flags freed) {
    for (std::uint8_t& flag : freed) flag = !flag;
    return !suffices(c, point, freed, claim, free);
  };
  Flags start(point.size(), 1);
  if (random.chance(50)) start[random.below(static_cast<int>(start.size()))] = 0;
  std::vector<std::int32_t> order(point.size());
  std::iota(order.begin(), order.end(), 0);
  random.shuffle(order);

  const Thrift none{Flags(point.size(), 0), 0};
  const Change found = change_features(reused, c.forest, point, claim, box, order, start, {}, none, never_stop);
  CHECK(found.finished && found.tally.unknown == 0, "a search that nobody stops is complete");
  CHECK(found.witness.empty() != breaks(start), "a witness is found if there is one");
  ++counts.changes;
  const auto check_witness = [&](const Change& change) {
    CHECK(contains(free, change.witness) && claim.violated_by(c.forest.label(change.witness)), "a witness is one");
    CHECK(change.label == c.forest.label(change.witness), "its label is said");
    CHECK(is_subset(change.freed, start), "only what was free is changed");
    for (std::size_t f = 0; f < point.size(); ++f)
      CHECK((change.witness[f] != point[f]) == (change.freed[f] != 0), "a witness changes what is said to change");
  };
  const Change part =
      change_features(reused, c.forest, point, claim, box, order, start, {}, none, stop_after(random.between(0, 12)));
  CHECK(part.finished == (part.tally.unknown == 0), "only a stop leaves it incomplete");
  CHECK(!part.finished || part.freed == found.freed, "what is said to be complete is complete");
  if (!part.witness.empty()) check_witness(part);
  counts.stopped_changes += !part.finished;
  if (found.witness.empty()) return;

  Flags expected = start;
  for (const std::int32_t f : order) {
    const std::uint8_t before = expected[f];
    expected[f] = 0;
    if (!breaks(expected)) expected[f] = before;
  }
  CHECK(found.freed == expected, "what is left is what single questions leave");
  check_witness(found);
  Searcher fresh(c.forest);
  const Change again =
      change_features(fresh, c.forest, point, claim, box, order, start, found.witness, none, never_stop);
  CHECK(again.freed == expected, "with a fresh searcher, from a witness");

  Thrift thrift{Flags(point.size(), 0), random.between(0, 2)};
  for (std::uint8_t& flag : thrift.unasked) flag = random.chance(40);
  if (random.chance(50)) thrift.hint = random.chance(50) ? found.witness : random_point(random, c.full());
  const Change loose = change_features(fresh, c.forest, point, claim, box, order, start, {}, thrift, never_stop);
  CHECK(loose.finished && !loose.witness.empty(), "giving questions up is no stop");
  check_witness(loose);
  for (std::size_t f = 0; thrift.effort == 0 && f < point.size(); ++f) {
    if (!loose.freed[f] || thrift.unasked[f]) continue;
    Flags fewer = loose.freed;
    fewer[f] = 0;
    CHECK(!breaks(fewer), "what was asked about cannot go");
  }
}

}  // namespace treeproof::testing
