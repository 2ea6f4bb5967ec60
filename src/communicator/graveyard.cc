#include "src/communicator/graveyard.h"

#include <list>
#include <mutex>

namespace hccl {
namespace {

struct Grave {
  // Destroyed in reverse order: tasks first.
  std::unique_ptr<transport::Links> links;
  std::unique_ptr<executor::Context> context;
  std::unique_ptr<executor::TaskPool> tasks;
};

}  // namespace

void bury(std::unique_ptr<transport::Links> links, std::unique_ptr<executor::Context> context,
          std::unique_ptr<executor::TaskPool> tasks) {
  // Never destroyed: a stuck stream may outlive static destruction.
  static auto* const mutex = new std::mutex;
  static auto* const graves = new std::list<Grave>;
  std::lock_guard lock(*mutex);
  graves->remove_if([](const Grave& grave) { return grave.tasks->inFlight() == 0; });
  graves->push_back({std::move(links), std::move(context), std::move(tasks)});
}

}  // namespace hccl
