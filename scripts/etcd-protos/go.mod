module example.invalid/etcd-protos

go 1.26.0

require (
	github.com/bufbuild/protocompile v0.14.1
	go.etcd.io/etcd/api/v3 v3.7.3
	google.golang.org/protobuf v1.36.11
)

require (
	github.com/coreos/go-semver v0.3.1 // indirect
	golang.org/x/sync v0.8.0 // indirect
)
