#include "src/communicator/flight.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "src/base/clock.h"
#include "src/base/log.h"
#include "src/base/system_error.h"
#include "src/communicator/heartbeat_config.h"
#include "src/executor/mismatch.h"
#include "src/fault/culprit.h"
#include "src/fault/ei_errors.h"
#include "src/plan/op.h"

namespace hccl {
namespace {

using nlohmann::json;

const char* opNameOf(const OpRecord& record) {
  return plan::opName(static_cast<HcclCMDType>(record.facts.type));
}

bool isOpen(const OpRecord& record) {
  return record.state == OpState::kQueued || record.state == OpState::kWaiting;
}

uint64_t age(uint64_t sinceNs, uint64_t now) {
  return now > sinceNs ? now - sinceNs : 0;
}

json operationJson(const OpRecord& record, uint64_t now) {
  json op = {{"sequence", record.facts.sequence},
             {"op", opNameOf(record)},
             {"algorithm", record.facts.algorithm},
             {"count", record.facts.count},
             {"dataType", executor::dataTypeName(record.facts.dataType)},
             {"reduceOp", executor::reduceOpName(record.facts.reduceOp)},
             {"root", record.facts.root},
             {"stream", record.facts.stream},
             {"state", opStateName(record.state)},
             {"queuedNs", record.queuedNs},
             {"endedNs", record.endedNs}};
  if (isOpen(record)) op["ageMs"] = age(record.queuedNs, now) / 1'000'000;
  if (record.peer >= 0) {
    op["waitsFor"] = record.peer;
    op["step"] = record.step;
    op["waitingNs"] = record.waitingNs;
  }
  return op;
}

// A complete event of the trace-event format; times in microseconds of the wall clock.
json traceEvent(const Flight& flight, const OpRecord& record, uint64_t now, uint64_t wallUs) {
  const uint64_t end = record.endedNs != 0 ? record.endedNs : now;
  const auto wall = [&](uint64_t ns) {
    return static_cast<double>(wallUs) - static_cast<double>(age(ns, now)) * 1e-3;
  };
  return {{"name", opNameOf(record)},
          {"cat", opStateName(record.state)},
          {"ph", "X"},
          {"ts", wall(record.queuedNs)},
          {"dur", static_cast<double>(age(record.queuedNs, end)) * 1e-3},
          {"pid", flight.rank},
          {"tid", record.facts.stream},
          {"args", operationJson(record, now)}};
}

// The lines of a task exception, in HCCL's order.
void logTaskException(const Flight& flight, const OpRecord& record, const Status& cause) {
  const bool isTimeout = cause.eiCode() == static_cast<int>(Ei::kExecTimeout);
  const std::string p =
      fmt::format("[TaskExecStage][{}][HOST]", isTimeout ? "Timeout" : "RunFailed");
  const double waited =
      record.waitingNs == 0 ? 0 : static_cast<double>(age(record.waitingNs, monotonicNs())) * 1e-9;
  HCCL_ERROR("{} Task from HCCL run failed.", p);
  HCCL_ERROR(
      "{} Task run failed, base information is streamID:[{}], taskID[{}], taskType[{}], "
      "tag[{}_{}], AlgType(level 0-1-2):[{}].",
      p, record.facts.stream, record.facts.sequence,
      record.state == OpState::kWaiting ? "Notify Wait" : "Memcpy", opNameOf(record),
      flight.communicator, record.facts.algorithm);
  HCCL_ERROR(
      "{} Task run failed, para information is notify id:[0x{:016x}], stage:[{}], remote "
      "rank:[{}], waited:[{:.3f}]s.",
      p, record.facts.sequence, record.step,
      record.peer < 0 ? "local" : std::to_string(record.peer), waited);
  HCCL_ERROR(
      "{} Task run failed, groupRank information is group:[{}], user define "
      "information[Unspecified], rankSize[{}], rankId[{}].",
      p, flight.communicator, flight.size, flight.rank);
  HCCL_ERROR(
      "{} Task run failed, opData information is timeStamp:[{}], deviceId[{}], index[{}], "
      "count[{}], reduceType[{}], dataType[{}].",
      p, wallClockText(), flight.device, record.facts.sequence, record.facts.count,
      executor::reduceOpName(record.facts.reduceOp), executor::dataTypeName(record.facts.dataType));
}

}  // namespace

Flight::Flight(std::string communicatorName, const Cluster& cluster, uint32_t ownRank,
               int32_t logicDevice)
    : communicator(std::move(communicatorName)),
      rank(ownRank),
      size(cluster.size()),
      device(logicDevice),
      name(rankName(cluster.ranks[ownRank])),
      server(cluster.ranks[ownRank].serverId),
      recorder(std::make_shared<Recorder>()) {}

void Flight::setFailure(const Status& cause) {
  std::lock_guard lock(mutex_);
  if (failure_.isOk()) failure_ = withCulprit(cause);
}

Status Flight::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

namespace {

std::string textOf(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json factsJson(const Flight& flight, json operations, uint64_t now, uint64_t wallUs) {
  const Status failure = flight.failure();
  json facts = {{"communicator", flight.communicator},
                {"rank", flight.rank},
                {"ranks", flight.size},
                {"device", flight.device},
                {"name", flight.name},
                {"server", flight.server},
                {"pid", ::getpid()},
                {"wallUs", wallUs},
                {"monotonicNs", now},
                {"queued", flight.recorder->queuedCount()},
                {"ended", flight.recorder->endedCount()},
                {"operations", std::move(operations)}};
  if (!failure.isOk()) {
    facts["failure"] = {{"code", static_cast<int>(failure.code())},
                        {"ei", eiName(failure.eiCode())},
                        {"culprit", failure.culprit()},
                        {"text", failure.text()}};
  }
  return facts;
}

}  // namespace

std::string flightStatusJson(const Flight& flight) {
  constexpr size_t kLast = 8;
  const uint64_t now = monotonicNs();
  json operations = json::array();
  const std::vector<OpRecord> records = flight.recorder->snapshot();
  for (size_t i = 0; i < records.size(); ++i) {
    if (isOpen(records[i]) || i + kLast >= records.size()) {
      operations.push_back(operationJson(records[i], now));
    }
  }
  return textOf(factsJson(flight, std::move(operations), now, wallClockUs()));
}

std::string flightJson(const Flight& flight) {
  const uint64_t now = monotonicNs();
  const uint64_t wallUs = wallClockUs();
  json events = json::array();
  events.push_back({{"name", "process_name"},
                    {"ph", "M"},
                    {"pid", flight.rank},
                    {"args", {{"name", fmt::format("rank {} ({})", flight.rank, flight.name)}}}});
  json operations = json::array();
  for (const OpRecord& record : flight.recorder->snapshot()) {
    events.push_back(traceEvent(flight, record, now, wallUs));
    operations.push_back(operationJson(record, now));
  }
  return textOf({{"traceEvents", std::move(events)},
                 {"hccl", factsJson(flight, std::move(operations), now, wallUs)}});
}

std::string flightText(const Flight& flight) {
  const uint64_t now = monotonicNs();
  const Status failure = flight.failure();
  std::string text = fmt::format("communicator {} rank {} of {} ({}): {} operations, {} ended{}\n",
                                 flight.communicator, flight.rank, flight.size, flight.name,
                                 flight.recorder->queuedCount(), flight.recorder->endedCount(),
                                 failure.isOk() ? "" : ", FAILED: " + failure.text());
  for (const OpRecord& record : flight.recorder->snapshot()) {
    if (!isOpen(record)) continue;
    text += fmt::format("  {} #{} count {} {} [{}] stream {}: {} for {:.3f} s", opNameOf(record),
                        record.facts.sequence, record.facts.count,
                        executor::dataTypeName(record.facts.dataType), record.facts.algorithm,
                        record.facts.stream, opStateName(record.state),
                        static_cast<double>(age(record.queuedNs, now)) * 1e-9);
    if (record.peer >= 0) {
      text += fmt::format(", waits for rank {} ({}) since {:.3f} s", record.peer, record.step,
                          static_cast<double>(age(record.waitingNs, now)) * 1e-9);
    }
    text += "\n";
  }
  return text;
}

Result<std::string> dumpFlight(const Flight& flight) {
  const std::string root = log::currentConfig().root;
  if (root.empty()) return Status(HCCL_E_NOT_FOUND, "the log has no directory");
  const std::string folder = root + "/flight";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return systemCallError("making " + folder, error.value());
  std::string name = flight.communicator;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '.') c = '_';
  }
  const std::string path =
      fmt::format("{}/flight-{}-{}-rank{}.json", folder, ::getpid(), name, flight.rank);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << flightJson(flight) << '\n';
  file.close();
  if (!file) return systemCallError("writing " + path, errno);
  return path;
}

void reportFailure(Flight& flight, const Status& cause, const std::vector<std::string>& locations) {
  flight.setFailure(cause);
  for (const OpRecord& record : flight.recorder->snapshot()) {
    if (!isOpen(record)) continue;
    logTaskException(flight, record, cause);
    break;
  }
  for (const std::string& line : locations) HCCL_ERROR("{}", line);
  std::string text = cause.text();
  for (const std::string& line : locations) text += " " + line;
  reportAsyncError(Status(cause.code(), std::move(text), cause.eiCode(), cause.culprit()));
  const Result<std::string> dump = dumpFlight(flight);
  if (dump.isOk()) {
    HCCL_RUN_WARNING("flight recorder of rank {} of {}: {}", flight.rank, flight.communicator,
                     *dump);
  }
}

}  // namespace hccl
