//go:build windows

package hcntest

import (
	"strings"
	"testing"

	"github.com/Microsoft/hcsshim/hcn"
)

// What is not there: hcsshim's own errors for a look-up, HNS' errors for the rest.
func TestNotFound(t *testing.T) {
	lookUps := map[string]func() error{
		`Network name "none" not found`:              func() error { _, err := hcn.GetNetworkByName("none"); return err },
		`Network ID "` + unknownID + `" not found`:   func() error { _, err := hcn.GetNetworkByID(unknownID); return err },
		`Endpoint name "none" not found`:             func() error { _, err := hcn.GetEndpointByName("none"); return err },
		`Endpoint ID "` + unknownID + `" not found`:  func() error { _, err := hcn.GetEndpointByID(unknownID); return err },
		`Namespace ID "` + unknownID + `" not found`: func() error { _, err := hcn.GetNamespaceByID(unknownID); return err },
		`LoadBalancer "` + unknownID + `" not found`: func() error { _, err := hcn.GetLoadBalancerByID(unknownID); return err },
		`SDN Route "` + unknownID + `" not found`:    func() error { _, err := hcn.GetRouteByID(unknownID); return err },
	}
	for text, lookUp := range lookUps {
		err := lookUp()
		if !hcn.IsNotFoundError(err) || err.Error() != text {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The HRESULT, its text as Windows has it, and the record of HNS.
func TestErrorRecords(t *testing.T) {
	network := bridgeNetwork(t)
	endpoint := func(address string) error {
		document := &hcn.HostComputeEndpoint{
			Name:             "pod",
			IpConfigurations: []hcn.IpConfig{{IpAddress: address, PrefixLength: 24}},
			SchemaVersion:    v2,
		}
		_, err := network.CreateEndpoint(document)
		return err
	}
	twice := *network
	twice.Id = ""
	_, again := twice.Create()
	noType := hcn.HostComputeNetwork{Name: "x", Type: "NoSuchType", SchemaVersion: v2}
	_, unknownType := noType.Create()
	badPolicy := hcn.PolicyEndpointRequest{Policies: []hcn.EndpointPolicy{{Type: "NoSuchPolicy", Settings: []byte("{}")}}}
	for _, row := range []struct {
		what string
		err  error
		code uint32
		text string
	}{
		{"a network with a name that is taken", again, 0x803b0010, "A network with this name already exists. "},
		{"a type of network that there is not", unknownType, 0x803b000b, "Invalid network type. "},
		{"an address outside the subnets", endpoint("172.16.0.1"), 0x803b001e,
			"IP address is either invalid or not part of any configured subnet(s). "},
		{"the gateway's address", endpoint(podGateway), 0x803b002f, "An address provided is invalid or reserved. "},
		{"deleting a network that is not there", (&hcn.HostComputeNetwork{Id: unknownID}).Delete(), 0x803b0001,
			"The network was not found. "},
		{"deleting an endpoint that is not there", (&hcn.HostComputeEndpoint{Id: unknownID}).Delete(), 0x803b0002,
			"The endpoint was not found. "},
		{"a type of policy that there is not",
			podEndpoint(t, network, "pod-a", "10.244.1.5").ApplyPolicy(hcn.RequestTypeAdd, badPolicy), 0x803b000e,
			"Invalid policy type. "},
	} {
		if row.err == nil {
			t.Errorf("%s: no error", row.what)
			continue
		}
		record := recordOf(t, row.err)
		if record.Success || record.ErrorCode != row.code || !strings.HasPrefix(record.Error, row.text) {
			t.Errorf("%s: %+v", row.what, record)
		}
	}
}
