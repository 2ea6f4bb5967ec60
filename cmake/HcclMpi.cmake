# hccl_mpi_test(NAME RANKS COMMAND ...): a ctest entry, label "multirank", that runs a program under
# mpirun as root and with more ranks than cores. hccl_rank_test(NAME COMMAND ...): the same without
# mpirun, for programs whose ranks are threads or that start ranks themselves.
set(HCCL_MPI_FLAGS --allow-run-as-root --oversubscribe --bind-to none --mca btl self,vader
                   --mca btl_vader_single_copy_mechanism none)
# What MPI itself leaks or does without the sanitizer's knowledge is not ours.
set(HCCL_RANK_TEST_ENVIRONMENT
    "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_ess_singleton_isolated=1"
    "HCCL_CONNECT_TIMEOUT=60;ASCEND_PROCESS_LOG_PATH=${PROJECT_BINARY_DIR}/test_logs")
if(HCCL_SANITIZE STREQUAL "address")
  list(APPEND HCCL_RANK_TEST_ENVIRONMENT
       "ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:strict_string_checks=1")
elseif(HCCL_SANITIZE STREQUAL "thread")
  # MPI_Abort ends a program with its threads unjoined: report_thread_leaks.
  set(suppressions ${CMAKE_CURRENT_LIST_DIR}/mpi_tsan.supp)
  list(APPEND HCCL_RANK_TEST_ENVIRONMENT
       "TSAN_OPTIONS=suppressions=${suppressions}:report_thread_leaks=0:second_deadlock_stack=1:halt_on_error=1")
endif()

function(hccl_rank_test name)
  if(NOT BUILD_TESTING)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS multirank TIMEOUT 180 PROCESSORS 2
    ENVIRONMENT "${HCCL_RANK_TEST_ENVIRONMENT}")
endfunction()

function(hccl_mpi_test name ranks)
  find_program(HCCL_MPIRUN NAMES mpirun mpiexec)
  if(HCCL_MPIRUN)
    hccl_rank_test(${name} ${HCCL_MPIRUN} ${HCCL_MPI_FLAGS} -n ${ranks} ${ARGN})
  endif()
endfunction()
