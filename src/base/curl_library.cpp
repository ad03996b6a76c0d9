#include "base/curl_library.h"

#include <dlfcn.h>

#include <type_traits>

namespace muster {

const CurlLibrary* CurlLibrary::load() {
  static const CurlLibrary* const kLoaded = []() -> const CurlLibrary* {
    static CurlLibrary library;
    void* const handle = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return nullptr;
    bool all = true;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
      all = all && function != nullptr;
    };
    find(library.global_init, "curl_global_init");
    find(library.easy_init, "curl_easy_init");
    find(library.easy_cleanup, "curl_easy_cleanup");
    find(library.set, "curl_easy_setopt");
    find(library.perform, "curl_easy_perform");
    find(library.get, "curl_easy_getinfo");
    find(library.describe, "curl_easy_strerror");
    find(library.list_append, "curl_slist_append");
    find(library.list_free, "curl_slist_free_all");
    find(library.multi_init, "curl_multi_init");
    find(library.multi_cleanup, "curl_multi_cleanup");
    find(library.multi_set, "curl_multi_setopt");
    find(library.multi_add, "curl_multi_add_handle");
    find(library.multi_remove, "curl_multi_remove_handle");
    find(library.multi_socket_action, "curl_multi_socket_action");
    find(library.multi_info_read, "curl_multi_info_read");
    if (!all || library.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return nullptr;
    return &library;
  }();
  return kLoaded;
}

}  // namespace muster
