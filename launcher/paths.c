/* Paths in UTF-16. */
#include "launcher.h"


static bool is_separator(wchar_t c) {
  return c == L'\\' || c == L'/';
}

bool own_path(wchar_t *path) {
  DWORD length = GetModuleFileNameW(NULL, path, TEXT_MAX);
  return length > 0 && length < TEXT_MAX;
}

/* Without the prefix of the device namespace, which Node does not take for the path of a script. */
static void strip_prefix(wchar_t *path) {
  static const wchar_t share[] = L"\\\\?\\UNC\\";
  static const wchar_t local[] = L"\\\\?\\";
  if (wcsncmp(path, share, wcslen(share)) == 0) {
    memmove(path + 2, path + wcslen(share), (wcslen(path + wcslen(share)) + 1) * sizeof *path);
  } else if (wcsncmp(path, local, wcslen(local)) == 0) {
    memmove(path, path + wcslen(local), (wcslen(path + wcslen(local)) + 1) * sizeof *path);
  }
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

size_t folder_length(const wchar_t *path) {
  size_t length = wcslen(path);
  while (length > 0 && !is_separator(path[length - 1])) length--;
  return length > 0 ? length - 1 : 0;
}

bool program_name(const wchar_t *path, wchar_t *name) {
  size_t folder = folder_length(path);
  const wchar_t *last = folder > 0 || is_separator(path[0]) ? path + folder + 1 : path;
  size_t length = wcslen(last);
  if (length > 4 && _wcsicmp(last + length - 4, L".exe") == 0) length -= 4;
  if (length == 0 || length >= TEXT_MAX) return false;
  wmemcpy(name, last, length);
  name[length] = L'\0';
  return true;
}

bool join_path(wchar_t *path, const wchar_t *folder, size_t length, const wchar_t *file) {
  size_t rest = wcslen(file);
  if (length + 1 + rest >= TEXT_MAX) return false;
  wmemcpy(path, folder, length);
  if (length == 0 || !is_separator(path[length - 1])) path[length++] = L'\\';
  wmemcpy(path + length, file, rest + 1);
  return true;
}

bool is_file(const wchar_t *path) {
  DWORD attributes = GetFileAttributesW(path);
  return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) == 0;
}

bool is_absolute(const wchar_t *path) {
  if (is_separator(path[0]) && is_separator(path[1])) return true;
  bool is_letter = (path[0] >= L'A' && path[0] <= L'Z') || (path[0] >= L'a' && path[0] <= L'z');
  return is_letter && path[1] == L':' && is_separator(path[2]);
}
