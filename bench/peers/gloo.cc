// Gloo over its TCP transport on loopback, the only one that Debian's package has. PEER_RANK,
// PEER_RANKS: the place; PEER_STORE: a folder that the job has for itself.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <map>
#include <vector>

#include "contender.h"

namespace hccl::peers {
namespace {

class Gloo final : public Contender {
 public:
  Gloo() : place_(placeFromLeader()) {}
  Place place() const override { return place_; }

  void join(const std::string& invitation) override {
    (void)invitation;
    gloo::transport::tcp::attr attributes;
    attributes.iface = "lo";
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    gloo::rendezvous::FileStore store(setting("PEER_STORE"));
    auto context = std::make_shared<gloo::rendezvous::Context>(place_.rank, place_.ranks);
    context->connectFullMesh(store, device);
    context_ = context;
  }

  void free(float* memory) override {
    scatters_.clear();
    Contender::free(memory);
  }

  void allReduce(const float* in, float* out, size_t count) override {
    gloo::AllreduceOptions options(context_);
    options.setInput(const_cast<float*>(in), count);
    options.setOutput(out, count);
    options.setReduceFunction(
        [](void* a, const void* b, const void* c, size_t n) { gloo::sum<float>(a, b, c, n); });
    gloo::allreduce(options);
  }
  void allGather(const float* in, float* out, size_t count) override {
    gloo::AllgatherOptions options(context_);
    options.setInput(const_cast<float*>(in), count);
    options.setOutput(out, count * static_cast<size_t>(place_.ranks));
    gloo::allgather(options);
  }
  // Gloo's only one works in place and is set up for a buffer; set-up is not measured. Its input is
  // not kept.
  void reduceScatter(const float* in, float* out, size_t count) override {
    (void)out;
    auto* data = const_cast<float*>(in);
    auto& made = scatters_[{data, count}];
    if (!made) {
      const std::vector<int> counts(static_cast<size_t>(place_.ranks), static_cast<int>(count));
      made = std::make_unique<gloo::ReduceScatterHalvingDoubling<float>>(
          context_, std::vector<float*>{data}, static_cast<int>(count) * place_.ranks, counts);
    }
    made->run();
  }
  void allToAll(const float* in, float* out, size_t count) override {
    gloo::AlltoallOptions options(context_);
    const size_t all = count * static_cast<size_t>(place_.ranks);
    options.setInput(const_cast<float*>(in), all);
    options.setOutput(out, all);
    gloo::alltoall(options);
  }
  void broadcast(float* buffer, size_t count) override {
    gloo::BroadcastOptions options(context_);
    options.setOutput(buffer, count);
    options.setRoot(0);
    gloo::broadcast(options);
  }
  void barrier() override {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
  }

 private:
  Place place_;
  std::shared_ptr<gloo::Context> context_;
  std::map<std::pair<float*, size_t>, std::unique_ptr<gloo::ReduceScatterHalvingDoubling<float>>>
      scatters_;
};

}  // namespace

std::unique_ptr<Contender> makeContender() {
  return std::make_unique<Gloo>();
}

}  // namespace hccl::peers
