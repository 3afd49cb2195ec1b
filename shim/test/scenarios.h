/* What the test program does, one function per scenario. Each ends the program when something is not as Windows
 * documents it. */
#ifndef MULLION_TEST_SCENARIOS_H
#define MULLION_TEST_SCENARIOS_H

/* objects.c */
void run_pod(void);
void run_service(void);
void run_routes(void);
void run_endpoint(void);
void run_features(void);

/* guest.c */
void run_guest(void);

/* v1.c */
void run_v1(void);

/* bad-input.c */
void run_errors(void);
void run_handles(void);
void run_texts(void);
void run_refused(const char *expected);
void run_unheard(const char *expected);

/* notifications.c */
void run_notifications(void);
void run_reentry(void);
void run_lost(void);
void run_misled(void);

/* systems.c */
void run_systems(void);
void run_exit(void);

/* many.c */
void run_nat(void);
void run_one(const char *name);
void run_bench(const char *count);
void run_bench_queries(const char *count);

#endif
