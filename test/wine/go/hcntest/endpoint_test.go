//go:build windows

package hcntest

import (
	"errors"
	"testing"

	"github.com/Microsoft/hcsshim/hcn"
)

func TestEndpointLife(t *testing.T) {
	network := bridgeNetwork(t)
	endpoint := podEndpoint(t, network, "pod-a", "10.244.1.5")
	if endpoint.HostComputeNetwork != network.Id || endpoint.MacAddress == "" {
		t.Fatalf("made: %+v", endpoint)
	}
	byName := must[*hcn.HostComputeEndpoint](t, "getting it by name")(hcn.GetEndpointByName("pod-a"))
	if byName.Id != endpoint.Id || byName.IpConfigurations[0] != endpoint.IpConfigurations[0] {
		t.Fatalf("by name: %+v", byName)
	}
	list := must[[]hcn.HostComputeEndpoint](t, "listing")(hcn.ListEndpointsOfNetwork(network.Id))
	if len(list) != 1 || list[0].Id != endpoint.Id {
		t.Fatalf("endpoints of the network: %+v", list)
	}
	mustDo(t, "deleting", endpoint.Delete())
	_, err := hcn.GetEndpointByName("pod-a")
	var notFound hcn.EndpointNotFoundError
	if !errors.As(err, &notFound) || !hcn.IsNotFoundError(err) {
		t.Fatalf("after its delete: %v", err)
	}
}

func TestRemoteEndpoint(t *testing.T) {
	network := overlayNetwork(t)
	provider := hcn.ProviderAddressEndpointPolicySetting{ProviderAddress: "192.168.1.11"}
	endpoint := &hcn.HostComputeEndpoint{
		Name:             "pod-elsewhere",
		IpConfigurations: []hcn.IpConfig{{IpAddress: "10.244.2.7"}},
		MacAddress:       "02-11-0a-f4-02-07",
		Policies:         []hcn.EndpointPolicy{{Type: hcn.NetworkProviderAddress, Settings: toJSON(t, provider)}},
		SchemaVersion:    v2,
	}
	made := must[*hcn.HostComputeEndpoint](t, "creating a remote endpoint")(network.CreateRemoteEndpoint(endpoint))
	deleteAtEnd(t, made)
	if made.Flags&hcn.EndpointFlagsRemoteEndpoint == 0 {
		t.Fatalf("made: %+v", made)
	}
	if len(policiesOf(t, made.Id, hcn.NetworkProviderAddress)) != 1 {
		t.Fatal("its provider address is missing")
	}
}
