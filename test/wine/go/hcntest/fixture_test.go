//go:build windows

// Package hcntest uses HNS as programs for Windows do: through hcsshim where that has a way, else through the DLL.
// Nothing in it knows of Mullion, so it could be run on a Windows node as well.
package hcntest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/Microsoft/hcsshim/hcn"
)

const (
	tcp = 6

	podSubnet  = "10.244.1.0/24"
	podGateway = "10.244.1.1"
	serviceVIP = "10.96.0.10"

	unknownID = "11111111-2222-3333-4444-555555555555"
)

var v2 = hcn.SchemaVersion{Major: 2, Minor: 0}

// toJSON is what a document or a policy has in its Settings.
func toJSON(t *testing.T, settings any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func must[T any](t *testing.T, what string) func(value T, err error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		return value
	}
}

func mustDo(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// deleteAtEnd leaves the node as the test found it, also when the test fails half way.
func deleteAtEnd(t *testing.T, object interface{ Delete() error }) {
	t.Cleanup(func() {
		if err := object.Delete(); err != nil && !isGone(err) {
			t.Errorf("cleaning up: %v", err)
		}
	})
}

// isGone is true for errors of a delete that came too late.
func isGone(err error) bool {
	return hcn.IsNotFoundError(err) || strings.Contains(strings.ToLower(err.Error()), "not found")
}

func adapterPolicy(t *testing.T) hcn.NetworkPolicy {
	t.Helper()
	settings := hcn.NetAdapterNameNetworkPolicySetting{NetworkAdapterName: "Ethernet"}
	return hcn.NetworkPolicy{Type: hcn.NetAdapterName, Settings: toJSON(t, settings)}
}

func ipam(subnetPolicies ...json.RawMessage) []hcn.Ipam {
	return []hcn.Ipam{{
		Type: "Static",
		Subnets: []hcn.Subnet{{
			IpAddressPrefix: podSubnet,
			Routes:          []hcn.Route{{NextHop: podGateway, DestinationPrefix: "0.0.0.0/0"}},
			Policies:        subnetPolicies,
		}},
	}}
}

// bridgeNetwork makes the network of a node with win-bridge; it is gone when the test ends.
func bridgeNetwork(t *testing.T) *hcn.HostComputeNetwork {
	t.Helper()
	network := &hcn.HostComputeNetwork{
		Name:          "cbr0",
		Type:          hcn.L2Bridge,
		Policies:      []hcn.NetworkPolicy{adapterPolicy(t)},
		Ipams:         ipam(),
		SchemaVersion: v2,
	}
	made := must[*hcn.HostComputeNetwork](t, "creating an L2Bridge network")(network.Create())
	deleteAtEnd(t, made)
	return made
}

// overlayNetwork makes the network of a node with flannel's VXLAN; it is gone when the test ends.
func overlayNetwork(t *testing.T) *hcn.HostComputeNetwork {
	t.Helper()
	vsid := hcn.SubnetPolicy{Type: hcn.VSID, Settings: toJSON(t, hcn.VsidPolicySetting{IsolationId: 4096})}
	network := &hcn.HostComputeNetwork{
		Name:          "vxlan0",
		Type:          hcn.Overlay,
		Policies:      []hcn.NetworkPolicy{adapterPolicy(t)},
		Ipams:         ipam(toJSON(t, vsid)),
		SchemaVersion: v2,
	}
	made := must[*hcn.HostComputeNetwork](t, "creating an Overlay network")(network.Create())
	deleteAtEnd(t, made)
	return made
}

// podEndpoint makes the endpoint of a pod; it is gone when the test ends.
func podEndpoint(t *testing.T, network *hcn.HostComputeNetwork, name, address string) *hcn.HostComputeEndpoint {
	t.Helper()
	endpoint := &hcn.HostComputeEndpoint{
		Name:             name,
		IpConfigurations: []hcn.IpConfig{{IpAddress: address, PrefixLength: 24}},
		Routes:           []hcn.Route{{NextHop: podGateway, DestinationPrefix: "0.0.0.0/0"}},
		SchemaVersion:    v2,
	}
	made := must[*hcn.HostComputeEndpoint](t, "creating an endpoint")(network.CreateEndpoint(endpoint))
	deleteAtEnd(t, made)
	return made
}

// policiesOf are the policies of an endpoint that have this type, as HNS has them now.
func policiesOf(t *testing.T, endpointID string, kind hcn.EndpointPolicyType) []hcn.EndpointPolicy {
	t.Helper()
	endpoint := must[*hcn.HostComputeEndpoint](t, "getting the endpoint")(hcn.GetEndpointByID(endpointID))
	var found []hcn.EndpointPolicy
	for _, policy := range endpoint.Policies {
		if policy.Type == kind {
			found = append(found, policy)
		}
	}
	return found
}

// errorRecord is what HNS said beside the HRESULT; hcsshim has it at the end of its text.
type errorRecord struct {
	Success   bool
	Error     string
	ErrorCode uint32
}

func recordOf(t *testing.T, err error) errorRecord {
	t.Helper()
	var failure *hcn.HcnError
	if !errors.As(err, &failure) {
		t.Fatalf("no error of HCN: %v", err)
	}
	text := failure.Error()
	start := strings.Index(text, "{")
	if start < 0 {
		t.Fatalf("no error record in %q", text)
	}
	var record errorRecord
	mustDo(t, "reading the error record", json.Unmarshal([]byte(text[start:]), &record))
	return record
}
