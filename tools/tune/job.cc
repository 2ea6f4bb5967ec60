#include "tools/tune/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "src/base/env.h"
#include "tools/tool_words.h"
#include "tools/tune/report.h"

namespace hccl::tune {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kChunkedFrom = 4ULL << 20;  // smaller data are one chunk or two
constexpr double kChunkGain = 0.95;            // another chunk has to be worth it

// What the library would choose, as it does it itself.
plan::Chooser chooserLike(const plan::Topology& topology, const JobSpec& spec) {
  plan::Policy policy;
  if (const auto env = environment()) {
    policy.config = (*env)->algo;
    policy.strict = (*env)->deterministic == Deterministic::kStrict;
    policy.table = (*env)->algoTable;
  }
  policy.links.inside = plan::costClassOf(spec.links).value_or(plan::CostClass::kTcp);
  policy.links.between = policy.links.inside;
  const double processors = std::max(1U, std::thread::hardware_concurrency());
  policy.links.crowding = std::max(1.0, topology.rankCount / processors);
  return {topology, policy};
}

class Work {
 public:
  Work(Team& team, const JobSpec& spec)
      : team_(team),
        spec_(spec),
        topology_(plan::Topology::flat(team.ranks())),
        chooser_(chooserLike(topology_, spec)),
        measurement_(team, spec.effort, spec.sizes.back()) {}

  Json run() {
    Json result = {{"rows", Json::array()}, {"cells", Json::array()}};
    for (const Operation& op : spec_.ops) {
      const Setting setting{op, team_.ranks(), 1, spec_.links};
      std::vector<Contender> contenders = contendersOf(op, topology_);
      if (spec_.compare) contenders.push_back({"automatic", "", {}});
      std::vector<Tuned> tuned;
      uint64_t before = 0;
      for (const uint64_t size : spec_.sizes) {
        const uint64_t count = countFor(op, size, team_.ranks());
        if (count == before) continue;
        before = count;
        const uint64_t bytes = bytesFor(op, count, team_.ranks());
        if (spec_.compare) {
          result["cells"].push_back(toJson(compare(setting, count, bytes, contenders)));
        } else {
          tuned.push_back(tune(setting, count, bytes, contenders));
        }
      }
      for (const Json& row : tableRows(setting, tuned)) result["rows"].push_back(row);
      measurement_.forget();
    }
    return result;
  }

 private:
  Cell compare(const Setting& setting, uint64_t count, uint64_t bytes,
               const std::vector<Contender>& contenders) {
    const std::vector<Times> times = measurement_.run(setting.op, count, contenders);
    const size_t own = contenders.size() - 1;
    const size_t best = bestOf(contenders, times);
    Cell cell;
    cell.setting = setting;
    cell.bytes = bytes;
    plan::OpDesc desc;
    desc.type = setting.op.type;
    desc.count = count;
    const plan::Choice& choice = chooser_.choose(desc, bytes);
    cell.own = choice.text();
    if (choice.chunkBytes != 0) cell.own += ", chunk " + tools::sizeText(choice.chunkBytes);
    cell.best = contenders[best].name;
    cell.ownSeconds = medianOf(times[own].seconds);
    cell.bestSeconds = medianOf(times[best].seconds);
    cell.ratio = medianRatio(times[own].seconds, times[best].seconds);
    if (team_.rank() == 0) print(cell);
    return cell;
  }

  Tuned tune(const Setting& setting, uint64_t count, uint64_t bytes,
             const std::vector<Contender>& contenders) {
    const std::vector<Times> times = measurement_.run(setting.op, count, contenders);
    const size_t best = bestOf(contenders, times);
    Tuned tuned{bytes, contenders[best], medianOf(times[best].seconds)};
    printAll(setting, bytes, contenders, times);
    if (bytes < kChunkedFrom || spec_.chunks.empty()) return tuned;
    std::vector<Contender> chunked = {contenders[best]};
    for (const uint64_t chunk : spec_.chunks) chunked.push_back(withChunk(chunked[0], chunk));
    const std::vector<Times> again = measurement_.run(setting.op, count, chunked);
    const size_t chunk = bestOf(chunked, again);
    printAll(setting, bytes, chunked, again);
    if (chunk != 0 && !again[0].seconds.empty() &&
        medianRatio(again[chunk].seconds, again[0].seconds).high < kChunkGain) {
      tuned.winner = chunked[chunk];
      tuned.seconds = medianOf(again[chunk].seconds);
    }
    return tuned;
  }

  void printAll(const Setting& setting, uint64_t bytes, const std::vector<Contender>& contenders,
                const std::vector<Times>& times) const {
    if (team_.rank() != 0) return;
    fmt::print("{} of {} on {} ranks, {}:", setting.op.token, tools::sizeText(bytes), setting.ranks,
               setting.links);
    std::vector<std::pair<double, std::string>> lines;
    for (size_t i = 0; i < contenders.size(); ++i) {
      if (times[i].seconds.empty()) {
        lines.emplace_back(times[i].first,
                           fmt::format("  {} >{:.4g}", contenders[i].name, times[i].first * 1e6));
        continue;
      }
      const Median m = medianOf(times[i].seconds);
      lines.emplace_back(m.value,
                         fmt::format("  {} {:.4g} ({:.4g} to {:.4g}) us", contenders[i].name,
                                     m.value * 1e6, m.low * 1e6, m.high * 1e6));
    }
    std::sort(lines.begin(), lines.end());
    for (const auto& [time, line] : lines) fmt::print("\n{}", line);
    fmt::print("\n");
    std::fflush(stdout);
  }

  Team& team_;
  const JobSpec& spec_;
  const plan::Topology topology_;
  plan::Chooser chooser_;
  Measurement measurement_;
};

}  // namespace

nlohmann::json runJob(Team& team, const JobSpec& spec) {
  return Work(team, spec).run();
}

}  // namespace hccl::tune
