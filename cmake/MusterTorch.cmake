# libtorch as the target `torch`, whichever it is:
#   - a distribution's, in the system's folders: by its own CMake package;
#   - a current PyTorch as PyPI and pytorch.org ship it, in a folder of its own that CMAKE_PREFIX_PATH names
#     (…/site-packages/torch, or what torch.utils.cmake_prefix_path says): by its files. Its CMake package asks for a whole
#     CUDA toolkit with a compiler, even where no CUDA is wanted, and its include folder holds copies of fmt, oneDNN and
#     others, which would stand before the system's that we link.
# Sets MUSTER_TORCH_PREFIX, empty for a distribution's.

list(TRANSFORM CMAKE_PREFIX_PATH APPEND "/../../include" OUTPUT_VARIABLE torch_hints)
find_path(TORCH_INCLUDE_DIR ATen/ATen.h HINTS ${torch_hints} REQUIRED)
cmake_path(GET TORCH_INCLUDE_DIR PARENT_PATH MUSTER_TORCH_PREFIX)
cmake_path(ABSOLUTE_PATH MUSTER_TORCH_PREFIX NORMALIZE)

if(NOT EXISTS ${MUSTER_TORCH_PREFIX}/lib/libtorch_cpu.so)
  set(MUSTER_TORCH_PREFIX)
  if(MUSTER_CUDA)
    message(FATAL_ERROR "MUSTER_CUDA needs a PyTorch with CUDA: name it, as -DCMAKE_PREFIX_PATH=…/site-packages/torch")
  endif()
  find_package(Torch REQUIRED)
  return()
endif()

# Only what is PyTorch's own.
set(torch_include ${CMAKE_BINARY_DIR}/torch-include)
file(MAKE_DIRECTORY ${torch_include})
foreach(folder IN ITEMS ATen c10 torch)
  file(CREATE_LINK ${MUSTER_TORCH_PREFIX}/include/${folder} ${torch_include}/${folder} SYMBOLIC)
endforeach()
list(APPEND CMAKE_IGNORE_PATH ${MUSTER_TORCH_PREFIX}/include ${MUSTER_TORCH_PREFIX}/lib)

add_library(torch INTERFACE IMPORTED)
target_include_directories(torch INTERFACE ${torch_include} ${torch_include}/torch/csrc/api/include)
target_link_libraries(torch INTERFACE ${MUSTER_TORCH_PREFIX}/lib/libtorch_cpu.so ${MUSTER_TORCH_PREFIX}/lib/libc10.so)
message(STATUS "PyTorch in ${MUSTER_TORCH_PREFIX}")

if(MUSTER_CUDA)
  # CUDA's headers and runtime: PyPI's packages put them beside torch, a toolkit in CUDA_HOME or /usr/local/cuda. No
  # compiler for CUDA is needed, since the kernels are PyTorch's. `torch_cuda` links them; MUSTER_CUDA_INCLUDE_DIRS are for
  # the one unit that calls CUDA, so that all others compile to the same as without.
  set(nvidia ${MUSTER_TORCH_PREFIX}/../nvidia)
  file(GLOB cuda_roots ${nvidia}/cu[0-9]*)
  list(APPEND cuda_roots $ENV{CUDA_HOME} /usr/local/cuda)
  find_path(CUDA_INCLUDE_DIR cuda_runtime_api.h HINTS ${cuda_roots} PATH_SUFFIXES include REQUIRED)
  find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${nvidia}/nccl/include ${CUDA_INCLUDE_DIR} REQUIRED)
  cmake_path(GET CUDA_INCLUDE_DIR PARENT_PATH cuda_root)
  file(GLOB cudart ${cuda_root}/lib/libcudart.so* ${cuda_root}/lib64/libcudart.so*)
  if(NOT cudart OR NOT EXISTS ${MUSTER_TORCH_PREFIX}/lib/libtorch_cuda.so)
    message(FATAL_ERROR "MUSTER_CUDA needs a PyTorch with CUDA, and CUDA's runtime: there is no libtorch_cuda.so in "
                        "${MUSTER_TORCH_PREFIX}/lib, or no libcudart.so in ${cuda_root}/lib")
  endif()
  list(GET cudart 0 cudart)
  # NCCL by itself, for what has no libtorch.
  file(GLOB nccl ${NCCL_INCLUDE_DIR}/../lib/libnccl.so* ${NCCL_INCLUDE_DIR}/../lib64/libnccl.so*)
  if(NOT nccl)
    find_library(nccl nccl REQUIRED)
  endif()
  list(GET nccl 0 nccl)
  add_library(muster_nccl INTERFACE IMPORTED)
  target_include_directories(muster_nccl INTERFACE ${CUDA_INCLUDE_DIR} ${NCCL_INCLUDE_DIR})
  target_link_libraries(muster_nccl INTERFACE ${nccl} ${cudart})
  set(MUSTER_CUDA_INCLUDE_DIRS ${CUDA_INCLUDE_DIR} ${NCCL_INCLUDE_DIR})
  # Its operators register themselves when it is loaded, so it must be, whether or not one of its symbols is used.
  add_library(torch_cuda INTERFACE IMPORTED)
  target_link_libraries(torch_cuda INTERFACE
    -Wl,--push-state,--no-as-needed ${MUSTER_TORCH_PREFIX}/lib/libtorch_cuda.so -Wl,--pop-state
    ${MUSTER_TORCH_PREFIX}/lib/libc10_cuda.so ${cudart})
endif()
