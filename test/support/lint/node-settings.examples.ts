/** Examples of the rules of `node-settings.ts`. */
import { type ExampleTable, oneFile } from "./example-input.ts";

export const NODE_SETTINGS_EXAMPLES: ExampleTable = {
  "pause-image-without-wincat": {
    bad: oneFile(
      "start-kubelet.ps1",
      String.raw`& C:\k\kubelet.exe --config=C:\k\kubelet.yaml «--pod-infra-container-image=kubeletwin/pause
`,
    ),
    good: oneFile(
      "config.toml",
      String.raw`version = 2
root = "C:\\ProgramData\\containerd\\root"
[plugins."io.containerd.grpc.v1.cri"]
  # sandbox_image = "kubeletwin/pause"
  sandbox_image = "registry.k8s.io/pause:3.10"
`,
    ),
  },
  "proxy-takes-api-requests": {
    bad: oneFile(
      "prepare-node.ps1",
      String.raw`[Environment]::«SetEnvironmentVariable("HTTPS_PROXY", "http://proxy:3128", "Machine")
C:\k\kubectl.exe get nodes
`,
    ),
    good: oneFile(
      "prepare-node.ps1",
      String.raw`[Environment]::SetEnvironmentVariable("HTTPS_PROXY", "http://proxy:3128", "Machine")
[Environment]::SetEnvironmentVariable("NO_PROXY", "10.0.0.0/24,10.96.0.0/12,.svc,.cluster.local", "Machine")
C:\k\kubectl.exe get nodes
`,
    ),
  },
};
