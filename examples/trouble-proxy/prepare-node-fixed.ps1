# The same, with what goes past the proxy, and with the proxy for the script's own downloads.
[Environment]::SetEnvironmentVariable("HTTP_PROXY", "http://proxy:3128", "Machine")
[Environment]::SetEnvironmentVariable("HTTPS_PROXY", "http://proxy:3128", "Machine")
[Environment]::SetEnvironmentVariable("NO_PROXY", "10.0.0.0/24,10.244.0.0/16,10.96.0.0/12,.svc,.cluster.local", "Machine")
[Net.WebRequest]::DefaultWebProxy = New-Object Net.WebProxy("http://proxy:3128")
C:\k\kubectl.exe --kubeconfig=C:\k\config get nodes
