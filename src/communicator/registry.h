// Registry: the live communicators of the process, by handle and by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hccl/hccl_types.h"
#include "src/communicator/communicator.h"

namespace hccl {

class Registry {
 public:
  static Registry& instance();

  // E_PARA when a communicator of this name and device lives already. A name is taken per rank:
  // ranks of one process (threads) share the communicator's name, so (name, rank) has to be unique.
  Result<HcclComm> add(std::shared_ptr<Communicator> communicator);
  // nullptr for an unknown or destroyed handle. Cheap: called by every API call.
  std::shared_ptr<Communicator> find(HcclComm handle) const;
  // By name, preferring the calling thread's current device.
  HcclComm findByName(const std::string& name) const;
  bool nameTaken(const std::string& name, uint32_t rank) const;
  std::shared_ptr<Communicator> remove(HcclComm handle);
  std::vector<std::shared_ptr<Communicator>> all() const;

 private:
  Registry();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hccl
