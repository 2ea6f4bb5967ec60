#include "tools/tune/launch.h"

#ifdef HCCL_TUNE_MPI
#include "bench/parts/launch.h"
#endif

namespace hccl::tune {

#ifdef HCCL_TUNE_MPI
namespace {

class MpiInvitation final : public Invitation {
 public:
  explicit MpiInvitation(const bench::Launch& launch) : launch_(launch) {}
  uint32_t rank() const override { return launch_.rank(); }
  uint32_t ranks() const override { return launch_.ranks(); }
  void share(HcclRootInfo* info) override { launch_.broadcast(info, sizeof(*info), 0); }

 private:
  const bench::Launch& launch_;
};

}  // namespace

bool runUnderMpi(int* argc, char*** argv, const std::function<void(Invitation&)>& body) {
  const bench::Launch launch(argc, argv);
  MpiInvitation invitation(launch);
  body(invitation);
  return true;
}
#else
bool runUnderMpi(int*, char***, const std::function<void(Invitation&)>&) {
  return false;
}
#endif

}  // namespace hccl::tune
