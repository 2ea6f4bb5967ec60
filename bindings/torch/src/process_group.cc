#include "process_group.h"

#include <algorithm>
#include <set>
#include <utility>

#include "arguments.h"

namespace hccl_torch {
namespace {

// The groups of this process, and among them the one of all ranks, out of which others are made.
struct Groups {
  std::mutex mutex;
  std::set<ProcessGroupHccl*> all;
  std::weak_ptr<Communicator> world;

  static Groups& instance() {
    static auto* groups = new Groups;
    return *groups;
  }
};

// The same number on all members for one group; FNV-1a.
uint64_t idOf(const std::string& name) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

std::shared_ptr<Communicator> partOfWorld(const c10d::DistributedBackendOptions& options,
                                          std::chrono::milliseconds timeout) {
  Groups& groups = Groups::instance();
  std::shared_ptr<Communicator> world;
  {
    const std::lock_guard<std::mutex> lock(groups.mutex);
    world = groups.world.lock();
  }
  if (!world || options.global_ranks_in_group.empty()) return nullptr;
  std::vector<uint32_t> ranks;
  for (const int64_t rank : options.global_ranks_in_group) {
    if (rank < 0 || rank >= static_cast<int64_t>(world->size())) return nullptr;
    ranks.push_back(static_cast<uint32_t>(rank));
  }
  return Communicator::split(world, ranks, options.group_rank, idOf("group " + options.group_id),
                             timeout);
}

}  // namespace

c10::intrusive_ptr<ProcessGroupHccl> ProcessGroupHccl::create(
    const c10d::DistributedBackendOptions& options) {
  const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(options.timeout);
  TORCH_CHECK(options.group_rank >= 0 && options.group_rank < options.group_size, "hccl: rank ",
              options.group_rank, " is not one of ", options.group_size, " ranks");
  openDevice(options.group_rank, options.group_size);
  std::shared_ptr<Communicator> communicator = partOfWorld(options, timeout);
  if (!communicator) {
    communicator =
        Communicator::join(*options.store, options.group_rank, options.group_size, timeout);
  }
  if (options.global_ranks_in_group.empty()) {
    const std::lock_guard<std::mutex> lock(Groups::instance().mutex);
    Groups::instance().world = communicator;
  }
  return c10::make_intrusive<ProcessGroupHccl>(options.group_rank, options.group_size,
                                               std::move(communicator), timeout);
}

ProcessGroupHccl::ProcessGroupHccl(int rank, int size, std::shared_ptr<Communicator> communicator,
                                   Timeout timeout)
    : BackendBase(rank, size),
      communicator_(std::move(communicator)),
      timeout_(timeout),
      completer_(std::make_shared<Completer>()) {
  init();
  // Made at once, on all ranks: a rank's first receive must not wait until its peer knows messages.
  if (size > 1) messages_ = std::make_unique<PointToPoint>(Communicator::twin(communicator_), rank);
  const std::lock_guard<std::mutex> lock(Groups::instance().mutex);
  Groups::instance().all.insert(this);
}

ProcessGroupHccl::~ProcessGroupHccl() {
  if (isForkedChild()) {
    // The threads and the memory behind these are the parent's.
    new std::shared_ptr<Communicator>(communicator_);
    new std::shared_ptr<Completer>(completer_);
    (void)messages_.release();
    for (auto& work : pending_) (void)work.release();
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(Groups::instance().mutex);
    Groups::instance().all.erase(this);
  }
  shutdown();
}

void ProcessGroupHccl::shutdown() {
  constexpr auto kPatience = std::chrono::seconds(10);
  if (isForkedChild()) return;
  std::deque<c10::intrusive_ptr<HcclWork>> pending;
  std::unique_ptr<PointToPoint> messages;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (std::exchange(ended_, true)) return;
    pending = std::exchange(pending_, {});
    messages = std::exchange(messages_, nullptr);
  }
  const Deadline deadline{std::chrono::duration_cast<Timeout>(kPatience)};
  for (const auto& work : pending) {
    if (!work->isDone()) (void)work->settle(deadline);
  }
  if (messages && !messages->close()) (void)messages.release();
  completer_->stop();
}

void shutdownAll() {
  std::set<ProcessGroupHccl*> groups;
  {
    const std::lock_guard<std::mutex> lock(Groups::instance().mutex);
    groups = Groups::instance().all;
  }
  for (ProcessGroupHccl* group : groups) group->shutdown();
}

Deadline ProcessGroupHccl::deadlineOf(std::chrono::milliseconds timeout) const {
  // The library itself ends operations after the group's time; only shorter times are kept here.
  return timeout > kNoTimeout && timeout < timeout_ ? Deadline(timeout) : Deadline();
}

uint64_t ProcessGroupHccl::begin() {
  useDevice();
  const std::lock_guard<std::mutex> lock(mutex_);
  TORCH_CHECK(!ended_, "hccl: the process group was destroyed");
  return sequence_++;
}

// A work that nobody holds any more still needs its buffers and its stream until it has ended.
void ProcessGroupHccl::remember(c10::intrusive_ptr<HcclWork> work) {
  constexpr size_t kMany = 64;
  c10::intrusive_ptr<HcclWork> oldest;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    while (!pending_.empty() && pending_.front()->isDone()) pending_.pop_front();
    pending_.push_back(std::move(work));
    if (pending_.size() > kMany) oldest = pending_.front();
  }
  if (oldest) (void)oldest->isCompleted();
}

PointToPoint& ProcessGroupHccl::messages() {
  TORCH_CHECK(messages_, "hccl: a group of one rank has nobody to exchange messages with");
  return *messages_;
}

WorkPtr ProcessGroupHccl::send(Tensors& tensors, int destination, int tag) {
  const at::Tensor& tensor = onlyOf(tensors, "send");
  begin();
  auto work = messages().send(
      {rank_, c10d::OpType::SEND, "hccl:send", tensors, tensors, Deadline(timeout_)}, tensor,
      destination, tag, completer_);
  remember(work);
  return work;
}

WorkPtr ProcessGroupHccl::recv(Tensors& tensors, int source, int tag) {
  TORCH_CHECK(source >= 0, "hccl: rank ", source, " is not one of the group");
  const at::Tensor& tensor = onlyOf(tensors, "recv");
  begin();
  return messages().receive(
      {rank_, c10d::OpType::RECV, "hccl:recv", tensors, tensors, Deadline(timeout_)}, tensor,
      source, tag);
}

WorkPtr ProcessGroupHccl::recvAnysource(Tensors& tensors, int tag) {
  const at::Tensor& tensor = onlyOf(tensors, "recvAnysource");
  begin();
  return messages().receive({rank_, c10d::OpType::RECVANYSOURCE, "hccl:recvAnySource", tensors,
                             tensors, Deadline(timeout_)},
                            tensor, ReceiveWork::kAnySource, tag);
}

}  // namespace hccl_torch
