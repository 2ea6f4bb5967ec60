// Settings of the process and of communicators; suspension; the working network device.
#include <fmt/core.h>

#include <cstring>
#include <string>

#include "src/api/api.h"
#include "src/api/check.h"
#include "src/api/entry.h"
#include "src/base/clock.h"
#include "src/base/log.h"
#include "src/communicator/config.h"
#include "src/communicator/registry.h"
#include "src/communicator/state_callbacks.h"

namespace hccl::api {
namespace {

constexpr size_t kMaxCallbackName = 160;

Status checkSetting(const char* op, HcclConfig config) {
  if (config == HCCL_DETERMINISTIC) return Status::ok();
  return argumentError(HCCL_E_PARA, op, std::to_string(static_cast<uint32_t>(config)), "config",
                       "HCCL_DETERMINISTIC");
}

uint64_t microsecondsSince(uint64_t begin) {
  return (monotonicNs() - begin) / 1000;
}

}  // namespace

HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue) {
  return entry([&]() -> Status {
    HCCL_RETURN_IF_ERROR(checkSetting("HcclSetConfig", config));
    return setProcessDeterministic(configValue.value, env());
  });
}

HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue* configValue) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcclGetConfig";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{configValue, "configValue"}}));
    HCCL_RETURN_IF_ERROR(checkSetting(kOp, config));
    configValue->value = processDeterministic(env());
    return Status::ok();
  });
}

HcclResult HcclConfigGetInfo(HcclComm comm, HcclConfigType cfgType, uint32_t infoLen, void* info) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcclConfigGetInfo";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{comm, "comm"}, {info, "info"}}));
    std::shared_ptr<Communicator> communicator;
    HCCL_RETURN_IF_ERROR(findCommunicator(kOp, comm, &communicator));
    const auto badLength = [&](const std::string& expected) {
      return argumentError(HCCL_E_PARA, kOp, std::to_string(infoLen), "infoLen", expected);
    };
    switch (static_cast<int32_t>(cfgType)) {
      case HCCL_CONFIG_TYPE_OP_EXPANSION_MODE: {
        const HcclConfigTypeOpExpansionMode mode = HCCL_OP_EXPANSION_MODE_HOST;
        if (infoLen != sizeof(mode)) return badLength(std::to_string(sizeof(mode)));
        std::memcpy(info, &mode, sizeof(mode));
        return Status::ok();
      }
      case HCCL_CONFIG_TYPE_HCCL_ALGO: {
        if (infoLen < HCCL_COMM_ALGO_MAX_LENGTH) {
          return badLength(fmt::format("at least {}", HCCL_COMM_ALGO_MAX_LENGTH));
        }
        const std::string text =
            communicator->settings().algo.text.substr(0, HCCL_COMM_ALGO_MAX_LENGTH - 1);
        std::memcpy(info, text.c_str(), text.size() + 1);
        return Status::ok();
      }
      case HCCL_CONFIG_TYPE_UB_MULTI_CHANNEL_NUM:
        return argumentError(HCCL_E_NOT_SUPPORT, kOp, "UB_MULTI_CHANNEL_NUM", "cfgType",
                             "a setting that hosts have");
      default:
        return argumentError(HCCL_E_PARA, kOp, std::to_string(static_cast<int32_t>(cfgType)),
                             "cfgType", "a value of HcclConfigType");
    }
  });
}

HcclResult HcclCommSuspend(HcclComm comm) {
  return entry([&]() -> Status {
    const uint64_t begin = monotonicNs();
    constexpr const char* kOp = "HcclCommSuspend";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{comm, "comm"}}));
    std::shared_ptr<Communicator> communicator;
    HCCL_RETURN_IF_ERROR(findCommunicator(kOp, comm, &communicator));
    communicator->suspend();
    HCCL_RUN_INFO("HcclCommSuspend:success, take time:[{}]us, comm[{}]", microsecondsSince(begin),
                  communicator->name());
    return Status::ok();
  });
}

HcclResult HcclCommResume(HcclComm comm) {
  return entry([&]() -> Status {
    const uint64_t begin = monotonicNs();
    constexpr const char* kOp = "HcclCommResume";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{comm, "comm"}}));
    std::shared_ptr<Communicator> communicator;
    HCCL_RETURN_IF_ERROR(findCommunicator(kOp, comm, &communicator));
    // Links that broke are not made anew: such a communicator has to be destroyed.
    HCCL_RETURN_IF_ERROR(communicator->asyncError());
    runStateCallbacks(comm, HCCL_COMM_STATE_PHASE_RESUME_PRE);
    communicator->resume();
    runStateCallbacks(comm, HCCL_COMM_STATE_PHASE_RESUME_POST);
    HCCL_RUN_INFO("HcclCommResume:success, take time:[{}]us, comm[{}]", microsecondsSince(begin),
                  communicator->name());
    return Status::ok();
  });
}

HcclResult HcclCommGetStatus(const char* commId, HcclCommStatus* status) {
  return entry([&]() -> Status {
    HCCL_RETURN_IF_ERROR(
        checkPointers("HcclCommGetStatus", {{commId, "commId"}, {status, "status"}}));
    Registry& registry = Registry::instance();
    const auto communicator = registry.find(registry.findByName(commId));
    *status = communicator == nullptr     ? HCCL_COMM_STATUS_INVALID
              : communicator->suspended() ? HCCL_COMM_STATUS_SUSPENDING
                                          : HCCL_COMM_STATUS_READY;
    return Status::ok();
  });
}

HcclResult HcclCommRegCommStateCallback(const char* regName, HcclCommStateCallback cb, void* args) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcclCommRegCommStateCallback";
    HCCL_RETURN_IF_ERROR(
        checkPointers(kOp, {{regName, "regName"}, {reinterpret_cast<const void*>(cb), "cb"}}));
    const size_t length = ::strnlen(regName, kMaxCallbackName);
    if (length == 0 || length >= kMaxCallbackName) {
      return argumentError(HCCL_E_PARA, kOp, length == 0 ? "an empty text" : "a longer text",
                           "regName", fmt::format("1 to {} characters", kMaxCallbackName - 1));
    }
    registerStateCallback(regName, cb, args);
    return Status::ok();
  });
}

HcclResult HcclCommWorkingDevNicSet(HcclComm comm, uint32_t* ranks, bool* useBackup,
                                    uint32_t nRanks) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcclCommWorkingDevNicSet";
    HCCL_RETURN_IF_ERROR(
        checkPointers(kOp, {{comm, "comm"}, {ranks, "ranks"}, {useBackup, "useBackup"}}));
    std::shared_ptr<Communicator> communicator;
    HCCL_RETURN_IF_ERROR(findCommunicator(kOp, comm, &communicator));
    if (nRanks == 0 || nRanks > communicator->size()) {
      return argumentError(HCCL_E_PARA, kOp, std::to_string(nRanks), "nRanks",
                           fmt::format("1 to {}", communicator->size()));
    }
    for (uint32_t i = 0; i < nRanks; ++i) {
      HCCL_RETURN_IF_ERROR(checkRank(kOp, ranks[i], communicator->size(), "ranks"));
    }
    for (uint32_t i = 0; i < nRanks; ++i) {
      if (!useBackup[i]) continue;  // the primary device is in use already
      return argumentError(HCCL_E_NOT_SUPPORT, kOp, "true", "useBackup",
                           "false: the rank has no second network device");
    }
    return Status::ok();
  });
}

}  // namespace hccl::api
