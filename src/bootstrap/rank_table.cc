#include "src/bootstrap/rank_table.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>

#include "src/base/clock.h"
#include "src/base/env.h"
#include "src/base/fd.h"
#include "src/base/log.h"
#include "src/bootstrap/rank_table_fields.h"
#include "src/fault/ei_errors.h"

namespace hccl {
namespace {

using ranktable::Json;

constexpr std::string_view kConfig = "[InitGroupStage][RanktableConfig]";
constexpr std::string_view kFileReason =
    "The rankTable file path does not exist, the permission is insufficient, or the JSON format is "
    "incorrect.";
constexpr size_t kMaxPath = 4096;

Status fileError(const std::string& path, HcclResult code, std::string_view detail) {
  HCCL_ERROR("{}{} {}", kConfig, errNoText(code, true), detail);
  return eiError(Ei::kRankTableFile, code, {ranktable::shortened(path), kFileReason});
}

Result<std::string> resolvePath(const std::string& path) {
  if (path.empty()) return fileError(path, HCCL_E_PARA, "the path of the rank table is empty");
  if (path.size() > kMaxPath) {
    return fileError(path, HCCL_E_PARA,
                     fmt::format("the path of the rank table has {} characters, {} are allowed",
                                 path.size(), kMaxPath));
  }
  if (!path.ends_with(".json")) {
    return fileError(path, HCCL_E_INTERNAL, fmt::format("path {} is not a valid .json file", path));
  }
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (real == nullptr) {
    return fileError(path, HCCL_E_PARA, fmt::format("path {} is not a valid real path", path));
  }
  return std::string(real.get());
}

// Reads a regular file; a FIFO or a device could block or never end.
Result<std::string> readTable(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return fileError(path, HCCL_E_INTERNAL,
                     fmt::format("{}: failed to open the file in read-only mode", path));
  }
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got == 0) return text;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return fileError(path, HCCL_E_INTERNAL, fmt::format("reading {} failed", path));
    }
    text.append(buffer.data(), static_cast<size_t>(got));
    if (text.size() > kMaxRankTableBytes) {
      return fileError(path, HCCL_E_INTERNAL, fmt::format("{} is larger than 1 GB", path));
    }
  }
}

bool isNestedTooDeep(std::string_view text) {
  int depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inString) {
      if (c == '\\') ++i;
      if (c == '"') inString = false;
      continue;
    }
    if (c == '"') inString = true;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth > kMaxRankTableDepth) return true;
  }
  return false;
}

Result<Json> parseJson(std::string_view text, const std::string& path) {
  Json root = Json::value_t::discarded;
  if (text.size() <= kMaxRankTableBytes && !isNestedTooDeep(text)) {
    root = Json::parse(text, nullptr, false);
  }
  if (root.is_object()) return root;
  return fileError(path, HCCL_E_INTERNAL,
                   fmt::format("load file[{}] to json fail. please check json file!", path));
}

Result<std::string> versionOf(const Json& root) {
  const ranktable::Fields top(root);
  HCCL_ASSIGN_OR_RETURN(const auto version, top.optionalText("version"));
  return version.value_or("");
}

// 1.1 and 2.0 tables need not have a status.
Result<bool> isCompleted(const Json& root) {
  const ranktable::Fields top(root);
  HCCL_ASSIGN_OR_RETURN(const std::string version, versionOf(root));
  if ((version == "1.1" || version == "2.0") && !top.has("status")) return true;
  HCCL_ASSIGN_OR_RETURN(const std::string status, top.text("status"));
  return status == "completed";
}

Result<RankTable> parseCompleted(const Json& root, const std::string& identify,
                                 const RankTableOptions& options) {
  HCCL_ASSIGN_OR_RETURN(const std::string version, versionOf(root));
  Result<ranktable::Parsed> parsed = ranktable::Parsed{};
  if (!root.contains("version")) {
    parsed = ranktable::parseLegacy(root, options);
  } else if (version == "1.0" || version == "1.2") {
    parsed = ranktable::parseConcise(root, version, options);
  } else if (version == "1.1") {
    parsed = ranktable::parseHeterogeneous(root, options);
  } else if (version == "2.0") {
    parsed = ranktable::parseVersion2(root, options);
  } else {
    return ranktable::valueError(
        version, "version", "a valid version number.", HCCL_E_NOT_SUPPORT,
        fmt::format("version[{}] is not support", ranktable::shortened(version)));
  }
  if (!parsed) return parsed.status();
  return ranktable::finish(std::move(parsed.value()), identify, options);
}

// Waits for the next look at the file; false when the caller cancelled.
bool waitForNextLook(const RankTableOptions& options) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  const auto pause = std::chrono::duration<double>(options.pollSeconds);
  wake.wait_for(lock, options.cancel, pause, [] { return false; });
  return !options.cancel.stop_requested();
}

Result<RankTable> load(const std::string& path, const std::string& identify,
                       const RankTableOptions& options) {
  HCCL_ASSIGN_OR_RETURN(const std::string real, resolvePath(path));
  const Deadline deadline = Deadline::after(options.limitSeconds);
  for (bool isFirst = true;; isFirst = false) {
    HCCL_ASSIGN_OR_RETURN(const std::string text, readTable(real));
    Result<Json> root = parseJson(text, real);
    // A file that was seen incomplete may be half written when it is read again.
    if (!root && isFirst) return root.status();
    if (root) {
      HCCL_ASSIGN_OR_RETURN(const bool completed, isCompleted(*root));
      if (completed) return parseCompleted(*root, identify, options);
    }
    if (deadline.expired()) {
      const std::string reason = fmt::format("Load ranktable file[{}] timeout[{}]s", real,
                                             static_cast<uint64_t>(options.limitSeconds));
      HCCL_ERROR("{}{} {}", kConfig, errNoText(HCCL_E_TIMEOUT), reason);
      return eiError(Ei::kRankTableFile, HCCL_E_TIMEOUT, {ranktable::shortened(real), reason});
    }
    if (!waitForNextLook(options)) {
      return Status(HCCL_E_UNAVAIL, fmt::format("waiting for rank table {} was cancelled", real));
    }
  }
}

// No exception of the JSON library or of an allocation leaves this room.
template <typename Function>
Result<RankTable> guarded(Function&& function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return Status(HCCL_E_MEMORY, "not enough memory for the rank table");
  } catch (const std::exception& error) {
    return Status(HCCL_E_INTERNAL, fmt::format("rank table: {}", error.what()));
  }
}

}  // namespace

RankTableOptions rankTableOptions(const Environment& environment) {
  RankTableOptions options;
  options.intraRoce = environment.intraRoce;
  options.defaultPort = environment.ifBasePort.value_or(options.defaultPort);
  return options;
}

Result<RankTable> loadRankTable(const std::string& path, const std::string& identify,
                                const RankTableOptions& options) {
  return guarded([&] { return load(path, identify, options); });
}

Result<RankTable> loadRankTable(const std::string& path, uint32_t rank,
                                const RankTableOptions& options) {
  return loadRankTable(path, std::to_string(rank), options);
}

Result<RankTable> parseRankTable(std::string_view text, const std::string& identify,
                                 const RankTableOptions& options) {
  return guarded([&]() -> Result<RankTable> {
    HCCL_ASSIGN_OR_RETURN(const Json root, parseJson(text, "rank table text"));
    HCCL_ASSIGN_OR_RETURN(const bool completed, isCompleted(root));
    if (!completed) return Status(HCCL_E_AGAIN, "the rank table's status is not completed");
    return parseCompleted(root, identify, options);
  });
}

}  // namespace hccl
