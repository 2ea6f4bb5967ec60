# Compiler flags that every room shares.
add_library(hccl_options INTERFACE)
target_include_directories(hccl_options INTERFACE ${PROJECT_SOURCE_DIR}/include
                                                  ${PROJECT_SOURCE_DIR})
target_compile_options(hccl_options INTERFACE -Wall -Wextra -Wshadow
                                              $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
                                              -fno-math-errno -ffp-contract=off)
if(HCCL_WERROR)
  target_compile_options(hccl_options INTERFACE -Werror)
endif()
if(HCCL_SANITIZE)
  target_compile_definitions(hccl_options INTERFACE HCCL_SANITIZED)
endif()
if(HCCL_SANITIZE STREQUAL "address")
  target_compile_options(hccl_options INTERFACE -fsanitize=address,undefined
                         -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  # C callers may pass any number as an enumerator; that the library refuses it is what tests show.
  target_compile_options(hccl_options INTERFACE -fno-sanitize=enum)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(hccl_options INTERFACE
                           -fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitizer_ignorelist.txt)
    set(HCCL_FUZZ ON)
  endif()
  target_link_options(hccl_options INTERFACE -fsanitize=address,undefined)
elseif(HCCL_SANITIZE STREQUAL "thread")
  target_compile_options(hccl_options INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(hccl_options INTERFACE -fsanitize=thread)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(hccl_options INTERFACE -Wno-error=tsan)
  endif()
endif()
find_package(Threads REQUIRED)
target_link_libraries(hccl_options INTERFACE Threads::Threads)
