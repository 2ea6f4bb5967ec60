#include "src/base/env.h"

#include <cstdlib>
#include <iterator>
#include <memory>

#include "src/base/env_parser.h"
#include "src/base/log.h"

namespace hccl {
namespace {

Status rowError(const EnvParser& p) {
  if (!p.failure.isOk()) return p.failure;
  const std::string_view value = p.failedValue.empty() ? p.value : p.failedValue;
  const std::string_view name = p.failedName.empty() ? p.variable.name : p.failedName;
  return invalidEnvironment(value, name, p.expect.empty() ? p.variable.expect : p.expect);
}

void writeLines(const std::vector<EnvLogLine>& lines) {
  for (const EnvLogLine& line : lines) {
    if (line.warning) {
      HCCL_RUN_WARNING("{}", line.text);
    } else {
      HCCL_RUN_INFO("{}", line.text);
    }
  }
}

// Parses row by row; `failed` names the row that stopped.
Status parseRows(const EnvLookup& lookup, Environment* env, std::vector<EnvLogLine>* lines,
                 std::string_view* failed) {
  for (const EnvVariable& variable : environmentTable()) {
    if (variable.parse == nullptr) continue;
    const char* text = lookup(std::string(variable.name).c_str());
    EnvParser parser{variable,
                     lookup,
                     *env,
                     *lines,
                     text != nullptr && *text != '\0',
                     text != nullptr ? text : "",
                     "",
                     "",
                     "",
                     Status::ok()};
    if (!variable.parse(parser)) {
      *failed = variable.name;
      return rowError(parser);
    }
  }
  return Status::ok();
}

}  // namespace

Status invalidEnvironment(std::string_view value, std::string_view name, std::string_view expect,
                          HcclResult code) {
  return Status(code,
                fmt::format("Value {} for environment variable {} is invalid. Expected value: {}.",
                            value, name, expect),
                1);
}

Result<Environment> parseEnvironment(const EnvLookup& lookup, std::vector<EnvLogLine>* lines) {
  std::vector<EnvLogLine> unused;
  Environment env;
  std::string_view failed;
  HCCL_RETURN_IF_ERROR(parseRows(lookup, &env, lines != nullptr ? lines : &unused, &failed));
  return env;
}

Result<const Environment*> environment() {
  struct Parsed {
    Environment env;
    Status status;
  };
  // Never destroyed: library threads may read it while the process exits.
  static const Parsed* parsed = [] {
    auto* result = new Parsed;
    std::vector<EnvLogLine> lines;
    std::string_view failed;
    result->status = parseRows([](const char* name) { return std::getenv(name); }, &result->env,
                               &lines, &failed);
    writeLines(lines);
    if (!result->status.isOk()) {
      HCCL_ERROR(
          "[InitGroupStage][EnvConfig]errNo[0x0000000005000001] In init env variable param, parse "
          "{} failed. errorno[1]",
          failed);
    }
    return result;
  }();
  if (!parsed->status.isOk()) return parsed->status;
  return &parsed->env;
}

}  // namespace hccl
