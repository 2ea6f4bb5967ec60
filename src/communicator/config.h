// What is in force for a new communicator: HcclCommConfig over the environment over defaults, and
// the settings of the process (HcclSetConfig).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hccl/hccl_types.h"
#include "src/base/env.h"
#include "src/base/status.h"
#include "src/communicator/communicator.h"

namespace hccl {

// How a caller's HcclCommConfig describes itself.
struct ConfigHeader {
  uint64_t size = 0;
  uint32_t version = 0;
};

struct LoadedConfig {
  CommSettings settings;
  std::optional<ConfigHeader> header;  // empty when the caller passed no configuration
};

// Reads at most the size that the caller's configuration states, and the fields that its version
// has; a version other than this library's is worth a warning. `config` may be NULL. `op` is the
// public function, for error texts. Errors: HCCL_E_PARA with EI0003.
Result<LoadedConfig> loadConfig(const HcclCommConfig* config, const Environment& environment,
                                const char* op);

// The [Load] lines of the run log, written once the communicator has its name.
void logLoadedConfig(const LoadedConfig& config, const std::string& name);

// The JSON object of what all ranks must have set alike (JoinOptions of the rendezvous).
std::string agreedFacts(const CommSettings& settings);

// HcclSetConfig(HCCL_DETERMINISTIC): 0, 1 or 2 (else HCCL_E_PARA), for this process and all its
// communicators whose own configuration does not say otherwise. Without effect while the
// environment variable is set.
Status setProcessDeterministic(int32_t level, const Environment& environment);
int32_t processDeterministic(const Environment& environment);

}  // namespace hccl
