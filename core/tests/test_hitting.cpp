// Small hitting sets, as sets are added, against enumeration.
#include <bit>

#include "../hitting.hpp"
#include "checks.hpp"

namespace treeproof::testing {

void check_hitting(Random& random) {
  const int n = 1 + random.below(9);
  const int spread = 1 + random.below(15);  // features far apart lie in different words
  HittingSets sets(n * spread);
  std::vector<unsigned> added;
  const auto hits_all = [&](unsigned chosen) {
    return std::all_of(added.begin(), added.end(), [&](unsigned set) { return (set & chosen) != 0; });
  };
  int most = 0;
  for (int step = 0; step < 40; ++step) {
    if (random.below(3) > 0) {
      const unsigned set = 1 + static_cast<unsigned>(random.below((1 << n) - 1));
      added.push_back(set);
      std::vector<std::int32_t> features;
      for (int f = 0; f < n; ++f)
        if (set >> f & 1U) features.push_back(f * spread);
      sets.add(features);
    } else if (random.below(4) == 0) {
      most = random.below(n + 1);
    }
    if (random.below(8) == 0) {
      CHECK(sets.next(most, stop_after(0)) != HittingSets::Answer::found, "no answer after it was told to stop");
      ++counts.stopped_hittings;
    }
    int least = n + 1;
    for (unsigned chosen = 0; chosen < 1U << n; ++chosen)
      if (hits_all(chosen)) least = std::min(least, std::popcount(chosen));
    const HittingSets::Answer answer = sets.next(most, never_stop);
    CHECK((answer == HittingSets::Answer::found) == (least <= most), "a set is found if there is one");
    ++counts.hittings;
    if (answer != HittingSets::Answer::found) continue;
    unsigned chosen = 0;
    for (const std::int32_t f : sets.chosen()) {
      CHECK(f % spread == 0, "only features of sets are chosen");
      chosen |= 1U << (f / spread);
    }
    CHECK(std::popcount(chosen) <= most && hits_all(chosen), "it is small, and meets all");
    for (const std::int32_t f : sets.excluded())
      CHECK(f % spread != 0 || !(chosen >> (f / spread) & 1U), "what is excluded is not chosen");
    ++counts.hitting_sets;
  }
}

}  // namespace treeproof::testing
