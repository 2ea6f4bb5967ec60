#include "bench/parts/report.h"

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/parts/error.h"
#include "bench/parts/types.h"

namespace hccl::bench {
namespace {

template <typename... Values>
std::string format(const char* pattern, Values... values) {
  char text[256];
  std::snprintf(text, sizeof(text), pattern, values...);
  return text;
}

const char* verdict(const Row& row) {
  if (!row.good) return "NULL";
  return *row.good ? "success" : "failed";
}

}  // namespace

double algorithmBandwidth(const Row& row) {
  return row.timing.average > 0 ? static_cast<double>(row.bytes) / row.timing.average / 1000 : 0;
}

double Report::busBandwidth(const Row& row) const {
  return algorithmBandwidth(row) * operation_.busFactor(ranks_);
}

std::string Report::head() const {
  std::string text = format(
      "the minbytes is %llu, maxbytes is %llu, iters is %u, warmup_iters is %u\n",
      static_cast<unsigned long long>(options_.minBytes),
      static_cast<unsigned long long>(options_.maxBytes), options_.iterations, options_.warmUps);
  text += "data_size(Bytes): | aveg_time(us): | alg_bandwidth(GB/s): | check_result:";
  if (options_.busBandwidth) text += " | bus_bandwidth(GB/s):";
  if (options_.synchronous) text += " | p50_time(us): | p99_time(us): | min_time(us):";
  return text + "\n";
}

std::string Report::line(const Row& row) const {
  const bool more = options_.busBandwidth || options_.synchronous;
  std::string text =
      format(more ? "%-17llu | %-14.2f | %-20.5f | %-13s" : "%-17llu | %-14.2f | %-20.5f | %s",
             static_cast<unsigned long long>(row.bytes), row.timing.average,
             algorithmBandwidth(row), verdict(row));
  if (options_.busBandwidth) text += format(" | %-20.5f", busBandwidth(row));
  if (options_.synchronous) {
    text += format(" | %-13.2f | %-13.2f | %-13.2f", row.timing.median, row.timing.percentile99,
                   row.timing.minimum);
  }
  return text + "\n";
}

void Report::save() const {
  if (options_.json.empty()) return;
  nlohmann::json document = {
      {"program", operation_.program()},
      {"ranks", ranks_},
      {"root", options_.root},
      {"datatype", typeInfo(options_.type).name},
      {"iters", options_.iterations},
      {"warmup_iters", options_.warmUps},
      {"sync", options_.synchronous},
      {"only_device_time", options_.onlyDeviceTime},
      {"in_place", options_.inPlace || operation_.alwaysInPlace()},
      {"memory", options_.memory == MemoryKind::Device ? "device" : "malloc"},
      {"offset", options_.offset},
      {"rows", nlohmann::json::array()}};
  if (operation_.reduces()) document["op"] = reductionName(options_.op);
  for (const Row& row : rows_) {
    nlohmann::json entry = {{"bytes", row.bytes},
                            {"time_us", row.timing.average},
                            {"alg_bandwidth_gbps", algorithmBandwidth(row)},
                            {"bus_bandwidth_gbps", busBandwidth(row)},
                            {"check", verdict(row)}};
    if (options_.synchronous) {
      entry["p50_us"] = row.timing.median;
      entry["p99_us"] = row.timing.percentile99;
      entry["min_us"] = row.timing.minimum;
    }
    document["rows"].push_back(entry);
  }
  std::ofstream file(options_.json);
  file << document.dump(2) << '\n';
  file.close();
  if (!file) throw BenchError("cannot write " + options_.json);
}

}  // namespace hccl::bench
