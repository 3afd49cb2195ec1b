/* Where this executable is, and node.exe. */
#include "launcher.h"

#include <stdlib.h>

static const wchar_t NODE[] = L"node.exe";

bool own_path(wchar_t *path) {
  DWORD length = GetModuleFileNameW(NULL, path, TEXT_MAX);
  return length > 0 && length < TEXT_MAX;
}

bool real_path(const wchar_t *path, wchar_t *real) {
  const DWORD shared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
  HANDLE file = CreateFileW(path, 0, shared, NULL, OPEN_EXISTING, 0, NULL);
  if (file == INVALID_HANDLE_VALUE) return false;
  DWORD length = GetFinalPathNameByHandleW(file, real, TEXT_MAX, FILE_NAME_NORMALIZED);
  CloseHandle(file);
  if (length == 0 || length >= TEXT_MAX) return false;
  strip_prefix(real);
  return true;
}

bool is_file(const wchar_t *path) {
  DWORD attributes = GetFileAttributesW(path);
  return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) == 0;
}

/* A variable of the environment as a text of its own; NULL when it is empty or not set. */
static wchar_t *variable(const wchar_t *name) {
  DWORD size = GetEnvironmentVariableW(name, NULL, 0);
  if (size <= 1) return NULL;
  wchar_t *value = malloc(size * sizeof *value);
  if (value == NULL || GetEnvironmentVariableW(name, value, size) >= size) {
    free(value);
    return NULL;
  }
  return value;
}

/*
 * Looks in the folders of PATH. Those that depend on the current folder are left out: whoever may write there could
 * otherwise say what a service runs.
 */
static bool find_on_path(wchar_t *node) {
  wchar_t *path = variable(L"PATH");
  wchar_t *rest = path;
  bool is_found = false;
  for (wchar_t *folder; !is_found && (folder = next_folder(&rest)) != NULL;)
    is_found = is_absolute(folder) && join_path(node, folder, wcslen(folder), NODE) && is_file(node);
  free(path);
  return is_found;
}

bool find_node(const wchar_t *const *homes, size_t count, wchar_t *node) {
  wchar_t *wanted = variable(L"MULLION_NODE");
  if (wanted != NULL) {
    bool is_there = wcslen(wanted) < TEXT_MAX && is_file(wanted);
    if (is_there) wcscpy(node, wanted);
    else tell(L"MULLION_NODE names no file: ", wanted, L"Set it to the path of node.exe, or unset it.", 0);
    free(wanted);
    return is_there;
  }
  for (size_t i = 0; i < count; i++) {
    if (join_path(node, homes[i], folder_length(homes[i]), NODE) && is_file(node)) return true;
  }
  if (find_on_path(node)) return true;
  tell(L"there is no node.exe beside it and none in PATH", L"",
       L"Install Node 22.18 or later from https://nodejs.org, or set MULLION_NODE to the path of node.exe.", 0);
  return false;
}
