// The real flanneld for the live tests. The SDK of a cloud is taken at versions that module proxies have.
module mullion.test/live/flannel

go 1.26.0

require github.com/flannel-io/flannel v0.28.10

replace (
	github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common => github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common v1.3.209
	github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/vpc => github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/vpc v1.3.75
)
