# The shared libraries: the private engine libhccl_host, made of every room, and the C doors in front
# of it. A door is built once the room that implements it exists. hccl_program(TARGET) makes an
# executable use the doors and installs it into bin/. The target `prefix` builds what is installed.
set(HCCL_ABI 1)
set(HCCL_DOORS ${PROJECT_SOURCE_DIR}/src/doors)
add_custom_target(prefix)

get_property(rooms GLOBAL PROPERTY HCCL_ROOMS)
list(REMOVE_ITEM rooms hccl_verify)  # for tests and tools only

# Names a library's ABI, hides what its version script does not list, and finds its siblings.
function(hccl_shared name script)
  add_dependencies(prefix ${name})
  set_target_properties(${name} PROPERTIES
    SOVERSION ${HCCL_ABI} VERSION ${HCCL_ABI}.${PROJECT_VERSION}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib64
    INSTALL_RPATH "$ORIGIN" LINK_DEPENDS ${script})
  target_link_options(${name} PRIVATE -Wl,--version-script=${script} -Wl,--enable-new-dtags)
  if(NOT HCCL_SANITIZE)
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
endfunction()

function(hccl_door name)
  add_library(${name} SHARED ${HCCL_DOORS}/${name}.cc)
  add_library(hccl::${name} ALIAS ${name})
  target_compile_options(${name} PRIVATE $<TARGET_PROPERTY:hccl_options,INTERFACE_COMPILE_OPTIONS>)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_link_libraries(${name} PRIVATE hccl_host)
  target_link_options(${name} PRIVATE $<TARGET_PROPERTY:hccl_options,INTERFACE_LINK_OPTIONS>)
  hccl_shared(${name} ${HCCL_DOORS}/${name}.map)
  set_property(GLOBAL APPEND PROPERTY HCCL_SHARED_LIBRARIES ${name})
endfunction()

# An executable of the library's users: links the doors, and goes to bin/ of the prefix.
function(hccl_program name)
  target_link_libraries(${name} PRIVATE hccl::hccl hccl::ascendcl)
  set_target_properties(${name} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib64")
  install(TARGETS ${name} RUNTIME DESTINATION bin)
  add_dependencies(prefix ${name})
endfunction()

if(rooms)
  add_library(hccl_host SHARED)
  foreach(room ${rooms})
    target_sources(hccl_host PRIVATE $<TARGET_OBJECTS:${room}>)
    target_link_libraries(hccl_host PRIVATE ${room})
  endforeach()
  set_target_properties(hccl_host PROPERTIES LINKER_LANGUAGE CXX)
  # Its threads and pages outlive dlclose of a door.
  target_link_options(hccl_host PRIVATE -Wl,-z,nodelete)
  hccl_shared(hccl_host ${HCCL_DOORS}/host.map)
  set_property(GLOBAL APPEND PROPERTY HCCL_SHARED_LIBRARIES hccl_host)
endif()
if(TARGET hccl_runtime)
  hccl_door(ascendcl)
endif()
if(TARGET hccl_api)
  hccl_door(hccl)
  hccl_door(hcomm)
  target_link_libraries(hccl INTERFACE ascendcl)
endif()
include(HcclInstall)
