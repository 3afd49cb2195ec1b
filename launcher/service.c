/*
 * A launcher as a Windows service: `NAME.exe --windows-service=LOG ARGUMENTS` is what the service's command line says
 * (kube-proxy and kubelet have a flag of that name). The service control manager starts it, is told how it goes, and
 * stops it; Node hears that as Ctrl-C, as in a terminal. What Node says is added to the file LOG.
 */
#include "launcher.h"


/* What a stop may take before Node is ended: HNS answers the calls that it has begun. */
enum { STOP_MS = 20000 };

/* One process is one service, and Windows calls back without a place for anything of ours. */
static SERVICE_STATUS_HANDLE status_handle;
static SERVICE_STATUS status = {.dwServiceType = SERVICE_WIN32_OWN_PROCESS};
static struct launch *launch;
static const wchar_t *log_path;
static HANDLE stop_event;

static void report(DWORD state, DWORD wait_hint) {
  status.dwCurrentState = state;
  status.dwControlsAccepted = state == SERVICE_RUNNING ? SERVICE_ACCEPT_STOP | SERVICE_ACCEPT_SHUTDOWN : 0;
  status.dwWaitHint = wait_hint;
  SetServiceStatus(status_handle, &status);
}

/* How it ended, for `sc query` and for the recovery actions of the service. */
static void report_end(DWORD exit_code) {
  status.dwWin32ExitCode = exit_code == 0 ? NO_ERROR : ERROR_SERVICE_SPECIFIC_ERROR;
  status.dwServiceSpecificExitCode = exit_code;
  report(SERVICE_STOPPED, 0);
}

/* It could not be started, for a reason that Windows has a number for. */
static void fail(DWORD error) {
  status.dwWin32ExitCode = error;
  report(SERVICE_STOPPED, 0);
}

static DWORD WINAPI on_control(DWORD control, DWORD type, void *data, void *context) {
  (void)type, (void)data, (void)context;
  if (control == SERVICE_CONTROL_INTERROGATE) return NO_ERROR;
  if (control != SERVICE_CONTROL_STOP && control != SERVICE_CONTROL_SHUTDOWN) return ERROR_CALL_NOT_IMPLEMENTED;
  report(SERVICE_STOP_PENDING, STOP_MS);
  SetEvent(stop_event);
  return NO_ERROR;
}

/* Waits for Node, or for the word to stop it. Who asks for a stop gets status 0, whatever Node makes of it. */
static DWORD wait_for_end(HANDLE process) {
  HANDLE events[] = {process, stop_event};
  if (WaitForMultipleObjects(2, events, FALSE, INFINITE) == WAIT_OBJECT_0 + 1) {
    GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0);
    if (WaitForSingleObject(process, STOP_MS) != WAIT_OBJECT_0) TerminateProcess(process, 1);
    WaitForSingleObject(process, INFINITE);
    return 0;
  }
  DWORD code = 1;
  GetExitCodeProcess(process, &code);
  return code;
}

/* Gives Node the log as standard output and error. False with Windows' last error. */
static bool open_log(const wchar_t *path) {
  if (*path == L'\0') return true;
  const DWORD shared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
  HANDLE log = CreateFileW(path, FILE_APPEND_DATA | SYNCHRONIZE, shared, NULL, OPEN_ALWAYS, 0, NULL);
  return log != INVALID_HANDLE_VALUE && SetStdHandle(STD_OUTPUT_HANDLE, log) && SetStdHandle(STD_ERROR_HANDLE, log);
}

static void WINAPI service_main(DWORD argc, wchar_t **argv) {
  (void)argc, (void)argv;
  status_handle = RegisterServiceCtrlHandlerExW(L"", on_control, NULL);
  if (status_handle == NULL) return;
  report(SERVICE_START_PENDING, 5000);
  stop_event = CreateEventW(NULL, TRUE, FALSE, NULL);
  /* A console of its own, so that Ctrl-C can be sent to Node. */
  AllocConsole();
  PROCESS_INFORMATION process;
  bool is_logged = stop_event != NULL && open_log(log_path);
  if (is_logged && !prepare(launch)) {
    fail(ERROR_FILE_NOT_FOUND);
    return;
  }
  if (!is_logged || !start_node(launch, &process)) {
    fail(GetLastError());
    return;
  }
  report(SERVICE_RUNNING, 0);
  report_end(wait_for_end(process.hProcess));
}

int run_service(struct launch *wanted, const wchar_t *log) {
  launch = wanted;
  log_path = log;
  /* The name is not looked at: the process has one service. */
  wchar_t name[] = L"";
  SERVICE_TABLE_ENTRYW table[] = {{name, service_main}, {NULL, NULL}};
  if (StartServiceCtrlDispatcherW(table)) return 0;
  tell(L"--windows-service is for the service control manager", L"",
       L"Register it: sc.exe create NAME binPath= \"...\", then: sc.exe start NAME. Without the flag it runs here.",
       GetLastError());
  return failure_status();
}
