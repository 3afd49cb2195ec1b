/*
 * Stands for node.exe in tests of the launcher. Prints what it was given as lines of UTF-8: "argument X" for each
 * argument, "MULLION_TEST X", "input X". Ends with the number in MULLION_TEST_STATUS. With a last argument "wait" it says
 * its process id first and waits for ever, and says "interrupted" when it gets Ctrl-C or Ctrl-Break.
 */
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

static void print(const wchar_t *text) {
  char bytes[4 * 32768];
  int length = WideCharToMultiByte(CP_UTF8, 0, text, -1, bytes, sizeof bytes, NULL, NULL);
  DWORD written;
  if (length > 1) WriteFile(GetStdHandle(STD_OUTPUT_HANDLE), bytes, (DWORD)length - 1, &written, NULL);
}

static BOOL WINAPI on_console_event(DWORD event) {
  print(event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT ? L"interrupted\n" : L"closed\n");
  ExitProcess(9);
}

static void wait_for_ever(void) {
  wchar_t line[64];
  SetConsoleCtrlHandler(on_console_event, TRUE);
  swprintf(line, 64, L"process %lu\n", GetCurrentProcessId());
  print(line);
  Sleep(INFINITE);
}

static void print_input(void) {
  char bytes[4096];
  DWORD count;
  HANDLE input = GetStdHandle(STD_INPUT_HANDLE);
  HANDLE output = GetStdHandle(STD_OUTPUT_HANDLE);
  print(L"input ");
  while (ReadFile(input, bytes, sizeof bytes, &count, NULL) && count > 0) WriteFile(output, bytes, count, &count, NULL);
  print(L"\n");
}

int wmain(int argc, wchar_t **argv) {
  wchar_t value[1024];
  if (wcscmp(argv[argc - 1], L"wait") == 0) wait_for_ever();
  for (int i = 1; i < argc; i++) {
    print(L"argument ");
    print(argv[i]);
    print(L"\n");
  }
  if (GetEnvironmentVariableW(L"MULLION_TEST", value, 1024) > 0) {
    print(L"MULLION_TEST ");
    print(value);
    print(L"\n");
  }
  print_input();
  fputs("to the standard error\n", stderr);
  return GetEnvironmentVariableW(L"MULLION_TEST_STATUS", value, 1024) > 0 ? _wtoi(value) : 0;
}
