// Ways to make a communicator. Each returns the handle of a registered communicator, after every
// rank (of the collective ones) has joined. `device` is the one that the new rank lives on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hccl/hccl_types.h"
#include "src/base/env.h"
#include "src/base/status.h"
#include "src/communicator/communicator.h"
#include "src/communicator/config.h"

namespace hccl {

inline constexpr std::string_view kWorldGroup = "hccl_world_group";

// Starts a root server. Errors: EI0001 (network interface), EI0019 HCCL_E_UNAVAIL (port).
Result<HcclRootInfo> makeRootInfo(int32_t device);

// Joins through one or several roots. Errors: as joinRoots, HCCL_E_PARA for a root information that
// HcclGetRootInfo did not make or a name in use.
Result<HcclComm> joinByRoots(std::span<const HcclRootInfo> roots, uint32_t nRanks, uint32_t rank,
                             int32_t device, const LoadedConfig& config,
                             const Environment& environment);

struct TableRequest {
  std::string table;  // path, or the text itself
  bool isText = false;
  uint32_t rank = 0;
  // Current device of the caller; -1: none, then the table's device becomes it.
  int32_t device = -1;
};
// The world of a rank table; one per device and process. Errors: of loadRankTable and joinByTable,
// HCCL_E_UNAVAIL when the device has one already.
Result<HcclComm> joinWorld(const TableRequest& request, const LoadedConfig& config,
                           const Environment& environment);

// Members of `parent`, which is no sub-communicator itself; exchanges nothing. `ranks` are ranks of
// the parent, the caller is ranks[subRank].
Result<HcclComm> createSubCommunicator(const Communicator& parent, std::span<const uint32_t> ranks,
                                       uint64_t id, uint32_t subRank, const LoadedConfig& config);

// Rank i on devices[i], all in this process. On an error none is left.
Result<std::vector<HcclComm>> joinAll(std::span<const int32_t> devices,
                                      const Environment& environment);

// Leaves the communicator. HCCL_E_AGAIN while operations of it are on streams, unless it has
// failed: then it is shut down (bounded). Callbacks of communicatorCallbacks() run around it.
Status destroyCommunicator(HcclComm handle);

}  // namespace hccl
