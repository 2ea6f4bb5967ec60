// Values and layouts of the public types are those of Ascend HCCL: binaries depend on them.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "hccl/hccl.h"
#include "hccl/hccl_rank_graph.h"
#include "hccl/hccl_sym_win.h"
#include "hccl/hcom.h"
#include "tests/unit/headers/layout_c.h"

namespace {

static_assert(sizeof(HcclComm) == 8 && std::is_same_v<HcclComm, void*>);
static_assert(std::is_same_v<aclrtStream, void*> && std::is_same_v<aclError, int>);

static_assert(HCCL_SUCCESS == 0 && HCCL_E_PARA == 1 && HCCL_E_PTR == 2 && HCCL_E_MEMORY == 3);
static_assert(HCCL_E_INTERNAL == 4 && HCCL_E_NOT_SUPPORT == 5 && HCCL_E_NOT_FOUND == 6);
static_assert(HCCL_E_UNAVAIL == 7 && HCCL_E_SYSCALL == 8 && HCCL_E_TIMEOUT == 9);
static_assert(HCCL_E_OPEN_FILE_FAILURE == 10 && HCCL_E_TCP_CONNECT == 11);
static_assert(HCCL_E_ROCE_CONNECT == 12 && HCCL_E_TCP_TRANSFER == 13);
static_assert(HCCL_E_ROCE_TRANSFER == 14 && HCCL_E_RUNTIME == 15 && HCCL_E_DRV == 16);
static_assert(HCCL_E_PROFILING == 17 && HCCL_E_CCE == 18 && HCCL_E_NETWORK == 19);
static_assert(HCCL_E_AGAIN == 20 && HCCL_E_REMOTE == 21 && HCCL_E_SUSPENDING == 22);
static_assert(HCCL_E_OPRETRY_FAIL == 23 && HCCL_E_OOM == 24 && HCCL_E_IN_STATUS == 1041);
static_assert(HCCL_E_RESERVED == 1042);

static_assert(HCCL_REDUCE_SUM == 0 && HCCL_REDUCE_PROD == 1 && HCCL_REDUCE_MAX == 2);
static_assert(HCCL_REDUCE_MIN == 3 && HCCL_REDUCE_RESERVED == 255);

static_assert(HCCL_DATA_TYPE_INT8 == 0 && HCCL_DATA_TYPE_INT16 == 1 && HCCL_DATA_TYPE_INT32 == 2);
static_assert(HCCL_DATA_TYPE_FP16 == 3 && HCCL_DATA_TYPE_FP32 == 4 && HCCL_DATA_TYPE_INT64 == 5);
static_assert(HCCL_DATA_TYPE_UINT64 == 6 && HCCL_DATA_TYPE_UINT8 == 7);
static_assert(HCCL_DATA_TYPE_UINT16 == 8 && HCCL_DATA_TYPE_UINT32 == 9);
static_assert(HCCL_DATA_TYPE_FP64 == 10 && HCCL_DATA_TYPE_BFP16 == 11);
static_assert(HCCL_DATA_TYPE_INT128 == 12 && HCCL_DATA_TYPE_HIF8 == 14);
static_assert(HCCL_DATA_TYPE_FP8E4M3 == 15 && HCCL_DATA_TYPE_FP8E5M2 == 16);
static_assert(HCCL_DATA_TYPE_FP8E8M0 == 17 && HCCL_DATA_TYPE_RESERVED == 255);

static_assert(HCCL_ROOT_INFO_BYTES == 4108 && sizeof(HcclRootInfo) == 4108);
static_assert(alignof(HcclRootInfo) == 1);
static_assert(sizeof(HcclConfigValue) == 4 && HCCL_DETERMINISTIC == 0);

static_assert(offsetof(HcclSendRecvItem, sendRecvType) == 0 && HCCL_SEND == 0 && HCCL_RECV == 1);
static_assert(offsetof(HcclSendRecvItem, buf) == 8 && offsetof(HcclSendRecvItem, count) == 16);
static_assert(offsetof(HcclSendRecvItem, dataType) == 24);
static_assert(offsetof(HcclSendRecvItem, remoteRank) == 28 && sizeof(HcclSendRecvItem) == 32);

static_assert(HCCL_COMM_CONFIG_INFO_BYTES == 24 && HCCL_COMM_CONFIG_MAGIC_WORD == 0xf0f0f0f0u);
static_assert(HCCL_COMM_CONFIG_VERSION == 11);
static_assert(offsetof(HcclCommConfig, hcclBufferSize) == 24);
static_assert(offsetof(HcclCommConfig, hcclDeterministic) == 28);
static_assert(offsetof(HcclCommConfig, hcclCommName) == 32);
static_assert(offsetof(HcclCommConfig, hcclUdi) == 160);
static_assert(offsetof(HcclCommConfig, hcclOpExpansionMode) == 288);
static_assert(offsetof(HcclCommConfig, hcclRdmaTrafficClass) == 292);
static_assert(offsetof(HcclCommConfig, hcclRdmaServiceLevel) == 296);
static_assert(offsetof(HcclCommConfig, hcclWorldRankID) == 300);
static_assert(offsetof(HcclCommConfig, hcclJobID) == 304);
static_assert(offsetof(HcclCommConfig, aclGraphZeroCopyEnable) == 312);
static_assert(offsetof(HcclCommConfig, hcclExecTimeOut) == 316);
static_assert(offsetof(HcclCommConfig, hcclAlgo) == 320);
static_assert(offsetof(HcclCommConfig, hcclRetryEnable) == 1920);
static_assert(offsetof(HcclCommConfig, hcclRetryParams) == 1970);
static_assert(offsetof(HcclCommConfig, hcclBufferName) == 2098);
static_assert(offsetof(HcclCommConfig, hcclQos) == 2228);
static_assert(offsetof(HcclCommConfig, hcclSymWinMaxMemSizePerRank) == 2232);
static_assert(offsetof(HcclCommConfig, hcclChannelSqDepth) == 2240);
static_assert(sizeof(HcclCommConfig) == 2248);

static_assert(HCCL_COMM_CONFIG_BUFFER_SIZE == 0 && HCCL_COMM_CONFIG_DETERMINISTIC == 1);
static_assert(HCCL_COMM_CONFIG_COMM_NAME == 2 && HCCL_COMM_CONFIG_OP_EXPANSION_MODE == 3);
static_assert(HCCL_COMM_CONFIG_SUPPORT_INIT_BY_ENV == 4 && HCCL_COMM_CONFIG_WORLD_RANKID == 5);
static_assert(HCCL_COMM_CONFIG_JOBID == 6 && HCCL_COMM_CONFIG_ACLGRAPH_ZEROCOPY_ENABLE == 7);
static_assert(HCCL_COMM_CONFIG_EXEC_TIMEOUT == 8 && HCCL_COMM_CONFIG_ALGO == 9);
static_assert(HCCL_COMM_CONFIG_RETRY == 10 && HCCL_COMM_CONFIG_BUFFER_NAME == 11);
static_assert(HCCL_COMM_CONFIG_RESERVED == 12);

static_assert(HCCL_CMD_BROADCAST == 1 && HCCL_CMD_ALLREDUCE == 2 && HCCL_CMD_REDUCE == 3);
static_assert(HCCL_CMD_SEND == 4 && HCCL_CMD_RECEIVE == 5 && HCCL_CMD_ALLGATHER == 6);
static_assert(HCCL_CMD_REDUCE_SCATTER == 7 && HCCL_CMD_ALLTOALLV == 8);
static_assert(HCCL_CMD_ALLTOALLVC == 9 && HCCL_CMD_ALLTOALL == 10 && HCCL_CMD_GATHER == 11);
static_assert(HCCL_CMD_SCATTER == 12 && HCCL_CMD_BATCH_SEND_RECV == 13);
static_assert(HCCL_CMD_BATCH_PUT == 14 && HCCL_CMD_BATCH_GET == 15);
static_assert(HCCL_CMD_ALLGATHER_V == 16 && HCCL_CMD_REDUCE_SCATTER_V == 17);
static_assert(HCCL_CMD_BATCH_WRITE == 18 && HCCL_CMD_HALF_ALLTOALLV == 20);
static_assert(HCCL_CMD_BARRIER == 103);

static_assert(HCCL_COMM_STATUS_READY == 0 && HCCL_COMM_STATUS_SUSPENDING == 1);
static_assert(HCCL_COMM_STATUS_INVALID == 254 && HCCL_COMM_STATE_PHASE_DESTROY_PRE == 0);
static_assert(HCCL_COMM_STATE_PHASE_DESTROY_POST == 1 && HCCL_COMM_STATE_PHASE_RESUME_PRE == 2);
static_assert(HCCL_COMM_STATE_PHASE_RESUME_POST == 3);
static_assert(HCCL_OP_EXPANSION_MODE_HOST == 2 && HCCL_OP_EXPANSION_AIV_ONLY == 6);

static_assert(sizeof(CommAddr) == 40 && sizeof(EndpointLoc) == 64 && sizeof(EndpointDesc) == 160);
static_assert(offsetof(EndpointDesc, commAddr) == 4 && offsetof(EndpointDesc, loc) == 44);
static_assert(sizeof(CommLink) == 16 + 2 * 160 + 128);
static_assert(COMM_TOPO_CLOS == 0 && COMM_TOPO_1DMESH == 1 && COMM_TOPO_910_93 == 2);
static_assert(COMM_TOPO_310P == 3 && COMM_TOPO_A2AXSERVER == 4 && COMM_TOPO_CUSTOM == 5);

static_assert(ACL_SUCCESS == 0 && ACL_ERROR_NONE == 0 && ACL_ERROR_INVALID_PARAM == 100000);
static_assert(ACL_ERROR_UNINITIALIZE == 100001 && ACL_ERROR_REPEAT_INITIALIZE == 100002);
static_assert(ACL_ERROR_BAD_ALLOC == 200000 && ACL_ERROR_FEATURE_UNSUPPORTED == 200006);
static_assert(ACL_ERROR_INTERNAL_ERROR == 500000 && ACL_ERROR_RT_FAILURE == 500003);
static_assert(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT == 507046 && ACL_ERROR_RT_WAIT_TIMEOUT == 107019);
static_assert(ACL_MEMCPY_DEVICE_TO_DEVICE == 3 && ACL_MEMCPY_DEFAULT == 4);
static_assert(ACL_MEM_MALLOC_NORMAL_ONLY_P2P == 5 && ACL_MEM_MALLOC_HUGE1G_ONLY == 6);
static_assert(ACL_HBM_MEM == 1 && ACL_HBM_MEM_NORMAL == 5);
static_assert(ACL_EVENT_TIME_LINE == 8 && ACL_EVENT_DEVICE_USE_ONLY == 0x10);
static_assert(ACL_EVENT_RECORDED_STATUS_COMPLETE == 1 && ACL_EVENT_STATUS_COMPLETE == 0);
static_assert(ACL_EVENT_WAIT_STATUS_RESERVED == 0xFFFF && ACL_STREAM_STATUS_NOT_READY == 1);
static_assert(ACL_RT_OVERFLOW_MODE_INFNAN == 1 && ACL_CALLBACK_BLOCK == 1 && ACL_HOST == 1);
static_assert(ACL_MEM_LOCATION_TYPE_DEVICE == 1 && sizeof(aclrtMemLocation) == 8);
static_assert(offsetof(aclrtPhysicalMemProp, location) == 12);
static_assert(offsetof(aclrtPhysicalMemProp, reserve) == 24 && sizeof(aclrtPhysicalMemProp) == 32);
static_assert(ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED == 1);
static_assert(ACL_PROF_HCCL_TRACE == 0x20 && ACL_PROF_RUNTIME_API == 0x100);
static_assert(ACL_AICORE_PIPE_UTILIZATION == 1);

TEST(HeadersLayout, SizesAgreeBetweenCAndCpp) {
  EXPECT_EQ(cSizeOfCommConfig(), sizeof(HcclCommConfig));
  EXPECT_EQ(cSizeOfRootInfo(), sizeof(HcclRootInfo));
  EXPECT_EQ(cSizeOfSendRecvItem(), sizeof(HcclSendRecvItem));
  EXPECT_EQ(cSizeOfCommLink(), sizeof(CommLink));
  EXPECT_EQ(cSizeOfPhysicalMemProp(), sizeof(aclrtPhysicalMemProp));
}

TEST(HeadersLayout, ConfigInitLeavesEverythingUnset) {
  HcclCommConfig config;
  std::memset(&config, 0x5a, sizeof config);
  HcclCommConfigInit(&config);
  size_t size = 0;
  uint32_t magic = 0;
  uint32_t version = 0;
  uint64_t reserved = 1;
  std::memcpy(&size, config.reserved, 8);
  std::memcpy(&magic, config.reserved + 8, 4);
  std::memcpy(&version, config.reserved + 12, 4);
  std::memcpy(&reserved, config.reserved + 16, 8);
  EXPECT_EQ(size, sizeof(HcclCommConfig));
  EXPECT_EQ(magic, 0xf0f0f0f0u);
  EXPECT_EQ(version, 11u);
  EXPECT_EQ(reserved, 0u);
  EXPECT_EQ(config.hcclBufferSize, 0xffffffffu);
  EXPECT_EQ(config.hcclDeterministic, 0xffffffffu);
  EXPECT_STREQ(config.hcclCommName, "");
  EXPECT_STREQ(config.hcclUdi, "");
  EXPECT_EQ(config.hcclOpExpansionMode, 0u);
  EXPECT_EQ(config.hcclRdmaTrafficClass, 0xffffffffu);
  EXPECT_EQ(config.hcclRdmaServiceLevel, 0xffffffffu);
  EXPECT_EQ(config.hcclExecTimeOut, -1);
  EXPECT_STREQ(config.hcclAlgo, "");
  EXPECT_STREQ(config.hcclRetryEnable, "");
  EXPECT_STREQ(config.hcclRetryParams, "");
  EXPECT_STREQ(config.hcclBufferName, "");
  EXPECT_EQ(config.hcclQos, 0xffffffffu);
  EXPECT_EQ(config.hcclSymWinMaxMemSizePerRank, 16u);
  EXPECT_EQ(config.hcclChannelSqDepth, 0xffffffffu);
  HcclCommConfigInit(nullptr);

  HcclCommConfig fromC;
  std::memset(&fromC, 0xa5, sizeof fromC);
  cInitConfig(&fromC);
  EXPECT_EQ(std::memcmp(&fromC, &config, sizeof config), 0);
}

TEST(HeadersLayout, LinkInitLeavesEverythingUnset) {
  CommLink links[2];
  EXPECT_EQ(CommLinkInit(links, 2), HCCL_SUCCESS);
  for (const CommLink& link : links) {
    EXPECT_EQ(link.header.magicWord, 0x0f0e0f0fu);
    EXPECT_EQ(link.header.size, sizeof(CommLink));
    EXPECT_EQ(link.srcEndpointDesc.protocol, COMM_PROTOCOL_RESERVED);
    EXPECT_EQ(link.dstEndpointDesc.loc.locType, ENDPOINT_LOC_TYPE_RESERVED);
    EXPECT_EQ(link.linkAttr.hop, 1);
  }
  EXPECT_EQ(CommLinkInit(nullptr, 1), HCCL_E_PTR);
  EXPECT_EQ(EndpointDescInit(nullptr, 1), static_cast<int32_t>(HCCL_E_PTR));
}

}  // namespace
