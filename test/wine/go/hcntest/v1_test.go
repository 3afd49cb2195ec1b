//go:build windows

package hcntest

import (
	"net"
	"strings"
	"testing"

	"github.com/Microsoft/hcsshim"
	"github.com/Microsoft/hcsshim/hcn"
)

func v1Network(t *testing.T) *hcsshim.HNSNetwork {
	t.Helper()
	network := &hcsshim.HNSNetwork{
		Name:               "l2bridge-v1",
		Type:               "L2Bridge",
		NetworkAdapterName: "Ethernet",
		Subnets:            []hcsshim.Subnet{{AddressPrefix: podSubnet, GatewayAddress: podGateway}},
	}
	made := must[*hcsshim.HNSNetwork](t, "creating a network")(network.Create())
	t.Cleanup(func() {
		if _, err := made.Delete(); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	return made
}

// HNS v1 through HNSCall, as programs from before HCN use it.
func TestV1(t *testing.T) {
	network := v1Network(t)
	list := must[[]hcsshim.HNSNetwork](t, "listing")(hcsshim.HNSListNetworkRequest("GET", "", ""))
	found := false
	for _, each := range list {
		found = found || each.Id == network.Id
	}
	if !found {
		t.Fatalf("not in the list: %+v", list)
	}
	byName := must[*hcsshim.HNSNetwork](t, "getting it by name")(hcsshim.GetHNSNetworkByName("l2bridge-v1"))
	if byName.Id != network.Id || byName.Subnets[0].AddressPrefix != podSubnet {
		t.Fatalf("by name: %+v", byName)
	}

	endpoint := &hcsshim.HNSEndpoint{
		Name: "pod-v1", VirtualNetwork: network.Id, IPAddress: net.ParseIP("10.244.1.5"),
	}
	acl := hcsshim.ACLPolicy{
		Type: hcsshim.ACL, Action: hcsshim.Allow, Direction: hcsshim.In, RuleType: hcsshim.Switch, Protocol: tcp, Priority: 200,
	}
	endpoint.Policies = append(endpoint.Policies, toJSON(t, acl))
	made := must[*hcsshim.HNSEndpoint](t, "creating an endpoint")(endpoint.Create())
	byName2 := must[*hcsshim.HNSEndpoint](t, "getting it by name")(hcsshim.GetHNSEndpointByName("pod-v1"))
	if byName2.Id != made.Id || byName2.GatewayAddress != podGateway || len(byName2.Policies) == 0 {
		t.Fatalf("by name: %+v", byName2)
	}
	stats := must[*hcsshim.HNSEndpointStats](t, "asking for its counters")(hcsshim.GetHNSEndpointStats(made.Id))
	if !strings.EqualFold(stats.EndpointID, made.Id) || stats.PacketsSent != 0 {
		t.Fatalf("counters: %+v", stats)
	}

	// Both versions see the same objects.
	v2Endpoint := must[*hcn.HostComputeEndpoint](t, "getting it through v2")(hcn.GetEndpointByID(made.Id))
	if v2Endpoint.Name != "pod-v1" || len(policiesOf(t, made.Id, hcn.ACL)) != 1 {
		t.Fatalf("through v2: %+v", v2Endpoint)
	}

	backEnds := []hcsshim.HNSEndpoint{*made}
	policies, err := hcsshim.AddLoadBalancer(backEnds, false, "", serviceVIP, tcp, 8080, 80)
	mustDo(t, "creating a policy list", err)
	lists := must[[]hcsshim.PolicyList](t, "listing policy lists")(hcsshim.HNSListPolicyListRequest())
	if len(lists) != 1 || lists[0].ID != policies.ID {
		t.Fatalf("policy lists: %s", toJSON(t, lists))
	}
	balancer := must[*hcn.HostComputeLoadBalancer](t, "getting it through v2")(hcn.GetLoadBalancerByID(policies.ID))
	if balancer.FrontendVIPs[0] != serviceVIP {
		t.Fatalf("through v2: %+v", balancer)
	}
	_, err = policies.Delete()
	mustDo(t, "deleting the policy list", err)
	_, err = made.Delete()
	mustDo(t, "deleting the endpoint", err)
}

// From 1809 on the call itself fails, and the text is Windows' own for the number; Wine has none for those of HNS.
func TestV1Errors(t *testing.T) {
	_, err := hcsshim.GetHNSNetworkByID(unknownID)
	if err == nil || !strings.Contains(err.Error(), "hnsCall failed in Win32: ") ||
		!strings.Contains(err.Error(), "(0x803b0001)") {
		t.Errorf("a network that is not there: %v", err)
	}
	_, err = hcsshim.GetHNSEndpointByID(unknownID)
	if err == nil || !strings.Contains(err.Error(), "(0x803b0002)") {
		t.Errorf("an endpoint that is not there: %v", err)
	}
	_, err = hcsshim.HNSNetworkRequest("POST", "", "{")
	if err == nil {
		t.Error("half a document was taken")
	}
}

func TestV1Version(t *testing.T) {
	v1 := must[*hcsshim.HNSGlobals](t, "asking v1")(hcsshim.GetHNSGlobals())
	globals := must[*hcn.Globals](t, "asking v2")(hcn.GetGlobals())
	if v1.Version.Major != globals.Version.Major || v1.Version.Minor != globals.Version.Minor || v1.Version.Major == 0 {
		t.Fatalf("%+v and %+v", v1, globals)
	}
}
