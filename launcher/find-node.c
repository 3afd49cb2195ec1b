/* Where node.exe is. */
#include "launcher.h"

#include <stdlib.h>

static const wchar_t NODE[] = L"node.exe";

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
  bool is_found = false;
  for (wchar_t *folder = path; folder != NULL && !is_found;) {
    wchar_t *end = wcschr(folder, L';');
    wchar_t *next = end == NULL ? NULL : end + 1;
    if (end != NULL) *end = L'\0';
    size_t length = wcslen(folder);
    if (length >= 2 && folder[0] == L'"' && folder[length - 1] == L'"') {
      folder[length - 1] = L'\0';
      folder++;
      length -= 2;
    }
    is_found = is_absolute(folder) && join_path(node, folder, length, NODE) && is_file(node);
    folder = next;
  }
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
