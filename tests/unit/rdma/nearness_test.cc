// How near devices are, on a host out of a file: two packages of two cores, each package with a
// network card of its own.
#include "transport/rdma/nearness.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace hccl::transport::rdma {
namespace {

// `cpus` and a number for the object.
std::string place(unsigned cpus, int number) {
  return fmt::format(
      R"(cpuset="{0:#x}" complete_cpuset="{0:#x}" nodeset="0x1" complete_nodeset="0x1" )"
      R"(gp_index="{1}" os_index="{1}")",
      cpus, number);
}

std::string core(int index) {
  const unsigned cpu = 1U << index;
  const std::string processor =
      fmt::format(R"(<object type="PU" cpuset="{0:#x}" complete_cpuset="{0:#x}" nodeset="0x1" )"
                  R"(complete_nodeset="0x1" gp_index="{1}" os_index="{2}"/>)",
                  cpu, 30 + index, index);
  return fmt::format(R"(<object type="Core" {}>{}</object>)", place(cpu, 20 + index), processor);
}

// A card on a bus: an RDMA device, and the network interface of the same name with "net".
std::string card(int index) {
  return fmt::format(
      R"(<object type="Bridge" gp_index="{0}" bridge_type="0-1" depth="0" )"
      R"(bridge_pci="000{1}:[00-01]"><object type="PCIDev" gp_index="{2}" )"
      R"(pci_busid="000{1}:01:00.0" pci_type="0207 [15b3:1017] [15b3:0001] 00" )"
      R"(pci_link_speed="0.0"><object type="OSDev" gp_index="{3}" name="net{1}" osdev_type="2"/>)"
      R"(<object type="OSDev" gp_index="{4}" name="mlx5_{1}" osdev_type="3"/></object></object>)",
      40 + index, index, 50 + index, 60 + index, 70 + index);
}

std::string package(int index) {
  return fmt::format(R"(<object type="Package" {}>{}{}{}</object>)",
                     place(3U << (2 * index), index), core(2 * index), core(2 * index + 1),
                     card(index));
}

class NearnessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string text =
        R"(<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE topology SYSTEM "hwloc2.dtd">)"
        R"(<topology version="2.0"><object type="Machine" allowed_cpuset="0xf" )"
        R"(allowed_nodeset="0x1" )" +
        place(0xf, 10) + R"(><object type="NUMANode" )" + place(0xf, 0) +
        R"( local_memory="1073741824"/>)" + package(0) + package(1) + "</object></topology>";
    ASSERT_EQ(hwloc_topology_init(&topology_), 0);
    hwloc_topology_set_io_types_filter(topology_, HWLOC_TYPE_FILTER_KEEP_ALL);
    ASSERT_EQ(
        hwloc_topology_set_xmlbuffer(topology_, text.c_str(), static_cast<int>(text.size()) + 1),
        0);
    ASSERT_EQ(hwloc_topology_load(topology_), 0);
    processors_ = hwloc_bitmap_alloc();
  }
  void TearDown() override {
    hwloc_bitmap_free(processors_);
    if (topology_ != nullptr) hwloc_topology_destroy(topology_);
  }
  int nearness(const std::string& device, unsigned long cpus) {
    hwloc_bitmap_from_ulong(processors_, cpus);
    return nearnessIn(topology_, device, processors_);
  }
  hwloc_topology_t topology_ = nullptr;
  hwloc_bitmap_t processors_ = nullptr;
};

TEST_F(NearnessTest, TheCardOfTheOwnPackageIsNearer) {
  for (const unsigned long cpus : {0x1UL, 0x2UL, 0x3UL}) {
    EXPECT_GT(nearness("mlx5_0", cpus), nearness("mlx5_1", cpus)) << cpus;
  }
  for (const unsigned long cpus : {0x4UL, 0x8UL, 0xcUL}) {
    EXPECT_GT(nearness("mlx5_1", cpus), nearness("mlx5_0", cpus)) << cpus;
  }
}

TEST_F(NearnessTest, WhoMayRunInBothPackagesIsNearNeither) {
  for (const unsigned long cpus : {0xfUL, 0x6UL}) {
    EXPECT_EQ(nearness("mlx5_0", cpus), 0) << cpus;
    EXPECT_EQ(nearness("mlx5_1", cpus), 0) << cpus;
  }
}

TEST_F(NearnessTest, WhatTheTopologyDoesNotHoldIsUnknown) {
  EXPECT_EQ(nearness("rxe0", 0x1), -1);
  EXPECT_EQ(nearness("net0", 0x1), -1) << "no RDMA device";
  EXPECT_EQ(nearness("mlx5_0", 0), -1) << "no processor";
  EXPECT_EQ(nearnessHere("no such device"), -1);
}

}  // namespace
}  // namespace hccl::transport::rdma
