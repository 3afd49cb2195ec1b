//go:build windows

// A program that uses HNS and is watched from outside: what it leaves behind, what it does when it or HNS is killed.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"github.com/Microsoft/hcsshim/hcn"
	"github.com/sirupsen/logrus"
	"golang.org/x/sys/windows"
)

const (
	serviceDisconnect = 0x01000000
	networkCreate     = 0x02
	patience          = 10 * time.Second
)

var v2 = hcn.SchemaVersion{Major: 2, Minor: 0}

func print(value any) error { return json.NewEncoder(os.Stdout).Encode(value) }

func natNetwork(name string) *hcn.HostComputeNetwork {
	return &hcn.HostComputeNetwork{
		Name: name,
		Type: hcn.NAT,
		Ipams: []hcn.Ipam{{Type: "Static", Subnets: []hcn.Subnet{{
			IpAddressPrefix: "172.30.0.0/16",
			Routes:          []hcn.Route{{NextHop: "172.30.0.1", DestinationPrefix: "0.0.0.0/0"}},
		}}}},
		SchemaVersion: v2,
	}
}

// runFeatures prints what hcsshim takes the service for.
func runFeatures() error {
	features, err := hcn.GetCachedSupportedFeatures()
	if err != nil {
		return err
	}
	return print(features)
}

// runPod makes the objects of a pod and of a Service, prints them as it got them, and leaves them there.
func runPod() error {
	network, err := natNetwork("nat").Create()
	if err != nil {
		return err
	}
	namespace, err := hcn.NewNamespace(hcn.NamespaceTypeHost).Create()
	if err != nil {
		return err
	}
	endpoint, err := network.CreateEndpoint(&hcn.HostComputeEndpoint{Name: "pod-a", SchemaVersion: v2})
	if err != nil {
		return err
	}
	if err := hcn.AddNamespaceEndpoint(namespace.Id, endpoint.Id); err != nil {
		return err
	}
	balancer, err := hcn.AddLoadBalancer([]hcn.HostComputeEndpoint{*endpoint}, hcn.LoadBalancerFlagsNone,
		hcn.LoadBalancerPortMappingFlagsNone, "", []string{"10.96.0.10"}, 6, 8080, 80)
	if err != nil {
		return err
	}
	return print(map[string]any{
		"Network": network, "Namespace": namespace, "Endpoint": endpoint, "LoadBalancer": balancer,
	})
}

// runNetwork makes a network for others of this program.
func runNetwork() error {
	_, err := natNetwork("shared").Create()
	return err
}

// runOne is one of many at once: an endpoint of its own in the network that they share, from its create to its delete.
func runOne(name string) error {
	network, err := hcn.GetNetworkByName("shared")
	if err != nil {
		return err
	}
	made, err := network.CreateEndpoint(&hcn.HostComputeEndpoint{Name: name, SchemaVersion: v2})
	if err != nil {
		return err
	}
	found, err := hcn.GetEndpointByName(name)
	if err != nil {
		return err
	}
	if found.Id != made.Id {
		return fmt.Errorf("%s is %s, and was made as %s", name, found.Id, made.Id)
	}
	return made.Delete()
}

// runModify takes one load balancer through an update with hcsshim's own call, which newer versions of HNS have.
func runModify() error {
	network, err := natNetwork("nat").Create()
	if err != nil {
		return err
	}
	endpoint, err := network.CreateEndpoint(&hcn.HostComputeEndpoint{Name: "pod-a", SchemaVersion: v2})
	if err != nil {
		return err
	}
	balancer, err := hcn.AddLoadBalancer([]hcn.HostComputeEndpoint{*endpoint}, hcn.LoadBalancerFlagsNone,
		hcn.LoadBalancerPortMappingFlagsNone, "", []string{"10.96.0.10"}, 6, 8080, 80)
	if err != nil {
		return err
	}
	_, err = balancer.Update(balancer.Id)
	return print(map[string]any{"Modified": err == nil, "IsNotImplemented": hcn.IsNotImplemented(err), "Error": fmt.Sprint(err)})
}

var heard = make(chan uint32, 100)

func hear(kind uint32, _ uintptr, _ uint32, _ *uint16) uintptr {
	heard <- kind
	return 0
}

func await(kind uint32) error {
	until := time.After(patience)
	for {
		select {
		case each := <-heard:
			if each == kind {
				return nil
			}
		case <-until:
			return fmt.Errorf("notification 0x%x did not come", kind)
		}
	}
}

// runListen registers for notifications, says so, and waits for a line. "killed" in it means that the service is gone.
func runListen() error {
	register := windows.NewLazySystemDLL("computenetwork.dll").NewProc("HcnRegisterServiceCallback")
	var registration uintptr
	code, _, _ := register.Call(syscall.NewCallback(hear), 0, uintptr(unsafe.Pointer(&registration)))
	if code != 0 {
		return fmt.Errorf("registering: 0x%08x", code)
	}
	if _, err := natNetwork("nat").Create(); err != nil {
		return err
	}
	if err := await(networkCreate); err != nil {
		return err
	}
	fmt.Println("listening")
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if line != "killed\n" {
		return fmt.Errorf("asked for %q", line)
	}
	_, err = hcn.ListNetworks()
	if err == nil {
		return errors.New("a service that is gone has answered")
	}
	fmt.Println(err)
	return await(serviceDisconnect)
}

// runEndpoints makes so many endpoints, one after the other, and prints nanoseconds per create.
func runEndpoints(count int) error {
	network, err := natNetwork("bench").Create()
	if err != nil {
		return err
	}
	start := time.Now()
	for range count {
		if _, err := network.CreateEndpoint(&hcn.HostComputeEndpoint{SchemaVersion: v2}); err != nil {
			return err
		}
	}
	fmt.Println(time.Since(start).Nanoseconds() / int64(count))
	return network.Delete()
}

func run(what, argument string) error {
	switch what {
	case "features":
		return runFeatures()
	case "pod":
		return runPod()
	case "network":
		return runNetwork()
	case "one":
		return runOne(argument)
	case "modify":
		return runModify()
	case "listen":
		return runListen()
	case "endpoints":
		count, err := strconv.Atoi(argument)
		if err != nil {
			return err
		}
		return runEndpoints(count)
	}
	return fmt.Errorf("nothing is called %q", what)
}

func main() {
	logrus.SetOutput(io.Discard)
	if err := run(os.Args[1], append(os.Args, "")[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
