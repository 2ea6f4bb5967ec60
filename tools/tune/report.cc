#include "tools/tune/report.h"

#include <fmt/format.h>

#include <cmath>

#include "tools/tool_words.h"

namespace hccl::tune {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kAllSizes = 1ULL << 50;

Json toJson(const Median& m) {
  return {m.value * 1e6, m.low * 1e6, m.high * 1e6};
}

Median fromJson(const Json& json) {
  return {json[0].get<double>() * 1e-6, json[1].get<double>() * 1e-6, json[2].get<double>() * 1e-6};
}

std::string micro(double seconds) {
  return fmt::format("{:.4g} us", seconds * 1e6);
}

bool sameRow(const Json& a, const Json& b) {
  for (const char* field : {"algorithm", "level1", "one_shot", "chunk_bytes"}) {
    if (a.value(field, Json()) != b.value(field, Json())) return false;
  }
  return true;
}

}  // namespace

size_t bestOf(const std::vector<Contender>& contenders, const std::vector<Times>& times) {
  size_t best = contenders.size();
  double least = 0;
  for (size_t i = 0; i < contenders.size(); ++i) {
    if (times[i].seconds.empty() || contenders[i].algo.empty()) continue;
    const double value = medianOf(times[i].seconds).value;
    if (best != contenders.size() && value >= least) continue;
    best = i;
    least = value;
  }
  return best == contenders.size() ? 0 : best;
}

Json tableRows(const Setting& setting, const std::vector<Tuned>& tuned) {
  Json rows = Json::array();
  for (size_t i = 0; i < tuned.size(); ++i) {
    const plan::Choice& choice = tuned[i].winner.choice;
    const bool last = i + 1 == tuned.size();
    const double middle = last ? 0
                               : std::sqrt(static_cast<double>(tuned[i].bytes) *
                                           static_cast<double>(tuned[i + 1].bytes));
    Json row = {{"op", setting.op.token},
                {"ranks", setting.ranks},
                {"servers", setting.servers},
                {"links", setting.links},
                {"max_bytes", last ? kAllSizes : static_cast<uint64_t>(middle)},
                {"one_shot", choice.oneShot()},
                {"measured", {{"bytes", tuned[i].bytes}, {"us", toJson(tuned[i].seconds)}}}};
    row[choice.level1 != nullptr ? "level1" : "algorithm"] =
        choice.level1 != nullptr ? choice.level1->token : choice.level0->token;
    if (choice.chunkBytes != 0) row["chunk_bytes"] = choice.chunkBytes;
    if (!rows.empty() && sameRow(rows.back(), row)) {
      rows.back()["max_bytes"] = row["max_bytes"];
    } else {
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

Json tableOf(const Json& rows) {
  return {{"version", 1}, {"rows", rows}};
}

void printHead() {
  fmt::print(
      "| op | ranks | links | size | own choice | us | best measured | us | own / best | |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n");
}

void print(const Cell& c) {
  fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} | {:.2f} ({:.2f} to {:.2f}) | {} |\n",
             c.setting.op.token, c.setting.ranks, c.setting.links, tools::sizeText(c.bytes), c.own,
             micro(c.ownSeconds.value), c.best, micro(c.bestSeconds.value), c.ratio.value,
             c.ratio.low, c.ratio.high, c.isLost() ? "lost" : "");
  std::fflush(stdout);
}

Json toJson(const Cell& c) {
  return {{"op", c.setting.op.token},
          {"ranks", c.setting.ranks},
          {"links", c.setting.links},
          {"bytes", c.bytes},
          {"own", c.own},
          {"best", c.best},
          {"own_us", toJson(c.ownSeconds)},
          {"best_us", toJson(c.bestSeconds)},
          {"ratio", {c.ratio.value, c.ratio.low, c.ratio.high}},
          {"lost", c.isLost()}};
}

Cell cellOf(const Json& json) {
  Cell c;
  c.setting.op = findOperation(json.at("op").get<std::string>()).value_or(Operation());
  c.setting.ranks = json.at("ranks");
  c.setting.links = json.at("links");
  c.bytes = json.at("bytes");
  c.own = json.at("own");
  c.best = json.at("best");
  c.ownSeconds = fromJson(json.at("own_us"));
  c.bestSeconds = fromJson(json.at("best_us"));
  const Json& ratio = json.at("ratio");
  c.ratio = {ratio[0], ratio[1], ratio[2]};
  return c;
}

std::string summary(const std::vector<Cell>& cells) {
  size_t kept = 0;
  size_t near = 0;
  for (const Cell& cell : cells) {
    kept += cell.isLost() ? 0 : 1;
    near += cell.isNear() ? 1 : 0;
  }
  const double all = std::max<double>(1, static_cast<double>(cells.size()));
  return fmt::format(
      "within 10 % of the best (not lost): {} of {} cells, {:.1f} %; with the median itself within "
      "10 %: {}, {:.1f} %",
      kept, cells.size(), 100.0 * static_cast<double>(kept) / all, near,
      100.0 * static_cast<double>(near) / all);
}

}  // namespace hccl::tune
