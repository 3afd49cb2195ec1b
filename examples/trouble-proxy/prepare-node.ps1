# What the operator runs on the node before it joins. README.md tells the rest.
[Environment]::SetEnvironmentVariable("HTTP_PROXY", "http://proxy:3128", "Machine")
[Environment]::SetEnvironmentVariable("HTTPS_PROXY", "http://proxy:3128", "Machine")
C:\k\kubectl.exe --kubeconfig=C:\k\config get nodes
