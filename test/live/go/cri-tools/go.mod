// crictl for the live tests.
module mullion.test/live/cri-tools

go 1.24.1

require sigs.k8s.io/cri-tools v1.34.0
