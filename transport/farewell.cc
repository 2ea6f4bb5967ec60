#include "transport/farewell.h"

#include <list>
#include <utility>

namespace hccl::transport {
namespace {

struct Entry {
  std::shared_ptr<Connection> channel;
  std::vector<std::shared_ptr<void>> keep;
};
std::list<Entry>& entries() {
  static auto* list = new std::list<Entry>;
  return *list;
}

}  // namespace

void Farewell::begin(ControlThread* thread, const std::shared_ptr<Connection>& channel,
                     std::vector<std::shared_ptr<void>> keep) {
  if (!channel->isOpen()) return;
  auto& all = entries();
  const auto it = all.insert(all.end(), {channel, std::move(keep)});
  const auto end = [thread, it] {
    it->channel->onMessage = nullptr;
    it->channel->onClosed = nullptr;
    it->channel->close();
    // The connection is still inside the call that brought us here.
    thread->post([it] { entries().erase(it); });
  };
  channel->onMessage = [end](const Message& message) {
    if (message.type == MessageType::kBye) end();
  };
  channel->onClosed = [end](const Status&) { end(); };
}

size_t Farewell::count() {
  return entries().size();
}

}  // namespace hccl::transport
