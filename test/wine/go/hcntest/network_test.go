//go:build windows

package hcntest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/Microsoft/hcsshim/hcn"
)

func TestNetworkLife(t *testing.T) {
	network := bridgeNetwork(t)
	byName := must[*hcn.HostComputeNetwork](t, "getting it by name")(hcn.GetNetworkByName("cbr0"))
	if byName.Id != network.Id || byName.Type != hcn.L2Bridge {
		t.Fatalf("by name: %+v", byName)
	}
	byID := must[*hcn.HostComputeNetwork](t, "getting it by id")(hcn.GetNetworkByID(strings.ToUpper(network.Id)))
	if byID.Name != "cbr0" || byID.Ipams[0].Subnets[0].IpAddressPrefix != podSubnet {
		t.Fatalf("by id: %+v", byID)
	}
	all := must[[]hcn.HostComputeNetwork](t, "listing")(hcn.ListNetworks())
	count := 0
	for _, each := range all {
		if each.Id == network.Id {
			count++
		}
	}
	if count != 1 {
		t.Fatalf("it is %d times in the list", count)
	}
	mustDo(t, "deleting", network.Delete())
	_, err := hcn.GetNetworkByID(network.Id)
	var notFound hcn.NetworkNotFoundError
	if !errors.As(err, &notFound) || !hcn.IsNotFoundError(err) {
		t.Fatalf("after its delete: %v", err)
	}
}

func TestNetworkPolicies(t *testing.T) {
	network := overlayNetwork(t)
	route := hcn.RemoteSubnetRoutePolicySetting{
		DestinationPrefix:           "10.244.2.0/24",
		IsolationId:                 4096,
		ProviderAddress:             "192.168.1.11",
		DistributedRouterMacAddress: "00-15-5D-02-02-02",
	}
	policy := hcn.NetworkPolicy{Type: hcn.RemoteSubnetRoute, Settings: toJSON(t, route)}
	request := hcn.PolicyNetworkRequest{Policies: []hcn.NetworkPolicy{policy}}
	routes := func() []hcn.NetworkPolicy {
		now := must[*hcn.HostComputeNetwork](t, "getting the network")(hcn.GetNetworkByID(network.Id))
		var found []hcn.NetworkPolicy
		for _, each := range now.Policies {
			if each.Type == hcn.RemoteSubnetRoute {
				found = append(found, each)
			}
		}
		return found
	}
	mustDo(t, "adding a route to another node", network.AddPolicy(request))
	added := routes()
	if len(added) != 1 {
		t.Fatalf("%d routes after one was added", len(added))
	}
	var settings hcn.RemoteSubnetRoutePolicySetting
	mustDo(t, "reading the policy", json.Unmarshal(added[0].Settings, &settings))
	if settings != route {
		t.Fatalf("%+v came back as %+v", route, settings)
	}
	mustDo(t, "removing it", network.RemovePolicy(request))
	if left := routes(); len(left) != 0 {
		t.Fatalf("left after the removal: %v", left)
	}
}
