#include "calls.h"
#include "documents.h"
#include "scenarios.h"

/* One of many: an endpoint in a network that is there already, made and deleted. `name` is its own. */
void run_one(const char *name) {
  void *network, *endpoint;
  utf16 *record = NULL;
  char *list = enumerate("Networks", "{\"Name\":\"nat\"}");
  guid id = read_guid(list + 2);
  EXPECT(noted(HCN(open_function, "HcnOpenNetwork")(&id, &network, &record), &record), 0);
  EXPECT(create_endpoint(network, print("{\"Name\":\"%s\"," V2 "%s}", name, ""), &endpoint), 0);
  CONTAINS(query("Endpoint", endpoint), name);
  EXPECT(delete_object("Endpoint", id_of("Endpoint", endpoint)), 0);
}

void run_nat(void) {
  void *network;
  EXPECT(create("Network", NAT, &network), 0);
}

/* Endpoints in a row, as the bench asks for them; prints microseconds per create. */
void run_bench(const char *count) {
  void *network, *endpoint;
  EXPECT(create("Network", NAT, &network), 0);
  int endpoints = atoi(count);
  uint64_t start = now_us();
  for (int i = 0; i < endpoints; i++) {
    EXPECT(create_endpoint(network, "{" V2 "}", &endpoint), 0);
    EXPECT(close_object("Endpoint", endpoint), 0);
  }
  printf("%u\n", (unsigned)((now_us() - start) / (uint64_t)endpoints));
  EXPECT(delete_object("Network", id_of("Network", network)), 0);
}

/* The same for a call that changes nothing. */
void run_bench_queries(const char *count) {
  void *network;
  EXPECT(create("Network", NAT, &network), 0);
  int queries = atoi(count);
  uint64_t start = now_us();
  for (int i = 0; i < queries; i++) query("Network", network);
  printf("%u\n", (unsigned)((now_us() - start) / (uint64_t)queries));
  EXPECT(delete_object("Network", id_of("Network", network)), 0);
}
