// A stand-in for powershell.exe: the cmdlets that flanneld calls, on a machine that is a file of JSON. Wine has no
// PowerShell. POWERSHELL_MACHINE names the file; what it is asked for and does not know is an error.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

type address struct {
	InterfaceIndex int
	IPAddress      string
	PrefixLength   int
}

type iface struct {
	IfIndex        int `json:"ifIndex"`
	InterfaceAlias string
	NlMtu          int
	AddressFamily  int
	Forwarding     int
}

type route struct {
	IfIndex           int
	DestinationPrefix string
	NextHop           string
}

type machine struct {
	Interfaces []*iface
	Addresses  []address
	Routes     []route
}

var path = os.Getenv("POWERSHELL_MACHINE")

// Who was killed with the lock does not keep it.
const lockMax = 10 * time.Second

func lock() {
	begin := time.Now()
	for os.Mkdir(path+".lock", 0o755) != nil {
		if time.Since(begin) > lockMax {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func unlock() { os.Remove(path + ".lock") }

func fail(text string) {
	fmt.Println(text)
	unlock()
	os.Exit(1)
}

func read() *machine {
	m := &machine{}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, m)
	}
	if err != nil {
		fail("The stand-in's machine cannot be read: " + err.Error())
	}
	return m
}

func (m *machine) write() {
	text, err := json.MarshalIndent(m, "", " ")
	if err == nil {
		err = os.WriteFile(path+".new", text, 0o644)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		fail("The stand-in's machine cannot be written: " + err.Error())
	}
}

// parameter is the value of `-Name VALUE`, or of `$_.Name -eq 'VALUE'`.
func parameter(command, name string) string {
	for _, form := range []string{`(?i)-` + name + `\s+(\S+)`, `(?i)\$_\.` + name + `\s+-eq\s+'([^']*)'`} {
		if found := regexp.MustCompile(form).FindStringSubmatch(command); found != nil {
			return strings.TrimRight(found[1], ")")
		}
	}
	return ""
}

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// print writes objects as ConvertTo-Json does: what comes through a pipe, and is one, is no list.
func print[T any](command string, objects []T) {
	isList := strings.Contains(command, "ConvertTo-Json (@(")
	var value any = objects
	if !isList && len(objects) == 0 {
		return
	}
	if !isList && len(objects) == 1 {
		value = objects[0]
	}
	text, _ := json.Marshal(value)
	fmt.Println(string(text))
}

func (m *machine) routes(command string) []route {
	index, prefix := parameter(command, "InterfaceIndex"), parameter(command, "DestinationPrefix")
	found := []route{}
	for _, each := range m.Routes {
		if (index == "" || number(index) == each.IfIndex) && (prefix == "" || prefix == each.DestinationPrefix) {
			found = append(found, each)
		}
	}
	return found
}

func wanted(command string) route {
	return route{number(parameter(command, "InterfaceIndex")), parameter(command, "DestinationPrefix"), parameter(command, "NextHop")}
}

func (m *machine) addRoute(command string) {
	added := wanted(command)
	for _, each := range m.Routes {
		if each == added {
			fail("New-NetRoute : Instance MSFT_NetRoute already exists")
		}
	}
	m.Routes = append(m.Routes, added)
	m.write()
}

func (m *machine) removeRoute(command string) {
	gone := wanted(command)
	for i, each := range m.Routes {
		if each == gone {
			m.Routes = append(m.Routes[:i], m.Routes[i+1:]...)
			m.write()
			return
		}
	}
	fail("Remove-NetRoute : No matching MSFT_NetRoute objects found by CIM query")
}

func (m *machine) forward(command string) {
	for _, each := range m.Interfaces {
		if each.IfIndex == number(parameter(command, "ifIndex")) {
			each.Forwarding = 2
			if parameter(command, "Forwarding") == "Enabled" {
				each.Forwarding = 1
			}
			m.write()
			return
		}
	}
	fail("Set-NetIPInterface : No matching MSFT_NetIPInterface objects found by CIM query")
}

func main() {
	command := os.Args[len(os.Args)-1]
	lock()
	defer unlock()
	m := read()
	switch {
	case strings.Contains(command, "New-NetRoute"):
		m.addRoute(command)
	case strings.Contains(command, "Remove-NetRoute"):
		m.removeRoute(command)
	case strings.Contains(command, "Set-NetIPInterface"):
		m.forward(command)
	case strings.Contains(command, "Get-NetRoute"):
		found := m.routes(command)
		// A parameter that nothing fits is an error; a Where that nothing fits is not.
		if len(found) == 0 && strings.Contains(command, "-DestinationPrefix") {
			fail("Get-NetRoute : No matching MSFT_NetRoute objects found by CIM query")
		}
		print(command, found)
	case strings.Contains(command, "Get-NetIPInterface"):
		print(command, m.Interfaces)
	case strings.Contains(command, "Get-NetIPAddress"):
		print(command, m.Addresses)
	default:
		fail("The stand-in for PowerShell does not know: " + command)
	}
}
