# The install prefix, laid out as Ascend makefiles expect it, and the Debian package of it.
get_property(libraries GLOBAL PROPERTY HCCL_SHARED_LIBRARIES)
set(HCCL_TEMPLATES ${PROJECT_SOURCE_DIR}/cmake/install)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION include FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/doc/hccl)
if(libraries)
  install(TARGETS ${libraries} EXPORT hcclTargets LIBRARY DESTINATION lib64)
  install(EXPORT hcclTargets NAMESPACE hccl:: DESTINATION lib64/cmake/hccl)
endif()

# Programs that name libacl_rt or libmsprofiler get libascendcl, and need that at run time.
if(TARGET ascendcl)
  foreach(alias acl_rt msprofiler)
    set(link ${PROJECT_BINARY_DIR}/lib64/lib${alias}.so)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/lib64)
    file(CREATE_LINK libascendcl.so ${link} SYMBOLIC)
    install(FILES ${link} DESTINATION lib64)
  endforeach()
endif()

include(CMakePackageConfigHelpers)
set(made ${PROJECT_BINARY_DIR}/install)
configure_file(${HCCL_TEMPLATES}/hccl.pc.in ${made}/hccl.pc @ONLY)
configure_file(${HCCL_TEMPLATES}/set_env.sh.in ${made}/set_env.sh @ONLY)
configure_package_config_file(${HCCL_TEMPLATES}/hcclConfig.cmake.in ${made}/hcclConfig.cmake
                              INSTALL_DESTINATION lib64/cmake/hccl)
write_basic_package_version_file(${made}/hcclConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${made}/hccl.pc DESTINATION lib64/pkgconfig)
install(FILES ${made}/hcclConfig.cmake ${made}/hcclConfigVersion.cmake
        DESTINATION lib64/cmake/hccl)
# find_package looks into lib64 only on systems that use such a folder: a signpost where it always does.
foreach(part hcclConfig hcclConfigVersion)
  file(WRITE ${made}/signpost/${part}.cmake
       "include(\"\${CMAKE_CURRENT_LIST_DIR}/../../../lib64/cmake/hccl/${part}.cmake\")\n")
endforeach()
install(DIRECTORY ${made}/signpost/ DESTINATION share/cmake/hccl)
install(PROGRAMS ${made}/set_env.sh DESTINATION .)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME hccl-host)
set(CPACK_PACKAGE_VENDOR "HCCL for hosts")
set(CPACK_PACKAGE_CONTACT "HCCL for hosts developers <hccl-host@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /opt/hccl)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib64)
include(CPack)
