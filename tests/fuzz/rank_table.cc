// A rank table of any version: refused with a text, or a cluster that holds together.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/bootstrap/rank_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  hccl::RankTableOptions options;
  options.intraRoce = (data[0] & 1) != 0;
  if ((data[0] & 2) != 0) options.localDevice = data[0] >> 4;
  const auto table = hccl::parseRankTable(text, std::to_string(data[0] >> 2 & 3), options);
  if (!table.isOk()) {
    if (table.status().text().empty()) std::abort();
    return 0;
  }
  if (table->rank >= table->cluster.size()) std::abort();
  for (uint32_t r = 0; r < table->cluster.size(); ++r) {
    if (table->cluster.ranks[r].rank != r) std::abort();
    (void)table->cluster.serverIndex(r);
    (void)table->cluster.superPodIndex(r);
  }
  return 0;
}
