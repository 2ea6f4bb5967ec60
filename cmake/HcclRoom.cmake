# hccl_room(NAME [DEPS ...]): the static library of a room, out of the .cc files of its folder.
# hccl_unit_test(NAME SOURCES ... [DEPS ...]): a GoogleTest executable, ctest label "unit".
function(hccl_room name)
  cmake_parse_arguments(arg "" "" "DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  if(NOT sources)  # a room of headers so far
    set(sources ${CMAKE_CURRENT_BINARY_DIR}/empty.cc)
    file(WRITE ${sources} "")
  endif()
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC hccl_options ${arg_DEPS})
  set_property(GLOBAL APPEND PROPERTY HCCL_ROOMS ${name})
endfunction()

function(hccl_unit_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  if(NOT BUILD_TESTING)
    return()
  endif()
  find_package(GTest REQUIRED)
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} hccl_options GTest::gtest GTest::gmock
                                        GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 120)
endfunction()
