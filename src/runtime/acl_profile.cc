// Profiling sessions and the product name: checked and recorded, without effect on a host.
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "src/runtime/acl_api.h"
#include "src/runtime/acl_support.h"
#include "src/runtime/engine.h"

// What aclprofCreateConfig was given.
struct aclprofConfig {
  std::vector<uint32_t> devices;
  aclprofAicoreMetrics metrics;
  uint64_t kinds;
};

namespace hccl::acl {
namespace {

struct Session {
  std::mutex mutex;
  bool open = false;
  bool recording = false;
  std::string path;
};

Session& session() {
  static Session* made = new Session;  // lives until the process ends
  return *made;
}

}  // namespace

const char* aclrtGetSocName() {
  static const std::string* name = [] {  // never destroyed: the text outlives main
    const char* wanted = std::getenv("HCCL_HOST_SOC_NAME");
    return new std::string(wanted != nullptr && *wanted != '\0' ? wanted : "Ascend910_9391");
  }();
  return name->c_str();
}

aclError aclprofInit(const char* profilerResultPath, size_t length) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(profilerResultPath);
  if (length == 0 || *profilerResultPath == '\0') {
    return fail(ACL_ERROR_INVALID_PARAM, "aclprofInit: the path is empty");
  }
  std::lock_guard lock(session().mutex);
  if (session().open) return fail(ACL_ERROR_REPEAT_INITIALIZE, "a profiling session is open");
  session().open = true;
  session().recording = false;
  session().path.assign(profilerResultPath, strnlen(profilerResultPath, length));
  return ACL_SUCCESS;
}

aclError aclprofFinalize() {
  ACL_ENTER();
  std::lock_guard lock(session().mutex);
  if (!session().open) return fail(ACL_ERROR_UNINITIALIZE, "no profiling session is open");
  session().open = false;
  session().recording = false;
  return ACL_SUCCESS;
}

aclError aclprofStart(const aclprofConfig* profilerConfig) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(profilerConfig);
  std::lock_guard lock(session().mutex);
  if (!session().open) return fail(ACL_ERROR_UNINITIALIZE, "no profiling session is open");
  if (session().recording) return fail(ACL_ERROR_PROF_ALREADY_RUN, "profiling is running");
  session().recording = true;
  return ACL_SUCCESS;
}

aclError aclprofStop(const aclprofConfig* profilerConfig) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(profilerConfig);
  std::lock_guard lock(session().mutex);
  if (!session().open) return fail(ACL_ERROR_UNINITIALIZE, "no profiling session is open");
  if (!session().recording) return fail(ACL_ERROR_PROF_NOT_RUN, "profiling is not running");
  session().recording = false;
  return ACL_SUCCESS;
}

aclprofConfig* aclprofCreateConfig(uint32_t* deviceIdList, uint32_t deviceNums,
                                   aclprofAicoreMetrics aicoreMetrics,
                                   aclprofAicoreEvents* aicoreEvents, uint64_t dataTypeConfig) {
  if (checkUsable() != ACL_SUCCESS) return nullptr;
  const bool isLegal = (deviceIdList != nullptr || deviceNums == 0) && aicoreEvents == nullptr &&
                       deviceNums <= runtime::deviceCount();
  if (!isLegal) {
    fail(ACL_ERROR_INVALID_PARAM, "aclprofCreateConfig: illegal argument");
    return nullptr;
  }
  for (uint32_t i = 0; i < deviceNums; ++i) {
    if (deviceIdList[i] >= runtime::deviceCount()) {
      fail(ACL_ERROR_RT_INVALID_DEVICEID, "aclprofCreateConfig: no such device");
      return nullptr;
    }
  }
  return new (std::nothrow)
      aclprofConfig{std::vector<uint32_t>(deviceIdList, deviceIdList + deviceNums), aicoreMetrics,
                    dataTypeConfig};
}

aclError aclprofDestroyConfig(const aclprofConfig* profilerConfig) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(profilerConfig);
  delete profilerConfig;
  return ACL_SUCCESS;
}

}  // namespace hccl::acl
