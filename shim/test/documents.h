/* The networks that the scenarios make. */
#ifndef MULLION_TEST_DOCUMENTS_H
#define MULLION_TEST_DOCUMENTS_H

#define V2 "\"SchemaVersion\":{\"Major\":2,\"Minor\":0}"
#define SUBNET(prefix, gateway)                                                                                        \
  "\"Ipams\":[{\"Type\":\"Static\",\"Subnets\":[{\"IpAddressPrefix\":\"" prefix "\",\"Routes\":[{\"NextHop\":\"" gateway \
  "\",\"DestinationPrefix\":\"0.0.0.0/0\"}]"

#define ADAPTER "\"Policies\":[{\"Type\":\"NetAdapterName\",\"Settings\":{\"NetworkAdapterName\":\"Ethernet\"}}],"
#define L2BRIDGE                                                                                                       \
  "{\"Name\":\"bridge\",\"Type\":\"L2Bridge\"," SUBNET("10.244.1.0/24", "10.244.1.1") "}]}]," ADAPTER V2 "}"
#define OVERLAY                                                                                                        \
  "{\"Name\":\"overlay\",\"Type\":\"Overlay\"," SUBNET("10.245.1.0/24", "10.245.1.1")                                    \
  ",\"Policies\":[{\"Type\":\"VSID\",\"Settings\":{\"IsolationId\":4096}}]}]}]," ADAPTER V2 "}"
#define NAT "{\"Name\":\"nat\",\"Type\":\"NAT\"," SUBNET("172.30.0.0/16", "172.30.0.1") "}]}]," V2 "}"

#endif
