#include "src/executor/context.h"

#include "src/fault/culprit.h"
#include "src/runtime/engine.h"

namespace hccl::executor {

Staging::~Staging() {
  if (data_ == nullptr) return;
  auto arena = runtime::Arena::ofDevice(device_);
  if (arena.isOk()) (void)(*arena)->release(data_);
}

Status Staging::reserve(size_t bytes) {
  if (bytes <= size_) return Status::ok();
  HCCL_ASSIGN_OR_RETURN(runtime::Arena * arena, runtime::Arena::ofDevice(device_));
  const size_t granule = size_t{1} << 16;
  const size_t wanted = (bytes + granule - 1) / granule * granule;
  HCCL_ASSIGN_OR_RETURN(void* fresh, arena->allocate(wanted));
  if (data_ != nullptr) HCCL_RETURN_IF_ERROR(arena->release(data_));
  data_ = static_cast<std::byte*>(fresh);
  size_ = wanted;
  offset_ = static_cast<uint64_t>(data_ - arena->base());
  return Status::ok();
}

Context::Context(std::string name, uint32_t rank, uint32_t rankCount, int32_t device,
                 transport::Links* links, std::shared_ptr<Recorder> recorder)
    : name_(std::move(name)),
      rank_(rank),
      rankCount_(rankCount),
      device_(device),
      links_(links),
      staging_(device),
      recorder_(std::move(recorder)) {
  for (uint32_t r = 0; r < rankCount; ++r) {
    peers_.push_back(std::make_unique<Peer>());
    peers_.back()->rank = r;
    pairs_.push_back(std::make_unique<PointToPointPeer>());
  }
}

Status Context::connect(const std::vector<uint32_t>& peers, transport::LinkKind kind,
                        Deadline deadline) {
  const bool collective = kind == transport::LinkKind::kCollective;
  std::vector<uint32_t> missing;
  for (uint32_t r : peers) {
    if ((collective ? peers_[r]->link : pairs_[r]->link) == nullptr) missing.push_back(r);
  }
  if (missing.empty()) return Status::ok();
  HCCL_RETURN_IF_ERROR(links_->connect(missing, kind, deadline));
  for (uint32_t r : missing) {
    transport::Link* link = links_->find(r, kind);
    if (link == nullptr) {
      return Status(HCCL_E_INTERNAL, "the link to rank " + std::to_string(r) + " is missing");
    }
    if (!collective) {
      pairs_[r]->link = link;
      continue;
    }
    peers_[r]->link = link;
    peers_[r]->direct = link->direct.get();
    peers_[r]->message = link->message.get();
  }
  return Status::ok();
}

void Context::endTurn() {
  turn_.fetch_add(1, std::memory_order_acq_rel);
  runtime::Engine::instance().wake();
}

void Context::fail(const Status& reported) {
  const Status cause = withCulprit(reported);
  {
    std::lock_guard lock(mutex_);
    if (!failure_.isOk()) return;
    failure_ = cause;
  }
  failed_.store(true, std::memory_order_release);
  if (failureCallback_) failureCallback_(cause);
  runtime::Engine::instance().wake();
}

Status Context::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

}  // namespace hccl::executor
