/* The launcher: finds Node and the bundle, starts Node with this process' streams, and ends as Node ended. */
#include "launcher.h"

static HANDLE child_process;

/*
 * Ctrl-C and Ctrl-Break reach Node as well, which decides what becomes of them; the launcher waits for it. When the
 * console is closed Windows gives all of them some seconds.
 */
static BOOL WINAPI on_console_event(DWORD event) {
  if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT && child_process != NULL)
    WaitForSingleObject(child_process, INFINITE);
  return TRUE;
}

/* Finds NAME.cjs beside the executable, or beside the one that a symbolic link leads to. */
static bool find_script(const wchar_t *const *homes, size_t count, wchar_t *script) {
  static wchar_t name[TEXT_MAX];
  static wchar_t file[TEXT_MAX];
  for (size_t i = 0; i < count; i++) {
    bool is_named = program_name(homes[i], name) && wcslen(name) + 5 < TEXT_MAX;
    if (!is_named) continue;
    wcscpy(file, name);
    wcscat(file, L".cjs");
    if (join_path(script, homes[i], folder_length(homes[i]), file) && is_file(script)) return true;
  }
  tell(L"its program is missing: ", script,
       L"A launcher keeps its name, and lies beside the .cjs file of that name. Copy both, or make a symbolic link.",
       0);
  return false;
}

/*
 * A job that ends its processes with its last handle, which is ours: when the launcher is killed, Node dies with it.
 * What Node starts breaks away, as it would without a launcher: a cluster in the background outlives `mullion up`.
 */
static HANDLE make_job(void) {
  HANDLE job = CreateJobObjectW(NULL, NULL);
  if (job == NULL) return NULL;
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {0};
  limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK;
  SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits);
  return job;
}

static void let_inherit(DWORD stream) {
  HANDLE handle = GetStdHandle(stream);
  if (handle != NULL && handle != INVALID_HANDLE_VALUE) SetHandleInformation(handle, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
}

/* Standard streams, further descriptors of the C library and the environment are inherited. */
bool start_node(const struct launch *launch, PROCESS_INFORMATION *process) {
  static wchar_t line[TEXT_MAX];
  STARTUPINFOW startup;
  GetStartupInfoW(&startup);
  startup.lpReserved = NULL;
  startup.dwFlags |= STARTF_USESTDHANDLES;
  startup.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
  startup.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
  startup.hStdError = GetStdHandle(STD_ERROR_HANDLE);
  let_inherit(STD_INPUT_HANDLE);
  let_inherit(STD_OUTPUT_HANDLE);
  let_inherit(STD_ERROR_HANDLE);
  SetConsoleCtrlHandler(on_console_event, TRUE);
  HANDLE job = make_job();
  /* CreateProcess may write to it. */
  wcscpy(line, launch->line);
  if (!CreateProcessW(launch->node, line, NULL, NULL, TRUE, CREATE_SUSPENDED, NULL, NULL, &startup, process))
    return false;
  child_process = process->hProcess;
  if (job == NULL || !AssignProcessToJobObject(job, process->hProcess)) {
    DWORD error = GetLastError();
    TerminateProcess(process->hProcess, 1);
    SetLastError(error);
    return false;
  }
  ResumeThread(process->hThread);
  return true;
}

/* Runs Node in this terminal. Returns its exit code. */
static int run_here(const struct launch *launch) {
  PROCESS_INFORMATION process;
  if (!start_node(launch, &process)) {
    tell(L"cannot start ", launch->node, L"Check that it is Node for this machine, or set MULLION_NODE to another.",
         GetLastError());
    return failure_status();
  }
  WaitForSingleObject(process.hProcess, INFINITE);
  DWORD status = 1;
  GetExitCodeProcess(process.hProcess, &status);
  return (int)status;
}

/* Finds what is to be started. False after it has told what is missing. */
bool prepare(struct launch *launch) {
  static wchar_t own[TEXT_MAX], real[TEXT_MAX], script[TEXT_MAX];
  if (!own_path(own)) {
    tell(L"its own path is unknown", L"", L"Install it in a folder with a shorter path.", GetLastError());
    return false;
  }
  const wchar_t *homes[] = {own, real};
  size_t count = real_path(own, real) ? 2 : 1;
  if (!find_script(homes, count, script) || !find_node(homes, count, launch->node)) return false;
  if (command_line(launch->line, launch->node, script, launch->arguments)) return true;
  tell(L"the command line is longer than Windows allows", L"", L"Give it fewer arguments.", 0);
  return false;
}

int wmain(void) {
  static struct launch launch;
  static wchar_t log[TEXT_MAX];
  launch.arguments = arguments_of(GetCommandLineW());
  const wchar_t *of_service = after_service_flag(launch.arguments, log);
  if (of_service != NULL) {
    launch.arguments = of_service;
    return run_service(&launch, log);
  }
  return prepare(&launch) ? run_here(&launch) : failure_status();
}
