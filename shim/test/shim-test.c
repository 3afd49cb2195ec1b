/* A program as Windows has them: it knows computenetwork and vmcompute and nothing of Mullion.
 * `shim-test SCENARIO` ends with 0 when everything was as Windows documents it, else says what was not. */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t hresult;
typedef uint16_t utf16;

typedef struct {
  uint32_t data1;
  uint16_t data2, data3;
  uint8_t data4[8];
} guid;

typedef void (*callback)(uint32_t type, void *context, hresult status, const utf16 *data);
typedef hresult (*enumerate_function)(const utf16 *, utf16 **, utf16 **);
typedef hresult (*create_function)(const guid *, const utf16 *, void **, utf16 **);
typedef hresult (*create_endpoint_function)(void *, const guid *, const utf16 *, void **, utf16 **);
typedef hresult (*open_function)(const guid *, void **, utf16 **);
typedef hresult (*modify_function)(void *, const utf16 *, utf16 **);
typedef hresult (*query_function)(void *, const utf16 *, utf16 **, utf16 **);
typedef hresult (*delete_function)(const guid *, utf16 **);
typedef hresult (*close_function)(void *);
typedef hresult (*register_function)(callback, void *, void **);
typedef hresult (*hns_call_function)(const utf16 *, const utf16 *, const utf16 *, utf16 **);
typedef hresult (*create_system_function)(const utf16 *, const utf16 *, void *, void **, utf16 **);
typedef hresult (*open_system_function)(const utf16 *, void **, utf16 **);

#define FAIL(...) (fprintf(stderr, "line %d: ", __LINE__), fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), exit(1))
#define EXPECT(code, wanted)                                                                                           \
  do {                                                                                                                 \
    uint32_t got_ = (uint32_t)(code);                                                                                  \
    if (got_ != (uint32_t)(wanted)) FAIL("0x%08x instead of 0x%08x (%s)", got_, (unsigned)(wanted), last_record);      \
  } while (0)
#define CONTAINS(text, part)                                                                                           \
  do {                                                                                                                 \
    if (strstr((text), (part)) == NULL) FAIL("%s is not in %s", (part), (text));                                       \
  } while (0)
#define HCN(type, name) ((type)need("computenetwork", name))
#define HCS(type, name) ((type)need("vmcompute", name))

static const guid zero_guid;
static char last_record[4096];

static any_function need(const char *library, const char *name) {
  any_function found = find_function(library, name);
  if (found == NULL) FAIL("%s has no %s", library, name);
  return found;
}

/* Text of plain ASCII; stays until the program ends. */
static utf16 *wide(const char *text) {
  size_t length = strlen(text);
  utf16 *made = malloc((length + 1) * sizeof *made);
  if (made == NULL) FAIL("no memory");
  for (size_t i = 0; i <= length; i++) made[i] = (unsigned char)text[i];
  return made;
}

static char *take(utf16 *text) {
  size_t length = 0;
  if (text == NULL) return strcpy(malloc(1), "");
  while (text[length] != 0) length++;
  char *made = malloc(length + 1);
  if (made == NULL) FAIL("no memory");
  for (size_t i = 0; i <= length; i++) made[i] = (char)(text[i] < 0x80 ? text[i] : '?');
  task_free(text);
  return made;
}

/* Keeps an error record for messages, and checks that it is there exactly when the call failed. */
static hresult noted(hresult code, utf16 **given) {
  char wanted[48];
  utf16 *record = *given;
  *given = NULL;
  if (code == 0 && record != NULL) FAIL("an error record on success");
  if (code != 0 && record == NULL) FAIL("0x%08x without an error record", (unsigned)code);
  char *text = take(record);
  snprintf(last_record, sizeof last_record, "%s", text);
  free(text);
  snprintf(wanted, sizeof wanted, "\"ErrorCode\":%u", (unsigned)code);
  if (code != 0) CONTAINS(last_record, wanted);
  if (code != 0) CONTAINS(last_record, "\"Success\":false");
  return code;
}

static hresult create(const char *kind, const char *settings, void **handle) {
  char name[64];
  utf16 *record = NULL;
  snprintf(name, sizeof name, "HcnCreate%s", kind);
  return noted(HCN(create_function, name)(&zero_guid, wide(settings), handle, &record), &record);
}

static hresult create_endpoint(void *network, const char *settings, void **handle) {
  utf16 *record = NULL;
  create_endpoint_function function = HCN(create_endpoint_function, "HcnCreateEndpoint");
  return noted(function(network, &zero_guid, wide(settings), handle, &record), &record);
}

static hresult modify(const char *kind, void *handle, const char *settings) {
  char name[64];
  utf16 *record = NULL;
  snprintf(name, sizeof name, "HcnModify%s", kind);
  return noted(HCN(modify_function, name)(handle, wide(settings), &record), &record);
}

static char *query(const char *kind, void *handle) {
  char name[64];
  utf16 *record = NULL;
  utf16 *text = NULL;
  snprintf(name, sizeof name, "HcnQuery%sProperties", kind);
  query_function function = HCN(query_function, name);
  EXPECT(noted(function(handle, wide("{\"SchemaVersion\":{\"Major\":2,\"Minor\":0}}"), &text, &record), &record), 0);
  return take(text);
}

static char *enumerate(const char *kinds, const char *filter) {
  char name[64];
  utf16 *record = NULL;
  utf16 *text = NULL;
  snprintf(name, sizeof name, "HcnEnumerate%s", kinds);
  EXPECT(noted(HCN(enumerate_function, name)(filter == NULL ? NULL : wide(filter), &text, &record), &record), 0);
  return take(text);
}

static hresult close_object(const char *kind, void *handle) {
  char name[64];
  snprintf(name, sizeof name, "HcnClose%s", kind);
  return HCN(close_function, name)(handle);
}

static guid read_guid(const char *text) {
  unsigned part[11];
  guid id = {0};
  if (sscanf(text, "%8x-%4x-%4x-%2x%2x-%2x%2x%2x%2x%2x%2x", part, part + 1, part + 2, part + 3, part + 4, part + 5,
             part + 6, part + 7, part + 8, part + 9, part + 10) != 11) {
    FAIL("no GUID: %s", text);
  }
  id = (guid){part[0], (uint16_t)part[1], (uint16_t)part[2], {0}};
  for (size_t i = 0; i < 8; i++) id.data4[i] = (uint8_t)part[i + 3];
  return id;
}

/* The `ID` of an object, as text. */
static const char *id_of(const char *kind, void *handle) {
  char *document = query(kind, handle);
  char *start = strstr(document, "\"ID\":\"");
  if (start == NULL) FAIL("no ID in %s", document);
  start[6 + 36] = 0;
  return start + 6;
}

static hresult delete_object(const char *kind, const char *id) {
  char name[64];
  utf16 *record = NULL;
  guid value = read_guid(id);
  snprintf(name, sizeof name, "HcnDelete%s", kind);
  return noted(HCN(delete_function, name)(&value, &record), &record);
}

static const char *print(const char *format, const char *a, const char *b) {
  char *made = malloc(strlen(format) + strlen(a) + strlen(b) + 1);
  if (made == NULL) FAIL("no memory");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  sprintf(made, format, a, b);
#pragma GCC diagnostic pop
  return made;
}

#define V2 "\"SchemaVersion\":{\"Major\":2,\"Minor\":0}"
#define SUBNET(prefix, gateway)                                                                                        \
  "\"Ipams\":[{\"Type\":\"Static\",\"Subnets\":[{\"IpAddressPrefix\":\"" prefix "\",\"Routes\":[{\"NextHop\":\"" gateway \
  "\",\"DestinationPrefix\":\"0.0.0.0/0\"}]"

static const char L2BRIDGE[] = "{\"Name\":\"bridge\",\"Type\":\"L2Bridge\"," SUBNET("10.244.1.0/24", "10.244.1.1") "}]}],"
    "\"Policies\":[{\"Type\":\"NetAdapterName\",\"Settings\":{\"NetworkAdapterName\":\"Ethernet\"}}]," V2 "}";
static const char OVERLAY[] = "{\"Name\":\"overlay\",\"Type\":\"Overlay\"," SUBNET("10.245.1.0/24", "10.245.1.1")
    ",\"Policies\":[{\"Type\":\"VSID\",\"Settings\":{\"IsolationId\":4096}}]}]}],"
    "\"Policies\":[{\"Type\":\"NetAdapterName\",\"Settings\":{\"NetworkAdapterName\":\"Ethernet\"}}]," V2 "}";
static const char NAT[] = "{\"Name\":\"nat\",\"Type\":\"NAT\"," SUBNET("172.30.0.0/16", "172.30.0.1") "}]}]," V2 "}";

/* The life of a pod on an L2Bridge network: endpoint, namespace, attach, ACL, and all of it gone again. */
static void run_pod(void) {
  void *network, *endpoint, *namespace;
  EXPECT(create("Network", L2BRIDGE, &network), 0);
  CONTAINS(query("Network", network), "\"Type\":\"L2Bridge\"");
  const char *network_id = id_of("Network", network);
  CONTAINS(enumerate("Networks", "{\"Name\":\"bridge\"}"), network_id);
  EXPECT(create_endpoint(network, "{\"Name\":\"pod\"," V2 "}", &endpoint), 0);
  const char *endpoint_id = id_of("Endpoint", endpoint);
  CONTAINS(query("Endpoint", endpoint), "10.244.1.");
  EXPECT(modify("Endpoint", endpoint,
                "{\"ResourceType\":\"Policy\",\"RequestType\":\"Add\",\"Settings\":{\"Policies\":[{\"Type\":\"ACL\","
                "\"Settings\":{\"Action\":\"Block\",\"Direction\":\"In\",\"RuleType\":\"Switch\",\"Protocols\":\"6\","
                "\"LocalPorts\":\"80\",\"Priority\":200}}]}}"),
         0);
  CONTAINS(query("Endpoint", endpoint), "\"ACL\"");
  EXPECT(create("Namespace", "{\"Type\":\"Host\"," V2 "}", &namespace), 0);
  const char *namespace_id = id_of("Namespace", namespace);
  const char *member = "{\"ResourceType\":\"Endpoint\",\"RequestType\":\"%s\",\"Settings\":{\"EndpointId\":\"%s\"}}";
  EXPECT(modify("Namespace", namespace, print(member, "Add", endpoint_id)), 0);
  CONTAINS(query("Namespace", namespace), endpoint_id);
  CONTAINS(query("Endpoint", endpoint), namespace_id);
  EXPECT(modify("Namespace", namespace, print(member, "Add", endpoint_id)), 0x803b002b);
  EXPECT(modify("Namespace", namespace, print(member, "Remove", endpoint_id)), 0);
  EXPECT(delete_object("Endpoint", endpoint_id), 0);
  EXPECT(delete_object("Namespace", namespace_id), 0);
  EXPECT(delete_object("Network", network_id), 0);
  EXPECT(close_object("Endpoint", endpoint), 0);
  EXPECT(close_object("Namespace", namespace), 0);
  EXPECT(close_object("Network", network), 0);
}

static const char BALANCER[] =
    "{\"HostComputeEndpoints\":[\"%s\"],\"SourceVIP\":\"10.245.1.9\",\"FrontendVIPs\":[\"10.96.0.10\"],"
    "\"PortMappings\":[{\"Protocol\":6,\"InternalPort\":8080,\"ExternalPort\":80}],"
    "\"SchemaVersion\":{\"Major\":2,\"Minor\":%s}}";

/* The life of a load balancer on an Overlay network. */
static void run_service(void) {
  void *network, *endpoint, *balancer, *again;
  EXPECT(create("Network", OVERLAY, &network), 0);
  CONTAINS(query("Network", network), "\"Type\":\"Overlay\"");
  EXPECT(create_endpoint(network, "{\"Name\":\"backend\"," V2 "}", &endpoint), 0);
  EXPECT(create("LoadBalancer", print(BALANCER, id_of("Endpoint", endpoint), "0"), &balancer), 0);
  CONTAINS(query("LoadBalancer", balancer), "10.96.0.10");
  const char *balancer_id = id_of("LoadBalancer", balancer);
  guid id = read_guid(balancer_id);
  utf16 *record = NULL;
  EXPECT(noted(HCN(open_function, "HcnOpenLoadBalancer")(&id, &again, &record), &record), 0);
  if (again == balancer) FAIL("two handles are one");
  EXPECT(close_object("LoadBalancer", again), 0);
  CONTAINS(query("LoadBalancer", balancer), "10.96.0.10");
  EXPECT(delete_object("LoadBalancer", balancer_id), 0);
  EXPECT(delete_object("Endpoint", id_of("Endpoint", endpoint)), 0);
  EXPECT(delete_object("Network", id_of("Network", network)), 0);
}

static char *hns_call(const char *method, const char *path, const char *body) {
  utf16 *response = NULL;
  EXPECT(HCS(hns_call_function, "HNSCall")(wide(method), wide(path), wide(body), &response), 0);
  return take(response);
}

static void run_v1(void) {
  CONTAINS(hns_call("GET", "/globals/version", ""), "\"Major\":");
  char *made = hns_call("POST", "/networks/", "{\"Name\":\"v1\",\"Type\":\"nat\"}");
  CONTAINS(made, "\"Success\":true");
  CONTAINS(hns_call("GET", "/networks/", ""), "\"v1\"");
  char *id = strstr(made, "\"ID\":\"");
  if (id == NULL) FAIL("no ID in %s", made);
  id[6 + 36] = 0;
  CONTAINS(hns_call("DELETE", print("/networks/%s%s", id + 6, ""), ""), "\"Success\":true");
  CONTAINS(hns_call("GET", print("/networks/%s%s", id + 6, ""), ""), "\"Success\":false");
  EXPECT(HCS(hns_call_function, "HNSCall")(wide("GET"), wide("/networks/"), NULL, NULL), 0x80070057);
}

static void run_errors(void) {
  void *network, *other, *endpoint;
  utf16 *record = NULL;
  utf16 *text = NULL;
  EXPECT(create("Network", NAT, &network), 0);
  EXPECT(create("Network", NAT, &other), 0x803b0010);
  if (other != NULL) FAIL("a handle of what was refused");
  CONTAINS(last_record, "A network with this name already exists. ");
  EXPECT(create("Network", "{\"Name\":", &other), 0x803b001b);
  EXPECT(create("Network", "", &other), 0x803b001b);
  EXPECT(delete_object("Network", "11111111-2222-3333-4444-555555555555"), 0x803b0001);
  guid unknown = read_guid("11111111-2222-3333-4444-555555555555");
  EXPECT(noted(HCN(open_function, "HcnOpenEndpoint")(&unknown, &other, &record), &record), 0x803b0002);
  EXPECT(noted(HCN(open_function, "HcnOpenNamespace")(&unknown, &other, &record), &record), 0x80070490);
  if (strcmp(enumerate("Endpoints", NULL), "[]") != 0) FAIL("no empty list");
  /* Records and results that nobody wants. */
  EXPECT(HCN(open_function, "HcnOpenEndpoint")(&unknown, &other, NULL), 0x803b0002);
  EXPECT(HCN(open_function, "HcnOpenEndpoint")(&unknown, NULL, NULL), 0x80070057);
  EXPECT(HCN(open_function, "HcnOpenEndpoint")(NULL, &other, NULL), 0x80070057);
  EXPECT(HCN(create_function, "HcnCreateNetwork")(&zero_guid, NULL, &other, NULL), 0x80070057);
  EXPECT(HCN(enumerate_function, "HcnEnumerateNetworks")(NULL, NULL, NULL), 0x80070057);
  /* Handles: none, invented, of another kind, used after they were closed. */
  EXPECT(create_endpoint(NULL, "{}", &endpoint), 0x80070057);
  EXPECT(create_endpoint((void *)0x1234, "{}", &endpoint), 0x80070057);
  EXPECT(close_object("Endpoint", network), 0x80070057);
  EXPECT(close_object("Network", network), 0);
  EXPECT(close_object("Network", network), 0x80070057);
  EXPECT(modify("Network", network, "{}"), 0x80070057);
  EXPECT(noted(HCN(query_function, "HcnQueryNetworkProperties")(network, NULL, &text, &record), &record), 0x80070057);
  EXPECT(HCN(close_function, "HcnUnregisterServiceCallback")(network), 0x80070057);
  /* Texts: without an end, nowhere, absurdly long, with half a surrogate pair. */
  create_function make = HCN(create_function, "HcnCreateNetwork");
  EXPECT(noted(make(&zero_guid, endless_text(), &other, &record), &record), 0x80070057);
  EXPECT(noted(make(&zero_guid, (const utf16 *)(uintptr_t)0x10, &other, &record), &record), 0x80070057);
  size_t length = (size_t)6 << 20;
  utf16 *absurd = malloc((length + 1) * sizeof *absurd);
  if (absurd == NULL) FAIL("no memory");
  for (size_t i = 0; i < length; i++) absurd[i] = ' ';
  absurd[length] = 0;
  EXPECT(noted(make(&zero_guid, absurd, &other, &record), &record), 0x80070057);
  utf16 *half = wide("{\"Name\":\"?\"}");
  half[9] = 0xd800;
  EXPECT(noted(make(&zero_guid, half, &other, &record), &record), 0x803b001b);
  EXPECT(delete_object("Network", print("%.36s%s", strchr(enumerate("Networks", NULL), '"') + 1, "")), 0);
}

typedef struct {
  volatile uint32_t types[64];
  volatile int count;
  volatile int in_callback;
  void *volatile registration;
} heard;

static void hear(uint32_t type, void *context, hresult status, const utf16 *data) {
  heard *of = context;
  (void)status;
  if (data == NULL) FAIL("a notification without data");
  if (of->count < 64) of->types[of->count] = type;
  of->count++;
}

/* Calls back into the DLL, and takes itself out from within. */
static void hear_again(uint32_t type, void *context, hresult status, const utf16 *data) {
  heard *of = context;
  hear(type, context, status, data);
  free(enumerate("Networks", NULL));
  while (of->registration == NULL) sleep_ms(1);
  EXPECT(HCN(close_function, "HcnUnregisterServiceCallback")(of->registration), 0);
  of->in_callback = 2;
}

static bool has_heard(const heard *of, uint32_t type) {
  for (int i = 0; i < of->count && i < 64; i++) {
    if (of->types[i] == type) return true;
  }
  return false;
}

static void wait_for(const heard *of, uint32_t type) {
  for (int i = 0; i < 1000 && !has_heard(of, type); i++) sleep_ms(10);
  if (!has_heard(of, type)) FAIL("no notification 0x%x", (unsigned)type);
}

static void run_notifications(void) {
  static heard service, once;
  void *registration, *first, *network;
  register_function add = HCN(register_function, "HcnRegisterServiceCallback");
  EXPECT(add(hear, &service, &registration), 0);
  EXPECT(add(hear_again, &once, &first), 0);
  once.registration = first;
  EXPECT(add(NULL, NULL, &first), 0x80070057);
  EXPECT(create("Network", NAT, &network), 0);
  wait_for(&service, 1);
  wait_for(&service, 2);
  EXPECT(delete_object("Network", id_of("Network", network)), 0);
  wait_for(&service, 4);
  for (int i = 0; i < 500 && once.in_callback != 2; i++) sleep_ms(10);
  if (once.in_callback != 2 || once.count != 1) FAIL("a callback did not take itself out: %d", once.count);
  EXPECT(HCN(close_function, "HcnUnregisterServiceCallback")(registration), 0);
  int before = service.count;
  EXPECT(create("Network", NAT, &network), 0);
  EXPECT(delete_object("Network", id_of("Network", network)), 0);
  sleep_ms(100);
  if (service.count != before) FAIL("called after it was taken out");
  if (has_heard(&service, 0x01000000)) FAIL("told of a service that is there");
}

/* A running virtual machine gets an endpoint and loses it, as hcsshim's hot attach does it. */
static void run_systems(void) {
  void *network, *endpoint, *system;
  utf16 *result = NULL;
  utf16 *text = NULL;
  EXPECT(create("Network", NAT, &network), 0);
  EXPECT(create_endpoint(network, "{\"Name\":\"nic\"," V2 "}", &endpoint), 0);
  const char *endpoint_id = id_of("Endpoint", endpoint);
  EXPECT(HCS(open_system_function, "HcsOpenComputeSystem")(wide("machine"), &system, &result), 0xc037010e);
  CONTAINS(take(result), "\"Error\":-1070137074");
  create_system_function make = HCS(create_system_function, "HcsCreateComputeSystem");
  const char *document = "{\"Owner\":\"test\",\"SchemaVersion\":{\"Major\":2,\"Minor\":1},\"VirtualMachine\":{}}";
  EXPECT(make(wide("machine"), wide(document), NULL, &system, &result), 0);
  EXPECT(HCS(modify_function, "HcsStartComputeSystem")(system, wide(""), &result), 0);
  const char *change = "{\"ResourceType\":\"Network\",\"RequestType\":\"%s\",\"Settings\":\"%s\"}";
  modify_function attach = HCS(modify_function, "HcsModifyComputeSystem");
  EXPECT(attach(system, wide(print(change, "Add", endpoint_id)), &result), 0);
  EXPECT(HCS(query_function, "HcsGetComputeSystemProperties")(system, NULL, &text, &result), 0);
  CONTAINS(take(text), endpoint_id);
  EXPECT(attach(system, wide(print(change, "Remove", endpoint_id)), &result), 0);
  EXPECT(HCS(modify_function, "HcsTerminateComputeSystem")(system, wide(""), &result), 0);
  EXPECT(HCS(close_function, "HcsCloseComputeSystem")(system), 0);
  EXPECT(attach(system, wide("{}"), &result), 0x80070057);
  EXPECT(delete_object("Endpoint", endpoint_id), 0);
  EXPECT(delete_object("Network", id_of("Network", network)), 0);
}

/* One of many: an endpoint in a network that is there already, made and deleted. `name` is its own. */
static void run_one(const char *name) {
  void *network, *endpoint;
  utf16 *record = NULL;
  char *list = enumerate("Networks", "{\"Name\":\"nat\"}");
  guid id = read_guid(list + 2);
  EXPECT(noted(HCN(open_function, "HcnOpenNetwork")(&id, &network, &record), &record), 0);
  EXPECT(create_endpoint(network, print("{\"Name\":\"%s\"," V2 "%s}", name, ""), &endpoint), 0);
  CONTAINS(query("Endpoint", endpoint), name);
  EXPECT(delete_object("Endpoint", id_of("Endpoint", endpoint)), 0);
}

static void run_nat(void) {
  void *network;
  EXPECT(create("Network", NAT, &network), 0);
}

/* Says that it listens, waits until somebody did something to the daemon, and goes on. */
static void run_lost(void) {
  static heard service;
  void *registration;
  utf16 *text = NULL;
  utf16 *record = NULL;
  char line[16];
  EXPECT(HCN(register_function, "HcnRegisterServiceCallback")(hear, &service, &registration), 0);
  free(enumerate("Networks", NULL));
  puts("ready");
  fflush(stdout);
  if (fgets(line, sizeof line, stdin) == NULL) FAIL("nobody says when to go on");
  enumerate_function ask = HCN(enumerate_function, "HcnEnumerateNetworks");
  EXPECT(noted(ask(NULL, &text, &record), &record), 0x800706ba);
  if (line[0] == 'k') wait_for(&service, 0x01000000);
  EXPECT(HCN(close_function, "HcnUnregisterServiceCallback")(registration), 0);
}

/* Endpoints in a row, as the bench asks for them; prints microseconds per create. */
static void run_bench(const char *count) {
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

int main(int count, char **arguments) {
  const char *scenario = count > 1 ? arguments[1] : "";
  const char *argument = count > 2 ? arguments[2] : "";
  if (strcmp(scenario, "pod") == 0) run_pod();
  else if (strcmp(scenario, "service") == 0) run_service();
  else if (strcmp(scenario, "v1") == 0) run_v1();
  else if (strcmp(scenario, "errors") == 0) run_errors();
  else if (strcmp(scenario, "notifications") == 0) run_notifications();
  else if (strcmp(scenario, "systems") == 0) run_systems();
  else if (strcmp(scenario, "nat") == 0) run_nat();
  else if (strcmp(scenario, "one") == 0) run_one(argument);
  else if (strcmp(scenario, "lost") == 0) run_lost();
  else if (strcmp(scenario, "bench") == 0) run_bench(argument);
  else return fprintf(stderr, "no scenario %s\n", scenario), 2;
  return 0;
}
