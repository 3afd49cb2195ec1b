#include "calls.h"
#include "documents.h"
#include "scenarios.h"

/* The life of a pod on an L2Bridge network: endpoint, namespace, attach, ACL, and all of it gone again. */
void run_pod(void) {
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
void run_service(void) {
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

/* SDN routes as hcsshim makes them, from a field of their own. */
void run_routes(void) {
  void *network, *endpoint, *route;
  EXPECT(create("Network", L2BRIDGE, &network), 0);
  EXPECT(create_endpoint(network, "{\"Name\":\"proxy\"," V2 "}", &endpoint), 0);
  const char *endpoint_id = id_of("Endpoint", endpoint);
  const char *document = "{\"HostComputeEndpoints\":[\"%s\"],\"Setting\":[{\"DestinationPrefix\":\"%s\","
                         "\"NeedEncap\":false}]," V2 "}";
  EXPECT(create("SdnRoute", print(document, endpoint_id, "169.254.169.254/24"), &route), 0);
  CONTAINS(query("SdnRoute", route), endpoint_id);
  CONTAINS(query("SdnRoute", route), "169.254.169.254");
  const char *id = id_of("SdnRoute", route);
  CONTAINS(enumerate("SdnRoutes", NULL), id);
  EXPECT(delete_object("SdnRoute", id), 0);
  if (strcmp(enumerate("SdnRoutes", NULL), "[]") != 0) FAIL("no empty list");
  EXPECT(delete_object("SdnRoute", id), 0x80070490);
  EXPECT(close_object("SdnRoute", route), 0);
  EXPECT(delete_object("Endpoint", endpoint_id), 0);
  EXPECT(delete_object("Network", id_of("Network", network)), 0);
}

/* What only endpoints are asked for: counters and addresses. */
void run_endpoint(void) {
  void *network, *endpoint;
  utf16 *record = NULL;
  utf16 *text = NULL;
  EXPECT(create("Network", L2BRIDGE, &network), 0);
  EXPECT(create_endpoint(network, "{\"Name\":\"pod\"," V2 "}", &endpoint), 0);
  char *counters = ask("HcnQueryEndpointStats", endpoint);
  CONTAINS(counters, "\"BytesReceived\":0");
  CONTAINS(counters, "\"DroppedPacketsOutgoing\":0");
  CONTAINS(ask("HcnQueryEndpointAddresses", endpoint), "10.244.1.");
  query_function stats = HCN(query_function, "HcnQueryEndpointStats");
  EXPECT(noted(stats(network, NULL, &text, &record), &record), 0x80070057);
  EXPECT(delete_object("Endpoint", id_of("Endpoint", endpoint)), 0);
  /* The handle is open still, and what it stands for is gone. */
  EXPECT(noted(stats(endpoint, NULL, &text, &record), &record), 0x803b0002);
  EXPECT(delete_object("Network", id_of("Network", network)), 0);
}

/* The two hidden queries of the service as a whole. */
void run_features(void) {
  utf16 *record = NULL;
  utf16 *text = NULL;
  EXPECT(noted(HCN(enumerate_function, "HcnQueryFeatures")(NULL, &text, &record), &record), 0);
  CONTAINS(take(text), "\"SchemaVersion\":{\"Major\":2");
  EXPECT(noted(HCN(enumerate_function, "HcnQueryMetrics")(NULL, &text, &record), &record), 0);
  CONTAINS(take(text), "\"Networks\":0");
  EXPECT(noted(HCN(enumerate_function, "HcnQueryFeatures")(NULL, NULL, &record), &record), 0x80070057);
}
