#include "src/topology/host.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

namespace hccl {
namespace {

TEST(HostFacts, TellsTheKernelApart) {
  const HostFacts facts = readHostFacts();
  EXPECT_EQ(facts.bootId.size(), 36u);
  EXPECT_FALSE(facts.hostname.empty());
  EXPECT_NE(facts.netNamespace, 0u);
  EXPECT_NE(facts.ipcNamespace, 0u);
  EXPECT_EQ(facts.uid, ::getuid());
  EXPECT_EQ(facts, hostFacts());
  EXPECT_TRUE(facts.isSameKernel(hostFacts()));
  HostFacts other = facts;
  other.bootId = "another";
  EXPECT_FALSE(facts.isSameKernel(other));
  other.bootId.clear();
  EXPECT_FALSE(other.isSameKernel(other));
}

TEST(Hardware, CoresHoldDisjointCpus) {
  std::set<uint32_t> cpus;
  for (const CoreInfo& core : physicalCores()) {
    EXPECT_FALSE(core.cpus.empty());
    for (const uint32_t cpu : core.cpus) EXPECT_TRUE(cpus.insert(cpu).second) << cpu;
  }
  EXPECT_LE(cpus.size(), static_cast<size_t>(::sysconf(_SC_NPROCESSORS_CONF)));
  EXPECT_GE(numaNodeCount(), 1u);
}

TEST(Hardware, DevicesAreDealtRoundTheCores) {
  const auto count = static_cast<uint32_t>(physicalCores().size());
  EXPECT_EQ(deviceCore(0).cpus, deviceCore(count).cpus);
  EXPECT_EQ(&deviceCore(count - 1), &physicalCores().back());
}

}  // namespace
}  // namespace hccl
