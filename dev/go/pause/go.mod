module etcd-cluster-operator.dev/tools/pause

go 1.26.0
