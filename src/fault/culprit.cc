#include "src/fault/culprit.h"

#include <fmt/core.h>

namespace hccl {

Status withCulprit(const Status& status) {
  if (status.culprit() < 0 || status.text().find("culprit rank ") != std::string::npos) {
    return status;
  }
  return Status(status.code(), fmt::format("{} culprit rank {}.", status.text(), status.culprit()),
                status.eiCode(), status.culprit());
}

}  // namespace hccl
