/* A program as Windows has them: it knows computenetwork and vmcompute and nothing of Mullion.
 * `shim-test SCENARIO` ends with 0 when everything was as Windows documents it, else says what was not. */
#include "scenarios.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  void (*run)(void);
  void (*run_with)(const char *argument);
} SCENARIOS[] = {
    {"pod", run_pod, NULL},
    {"service", run_service, NULL},
    {"routes", run_routes, NULL},
    {"endpoint", run_endpoint, NULL},
    {"features", run_features, NULL},
    {"guest", run_guest, NULL},
    {"v1", run_v1, NULL},
    {"errors", run_errors, NULL},
    {"handles", run_handles, NULL},
    {"texts", run_texts, NULL},
    {"refused", NULL, run_refused},
    {"unheard", NULL, run_unheard},
    {"notifications", run_notifications, NULL},
    {"reentry", run_reentry, NULL},
    {"lost", run_lost, NULL},
    {"misled", run_misled, NULL},
    {"systems", run_systems, NULL},
    {"exit", run_exit, NULL},
    {"nat", run_nat, NULL},
    {"one", NULL, run_one},
    {"bench", NULL, run_bench},
    {"bench-queries", NULL, run_bench_queries},
};

int main(int count, char **arguments) {
  const char *name = count > 1 ? arguments[1] : "";
  for (size_t i = 0; i < sizeof SCENARIOS / sizeof *SCENARIOS; i++) {
    if (strcmp(name, SCENARIOS[i].name) != 0) continue;
    if (SCENARIOS[i].run != NULL) SCENARIOS[i].run();
    else SCENARIOS[i].run_with(count > 2 ? arguments[2] : "");
    return 0;
  }
  fprintf(stderr, "no scenario %s\n", name);
  return 2;
}
